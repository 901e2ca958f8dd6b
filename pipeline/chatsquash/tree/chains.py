"""Which requests of many files are one session: those that go on from one another, or name one id.

What is known of a request that is long past is numbers in packed arrays.  Only of the last few thousand without an id
there are trees, by which rewritten histories, summaries and calls are told as within a session.
"""

from __future__ import annotations

from array import array

from msgspec import Struct, field

from chatsquash import chat
from chatsquash.model import Added, Edits, Entry, Message
from chatsquash.read import usage
from chatsquash.tree.index import Index, Sets
from chatsquash.tree.links import Link
from chatsquash.tree.replies import Reply
from chatsquash.tree.requests import Requests
from chatsquash.tree.texts import is_long, is_similar_prompt
from chatsquash.tree.trees import Trees

_CANDIDATES = 8
"""Replies behind the same messages that are told apart."""
_DEEP = 4
"""Messages of an assistant, the last ones of a request, that a reply which is logged later may turn out to be."""
_REPLIES = 4096
_CHARACTERS = 64 << 20
"""What trees hold at most before they are given up for new ones."""


class Chains(Struct):
    """The sessions of requests that are added in about the order of their times."""

    sets: Sets = field(default_factory=Sets)
    """The sessions; those that turn out to be one are joined."""
    _ids: Index = field(default_factory=Index)
    _held: Index = field(default_factory=Index)
    """By what a request and its reply are the same by: the number of the reply."""
    _awaited: Index = field(default_factory=Index)
    """By the same: the session of a request that holds a reply which was not logged so far."""
    _sessions: array[int] = field(default_factory=lambda: array("I"))
    """Of each reply its session."""
    _named: Requests = field(default_factory=Requests)
    """The last request that names a session."""
    _unnamed: _Unnamed = field(default_factory=lambda: _Unnamed())
    _before: bool | None = None
    """Whether the last request named a session; ``None`` at the beginning of a file."""

    def file(self) -> None:
        """Begin a file."""
        self._before = None

    def add(self, entry: Entry) -> int:
        """The session of the next request."""
        is_named = entry.session_id is not None
        edits: Edits = entry.edits if self._before is is_named else (Added(tuple(entry.messages)),)
        self._before = is_named
        return self._add_named(entry, edits) if is_named else self._add_unnamed(entry, edits)

    def _add_named(self, entry: Entry, edits: Edits) -> int:
        key = hash(("id", entry.session_id)) or 1
        known = self._ids.get(key)
        session = self.sets.add() if known is None else known
        if known is None:
            self._ids.put(key, session)
        requests = self._named
        requests.follow(entry.messages, edits)
        self._go_on(requests, session, is_new=known is None)
        if (message := entry.reply.message) is not None:
            _, chain, _ = requests.behind(message)
            self._learn(chain, session)
        return session

    def _add_unnamed(self, entry: Entry, edits: Edits) -> int:
        unnamed = self._unnamed
        if unnamed.is_full():
            unnamed = self._unnamed = _Unnamed()
        if not unnamed.trees.requests.messages:
            edits = (Added(tuple(entry.messages)),)
        tree, reply, is_new = unnamed.add(entry, edits, self.sets)
        session = unnamed.sessions[tree]
        if is_new:
            self._go_on(unnamed.trees.requests, session, is_new=True)
        if reply:
            self._learn(reply.chain, session)
        return session

    def _go_on(self, requests: Requests, session: int, *, is_new: bool) -> None:
        """Join a session with that of the last logged reply which a request of it holds."""
        places = requests.assistants
        for place in reversed(places):
            candidates = self._candidates(requests.chains[place])
            if not candidates:
                continue
            root = self.sets.find(session)
            if root not in candidates and (place != places[0] or _tells(requests.messages[place])):
                self.sets.join(candidates[-1], session)
            return
        if is_new:
            for place in places[-_DEEP:]:
                if place != places[0] or _tells(requests.messages[place]):
                    self._awaited.put(requests.chains[place] or 1, session)

    def _candidates(self, chain: int) -> list[int]:
        """The sessions that have a reply behind the same messages, the last one last."""
        found: list[int] = []
        for rank in range(_CANDIDATES):
            number = self._held.get(_ranked(chain, rank))
            if number is None:
                break
            found.append(self.sets.find(self._sessions[number]))
        return found

    def _learn(self, chain: int, session: int) -> None:
        """Take note of a logged reply."""
        if (awaiting := self._awaited.get(chain or 1)) is not None:
            self.sets.join(awaiting, session)
        root = self.sets.find(session)
        known = self._candidates(chain)
        rank = known.index(root) if root in known else min(len(known), _CANDIDATES - 1)
        self._held.put(_ranked(chain, rank), len(self._sessions))
        self._sessions.append(session)


def _ranked(chain: int, rank: int) -> int:
    return (hash((chain, rank)) if rank else chain) or 1


class _Unnamed(Struct):
    """The last requests that name no session."""

    trees: Trees = field(default_factory=lambda: Trees(joins_beginnings=False))
    sessions: list[int] = field(default_factory=list)
    """Of each tree its session, and of requests without a reply."""
    _waiting: dict[int, int] = field(default_factory=dict)
    """By what a request without a reply is the same by: its session, until one like it is answered."""
    _characters: int = 0

    def is_full(self) -> bool:
        """Whether this is more than should be held."""
        return len(self.trees.replies) > _REPLIES or self._characters > _CHARACTERS

    def add(self, entry: Entry, edits: Edits, sets: Sets) -> tuple[int, Reply | None, bool]:
        """The place of a request's session in ``sessions``, its reply, and whether the session is new."""
        trees = self.trees
        count = len(trees.links)
        reply = trees.add(entry, usage.limit(entry.limit), usage.response_id(entry.reply.raw), edits)
        if entry.reply.message is None:
            return self._unanswered(sets)
        if reply is None:
            return self._place(trees.again[-1].by.tree, sets), None, False
        self._characters += _length(reply)
        is_new = len(trees.links) > count
        at = self._place(reply.tree, sets)
        if is_new:
            self._link(reply, trees.links[-1], sets)
            if (waiting := self._waiting.pop(reply.asked, None)) is not None:
                sets.join(waiting, self.sessions[at])
        return at, reply, is_new

    def _place(self, tree: int, sets: Sets) -> int:
        """The place of a tree's session."""
        while len(self._of_tree) <= tree:
            self._of_tree.append(len(self.sessions))
            self.sessions.append(sets.add())
        return self._of_tree[tree]

    _of_tree: list[int] = field(default_factory=list)

    def _unanswered(self, sets: Sets) -> tuple[int, Reply | None, bool]:
        """A request without a reply is of the session of what it goes on from, or of the next one like it."""
        trees = self.trees
        if trees.met:
            return self._place(trees.met[-1].reply.tree, sets), None, False
        asked = trees.requests.chain
        if (answered := trees.answered(asked)) is not None:
            return self._place(answered.tree, sets), None, False
        if asked in self._waiting:
            return self.sessions.index(self._waiting[asked]), None, False
        self._waiting[asked] = sets.add()
        self.sessions.append(self._waiting[asked])
        return len(self.sessions) - 1, None, True

    def _link(self, first: Reply, link: Link, sets: Sets) -> None:
        """Join the session of a tree with that of what it comes from."""
        for other in _sources(first, link, self.trees):
            sets.join(self.sessions[self._place(other.tree, sets)], self.sessions[self._place(first.tree, sets)])


def _sources(first: Reply, link: Link, trees: Trees) -> list[Reply]:
    """The replies of other trees that a beginning tells it comes from, by more words than chance has in common."""
    found = [each for each in link.copied if _tells(each.message)]
    if link.summary:
        found.append(link.summary)
    said = next((text for _, message in first.users() if (text := chat.text(message))), "")
    if link.caller and is_long(said):
        found.append(link.caller.reply)
    if not found and link.quoted and link.quotes and is_long(chat.text(link.quoted.message) or ""):
        found.append(link.quoted)
    if not found and is_long(said) and (like := trees.like(first)):
        found.append(like)
    return [reply for reply in found if reply.tree != first.tree]


def _tells(message: Message) -> bool:
    """Whether a reply is told from others by what it says."""
    return bool(chat.calls(message)) or is_long(chat.text(message) or "")


def _length(reply: Reply) -> int:
    return sum(len(chat.text(message) or "") for message in (*reply.behind, reply.message))
