"""The logged replies of a session, each with what it continues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from chatsquash.core.model import Message, Tool

How = Literal["appended", "rewritten", "cut"]
"""Whether a request holds what its reply's parent held: as it was, in another wording, or with messages left out."""


class Reply(Struct, eq=False):
    """A reply that a model gave, and the request that it answers."""

    number: int
    """Its place among the session's replies."""
    line: int
    """Of several lines with the same reply, the last one."""
    at: int | None
    """When it was logged, as in ``Entry.at``."""
    message: Message
    asked: int
    """What its request is the same by."""
    said: int
    """What it is the same by itself."""
    chain: int
    """What its request and it are the same by."""
    spoken: int
    """The same for what assistants say alone."""
    parent: Reply | None
    """The reply that its request goes on from."""
    how: How
    tree: int
    added: list[int]
    """What the messages of its request behind its parent are the same by; not those that are no part of a chain."""
    behind: list[Message]
    """These messages."""
    system: str
    tools: list[Tool]
    limit: int | None
    """How many tokens it was to have at most."""
    is_ended: bool
    """Whether the log says why it ended."""
    is_cut: bool
    """Whether its stream broke off."""
    is_limited: bool
    """Whether it reached its limit."""
    response: str
    """The id of its response; empty if it has none."""
    lacks: bool = False
    """Whether its request had results emptied that an earlier one had, or messages left out."""
    is_other_prompt: bool = False
    """Whether its request has another system prompt than its parent's."""
    children: int = 0
    last_child: Reply | None = None
    before: Reply | None = None
    """The child of its parent, or the first reply of a tree, that came before it."""
    is_resent: bool = False
    """Whether the same request was sent again and answered otherwise."""
    is_retried: bool = False
    """Whether that was since it broke off."""
    is_summary: bool = False
    """Whether a later conversation begins with what it says."""

    said_before: Reply | None = None
    """The last reply before it that says the same."""
    spoken_before: Reply | None = None
    """The last one before it behind the same words of assistants."""

    def users(self) -> Iterator[tuple[int, Message]]:
        """What the user says before it, behind its parent, by what each is the same by."""
        for number, message in zip(self.added, self.behind, strict=True):
            if message["role"] == "user":
                yield number, message

    def is_one_with(self, later: Reply) -> bool:
        """Whether a later reply to the same first request is since this one broke off, or stands in the log twice."""
        is_same = self.response == later.response != ""
        return self.is_cut or (later.is_ended and not self.is_ended) or is_same

    def go_on_from(self, reply: Reply) -> None:
        """Have a reply that was logged later for the parent, which its request holds as what an assistant says."""
        at = self.added.index(reply.said) + 1 if reply.said in self.added else 0
        self.added, self.behind = self.added[at:], self.behind[at:]
        if self.parent:
            self.parent.children -= 1
        self.parent = reply
        reply.children += 1

    def broke_off(self, *, says_ends: bool) -> bool:
        """Whether it is not whole; ``says_ends``: the log says of some replies why they ended."""
        return self.is_cut or (says_ends and not self.is_ended)

    def path(self) -> list[Reply]:
        """The replies that it goes on from, the first one first, and itself."""
        return [*self.back()][::-1]

    def back(self) -> Iterator[Reply]:
        """Itself, and the replies that it goes on from, the last one first."""
        return linked(self, "parent")


def linked(last: Reply | None, by: Literal["parent", "before", "said_before", "spoken_before"]) -> Iterator[Reply]:
    """A reply, and those to which one of its members leads, the last one first."""
    while last is not None:
        yield last
        last = getattr(last, by)


class Again(Struct, frozen=True):
    """A line whose reply is logged once more by a later line."""

    line: int
    at: int | None
    by: Reply
    """The one that stands for both."""
    is_same_response: bool
    """Whether it is the same response; else the same words were sampled anew."""
