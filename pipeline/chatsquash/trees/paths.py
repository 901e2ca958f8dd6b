"""Logged replies and the paths through a session: the conversations of a gateway's log or an agent's file."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Generic, Self, TypeVar

from msgspec import Struct, field

from chatsquash.core import chat, jsonio
from chatsquash.core.model import ConversationKind, Message, Tool
from chatsquash.core.options import Options
from chatsquash.core.scores import Score

# Sub-agents are not included, because agents send equal prompts to several of them.
OF_USERS = ("main", "branch", "compacted")
"""Kinds of conversations in which a user may have gone back to an earlier message."""


class GrowingRequest(Struct, frozen=True, gc=False):
    """A request of a session that has only grown so far, with its reply."""

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
    """The number of its messages, which are the first ones of the last entry."""
    cleared: str = ""
    """As in ``Response.cleared``."""
    is_translated: bool = False
    """As in ``Entry.is_translated``."""
    model: str = ""
    """The model that replied."""
    completion_tokens: int | None = None
    """As in ``LoggedReply``."""

    @property
    def is_ended(self) -> bool:
        """Whether the log contains its finish reason."""
        return self.finish_reason is not None and not self.cut

    def is_truncated(self, *, has_finish_reasons: bool) -> bool:
        """As in ``Reply``."""
        is_interrupted = self.cut or (has_finish_reasons and self.finish_reason is None)
        return is_interrupted or chat.is_truncated(self.finish_reason)


class LoggedReply(Struct, eq=False, kw_only=True):
    """A model's reply in a gateway's log or an agent's file."""

    number: int
    """Its index in the session."""
    line: int
    """Its line in a log, the last one if several contain it; in a file, the number of its conversation."""
    message: Message
    is_retried: bool = False
    """Whether it was interrupted and its request was repeated."""
    is_copy: bool = False
    """Whether it counts in the file of another session whose beginning this session repeats."""
    model: str = ""
    """The model that produced it, as logged; empty if unknown."""
    completion_tokens: int | None = None
    """The number of its tokens, as logged."""
    facts: tuple[str, ...] = ()
    """Its step facts, in the order of ``STEP_FACTS``, if an option needs them."""
    labels: tuple[tuple[int, str], ...] = ()
    """The rows of ``--loss-labels`` about it, each with the reason why it is not applied, or an empty string."""
    weight: float | None = None
    """Its weight according to these rows; ``None`` without an applied row."""
    scores: tuple[Score, ...] = ()
    """Its logged scores."""

    @property
    def logged_id(self) -> str:
        """The id of its response or message; empty if it has none, or only one with other text."""
        raise NotImplementedError

    @property
    def nth(self) -> int:
        """A number that identifies it in its session if it has no id."""
        raise NotImplementedError

    @property
    def logged_at(self) -> tuple[int | None, int | None]:
        """The line and the time of the reply, as in ``ReplyEvidence``."""
        raise NotImplementedError


R = TypeVar("R", bound=LoggedReply)


class Path(Struct, Generic[R], eq=False, kw_only=True):
    """A conversation: the replies from a beginning to one that nothing continues."""

    kind: ConversationKind = "branch"
    length: int = 0
    """The number of its replies, including earlier ones that belong to other conversations."""
    parent: Self | None = None
    """The conversation from which it was started."""
    is_abandoned: bool = False
    """Whether the client took back its last turns, or replaced replies in it before it continued."""
    own: list[R] = field(default_factory=list)
    """The replies that belong to it, in order."""

    @property
    def ends(self) -> tuple[int, ...]:
        """A sort key: greater for a conversation that ends later."""
        raise NotImplementedError

    def back(self) -> Iterable[R]:
        """Return all its replies, latest first."""
        raise NotImplementedError

    def chain(self) -> list[Self]:
        """Return this path and those that its summaries replaced, latest first; empty unless main or compacted."""
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
    """Sort the paths of a tree so that the trunk, the path with the most replies, is first.

    Of equally long paths, the one that ends last is first. Abandoned paths follow all others; side requests are last.
    """
    members.sort(key=_rank, reverse=True)


def _rank(path: AnyPath) -> tuple[bool, bool, int, tuple[int, ...]]:
    return path.kind != "side", path.length > 0 and not path.is_abandoned, path.length, path.ends


def set_kinds(members: list[P], kind: ConversationKind) -> None:
    """Set the kind of a tree's trunk; the other paths are branches, unless all are side requests."""
    for path in members if kind == "side" else members[:1]:
        path.kind = kind


def assign_replies(trees: Iterable[list[P]]) -> dict[int, P]:
    """Assign each reply to the first path of its tree that contains it, and set the parents of branches.

    Replies that an earlier tree contains belong to that tree. Returns the owner of each reply by number.
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
            # The first request was answered more than once, so the branches share no reply.
            if path is not trunk and path.parent is None:
                path.parent = trunk
    return owners


# Cycles are possible because a log and a file may contradict each other.
def end_loops(paths: list[P]) -> None:
    """Break cycles of parents."""
    known: set[int] = set()
    for each in paths:
        visited: dict[int, P] = {}
        path: P | None = each
        while path and id(path) not in known and id(path) not in visited:
            visited[id(path)] = path
            path = path.parent
        if path and id(path) in visited:
            members = [*visited.values()]
            loop = members[[*visited].index(id(path)) :]
            next((one for one in loop if one.kind != "branch"), loop[0]).parent = None
        known.update(visited)


def longest_chain(paths: list[P]) -> list[P]:
    """Return the chain of main and compacted conversations with the most replies; in a tie, the latest."""
    earlier = {id(path.parent) for path in paths if path.kind == "compacted" and path.parent}
    chains = [chain for path in paths if id(path) not in earlier and (chain := path.chain())]
    return max(chains, key=lambda chain: (sum(path.length for path in chain), chain[0].ends), default=[])


def is_selected(path: AnyPath, selected: AnyPath | None, options: Options) -> bool:
    """Return whether a conversation becomes a record; ``selected`` is the only one if a session has one record."""
    if options.conversations in ("last", "main"):
        return path is selected
    return {"subagent": options.subagents, "side": options.side}.get(path.kind, True)


# Ids


def digest(session: str, first: object, last: object, *more: object) -> str:
    """Return a conversation id from the first user message and the last reply."""
    return sha256(jsonio.dumps([session, content_of(first), content_of(last), *more])).hexdigest()[:16]


def content_of(message: object) -> object:
    """Return the content of a message for conversation ids: its text and the names of its calls."""
    if not isinstance(message, dict):
        return None
    return [chat.text(message), [chat.call_name(call) for call in chat.calls(message)]]  # type: ignore[arg-type]
