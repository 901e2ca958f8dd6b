"""Which requests of many files are one session: those that go on from one another, or name one id.

What is known of an old request is numbers in packed arrays.  The last few thousand replies are kept as trees, in which
summaries and calls are found as within a session; without an id also rewritten histories.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from msgspec import Struct, field

from chatsquash.core import chat
from chatsquash.core.edits import Histories, kept_prefix
from chatsquash.core.index import Index, Sets
from chatsquash.core.model import AddedRun, Edits, Entry, KeptRun, Message
from chatsquash.reading import usage
from chatsquash.trees.canonical import is_long, is_similar_prompt, prompt_text, runs
from chatsquash.trees.delegation import Delegations
from chatsquash.trees.links import Link
from chatsquash.trees.replies import Reply, Requests, logged_reply
from chatsquash.trees.rewrites import words
from chatsquash.trees.sides import contains_prompt, has_much_less_room, is_less
from chatsquash.trees.trees import Trees

_CANDIDATES = 8
"""Replies behind the same messages that are told apart."""
_DEEP = 4
"""Messages of an assistant, the last ones of a request, that a reply which is logged later may turn out to be."""
_SEVERAL = (1 << 32) - 1
"""The number of replies of several sessions that say the same."""
_HEADS = 60, 400
"""Characters with which a prompt begins, of each of which a run of words finds a request that contains it."""
_NEAR = 16
"""Replies before and after a request that may be to the prompt which it quotes."""
_REPLIES = 4096
_CHARACTERS = 64 << 20
"""What trees hold at most before they are given up for new ones."""


class _Recent(Struct):
    """The last requests, as trees, and the sessions of these."""

    trees: Trees = field(default_factory=lambda: Trees(joins_beginnings=False))
    """Trees of requests without a session id, and replies with one, which only links connect to them."""
    sessions: list[int] = field(default_factory=list)
    """The session of each tree."""
    _named: dict[int, Reply] = field(default_factory=dict)
    """For each tree of a session with an id: the first reply of that session."""
    _by_chain: dict[int, Reply] = field(default_factory=dict)
    """Replies of sessions with an id, by the hash of the session and of their chain."""
    _last: dict[int, Reply] = field(default_factory=dict)
    """The last reply of each session with an id."""
    _unanswered: dict[int, int] = field(default_factory=dict)
    """The sessions of requests without a reply, until one like them is answered, by what they are the same by."""
    _asked: dict[int, list[Reply]] = field(default_factory=dict)
    """By what a user says: the last replies to it."""
    _by_run: dict[int, list[tuple[str, Reply]]] = field(default_factory=dict)
    """By runs of words with which a prompt begins: the last such prompts, and a reply to each."""
    _alike: list[tuple[Reply, Reply]] = field(default_factory=list)
    """The first reply of a tree, and one of another tree to the same prompt under another system prompt."""
    _structured: list[Reply] = field(default_factory=list)
    """The first replies of sessions with an id to requests that ask for a schema and have no tools."""
    _linked: set[int] = field(default_factory=set)
    """The trees that calls, summaries or copies connect to others, to which equal prompts add nothing."""
    _delegations: Delegations = field(default_factory=Delegations)
    _characters: int = 0

    def is_full(self) -> bool:
        """Whether this is more than should be held."""
        return len(self.trees.replies) > _REPLIES or self._characters > _CHARACTERS

    def add(self, entry: Entry, edits: Edits, sets: Sets) -> tuple[int, Reply | None, bool]:
        """The session of a request without an id, its reply, and whether the session is new."""
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
        self._compare(reply)
        self._count(reply)
        return self.sessions[reply.tree], reply, is_new

    def add_named(self, entry: Entry, requests: Requests, session: int, sets: Sets, *, goes_on: bool) -> None:
        """Add the reply to a request of a session with an id, and join a new session with what it comes from.

        ``goes_on``: whether the request contains a logged reply of any session.
        """
        trees, last = self.trees, self._last.get(session)
        parent, behind = self._parent(requests, session)
        reply = logged_reply(entry, requests, parent, behind)
        reply.number = len(trees.replies)
        if parent:
            parent.children += 1
            reply.before, parent.last_child = parent.last_child, reply
        else:
            reply.tree = len(trees.links)
            trees.links.append(Link() if goes_on or last else trees.find_origin(reply, []))
            self.sessions.append(session)
            self._named[reply.tree] = self._named[last.tree] if last else reply
            if not (last or entry.tools) and usage.has_schema(entry.output_format):
                self._structured.append(reply)
            self._link(reply, trees.links[-1], sets)
        trees.replies.append(reply)
        self._by_chain[hash((session, reply.chain))] = self._last[session] = reply
        self._count(reply)

    def _parent(self, requests: Requests, session: int) -> tuple[Reply | None, int]:
        """The last reply of a session with an id that a request contains, and the place after it."""
        for place in reversed(requests.assistants):
            if reply := self._by_chain.get(hash((session, requests.chains[place]))):
                return reply, place + 1
        last = self._last.get(session) if requests.assistants else None
        return last, requests.assistants[-1] + 1 if last else 0

    def close(self, sets: Sets) -> None:
        """Join sub-agents with their callers, and requests of clients that repeat a prompt with its conversation.

        Of several conversations with this prompt it is the one logged nearest.
        """

        def session(reply: Reply) -> int:
            return sets.find(self.sessions[reply.tree])

        for caller, first in self._delegations.callers(self.trees.calls(), self.trees.replies, session):
            self._linked.add(first.tree)
            sets.join(self.sessions[caller.tree], self.sessions[first.tree])
        others: dict[int, list[Reply]] = {}
        for first, other in self._alike:
            if first.children or first.tree in self._linked:
                continue
            is_continued = bool(other.parent or other.children)
            if is_less(first, other) and (is_continued or has_much_less_room(first, other)):
                others.setdefault(first.number, []).append(other)
        for first in self.trees.replies:
            is_alone = not (first.parent or first.children or first.tree in self._linked or first.number in others)
            if is_alone and (prompted := [*self._contained(first)]):
                others[first.number] = prompted
        others |= {first.number: prompted for first in self._structured if (prompted := [*self._quoted(first)])}
        for number, replies in others.items():
            nearest = min(replies, key=lambda other: (abs(other.number - number), other.number))
            sets.join(self.sessions[nearest.tree], self.sessions[self.trees.replies[number].tree])

    def _contained(self, first: Reply) -> Iterator[Reply]:
        """The replies to prompts that a first request with much less room, and no session id, contains.

        It may contain only the beginning, and clients may add a note to the prompt in the conversation.
        """
        if first.tree in self._named or not self._by_run:
            return
        text = "\n".join(chat.text(message) or "" for _, message in first.users())
        words = runs(text)
        prompted = {other: prompt for run in words for prompt, other in self._by_run.get(run, ())}
        for other, prompt in prompted.items():
            if not (is_less(first, other) and has_much_less_room(first, other)):
                continue
            if prompt.startswith(text.strip()) or contains_prompt(text, words, prompt, runs(prompt)):
                yield other

    def _quoted(self, first: Reply) -> Iterator[Reply]:
        """The replies with tools, logged near a request, to prompts of other sessions that its text contains.

        None for a request with which another one of its session goes on, or that a link explains.
        """
        if self._last[self.sessions[first.tree]] is not first or first.tree in self._linked:
            return
        text = first.last_prompt()
        for other in self.trees.replies[max(first.number - _NEAR, 0) : first.number + _NEAR + 1]:
            if other.tree != first.tree and other.tools:
                prompt = other.last_prompt()
                if is_long(prompt) and prompt != text and prompt in text:
                    yield other

    def _compare(self, reply: Reply) -> None:
        """Note the first replies of other trees to the same prompts, or other replies if this is a first one."""
        for at, (number, message) in enumerate(reply.users()):
            text = prompt_text(message)
            if not is_long(text):
                continue
            for run in {min(words) for length in _HEADS if (words := runs(text[:length]))}:
                prompts = self._by_run.setdefault(run, [])
                prompts.append((text, reply))
                del prompts[:-_CANDIDATES]
            others = self._asked.setdefault(number, [])
            for other in others:
                if other.tree == reply.tree:
                    continue
                if not reply.parent and at == 0:
                    self._alike.append((reply, other))
                if not other.parent:
                    self._alike.append((other, reply))
            others.append(reply)
            del others[:-_CANDIDATES]

    def _count(self, reply: Reply) -> None:
        """Count the characters of a reply and of what its request adds."""
        messages = [reply.message, *reply.behind, *reply.notes]
        self._characters += sum(len(chat.text(message) or "") for message in messages)

    def _without_reply(self, sets: Sets) -> int:
        """A request without a reply is of the session of what it goes on from, or of the next one like it."""
        trees = self.trees
        before = trees.met[-1].reply if trees.met else trees.index.answering(trees.requests.chain)
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
        if link.summary and (not self._are_apart(first, link.summary) or self._sums_up(link, sets)):
            origins.append(link.summary)
        if link.caller and is_long(said) and not self._are_apart(first, link.caller.reply):
            if link.is_short and not is_similar_prompt(link.caller.reply.system, first.system):
                self._alike.append((first, link.caller.reply))
            elif not link.is_exact and not link.is_short:
                origins.append(link.caller.reply)
        self._delegations.add(first, link, self.trees.calls())
        if not origins and link.quoted and not self._are_apart(first, link.quoted):
            origins += [link.quoted] if is_long(chat.text(link.quoted.message) or "") else []
        for other in origins:
            self._linked.add(first.tree)
            sets.join(self.sessions[other.tree], self.sessions[first.tree])

    def _are_apart(self, first: Reply, other: Reply) -> bool:
        """Whether one of two trees has a session id, so that what both say may have been pasted."""
        return first.tree in self._named or other.tree in self._named

    def _sums_up(self, link: Link, sets: Sets) -> bool:
        """Whether a summary is one session's only, and answers a request with a history, as messages or as a text."""
        summary = link.summary
        assert summary is not None
        if len({sets.find(self.sessions[each.tree]) for each in (summary, *link.rivals)}) > 1:
            return False
        first = self._named.get(summary.tree)
        has_history = any(message["role"] == "assistant" for message in summary.behind)
        return has_history or summary.parent is not None or (first is not None and first is not summary)


class Chains(Struct):
    """The sessions of requests that are added in about the order of their times."""

    sets: Sets = field(default_factory=Sets)
    """The sessions; those that turn out to be one are joined."""
    _ids: Index = field(default_factory=Index)
    _by_chain: Index = field(default_factory=Index)
    """By what a request and its reply are the same by: the number of the reply."""
    _said: Index = field(default_factory=Index)
    """By what a reply that says or calls enough is the same by itself: its number, or ``_SEVERAL``."""
    _awaited: Index = field(default_factory=Index)
    """By the same: the session of a request that holds a reply which was not logged so far."""
    _sessions: array[int] = field(default_factory=lambda: array("I"))
    """Of each reply its session."""
    _named: Requests = field(default_factory=Requests)
    """The last request that names a session."""
    _others: Histories[tuple[list[int], ...]] = field(default_factory=Histories)
    """Earlier ones that name a session, which the next one may continue."""
    _recent: _Recent = field(default_factory=_Recent)
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
        self._recent.close(self.sets)
        self._recent, self._named, self._others = _Recent(), Requests(), Histories()

    def _add_named(self, entry: Entry, edits: Edits) -> int:
        key = hash(("id", entry.session_id)) or 1
        known = self._ids.get(key)
        session = self.sets.add() if known is None else known
        if known is None:
            self._ids.put(key, session)
        requests = self._follow_named(entry, edits)
        goes_on = self._go_on(requests, session, is_new=known is None)
        if (message := entry.reply.message) is not None:
            said, chain, _ = requests.behind(message)
            self._make_room()
            self._recent.add_named(entry, requests, session, self.sets, goes_on=goes_on)
            self._learn(chain, said, message, session)
        return session

    def _follow_named(self, entry: Entry, edits: Edits) -> Requests:
        """Read a request that names a session, from the end of the earlier one that it continues, if that is known."""
        requests = self._named
        if entry.known > kept_prefix(edits):
            now = requests.histories()
            self._others.put(requests.messages, now)
            count, histories = self._others.take(entry) or (0, now)
            requests.go_back(count, histories)
            edits = (AddedRun(tuple(entry.messages[count:])),)
            edits = (KeptRun(0, count), *edits) if count else edits
        requests.follow(entry.messages, edits)
        return requests

    def _add_unnamed(self, entry: Entry, edits: Edits) -> int:
        recent = self._make_room()
        if not recent.trees.requests.messages:
            edits = (AddedRun(tuple(entry.messages)),)
        session, reply, is_new = recent.add(entry, edits, self.sets)
        if is_new:
            self._go_on(recent.trees.requests, session, is_new=True)
        if reply:
            self._learn(reply.chain, reply.said, reply.message, session)
        return session

    def _make_room(self) -> _Recent:
        """The last requests; new ones where there are too many."""
        if self._recent.is_full():
            self._recent.close(self.sets)
            self._recent = _Recent()
        return self._recent

    def _go_on(self, requests: Requests, session: int, *, is_new: bool) -> bool:
        """Join a session with that of the last logged reply that a request contains; return whether there is one."""
        places = requests.assistants
        for place in reversed(places):
            candidates = self._candidates(requests.chains[place])
            if not candidates:
                continue
            root = self.sets.find(session)
            if root not in candidates and (place != places[0] or _tells(requests.messages[place])):
                self.sets.join(candidates[-1], session)
            return True
        if is_new:
            self._join_copies(requests, session)
            for place in places[-_DEEP:]:
                if place != places[0] or _tells(requests.messages[place]):
                    self._awaited.put(requests.chains[place] or 1, session)
        return False

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
            other = root if number in (None, _SEVERAL) else self.sets.find(self._sessions[number])
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
            before = self._said.get(said or 1)
            is_other = before is not None and (before == _SEVERAL or self.sets.find(self._sessions[before]) != root)
            self._said.put(said or 1, _SEVERAL if is_other else len(self._sessions))
        self._sessions.append(session)


def _rank_key(chain: int, rank: int) -> int:
    return (hash((chain, rank)) if rank else chain) or 1


def _tells(message: Message) -> bool:
    """Whether a reply is told from others by what it says."""
    return bool(chat.calls(message)) or is_long(chat.text(message) or "")
