"""Relate the conversations of a file to each other: determine their kinds, parents and replies.

The branch with the most replies is the trunk. It has the kind of the tree, and replies that it shares with other
branches belong to it. Replies shared only by other branches belong to the longest of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain

from msgspec import Struct, field
from xxhash import xxh3_128_digest

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Conversation, Origin, OriginReply
from chatsquash.core.options import Options
from chatsquash.core.text import plain_id
from chatsquash.reading.documents import LogDocument
from chatsquash.trees.paths import (
    LoggedReply,
    Path,
    assign_replies,
    is_selected,
    longest_chain,
    set_kinds,
    sort_members,
)

Key = tuple[object, ...]
"""A key that distinguishes a reply from the others of its file."""


class FileReply(LoggedReply, eq=False, kw_only=True):
    """A reply in the file of an agent or a client."""

    key: Key
    evidence: OriginReply
    """The evidence of the reply in the conversation that it belongs to."""

    @property
    def logged_id(self) -> str:
        """The id of its response, or else of its message in the file."""
        return plain_id(self.evidence.response_id) or plain_id(self.evidence.logged_id)

    @property
    def nth(self) -> int:
        """Its number in the file, from 1."""
        return self.number + 1

    @property
    def logged_at(self) -> tuple[int | None, int | None]:
        """The line and the time in the file."""
        return self.evidence.line, self.evidence.time


class FilePath(Path[FileReply], eq=False, kw_only=True):
    """A conversation in the file of an agent or a client."""

    number: int
    """The index in the file."""
    conversation: Conversation
    origin: Origin
    replies: list[FileReply] = field(default_factory=list)
    """All its replies, including those that it shares with other conversations."""
    owners: dict[int, FilePath] = {}  # noqa: RUF012 - replaced by that of the file
    """The conversation of each reply of the file, by the reply's number."""
    root_origin: Origin = Origin()
    """The origin of the root of its tree."""
    session: FileSession | None = None
    has_steps: bool = False
    """Whether the step facts of the replies in ``own`` are known."""

    @property
    def is_copy(self) -> bool:
        """Whether it only repeats another session: all its replies count there, and no message follows the last one."""
        if self.own or self.kind == "branch":
            return bool(self.own) and all(reply.is_copy for reply in self.own)
        return bool(self.replies) and self.origin.replies[-1].at == len(self.conversation.messages) - 1

    @property
    def ends(self) -> tuple[int, int, int]:
        """A sort key for the end of a conversation; if several end together, the first one ranks highest."""
        last = self.origin.replies[-1] if self.origin.replies else OriginReply(0)
        return last.time or self.origin.ended_at or 0, last.line or 0, -self.number

    def back(self) -> Iterable[FileReply]:
        """Return all its replies, latest first."""
        return reversed(self.replies)

    @property
    def calls(self) -> Iterator[str]:
        """Yield the ids of the calls in the replies that belong to it."""
        for reply in self.own:
            for call in chat.calls(reply.message):
                if isinstance(call_id := call.get("id"), str):
                    yield call_id

    def chain(self) -> list[FilePath]:
        """Return the chain as for any path, or nothing if a sub-agent or the client began the conversation."""
        chain = super().chain()
        root = chain[-1].parent if chain and chain[-1].kind == "compacted" else None
        return [] if root and root.kind in ("subagent", "side") else chain


class FileSession(Struct, frozen=True):
    """The conversations of a session in a file."""

    first: FilePath
    """The conversation that it begins with."""
    chain: list[FilePath]
    """The user's conversations, latest first: the one with the most replies, and those that its summaries replaced."""
    longest: FilePath
    """The conversation with the longest history before its last reply; a side request only if there is nothing else."""


def paths_of(document: LogDocument) -> list[FilePath]:
    """Return the related conversations of a document, computed only once."""
    if document.paths is None:
        document.paths = paths(document.conversations)
    known: list[FilePath] = document.paths
    return known


def is_written(path: FilePath, options: Options) -> bool:
    """Return whether a conversation becomes a record, according to ``--conversations`` and the excluded kinds."""
    if path.is_copy:
        return False
    if path.session is None:
        return False
    is_last = options.conversations == "last"
    return is_selected(path, path.session.longest if is_last else next(iter(path.session.chain), None), options)


def paths(conversations: list[Conversation]) -> list[FilePath]:
    """Return the conversations of a file in file order, related to each other."""
    members = [
        FilePath(number=number, conversation=each, origin=each.origin or Origin())
        for number, each in enumerate(conversations)
    ]
    for path in members:
        path.is_abandoned = path.origin.is_undone
    _add_replies(members)
    names = _NameIndex(members)
    trees = _trees(members, names)
    for root, tree in trees:
        sort_members(tree)
        set_kinds(tree, "main" if root.origin.kind == "branch" else root.origin.kind)
        for path in tree:
            path.root_origin = root.origin
    # Replies copied by a compaction belong to the conversation that had them before it.
    depths: dict[int, int] = {}
    owners = assign_replies(tree for _, tree in sorted(trees, key=lambda each: _compactions(each[0], names, depths)))
    for path in members:
        path.owners = owners
    calls = _CallIndex(members)
    for root, tree in trees:
        _set_parent(root, tree, calls, names)
    _set_sessions(members)
    return members


def _add_replies(members: list[FilePath]) -> None:
    """Assign its replies to each path; a reply in several conversations has the same number in all of them."""
    moments = [[*map(_moment, each.origin.replies)] for each in members]
    times = Counter(chain.from_iterable(moments))
    # Hashing the content of each reply is only necessary if times and ids are not unique.
    is_unique = len(times) == times.total()
    numbers: dict[Key, int] = {}
    for path, own in zip(members, moments, strict=True):
        messages = path.conversation.messages
        keys = own if is_unique else _keys(path, own, times)
        path.replies = [
            FileReply(
                number=numbers.setdefault(key, len(numbers)),
                line=path.number + 1,
                message=messages[reply.at or 0],
                model=reply.model or "",
                completion_tokens=reply.completion_tokens,
                key=key,
                evidence=reply,
                scores=reply.scores,
            )
            for reply, key in zip(path.origin.replies, keys, strict=True)
        ]
        path.length = len(path.replies)


def _moment(reply: OriginReply) -> Key:
    """Return a key that is unique for most replies."""
    return reply.line if reply.time is None else None, reply.time, reply.response_id


def _keys(path: FilePath, moments: list[Key], times: Counter[Key]) -> Iterator[Key]:
    """Yield unique keys from content and time; equal replies without times are distinguished by their order."""
    counts: Counter[Key] = Counter()
    for reply, moment in zip(path.origin.replies, moments, strict=True):
        if times[moment] == 1:
            yield moment
            continue
        message = path.conversation.messages[reply.at] if reply.at is not None else None
        key = *moment, xxh3_128_digest(jsonio.dumps(message))
        counts[key] += 1
        yield *key, counts[key]


class _NameIndex:
    """Looks up conversations by the ids that files use."""

    def __init__(self, members: list[FilePath]) -> None:
        self._ids = {path.origin.id: path for path in reversed(members) if path.origin.id}
        mains = [path for path in reversed(members) if path.origin.kind != "subagent"]
        self._sessions = {path.origin.session_id: path for path in mains if path.origin.session_id}

    def find(self, name: str | None) -> FilePath | None:
        """Return the conversation with this id, or else the first one of the session with this id."""
        return (self._ids.get(name) or self._sessions.get(name)) if name else None


_Tree = tuple[FilePath, list[FilePath]]
"""The root, which is not a branch in the file, and the conversations that begin like it."""


def _trees(members: list[FilePath], names: _NameIndex) -> list[_Tree]:
    trees: dict[int, _Tree] = {}
    roots: dict[int, FilePath] = {}
    for path in members:
        root = _root(path, names, roots)
        trees.setdefault(root.number, (root, []))[1].append(path)
    return list(trees.values())


def _root(path: FilePath, names: _NameIndex, roots: dict[int, FilePath]) -> FilePath:
    """Return the conversation from which a branch comes, directly or indirectly; ``roots`` caches the results."""
    visited: dict[int, FilePath] = {}
    while path.origin.kind == "branch" and path.number not in visited and path.number not in roots:
        visited[path.number] = path
        path = names.find(path.origin.parent) or path
    path = roots.get(path.number, path)
    roots.update(dict.fromkeys(visited, path))
    return path


def _compactions(path: FilePath, names: _NameIndex, known: dict[int, int]) -> int:
    """Return how many compactions precede a conversation; ``known`` caches the results."""
    visited: dict[int, FilePath] = {}
    while path.origin.kind in ("compacted", "branch") and path.number not in visited and path.number not in known:
        visited[path.number] = path
        path = names.find(path.origin.parent) or path
    count = known.setdefault(path.number, 0) if path.number not in visited else 0
    for each in reversed(visited.values()):
        count += each.origin.kind == "compacted"
        known[each.number] = count
    return count


class _CallIndex:
    """Looks up conversations by the ids of calls in their own replies."""

    def __init__(self, members: list[FilePath]) -> None:
        self._members = members

    @cached_property
    def _callers(self) -> dict[str, FilePath]:
        return {call_id: path for path in self._members for call_id in path.calls}

    @cached_property
    def _pairs(self) -> set[tuple[str, int]]:
        return {(call_id, path.number) for path in self._members for call_id in path.calls}

    def find(self, call_id: str | None, by_name: FilePath | None) -> FilePath | None:
        """Return the conversation with a call: the named one if it has the call, because agents may reuse ids."""
        caller = self._callers.get(call_id) if call_id else None
        if call_id and caller and by_name and caller is not by_name and (call_id, by_name.number) in self._pairs:
            return by_name
        return caller


def _set_parent(root: FilePath, tree: list[FilePath], calls: _CallIndex, names: _NameIndex) -> None:
    """Set the parent of a trunk: the conversation with its call, or else the one given in the file."""
    origin = root.origin
    by_name = names.find(origin.parent) if origin.kind != "branch" else None
    parent = calls.find(origin.call, by_name) or by_name
    tree[0].parent = None if any(parent is path for path in tree) else parent


def _set_sessions(paths: list[FilePath]) -> None:
    """Group conversations into sessions: those with a common ancestor or the same session id."""
    parents = list(range(len(paths)))

    def find_root(number: int) -> int:
        while parents[number] != number:
            # Path halving keeps many lookups linear.
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    by_id: dict[str, int] = {}
    for path in paths:
        if path.parent:
            parents[find_root(path.number)] = find_root(path.parent.number)
        if path.origin.session_id:
            parents[find_root(path.number)] = find_root(by_id.setdefault(path.origin.session_id, path.number))
    sessions: dict[int, list[FilePath]] = {}
    for path in paths:
        sessions.setdefault(find_root(path.number), []).append(path)
    for members in sessions.values():
        session = FileSession(_first(members), longest_chain(members), max(members, key=_by_length))
        for path in members:
            path.session = session


def _by_length(path: FilePath) -> tuple[bool, bool, int, tuple[int, int, int]]:
    """Return a sort key by the length of the history before the last reply, like the longest request of a log.

    Side requests, which contain the history of another conversation, come first, followed by abandoned turns.
    """
    last = path.origin.replies[-1].at if path.origin.replies else None
    length = len(path.conversation.messages) if last is None else last
    return path.kind != "side", not path.is_abandoned, length, path.ends


def _first(members: list[FilePath]) -> FilePath:
    candidates = [each for each in members if each.kind == "main"] or members
    return min(candidates, key=lambda each: (each.origin.started_at or 0, each.number))
