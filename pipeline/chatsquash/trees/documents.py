"""What the conversations of a file are to each other: their kinds, where they come from, which replies belong to each.

What branches of one beginning share belongs to the branch with the most replies, the trunk, which has the kind of the
beginning; what others share belongs to the longest of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from msgspec import Struct, field
from xxhash import xxh3_128_digest

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Conversation, ConversationKind, Origin, OriginReply
from chatsquash.reading.documents import LogDocument
from chatsquash.trees.paths import Path, longest_chain

Key = tuple[object, ...]
"""What tells a reply from the others of its file."""


class FilePath(Path, eq=False, kw_only=True):
    """A conversation among those of an agent's or a client's file."""

    number: int
    """0-based, in the file."""
    conversation: Conversation
    origin: Origin
    keys: list[Key]
    """Of its replies, including those that other conversations have before it."""
    begun: Origin = Origin()
    """The origin of the conversation that its branch, if it is one, comes from in the end."""
    own: list[int] = field(default_factory=list)
    """Which of its replies belong to it."""
    session: FileSession | None = None

    @property
    def ends(self) -> tuple[int, int, int]:
        """What is greater the later it ends; of conversations that end at once, for the first of the file."""
        last = self.origin.replies[-1] if self.origin.replies else OriginReply(0)
        return last.time or self.origin.ended or 0, last.line or 0, -self.number

    @property
    def calls(self) -> Iterator[str]:
        """The ids of the calls in the replies that belong to it."""
        for number in self.own:
            at = self.origin.replies[number].at
            for call in chat.calls(self.conversation.messages[at]) if at is not None else ():
                if isinstance(call_id := call.get("id"), str):
                    yield call_id

    def chain(self) -> list[FilePath]:
        """As for any path; empty also if a sub-agent or the client began what its summaries stand for."""
        chain = super().chain()
        root = chain[-1].parent if chain and chain[-1].kind == "compacted" else None
        return [] if root and root.kind in ("subagent", "side") else chain


class FileSession(Struct, frozen=True):
    """What a file holds of a session."""

    first: FilePath
    """The conversation that it begins with."""
    chain: list[FilePath]
    """The person's: the last conversation, and what summaries stand for; of several the one with the most replies."""


def paths_of(document: LogDocument) -> list[FilePath]:
    """The conversations of a document, which are related to each other once."""
    if document.paths is None:
        document.paths = paths(document.conversations)
    known: list[FilePath] = document.paths
    return known


def paths(conversations: list[Conversation]) -> list[FilePath]:
    """The conversations of a file, in its order."""
    times = [list(map(_when, each.origin.replies)) if each.origin else [] for each in conversations]
    met = Counter(chain.from_iterable(times))
    both = zip(conversations, times, strict=True)
    members = [_place(number, each, own, met) for number, (each, own) in enumerate(both)]
    names = _Names(members)
    trees = _trees(members, names)
    for tree in trees:
        tree.tell_kinds()
    owners = _own(trees)
    calls = {call_id: place for place in members for call_id in place.calls}
    for tree in trees:
        tree.tell_parents(owners, calls, names)
    _tell_sessions(members)
    return members


def _place(number: int, conversation: Conversation, times: list[Key], met: Counter[Key]) -> FilePath:
    origin = conversation.origin or Origin()
    keys = times if len(met) == met.total() else list(_keys(conversation, origin, times, met))
    return FilePath(
        number=number, conversation=conversation, origin=origin, keys=keys, kind=origin.kind, length=len(keys)
    )


def _when(reply: OriginReply) -> Key:
    """What tells most replies from all others."""
    return reply.line if reply.time is None else None, reply.time, reply.response_id


def _keys(conversation: Conversation, origin: Origin, whens: list[Key], met: Counter[Key]) -> Iterator[Key]:
    """What is said and when; replies without times that say the same are told apart by their order."""
    times: Counter[Key] = Counter()
    for reply, when in zip(origin.replies, whens, strict=True):
        if met[when] == 1:
            yield when
            continue
        message = conversation.messages[reply.at] if reply.at is not None else None
        key = *when, xxh3_128_digest(jsonio.dumps(message))
        times[key] += 1
        yield *key, times[key]


class _Names:
    """Finds conversations by what files call them."""

    def __init__(self, members: list[FilePath]) -> None:
        self._ids = {place.origin.id: place for place in reversed(members) if place.origin.id}
        mains = [place for place in reversed(members) if place.origin.kind != "subagent"]
        self._sessions = {place.origin.session_id: place for place in mains if place.origin.session_id}

    def find(self, name: str | None) -> FilePath | None:
        """The conversation of this id, else the first one of the session of this id."""
        return (self._ids.get(name) or self._sessions.get(name)) if name else None


class _Tree(Struct):
    """Conversations that begin alike."""

    root: FilePath
    """The one that the file does not call a branch."""
    members: list[FilePath] = field(default_factory=list)

    def tell_kinds(self) -> None:
        """The trunk has the kind of the tree; it stands first then, and longer ones before others."""
        self.members.sort(key=lambda each: (each.length, each.ends), reverse=True)
        kind: ConversationKind = "main" if self.root.origin.kind == "branch" else self.root.origin.kind
        for number, place in enumerate(self.members):
            place.kind = "branch" if number and kind != "side" else kind
            place.begun = self.root.origin

    def tell_parents(self, owners: dict[Key, FilePath], calls: dict[str, FilePath], names: _Names) -> None:
        """A branch comes from what it leaves, a sub-agent from what holds its call, others from what the file names."""
        trunk, *branches = self.members
        own = {place.number for place in self.members}
        origin = self.root.origin
        caller = calls.get(origin.call) if origin.call else None
        parent = caller or (names.find(origin.parent) if origin.kind != "branch" else None)
        trunk.parent = parent if parent and parent.number not in own else None
        for place in branches:
            shared = (owners[key] for key in reversed(place.keys) if owners[key] is not place)
            place.parent = next((each for each in shared if each.number in own), trunk)


def _trees(members: list[FilePath], names: _Names) -> list[_Tree]:
    trees: dict[int, _Tree] = {}
    roots: dict[int, FilePath] = {}
    for place in members:
        root = _root(place, names, roots)
        trees.setdefault(root.number, _Tree(root)).members.append(place)
    return list(trees.values())


def _root(place: FilePath, names: _Names, roots: dict[int, FilePath]) -> FilePath:
    """The conversation whose branch, or branch of a branch, another one is; ``roots`` are those that are known."""
    passed: dict[int, FilePath] = {}
    while place.origin.kind == "branch" and place.number not in passed and place.number not in roots:
        passed[place.number] = place
        place = names.find(place.origin.parent) or place
    place = roots.get(place.number, place)
    roots.update(dict.fromkeys(passed, place))
    return place


def _own(trees: list[_Tree]) -> dict[Key, FilePath]:
    """Give each reply to the trunk, else to the longest path; what a compaction copied belongs to what was there."""
    owners: dict[Key, FilePath] = {}
    for tree in sorted(trees, key=lambda each: each.root.origin.kind == "compacted"):
        for place in tree.members:
            place.own = [number for number, key in enumerate(place.keys) if owners.setdefault(key, place) is place]
    return owners


def _tell_sessions(paths: list[FilePath]) -> None:
    """Conversations are of one session where one comes from the other, or the file has one id for both."""
    homes = list(range(len(paths)))

    def home(number: int) -> int:
        while homes[number] != number:
            homes[number] = homes[homes[number]]
            number = homes[number]
        return number

    by_id: dict[str, int] = {}
    for place in paths:
        if place.parent:
            homes[home(place.number)] = home(place.parent.number)
        if place.origin.session_id:
            homes[home(place.number)] = home(by_id.setdefault(place.origin.session_id, place.number))
    sessions: dict[int, list[FilePath]] = {}
    for place in paths:
        sessions.setdefault(home(place.number), []).append(place)
    for members in sessions.values():
        session = FileSession(_first(members), longest_chain(members))
        for place in members:
            place.session = session


def _first(members: list[FilePath]) -> FilePath:
    begun = [each for each in members if each.kind == "main"] or members
    return min(begun, key=lambda each: (each.origin.started or 0, each.number))
