"""Logged replies, and paths through a session: the conversations of a gateway's log or of an agent's file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, Self, TypeVar

from msgspec import Struct, field

from chatsquash.core.model import ConversationKind, Message, Tool
from chatsquash.core.options import Options

OF_PERSONS = ("main", "branch", "compacted")
"""Kinds of conversations in which a person may have gone back; agents ask several sub-agents the same at once."""


class GrowingRequest(Struct, frozen=True, gc=False):
    """A request of a session that only grew so far, and its reply, as far as trees need them."""

    line: int
    at: int | None
    tools: list[Tool]
    message: Message | None
    """The reply."""
    finish_reason: str | None
    cut: bool
    limit: bytes
    response: str
    """The id of the response."""
    count: int
    """How many messages it has, which are the first ones of the last entry's."""
    cleared: str = ""
    """As in ``Response.cleared``."""
    is_translated: bool = False
    """As in ``Entry.is_translated``."""
    model: str = ""
    """The model that replied."""


class LoggedReply(Struct, eq=False, kw_only=True):
    """A reply that a model gave, as a gateway's log or an agent's file has it."""

    number: int
    """Its index among the session's replies."""
    line: int
    """Of a log, the line, the last one of several with the same reply; of a file, the number of its conversation."""
    message: Message
    is_retried: bool = False
    """Whether the same request was sent again since it broke off."""
    is_copy: bool = False
    """Whether it counts in the file of another session, whose beginning this one repeats."""


R = TypeVar("R", bound=LoggedReply)


class Path(Struct, Generic[R], eq=False, kw_only=True):
    """A conversation: the replies from a beginning to one that nothing continues."""

    kind: ConversationKind = "branch"
    length: int = 0
    """The number of its replies, including those that other conversations have before it."""
    parent: Self | None = None
    """The conversation that it comes from."""
    is_abandoned: bool = False
    """Whether the client took back its last turns, or replaced replies in it before it continued."""
    own: list[R] = field(default_factory=list)
    """The replies that belong to it, in order."""

    @property
    def ends(self) -> tuple[int, ...]:
        """Its last reply as numbers: the greater, the later it ends."""
        raise NotImplementedError

    def back(self) -> Iterable[R]:
        """All its replies, the last one first."""
        raise NotImplementedError

    def chain(self) -> list[Self]:
        """Itself and what summaries in it stand for, the last one first; empty if it is neither main nor compacted."""
        chain: list[Self] = []
        seen: set[int] = set()
        path: Self | None = self
        while path and path.kind == "compacted" and id(path) not in seen:
            seen.add(id(path))
            chain.append(path)
            path = path.parent
        return [*chain, path] if path and path.kind == "main" else chain


AnyPath = Path[Any]
"""A conversation of a log or of a file."""
P = TypeVar("P", bound=AnyPath)


def sort_members(members: list[P]) -> None:
    """Put the trunk of a tree first, which is the path with the most replies, and longer paths before others.

    Of equals the one that ends last is first; abandoned paths and then side requests are last.
    """
    members.sort(key=_rank, reverse=True)


def _rank(path: AnyPath) -> tuple[bool, bool, int, tuple[int, ...]]:
    return path.kind != "side", path.length > 0 and not path.is_abandoned, path.length, path.ends


def set_kinds(members: list[P], kind: ConversationKind) -> None:
    """Give the trunk of a tree its kind; the others are branches, unless all are side requests."""
    for path in members if kind == "side" else members[:1]:
        path.kind = kind


def assign_replies(trees: Iterable[list[P]]) -> dict[int, P]:
    """Give each reply to the first path of its tree that has it, and each branch the path that it leaves as parent.

    Replies that an earlier tree has belong to that.  Returns the owner of each reply by its number.
    """
    owners: dict[int, P] = {}
    for members in trees:
        trunk, inside = members[0], set(map(id, members))
        for path in members:
            for reply in path.back():
                owner = owners.setdefault(reply.number, path)
                if owner is path:
                    path.own.append(reply)
                elif path is not trunk and path.parent is None and id(owner) in inside:
                    path.parent = owner
            path.own.reverse()
            if path is not trunk and path.parent is None:  # the first request was answered more than once
                path.parent = trunk
    return owners


def end_loops(paths: list[P]) -> None:
    """Have no conversation come from itself, since what a log shows and what a file tells may contradict each other."""
    known: set[int] = set()
    for each in paths:
        passed: dict[int, P] = {}
        path: P | None = each
        while path and id(path) not in known and id(path) not in passed:
            passed[id(path)] = path
            path = path.parent
        if path and id(path) in passed:
            members = [*passed.values()]
            loop = members[[*passed].index(id(path)) :]
            next((one for one in loop if one.kind != "branch"), loop[0]).parent = None
        known.update(passed)


def longest_chain(paths: list[P]) -> list[P]:
    """The chain main, compacted, compacted with the most replies; of equals the one that ends last."""
    earlier = {id(path.parent) for path in paths if path.kind == "compacted" and path.parent}
    chains = [chain for path in paths if id(path) not in earlier and (chain := path.chain())]
    return max(chains, key=lambda chain: (sum(path.length for path in chain), chain[0].ends), default=[])


def is_selected(path: AnyPath, chosen: AnyPath | None, options: Options) -> bool:
    """Check whether a conversation becomes a record; ``chosen`` is the one if a session has one record."""
    if options.conversations in ("last", "main"):
        return path is chosen
    return {"subagent": options.subagents, "side": options.side}.get(path.kind, True)
