"""Track the requests of a session: as one conversation while they only grow, and as trees afterwards."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from chatsquash.core import chat
from chatsquash.core.accounting import model_of, total
from chatsquash.core.model import AddedRun, Edits, Entry, Json, KeptRun, Mark, Message, Response, Tokens
from chatsquash.core.scores import Score
from chatsquash.reading import usage
from chatsquash.trees.paths import GrowingRequest

if TYPE_CHECKING:
    from chatsquash.trees import replies
    from chatsquash.trees.rewrites import Growth
    from chatsquash.trees.token_store import TokenStore
    from chatsquash.trees.trees import Trees

TreesAfter = Literal["start", "exact-growth", "growth"]
"""When to begin to build trees."""
_NO_TOKENS = Tokens()
_MOST_ENTRIES = 64
"""The number of conversation ends whose entries stay in memory; others are read again if needed."""


class GrowthTracker(Struct):
    """Tracks which replies the requests of a session continue."""

    detects_gaps: bool = False
    """Whether to detect requests with missing context."""
    trees_after: TreesAfter = "start"
    """When to begin to build trees: at the start, or once a request omits the last reply or adds nothing.

    ``growth`` is sufficient if only the last request matters, not the kinds of conversations. With ``exact-growth``,
    each request also contains the previous one unchanged, so that trees built later are the same.
    """
    keeps_logprobs: bool = False
    """Whether to keep the log probabilities of responses."""
    tokens_of_replies: TokenStore | None = None
    """The token ids of replies; ``None`` if they are not needed."""
    trees: Trees | None = None
    """``None`` before the first request, and while requests only grow if they are built later."""
    growing_requests: list[GrowingRequest] = field(default_factory=list)
    first: Entry | None = None
    last: Entry | None = None
    entries: dict[int, Entry] = field(default_factory=dict)
    """The entries of replies that nothing continues so far, by reply number; only those still in memory."""
    tokens: Tokens = Tokens()
    """The tokens of all requests; each response counts once."""
    several: dict[int, Response] = field(default_factory=dict)
    """Responses with several choices, by line."""
    logprobs: dict[int, bytes] = field(default_factory=dict)
    """The log probabilities of responses, by line."""
    scores: dict[int, tuple[Score, ...]] = field(default_factory=dict)
    """The scores of replies, by line."""
    unanswered: dict[int, replies.Reply | None] = field(default_factory=dict)
    """The lines of requests without a reply, with the last logged reply that each contains."""
    _ends: deque[int] = field(default_factory=deque)
    _limit: tuple[bytes, int | None] | None = None
    """The token limit of the last reply, as logged and as a number."""
    _growth: Growth | None = None
    """Compares requests with previous ones that do not have exactly the same messages."""

    def add(self, entry: Entry) -> None:
        """Add the next entry."""
        if self.first is None:
            self.first = entry
        if entry.reply.choices > 1:
            self.several[entry.line] = entry.reply
        if entry.scores:
            self.scores[entry.line] = entry.scores
        if self.keeps_logprobs and (logprobs := _logprobs(entry.reply.raw)):
            self.logprobs[entry.line] = logprobs
        if self.tokens_of_replies is not None:
            self._add_token_ids(entry, self.tokens_of_replies)
        if self.trees_after != "start" and self.trees is None and self._extends_last(entry):
            reply = entry.reply
            response = usage.response_id(reply)
            response_facts = (reply.message, reply.finish_reason, reply.cut, entry.limit, response)
            facts = (*response_facts, len(entry.messages), reply.cleared, entry.is_translated, model_of(reply) or "")
            tokens = reply.tokens.completion
            self.growing_requests.append(GrowingRequest(entry.line, entry.at, entry.tools, *facts, tokens))
            self.last = entry
            self._count(entry)
            return
        trees = self.branch()
        before = len(trees.repeats)
        self._add(entry, usage.response_id(entry.reply))
        if not any(each.is_same_response for each in trees.repeats[before:]):
            self._count(entry)

    def _add_token_ids(self, entry: Entry, store: TokenStore) -> None:
        from chatsquash.reading import token_ids  # few runs need them

        for choice, ids in enumerate(token_ids.of_raw(entry.reply.raw, max(entry.reply.choices, 1))):
            if ids:
                store.add((entry.line, choice), ids)

    def add_from_file(self, entry: Entry) -> replies.Reply:
        """Add the entry of a reply that is only known from another file; return its reply in the trees."""
        trees, last = self.branch(), self.last
        before = len(trees.repeats)
        self._add(entry, entry.reply.id or "")
        self.last = last
        if len(trees.repeats) == before:
            self._count(entry)
            # Another file contains the reply, so it is complete even if its end is not logged.
            trees.replies[-1].is_ended = True
            return trees.replies[-1]
        repeat = trees.repeats.pop()  # the reply is already known
        repeat.by.line, repeat.by.at = repeat.line, repeat.at
        self.entries.pop(repeat.by.number, None)
        return repeat.by

    def _extends_last(self, entry: Entry) -> bool:
        is_exact = self.trees_after == "exact-growth"
        if is_exact and not _is_answered_prompt(entry):
            return False
        if self.last is None or _grows(self.last, entry):
            return True
        return not is_exact and self._continues(self.last, entry)

    def _count(self, entry: Entry) -> None:
        tokens = entry.reply.tokens
        self.tokens = tokens if self.tokens == _NO_TOKENS else total((self.tokens, tokens))

    def _continues(self, last: Entry, entry: Entry) -> bool:
        if self._growth is None:
            from chatsquash.trees.rewrites import Growth  # not needed for clients that only append messages

            self._growth = Growth()
        return self._growth.continues(last, entry)

    def has_only_grown(self) -> bool:
        """Return whether the last request contains all replies and is not the client's own."""
        if self.trees is not None:
            return False
        if self.last is None:
            return True
        limit = self.last.limit
        # With a limit of one token, the client only tests whether the model answers.
        is_probe = limit == b"1" or (limit[:1] == b"{" and usage.limit(limit) == 1)
        return not is_probe and (self._growth is None or self._growth.contains_all(self.last, self.growing_requests))

    def grown_marks(self, entry: Entry) -> list[Mark] | None:
        """Return the marks of the assistant messages of a session that only grew, if several models wrote them.

        ``entry`` is the entry of the record.
        """
        if len({each.model for each in self.growing_requests}) < 2:
            return None
        models = {each.count: each.model for each in self.growing_requests}
        if len({*models.values()}) < 2:
            return None
        places = (at for at, message in enumerate(entry.messages_with_reply) if message["role"] == "assistant")
        return [Mark((ordinal,), model=models.get(at, "")) for ordinal, at in enumerate(places)]

    def branch(self) -> Trees:
        """Return the trees of all requests so far, and track the session as trees from now on."""
        if self.trees is None:
            from chatsquash.trees.trees import Trees  # not needed for sessions that only grow

            last, growth = self.last, self._growth
            self.trees = Trees(self.detects_gaps, rewords=bool(growth and last and growth.rewords(last)))
            messages = last.messages if last else []
            messages_as_logged = growth.with_logged_replies(messages, self.growing_requests) if growth else messages
            for each, edits in self._requests(messages_as_logged):
                if last and last.line == each.line:
                    self._add(
                        last, each.response, edits if messages_as_logged is messages else (AddedRun(tuple(messages)),)
                    )
                else:
                    self._add(
                        _entry(each, messages_as_logged, edits, self.several.get(each.line)), each.response, edits
                    )
            self.growing_requests = []
        return self.trees

    def last_reply(self, line: int) -> replies.Reply | None:
        """Return the last logged reply of the path that ends with a line."""
        trees = self.branch()
        if line in self.unanswered:
            return self.unanswered[line]
        repeats_by_line = {each.line: each.by for each in trees.repeats}
        return repeats_by_line.get(line) or next((reply for reply in trees.replies if reply.line == line), None)

    def _requests(self, messages: list[Message]) -> Iterator[tuple[GrowingRequest, Edits]]:
        """Yield the requests so far with their edits; ``messages`` are those of the last request."""
        count = 0
        for each in self.growing_requests:
            unchanged: Edits = (KeptRun(0, count),) if count else ()
            new: Edits = (AddedRun(tuple(messages[count : each.count])),) if each.count > count else ()
            yield each, unchanged + new
            count = each.count

    def _add(self, entry: Entry, response: str, edits: Edits | None = None) -> None:
        assert self.trees is not None
        if self._limit is None or self._limit[0] != entry.limit:
            self._limit = entry.limit, usage.limit(entry.limit)
        reply = self.trees.add(entry, self._limit[1], response, edits)
        self.last = entry
        if entry.reply.message is None:
            self.unanswered[entry.line] = self.trees.recognised[-1].reply if self.trees.recognised else None
            return
        reply = reply or self.trees.repeats[-1].by
        if reply.parent:
            self.entries.pop(reply.parent.number, None)
        self.entries[reply.number] = entry
        self._ends.append(reply.number)
        if len(self._ends) > _MOST_ENTRIES:
            self.entries.pop(self._ends.popleft(), None)


def _logprobs(raw: bytes) -> bytes:
    from chatsquash.reading import logprobs  # few runs need them

    return logprobs.of_raw(raw)


def _entry(each: GrowingRequest, messages: list[Message], edits: Edits, response: Response | None) -> Entry:
    reply = response or Response(
        each.message,
        finish_reason=each.finish_reason,
        cut=each.cut,
        model=each.model or None,
        cleared=each.cleared,
        tokens=Tokens(completion=each.completion_tokens),
    )
    request = each.line, each.at, None, messages[: each.count], edits, each.tools
    return Entry(*request, reply, limit=each.limit, is_translated=each.is_translated)


def _is_answered_prompt(entry: Entry) -> bool:
    """Return whether a request has a reply that continues none of its messages."""
    messages = entry.messages
    return entry.reply.message is not None and bool(messages) and messages[-1]["role"] != "assistant"


def _grows(last: Entry, entry: Entry) -> bool:
    """Return whether a request consists of the previous one, the reply to it, and new messages."""
    edits, reply = entry.edits, last.reply.message
    if reply is None or entry.reply.message is None or entry.limit != last.limit or len(edits) != 2:
        return False
    run = edits[1]
    if type(run) is not AddedRun or entry.shared_prefix != len(last.messages):
        return False
    echoed = run.messages[0]
    if echoed["role"] != "assistant" or (len(run.messages) == 1 and _is_truncated(last.reply)):
        return False
    return echoed == reply or _is_same(echoed, reply)


def _is_truncated(reply: Response) -> bool:
    """Return whether the reply to a request that ends with this reply may continue it."""
    return reply.cut or reply.finish_reason is None or chat.is_truncated(reply.finish_reason)


def _is_same(one: Message, other: Message) -> bool:
    """Return whether two messages have the same canonical number."""
    # Most messages are spelled alike, and comparing them is faster than numbering them.
    essence = _essence(one)
    if essence is not None and essence == _essence(other):
        return True
    from chatsquash.trees.canonical import Canon  # not needed for clients that send messages back unchanged

    canon = Canon()
    return canon.number(one) == canon.number(other)


def _essence(message: Message) -> list[Json] | None:
    """Return the relevant content of a message with only text and function calls, or ``None`` for others."""
    essence = [message["role"], message.get("content") or ""]
    try:
        for call in message.get("tool_calls") or ():
            essence += call["function"]["name"], call["function"]["arguments"]
    except (KeyError, TypeError):
        return None
    return None if message.get("function_call") or {*map(type, essence)} != {str} else essence
