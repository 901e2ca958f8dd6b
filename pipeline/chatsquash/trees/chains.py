"""Which requests of many files are one session: those that go on from one another, or name one id.

What is known of a request that is long past is numbers in packed arrays.  Only of the last few thousand without an id
there are trees, by which rewritten histories, summaries and calls are told as within a session.
"""

from __future__ import annotations

from array import array

from msgspec import Struct, field

from chatsquash.core import chat
from chatsquash.core.index import Index, Sets
from chatsquash.core.model import AddedRun, Edits, Entry, Message
from chatsquash.reading import usage
from chatsquash.trees.canonical import is_long, is_similar_prompt
from chatsquash.trees.links import Link
from chatsquash.trees.replies import Reply, Requests
from chatsquash.trees.rewrites import words
from chatsquash.trees.trees import Trees

_CANDIDATES = 8
"""Replies behind the same messages that are told apart."""
_DEEP = 4
"""Messages of an assistant, the last ones of a request, that a reply which is logged later may turn out to be."""
_REPLIES = 4096
_CHARACTERS = 64 << 20
"""What trees hold at most before they are given up for new ones."""


class _Unnamed(Struct):
    """The last requests that name no session."""

    trees: Trees = field(default_factory=lambda: Trees(joins_beginnings=False))
    sessions: list[int] = field(default_factory=list)
    """Of each tree its session."""
    _unanswered: dict[int, int] = field(default_factory=dict)
    """The sessions of requests without a reply, until one like them is answered, by what they are the same by."""
    _asked: dict[int, Reply] = field(default_factory=dict)
    """By what a user says: the last reply behind it."""
    _alike: list[tuple[Reply, Reply]] = field(default_factory=list)
    """First replies to what a user says in another tree, too, under another system prompt; and a reply of that."""
    _characters: int = 0

    def is_full(self) -> bool:
        """Whether this is more than should be held."""
        return len(self.trees.replies) > _REPLIES or self._characters > _CHARACTERS

    def add(self, entry: Entry, edits: Edits, sets: Sets) -> tuple[int, Reply | None, bool]:
        """The session of a request, its reply, and whether the session is new."""
        trees, count = self.trees, len(self.trees.links)
        reply = trees.add(entry, usage.limit(entry.limit), usage.response_id(entry.reply), edits)
        if entry.reply.message is None:
            return self._without_reply(sets), None, False
        if reply is None:
            return self.sessions[trees.again[-1].by.tree], None, False
        is_new = len(trees.links) > count
        if is_new:
            session = self._unanswered.pop(reply.asked, None)  # of a request like it without a reply
            self.sessions.append(sets.add() if session is None else session)
            self._link(reply, trees.links[-1], sets)
        for number, message in reply.users():
            self._asked[number] = reply
            self._characters += len(chat.text(message) or "")
        self._characters += len(chat.text(reply.message) or "")
        return self.sessions[reply.tree], reply, is_new

    def close(self, sets: Sets) -> None:
        """Join requests of clients that repeat what a user said with what goes on from that."""
        for first, other in self._alike:
            if not first.children and (other.parent or other.children):
                sets.join(self.sessions[other.tree], self.sessions[first.tree])

    def _without_reply(self, sets: Sets) -> int:
        """A request without a reply is of the session of what it goes on from, or of the next one like it."""
        trees = self.trees
        before = trees.met[-1].reply if trees.met else trees.reply_to(trees.requests.chain)
        if before:
            return self.sessions[before.tree]
        asked = trees.requests.chain
        if asked not in self._unanswered:
            self._unanswered[asked] = sets.add()
        return self._unanswered[asked]

    def _link(self, first: Reply, link: Link, sets: Sets) -> None:
        """Join the session of a tree that begins with those of what it comes from."""
        user = next(first.users(), None)
        said = (chat.text(user[1]) or "") if user else ""
        origins = [each for each in link.copied if _tells(each.message)]
        origins += [link.summary] if link.summary else []
        origins += [link.caller.reply] if link.caller and is_long(said) else []
        if not origins and link.quoted and is_long(chat.text(link.quoted.message) or ""):
            origins.append(link.quoted)
        for other in origins:
            sets.join(self.sessions[other.tree], self.sessions[first.tree])
        like = self._asked.get(user[0]) if user and not origins and is_long(said) else None
        if like and not is_similar_prompt(like.system, first.system) and len(first.tools) <= len(like.tools):
            self._alike.append((first, like))


class Chains(Struct):
    """The sessions of requests that are added in about the order of their times."""

    sets: Sets = field(default_factory=Sets)
    """The sessions; those that turn out to be one are joined."""
    _ids: Index = field(default_factory=Index)
    _by_chain: Index = field(default_factory=Index)
    """By what a request and its reply are the same by: the number of the reply."""
    _said: Index = field(default_factory=Index)
    """By what a reply that says or calls enough is the same by itself: its number."""
    _awaited: Index = field(default_factory=Index)
    """By the same: the session of a request that holds a reply which was not logged so far."""
    _sessions: array[int] = field(default_factory=lambda: array("I"))
    """Of each reply its session."""
    _named: Requests = field(default_factory=Requests)
    """The last request that names a session."""
    _unnamed: _Unnamed = field(default_factory=_Unnamed)
    _before: bool | None = None
    """Whether the last request named a session; ``None`` at the beginning of a file."""

    def file(self) -> None:
        """Begin a file."""
        self._before = None

    def add(self, entry: Entry) -> int:
        """The session of the next request."""
        is_named = entry.session_id is not None
        edits: Edits = entry.edits if self._before is is_named else (AddedRun(tuple(entry.messages)),)
        self._before = is_named
        return self._add_named(entry, edits) if is_named else self._add_unnamed(entry, edits)

    def close(self) -> None:
        """Join what the end of all requests tells."""
        self._unnamed.close(self.sets)
        self._unnamed, self._named = _Unnamed(), Requests()

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
            said, chain, _ = requests.behind(message)
            self._learn(chain, said, message, session)
        return session

    def _add_unnamed(self, entry: Entry, edits: Edits) -> int:
        unnamed = self._unnamed
        if unnamed.is_full():
            unnamed.close(self.sets)
            unnamed = self._unnamed = _Unnamed()
        if not unnamed.trees.requests.messages:
            edits = (AddedRun(tuple(entry.messages)),)
        session, reply, is_new = unnamed.add(entry, edits, self.sets)
        if is_new:
            self._go_on(unnamed.trees.requests, session, is_new=True)
        if reply:
            self._learn(reply.chain, reply.said, reply.message, session)
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
            self._join_copies(requests, session)
            for place in places[-_DEEP:]:
                if place != places[0] or _tells(requests.messages[place]):
                    self._awaited.put(requests.chains[place] or 1, session)

    def _candidates(self, chain: int) -> list[int]:
        """The sessions that have a reply behind the same messages, the last one last."""
        sessions: list[int] = []
        for rank in range(_CANDIDATES):
            number = self._by_chain.get(_rank_key(chain, rank))
            if number is None:
                break
            sessions.append(self.sets.find(self._sessions[number]))
        return sessions

    def _join_copies(self, requests: Requests, session: int) -> None:
        """Join a session with one of which a request holds replies, though not all that came before them."""
        root = self.sets.find(session)
        met: set[int] = set()
        for place in reversed(requests.assistants):
            number = self._said.get(requests.numbers[place] or 1)
            other = root if number is None else self.sets.find(self._sessions[number])
            if other != root and (other in met or is_long(chat.text(requests.messages[place]) or "")):
                self.sets.join(other, session)
                return
            met.add(other)

    def _learn(self, chain: int, said: int, message: Message, session: int) -> None:
        """Take note of a logged reply."""
        if (awaiting := self._awaited.get(chain or 1)) is not None:
            self.sets.join(awaiting, session)
        root = self.sets.find(session)
        known = self._candidates(chain)
        rank = known.index(root) if root in known else min(len(known), _CANDIDATES - 1)
        self._by_chain.put(_rank_key(chain, rank), len(self._sessions))
        if is_long(words(message)):
            self._said.put(said or 1, len(self._sessions))
        self._sessions.append(session)


def _rank_key(chain: int, rank: int) -> int:
    return (hash((chain, rank)) if rank else chain) or 1


def _tells(message: Message) -> bool:
    """Whether a reply is told from others by what it says."""
    return bool(chat.calls(message)) or is_long(chat.text(message) or "")
