"""The truth while it is played: messages in their context, the requests that held them, and the trees they form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Kind = Literal["main", "compacted", "branch", "subagent", "side", "retry"]
CLEARED = "[Old tool result content cleared]"


class Call(NamedTuple):
    """A call as the model made it."""

    id: str
    name: str
    arguments: dict[str, Any]


class Place(NamedTuple):
    """Where a reply is logged."""

    file: str
    line: int
    """From 1."""


@dataclass(eq=False, slots=True)
class Node:
    """A message in its context."""

    role: Literal["user", "assistant", "tool"]
    text: str
    parent: Node | None = None
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    answers: int = 0
    """The place of the call that a result answers."""
    copy_of: Node | None = None
    children: list[Node] = field(default_factory=list)
    sampled: OriginReply | None = None
    worded: set[str] = field(default_factory=set)
    """Other texts that a client sent in its place."""

    def __post_init__(self) -> None:
        if self.parent:
            self.parent.children.append(self)

    @property
    def path(self) -> list[Node]:
        """All messages from the beginning to this one."""
        found, node = [], self
        while node:
            found.append(node)
            node = node.parent
        return found[::-1]

    @property
    def call(self) -> Call:
        """The call that this result answers: of the assistant message before the results."""
        asked = self.parent
        while asked.role == "tool":
            asked = asked.parent
        return asked.calls[self.answers]

    @property
    def origin(self) -> Node:
        """The message that this is a copy of, else itself."""
        return self.copy_of.origin if self.copy_of else self


@dataclass(frozen=True, eq=False, slots=True)
class Request:
    """What a client sent: the messages of a path, and how they differed from what was said."""

    path: list[Node]
    system: str
    tools: tuple[str, ...]
    limit: int
    changed: dict[Node, str] = field(default_factory=dict)
    """Texts with reminders."""
    cleared: frozenset[Node] = frozenset()
    dropped: frozenset[Node] = frozenset()
    extra: dict[Node, str] = field(default_factory=dict)
    """Reminders behind results, which are user messages of their own."""
    stored: frozenset[Node] = frozenset()
    """Messages that the server has of the conversation, and which are not sent."""
    conversation: str = ""
    """The id of that conversation."""
    previous: str = ""
    """The id of the response with which these messages end."""
    reordered: bool = False
    """Whether results of parallel calls are sent in reverse order."""
    repeated: frozenset[Node] = frozenset()
    """Results that are sent twice."""
    prefill: str = ""
    """The beginning of the reply, which is sent as the last message."""


@dataclass(eq=False, slots=True)
class OriginReply:
    """The evidence of a logged reply."""

    request: Request
    at: int
    """How many replies were logged before it."""
    ended: Literal["stop", "length"] | None
    """``None`` where it broke off."""
    side: bool
    behaviour: str
    places: list[Place] = field(default_factory=list)
    """Several where it was logged twice."""
    retried: bool = False
    others: tuple[str, ...] = ()
    """Choices of the same response before this one, from which nothing continues."""
    tagged: bool = False
    """Whether the reasoning is a ``<think>`` block of the text."""
    same_as: Node | None = None
    """The later reply with the same words, of which it is not told apart."""

    @property
    def whole(self) -> bool:
        """Whether the model said all that it had to say."""
        return self.ended == "stop"

    def said(self, node: Node) -> str:
        """Return the text of the response: the message without the beginning that the request had."""
        return node.text.removeprefix(self.request.prefill)


@dataclass(eq=False, slots=True)
class Tree:
    """What grows from one beginning."""

    kind: Kind
    anchor: Node | None = None
    """The call that began a sub-agent, or the last sampled reply of what a summary stands for."""
    about: Tree | None = None
    """The tree that a side request is about."""
    replies: list[Node] = field(default_factory=list)
    """Sampled ones, in the order in which they were logged."""
