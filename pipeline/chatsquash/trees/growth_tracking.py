"""The requests of a session in order: as one conversation as long as they only grow, as trees once they do not."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, field

from chatsquash.core import chat
from chatsquash.core.accounting import model_of, total
from chatsquash.core.model import AddedRun, Edits, Entry, Json, KeptRun, Mark, Message, Response, Tokens
from chatsquash.reading import usage
from chatsquash.trees.paths import GrowingRequest

if TYPE_CHECKING:
    from chatsquash.trees import replies
    from chatsquash.trees.rewrites import Growth
    from chatsquash.trees.trees import Trees

_NO_TOKENS = Tokens()
_HELD = 64
"""Ends of conversations whose entries are held; those of others are read again where they are wanted."""


class GrowthTracker(Struct):
    """What the replies of a session continue."""

    looks_closely: bool = False
    """Whether to see which requests lack what earlier ones had."""
    lazily: bool = False
    """Whether a request that has the reply before it in its place, and more behind, is enough to go on.

    Nobody asks for kinds then, and that the last request holds all replies tells all that is asked for.
    """
    keeps_logprobs: bool = False
    """Whether to keep what responses say of their tokens."""
    trees: Trees | None = None
    """``None`` as long as every request goes on from the reply before it, and adds to what was there."""
    grown: list[GrowingRequest] = field(default_factory=list)
    first: Entry | None = None
    last: Entry | None = None
    entries: dict[int, Entry] = field(default_factory=dict)
    """The entries of the replies that nothing goes on from so far, by the replies' numbers, as far as they are held."""
    tokens: Tokens = Tokens()
    """Those of all requests, each response counted once."""
    several: dict[int, Response] = field(default_factory=dict)
    """Responses with several choices, by their lines."""
    logprobs: dict[int, bytes] = field(default_factory=dict)
    """What responses say of their tokens, by their lines."""
    unanswered: dict[int, replies.Reply | None] = field(default_factory=dict)
    """The lines of requests without a reply, and the last logged reply that each holds."""
    _ends: deque[int] = field(default_factory=deque)
    _limit: tuple[bytes, int | None] | None = None
    """How many tokens the last reply was to have at most, as it is logged and as a number."""
    _growth: Growth | None = None
    """What held requests to those before them that do not have the same messages."""

    def add(self, entry: Entry) -> None:
        """Go on to the next entry."""
        if self.first is None:
            self.first = entry
        if entry.reply.choices > 1:
            self.several[entry.line] = entry.reply
        if self.keeps_logprobs and (logprobs := _logprobs(entry.reply.raw)):
            self.logprobs[entry.line] = logprobs
        if self.trees is None and self._only_grows(entry):
            reply = entry.reply
            response = usage.response_id(reply)
            said = (reply.message, reply.finish_reason, reply.cut, entry.limit, response)
            facts = (*said, len(entry.messages), reply.cleared, entry.is_translated, model_of(reply) or "")
            self.grown.append(GrowingRequest(entry.line, entry.at, entry.tools, *facts))
            self.last = entry
            self._count(entry)
            return
        trees = self.branch()
        before = len(trees.again)
        self._add(entry, usage.response_id(entry.reply))
        if not any(each.is_same_response for each in trees.again[before:]):
            self._count(entry)

    def tell(self, entry: Entry) -> replies.Reply:
        """The reply of an entry that another file tells of, as a part of the trees."""
        trees, last = self.branch(), self.last
        before = len(trees.again)
        self._add(entry, entry.reply.id or "")
        self.last = last
        if len(trees.again) == before:
            self._count(entry)
            trees.replies[-1].is_ended = True  # or its file would not have it, whether or not it says why it ended
            return trees.replies[-1]
        met = trees.again.pop()  # it is there already
        met.by.line, met.by.at = met.line, met.at
        self.entries.pop(met.by.number, None)
        return met.by

    def _only_grows(self, entry: Entry) -> bool:
        return self.last is None or _grows(self.last, entry) or (self.lazily and self._goes_on(self.last, entry))

    def _count(self, entry: Entry) -> None:
        if (used := entry.reply.tokens) != _NO_TOKENS:
            self.tokens = total((self.tokens, used))

    def _goes_on(self, last: Entry, entry: Entry) -> bool:
        if self._growth is None:
            from chatsquash.trees.rewrites import Growth  # which clients that append to what they sent do not need

            self._growth = Growth()
        return self._growth.goes_on(last, entry)

    def only_grew(self) -> bool:
        """Whether the last request holds all replies, and is none of the client's own."""
        if self.trees is not None:
            return False
        if self.last is None:
            return True
        limit = self.last.limit
        is_probe = limit == b"1" or (limit[:1] == b"{" and usage.limit(limit) == 1)
        return not is_probe and (self._growth is None or self._growth.holds_all(self.last, self.grown))

    def grown_marks(self, entry: Entry) -> list[Mark] | None:
        """The marks of the assistant messages of a session that only grew, if several models wrote them.

        ``entry`` is the one that the record is made of.
        """
        models = {each.count: each.model for each in self.grown}
        if len({*models.values()}) < 2:
            return None
        messages = [*entry.messages, *([entry.reply.message] if entry.reply.message else [])]
        places = (at for at, message in enumerate(messages) if message["role"] == "assistant")
        return [Mark((ordinal,), model=models.get(at, "")) for ordinal, at in enumerate(places)]

    def branch(self) -> Trees:
        """The trees of the requests so far."""
        if self.trees is None:
            from chatsquash.trees.trees import Trees  # which sessions that only grow do not need

            last, growth = self.last, self._growth
            self.trees = Trees(self.looks_closely, rewords=bool(growth and last and growth.rewords(last)))
            messages = last.messages if last else []
            said = growth.as_said(messages, self.grown) if growth else messages
            for each, edits in self._requests(said):
                if last and last.line == each.line:
                    self._add(last, each.response, edits if said is messages else (AddedRun(tuple(messages)),))
                else:
                    self._add(_entry(each, said, edits, self.several.get(each.line)), each.response, edits)
            self.grown = []
        return self.trees

    def last_reply(self, line: int) -> replies.Reply | None:
        """The last logged reply of the path that ends with a line."""
        trees = self.branch()
        if line in self.unanswered:
            return self.unanswered[line]
        again = {each.line: each.by for each in trees.again}
        return again.get(line) or next((reply for reply in trees.replies if reply.line == line), None)

    def _requests(self, messages: list[Message]) -> Iterator[tuple[GrowingRequest, Edits]]:
        """The requests so far with their edits, given the messages of the last one."""
        count = 0
        for each in self.grown:
            kept: Edits = (KeptRun(0, count),) if count else ()
            added: Edits = (AddedRun(tuple(messages[count : each.count])),) if each.count > count else ()
            yield each, kept + added
            count = each.count

    def _add(self, entry: Entry, response: str, edits: Edits | None = None) -> None:
        assert self.trees is not None
        if self._limit is None or self._limit[0] != entry.limit:
            self._limit = entry.limit, usage.limit(entry.limit)
        reply = self.trees.add(entry, self._limit[1], response, edits)
        self.last = entry
        if entry.reply.message is None:
            self.unanswered[entry.line] = self.trees.met[-1].reply if self.trees.met else None
            return
        reply = reply or self.trees.again[-1].by
        if reply.parent:
            self.entries.pop(reply.parent.number, None)
        self.entries[reply.number] = entry
        self._ends.append(reply.number)
        if len(self._ends) > _HELD:
            self.entries.pop(self._ends.popleft(), None)


def _logprobs(raw: bytes) -> bytes:
    from chatsquash.reading import logprobs  # which few runs ask for

    return logprobs.of_raw(raw)


def _entry(each: GrowingRequest, messages: list[Message], edits: Edits, response: Response | None) -> Entry:
    reply = response or Response(
        each.message, finish_reason=each.finish_reason, cut=each.cut, model=each.model or None, cleared=each.cleared
    )
    request = each.line, each.at, None, messages[: each.count], edits, each.tools
    return Entry(*request, reply, limit=each.limit, is_translated=each.is_translated)


def _grows(last: Entry, entry: Entry) -> bool:
    """Whether a request is all of the one before it, the reply to that, and what comes behind."""
    edits, reply = entry.edits, last.reply.message
    if reply is None or entry.reply.message is None or entry.limit != last.limit or len(edits) != 2:
        return False
    run = edits[1]
    if type(run) is not AddedRun or entry.shared_prefix != len(last.messages):
        return False
    said = run.messages[0]
    if said["role"] != "assistant" or (len(run.messages) == 1 and _is_truncated(last.reply)):
        return False
    return said == reply or _is_same(said, reply)


def _is_truncated(reply: Response) -> bool:
    """Whether a reply is one that a request which ends with it may have continued."""
    return reply.cut or reply.finish_reason is None or chat.is_truncated(reply.finish_reason)


def _is_same(one: Message, other: Message) -> bool:
    """Whether messages count as the same."""
    essence = _essence(one)
    if essence is not None and essence == _essence(other):
        return True
    from chatsquash.trees.canonical import Canon  # which clients that send back what they got do not need

    canon = Canon()
    return canon.number(one) == canon.number(other)


def _essence(message: Message) -> list[Json] | None:
    """All that counts of a message, but for its spelling, where that is a text and calls of functions."""
    essence = [message["role"], message.get("content") or ""]
    try:
        for call in message.get("tool_calls") or ():
            essence += call["function"]["name"], call["function"]["arguments"]
    except (KeyError, TypeError):
        return None
    return None if message.get("function_call") or {*map(type, essence)} != {str} else essence
