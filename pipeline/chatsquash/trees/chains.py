"""Group the requests of many files into sessions: requests that build on each other or have the same id.

Old requests are remembered only as numbers in packed arrays. The last few thousand replies are kept as trees, in which
summaries and calls are found as within a session and, for requests without an id, rewritten histories as well.
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
from chatsquash.trees.rewrites import is_long_reply
from chatsquash.trees.sides import contains_prompt, has_much_less_room, is_less
from chatsquash.trees.trees import Trees

_CANDIDATES = 8
"""The maximum number of replies to the same messages to distinguish."""
_DEEP = 4
"""The number of assistant messages at the end of a request that replies logged later may match."""
_SEVERAL = (1 << 32) - 1
"""The number that represents equal replies of several sessions."""
_HEADS = 60, 400
"""Lengths of prompt beginnings in characters; a word run of each finds requests that contain the prompt."""
_NEAR = 16
"""The number of replies before and after a request to search for the prompt that it quotes."""
_REPLIES = 4096
_CHARACTERS = 64 << 20
"""The number of replies, and of characters, at which trees are closed and replaced by new ones."""


class _RecentRequests(Struct):
    """The last requests as trees, with their sessions."""

    # Equal first requests do not connect sessions: eight answers to one prompt are eight sessions.
    trees: Trees = field(default_factory=lambda: Trees(joins_beginnings=False))
    """Trees of requests without a session id. Replies with an id are included, but only connected by links."""
    sessions: list[int] = field(default_factory=list)
    """The session of each tree."""
    _first_with_id: dict[int, Reply] = field(default_factory=dict)
    """For each tree of a session with an id, the first reply of that session."""
    _by_chain: dict[int, Reply] = field(default_factory=dict)
    """Replies of sessions with an id, by the hash of the session and their chain."""
    _last: dict[int, Reply] = field(default_factory=dict)
    """The last reply of each session with an id."""
    _unanswered: dict[int, int] = field(default_factory=dict)
    """The sessions of requests without a reply, by chain, until an equal request is answered."""
    _by_prompt: dict[int, list[Reply]] = field(default_factory=dict)
    """The last replies to each user message, by message number."""
    _by_run: dict[int, list[tuple[str, Reply]]] = field(default_factory=dict)
    """The last prompts by runs of words at their beginning, each with a reply."""
    _alike: list[tuple[Reply, Reply]] = field(default_factory=list)
    """Pairs of a tree's first reply and a reply in another tree to the same prompt."""
    _structured: list[Reply] = field(default_factory=list)
    """The first replies of sessions with an id whose requests require a schema and have no tools."""
    _linked_trees: set[int] = field(default_factory=set)
    """Trees connected to others by calls, summaries or copies; their equal prompts are ignored."""
    _delegations: Delegations = field(default_factory=Delegations)
    _characters: int = 0

    def is_full(self) -> bool:
        """Return whether a limit is reached."""
        return len(self.trees.replies) > _REPLIES or self._characters > _CHARACTERS

    def add(self, entry: Entry, edits: Edits, sets: Sets) -> tuple[int, Reply | None, bool]:
        """Add a request without an id; return its session, its reply, and whether the session is new."""
        trees, count = self.trees, len(self.trees.links)
        reply = trees.add(entry, usage.limit(entry.limit), usage.response_id(entry.reply), edits)
        if entry.reply.message is None:
            return self._session_without_reply(sets), None, False
        if reply is None:
            return self.sessions[trees.repeats[-1].by.tree], None, False
        is_new = len(trees.links) > count
        if is_new:
            session = self._unanswered.pop(reply.request_chain, None)  # of an equal request without a reply
            self.sessions.append(sets.add() if session is None else session)
            self._link(reply, trees.links[-1], sets)
        self._compare(reply)
        self._count(reply)
        return self.sessions[reply.tree], reply, is_new

    def add_with_id(self, entry: Entry, requests: Requests, session: int, sets: Sets, *, continues: bool) -> Reply:
        """Add and return the reply to a request with a session id; join the session with its origin if it is new.

        ``continues``: whether the request contains a logged reply of any session.
        """
        trees, last = self.trees, self._last.get(session)
        parent, start = self._parent(requests, session)
        reply = logged_reply(entry, requests, parent, start)
        reply.number = len(trees.replies)
        if parent:
            parent.children += 1
            reply.before, parent.last_child = parent.last_child, reply
        else:
            reply.tree = len(trees.links)
            # The user may have pasted the texts that a session with an id quotes.
            link = Link() if continues or last else trees.find_origin(reply, [], quotations=False)
            trees.links.append(link)
            self.sessions.append(session)
            self._first_with_id[reply.tree] = self._first_with_id[last.tree] if last else reply
            if not (last or entry.tools) and usage.has_schema(entry.output_format):
                self._structured.append(reply)
            self._link(reply, link, sets)
        trees.replies.append(reply)
        self._by_chain[hash((session, reply.chain))] = self._last[session] = reply
        self._count(reply)
        return reply

    def _parent(self, requests: Requests, session: int) -> tuple[Reply | None, int]:
        """Return the last reply of a session that a request contains, and the index of the message after it."""
        for place in reversed(requests.assistants):
            if reply := self._by_chain.get(hash((session, requests.chains[place]))):
                return reply, place + 1
        last = self._last.get(session) if requests.assistants else None
        return last, requests.assistants[-1] + 1 if last else 0

    def close(self, sets: Sets) -> None:
        """Join sub-agents with their callers, and client requests that repeat a prompt with its conversation."""

        def session(reply: Reply) -> int:
            return sets.find(self.sessions[reply.tree])

        for caller, first in self._delegations.callers(self.trees.calls(), self.trees.replies, session):
            self._linked_trees.add(first.tree)
            sets.join(self.sessions[caller.tree], self.sessions[first.tree])
        candidates: dict[int, list[Reply]] = {}
        for first, other in self._alike:
            if first.children or first.tree in self._linked_trees:
                continue
            is_continued = bool(other.parent or other.children)
            if is_less(first, other) and (is_continued or has_much_less_room(first, other)):
                candidates.setdefault(first.number, []).append(other)
        for first in self.trees.replies:
            is_alone = not (
                first.parent or first.children or first.tree in self._linked_trees or first.number in candidates
            )
            if is_alone and (matching_replies := [*self._contained(first)]):
                candidates[first.number] = matching_replies
        candidates |= {
            first.number: matching_replies for first in self._structured if (matching_replies := [*self._quoted(first)])
        }
        # Of several conversations with the prompt, the one logged nearest is the most plausible.
        for number, replies in candidates.items():
            nearest = min(replies, key=lambda other: (abs(other.number - number), other.number))
            sets.join(self.sessions[nearest.tree], self.sessions[self.trees.replies[number].tree])

    def _contained(self, first: Reply) -> Iterator[Reply]:
        """Yield the replies to prompts that a smaller first request without a session id contains."""
        if first.tree in self._first_with_id or not self._by_run:
            return
        text = "\n".join(chat.text(message) or "" for _, message in first.users())
        words = runs(text)
        matches = {other: prompt for run in words for prompt, other in self._by_run.get(run, ())}
        for other, prompt in matches.items():
            if not (is_less(first, other) and has_much_less_room(first, other)):
                continue
            # The request may contain only the beginning, and clients may add a note to the prompt in the conversation.
            if prompt.startswith(text.strip()) or contains_prompt(text, words, prompt, runs(prompt)):
                yield other

    def _quoted(self, first: Reply) -> Iterator[Reply]:
        """Yield nearby replies with tools in other trees whose prompt a request quotes.

        Empty if the session of the request continues, or if a link explains the request.
        """
        if self._last[self.sessions[first.tree]] is not first or first.tree in self._linked_trees:
            return
        text = first.last_prompt()
        for other in self.trees.replies[max(first.number - _NEAR, 0) : first.number + _NEAR + 1]:
            if other.tree != first.tree and other.tools:
                prompt = other.last_prompt()
                if is_long(prompt) and prompt != text and prompt in text:
                    yield other

    def _compare(self, reply: Reply) -> None:
        """Pair a reply with replies in other trees to the same prompts; one reply of each pair is a first reply."""
        for index, (number, message) in enumerate(reply.users()):
            text = prompt_text(message)
            if not is_long(text):
                continue
            for run in {min(words) for length in _HEADS if (words := runs(text[:length]))}:
                prompts = self._by_run.setdefault(run, [])
                prompts.append((text, reply))
                del prompts[:-_CANDIDATES]
            others = self._by_prompt.setdefault(number, [])
            for other in others:
                if other.tree == reply.tree:
                    continue
                if not reply.parent and index == 0:
                    self._alike.append((reply, other))
                if not other.parent:
                    self._alike.append((other, reply))
            others.append(reply)
            del others[:-_CANDIDATES]

    def _count(self, reply: Reply) -> None:
        """Count the characters of a reply and of the new messages in its request."""
        messages = [reply.message, *reply.new_messages, *reply.notes]
        self._characters += sum(len(chat.text(message) or "") for message in messages)

    def _session_without_reply(self, sets: Sets) -> int:
        """Return the session of a request without a reply: its parent's, or that of the next identical request."""
        trees = self.trees
        before = trees.recognised[-1].reply if trees.recognised else trees.index.reply_to(trees.requests.chain)
        if before:
            return self.sessions[before.tree]
        chain = trees.requests.chain
        if chain not in self._unanswered:
            self._unanswered[chain] = sets.add()
        return self._unanswered[chain]

    def _link(self, first: Reply, link: Link, sets: Sets) -> None:
        """Join the session of a new tree with those of its origins."""
        user = next(first.users(), None)
        prompt = (chat.text(user[1]) or "") if user else ""
        origins = [each for each in link.copies if _is_distinctive(each.message)]
        if link.summary and (not self._has_session_id(first, link.summary) or self._is_unique_summary(link, sets)):
            origins.append(link.summary)
        if link.caller and is_long(prompt) and not self._has_session_id(first, link.caller.reply):
            # A short argument may occur in any text, so the request is compared with the caller only after all requests
            # are known.
            if link.is_short and not is_similar_prompt(link.caller.reply.system, first.system):
                self._alike.append((first, link.caller.reply))
            elif not link.is_exact and not link.is_short:
                origins.append(link.caller.reply)
        self._delegations.add(first, link, self.trees.calls())
        if not origins and link.quoted and not self._has_session_id(first, link.quoted):
            origins += [link.quoted] if is_long(chat.text(link.quoted.message) or "") else []
        for other in origins:
            self._linked_trees.add(first.tree)
            sets.join(self.sessions[other.tree], self.sessions[first.tree])

    def _has_session_id(self, first: Reply, other: Reply) -> bool:
        """Return whether one of two trees has a session id."""
        # With a session id, text that occurs in both trees may have been pasted by the user.
        return first.tree in self._first_with_id or other.tree in self._first_with_id

    def _is_unique_summary(self, link: Link, sets: Sets) -> bool:
        """Return whether a summary belongs to one session and its request has a history, as messages or as text."""
        summary = link.summary
        assert summary is not None
        if len({sets.find(self.sessions[each.tree]) for each in (summary, *link.rivals)}) > 1:
            return False
        first = self._first_with_id.get(summary.tree)
        has_history = any(message["role"] == "assistant" for message in summary.new_messages)
        return has_history or summary.parent is not None or (first is not None and first is not summary)


class Chains(Struct):
    """Groups requests into sessions; requests are added approximately in order of time."""

    sets: Sets = field(default_factory=Sets)
    """The sessions; those that turn out to be the same are joined."""
    _ids: Index = field(default_factory=Index)
    _by_chain: Index = field(default_factory=Index)
    """The number of each reply, by the chain of its request and itself."""
    _by_content: Index = field(default_factory=Index)
    """The number of each distinctive reply by its content, or ``_SEVERAL``."""
    _awaited: Index = field(default_factory=Index)
    """The session of each request that contains a reply not logged yet, by the chain of the reply."""
    _sessions: array[int] = field(default_factory=lambda: array("I"))
    """The session of each reply."""
    _requests_with_id: Requests = field(default_factory=Requests)
    """The last request with a session id."""
    _histories: Histories[tuple[list[int], ...]] = field(default_factory=Histories)
    """Earlier requests with a session id that the next one may continue."""
    _recent: _RecentRequests = field(default_factory=_RecentRequests)
    _last_had_id: bool | None = None
    """Whether the last request had a session id; ``None`` at the beginning of a file."""

    def begin_file(self) -> None:
        """Prepare for the requests of the next file."""
        self._last_had_id = None

    def add(self, entry: Entry) -> int:
        """Add the next request and return its session."""
        has_id = entry.session_id is not None
        # Edits refer to the previous request, which the other reader processed if only one of them has an id.
        edits: Edits = entry.edits if self._last_had_id is has_id else (AddedRun(tuple(entry.messages)),)
        self._last_had_id = has_id
        return self._add_with_id(entry, edits) if has_id else self._add_without_id(entry, edits)

    def close(self) -> None:
        """Join the sessions that turn out to be the same after all requests."""
        self._recent.close(self.sets)
        self._recent, self._requests_with_id, self._histories = _RecentRequests(), Requests(), Histories()

    def _add_with_id(self, entry: Entry, edits: Edits) -> int:
        # An index cannot store the key 0.
        key = hash(("id", entry.session_id)) or 1
        known = self._ids.get(key)
        session = self.sets.add() if known is None else known
        if known is None:
            self._ids.put(key, session)
        requests = self._follow_with_id(entry, edits)
        continues = self._join_continued(requests, session, is_new=known is None)
        if (message := entry.reply.message) is not None:
            recent = self._recent_with_room()
            reply = recent.add_with_id(entry, requests, session, self.sets, continues=continues)
            self._learn(reply.chain, reply.content_number, message, session)
        return session

    def _follow_with_id(self, entry: Entry, edits: Edits) -> Requests:
        """Read a request with a session id, starting from the earlier request that it continues if that is known."""
        requests = self._requests_with_id
        if entry.known > kept_prefix(edits):
            now = requests.state()
            self._histories.put(requests.messages, now)
            count, histories = self._histories.take(entry) or (0, now)
            requests.restore_state(count, histories)
            edits = (AddedRun(tuple(entry.messages[count:])),)
            edits = (KeptRun(0, count), *edits) if count else edits
        requests.follow(entry.messages, edits)
        return requests

    def _add_without_id(self, entry: Entry, edits: Edits) -> int:
        recent = self._recent_with_room()
        if not recent.trees.requests.messages:
            edits = (AddedRun(tuple(entry.messages)),)
        session, reply, is_new = recent.add(entry, edits, self.sets)
        if is_new:
            self._join_continued(recent.trees.requests, session, is_new=True)
        if reply:
            self._learn(reply.chain, reply.content_number, reply.message, session)
        return session

    def _recent_with_room(self) -> _RecentRequests:
        """Return the recent requests, or a new collection if there are too many."""
        if self._recent.is_full():
            self._recent.close(self.sets)
            self._recent = _RecentRequests()
        return self._recent

    def _join_continued(self, requests: Requests, session: int, *, is_new: bool) -> bool:
        """Join a session with that of the last logged reply in a request; return whether the request contains one."""
        places = requests.assistants
        for place in reversed(places):
            candidates = self._candidates(requests.chains[place])
            if not candidates:
                continue
            root = self.sets.find(session)
            # A short first reply may occur in unrelated sessions.
            if root not in candidates and (place != places[0] or _is_distinctive(requests.messages[place])):
                self.sets.join(candidates[-1], session)
            return True
        if is_new:
            self._join_copies(requests, session)
            for place in places[-_DEEP:]:
                if place != places[0] or _is_distinctive(requests.messages[place]):
                    self._awaited.put(requests.chains[place] or 1, session)
        return False

    def _candidates(self, chain: int) -> list[int]:
        """Return the sessions with a reply to the same messages, in order of the replies."""
        sessions: list[int] = []
        for rank in range(_CANDIDATES):
            number = self._by_chain.get(_rank_key(chain, rank))
            if number is None:
                break
            sessions.append(self.sets.find(self._sessions[number]))
        return sessions

    def _join_copies(self, requests: Requests, session: int) -> None:
        """Join a session with one whose replies a request contains, even after different messages."""
        root = self.sets.find(session)
        seen: set[int] = set()
        for place in reversed(requests.assistants):
            number = self._by_content.get(requests.numbers[place] or 1)
            other = root if number in (None, _SEVERAL) else self.sets.find(self._sessions[number])
            if other != root and (other in seen or is_long(chat.text(requests.messages[place]) or "")):
                self.sets.join(other, session)
                return
            seen.add(other)

    def _learn(self, chain: int, content_number: int, message: Message, session: int) -> None:
        """Remember a logged reply."""
        if (awaiting := self._awaited.get(chain or 1)) is not None:
            self.sets.join(awaiting, session)
        root = self.sets.find(session)
        known = self._candidates(chain)
        rank = known.index(root) if root in known else min(len(known), _CANDIDATES - 1)
        self._by_chain.put(_rank_key(chain, rank), len(self._sessions))
        # Short replies occur in many sessions, so they do not prove a connection.
        if is_long_reply(message):
            before = self._by_content.get(content_number or 1)
            is_other = before is not None and (before == _SEVERAL or self.sets.find(self._sessions[before]) != root)
            self._by_content.put(content_number or 1, _SEVERAL if is_other else len(self._sessions))
        self._sessions.append(session)


def _rank_key(chain: int, rank: int) -> int:
    return (hash((chain, rank)) if rank else chain) or 1


def _is_distinctive(message: Message) -> bool:
    """Return whether a reply can be distinguished from others by its content."""
    return bool(chat.calls(message)) or is_long(chat.text(message) or "")
