"""Conversations stored by a service, to which requests refer by the id of a response or a conversation."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Any, NamedTuple

from msgspec import Struct, field
from xxhash import xxh3_128_hexdigest

from chatsquash.core import jsonio
from chatsquash.core.model import Compacted, Json, Message, Tool
from chatsquash.formats.base import Format
from chatsquash.reading.exchange import Exchange
from chatsquash.reading.members import NOTHING
from chatsquash.reading.turns import Turns

CONVERSATION = ("conversation",)
"""The request member that refers to a conversation: to all earlier requests with its id and their responses."""
_FEW = 8
"""The number of requests that always stay loaded: of the last conversation ends, and of those continued last."""
_MOST_TURNS = 200_000
"""The number of turns up to which all ends stay loaded; beyond it, up to four times the turns of the log."""


class LoadedRequest(NamedTuple):
    """A request as canonical messages, with the state that the next request needs."""

    turns: Turns
    all_turns: list[Any]
    """The turns of the request, including those that it only refers to; later requests may append to the same list."""
    length: int
    """The number of turns in ``all_turns`` that belong to this request."""
    visible_turns: list[Any]
    """The turns that the model saw; the same list unless the service compacted the request."""
    system: tuple[bytes, Json]
    """The system member, raw and parsed."""
    turn_tools: list[Tool] = []  # noqa: RUF012 - never changed
    """The tools defined in its new turns."""
    base: Answer | None = None
    """The response that it continues by reference."""
    compacted: Compacted | None = None
    """The turns that a summary replaced."""
    is_hidden: bool = False
    """Whether the model also saw an encrypted summary."""
    known: int = 0
    """As in ``Entry.known``."""
    continued: list[Message] | None = None
    """As in ``Entry.continued``."""


class Answer(Struct, eq=False, kw_only=True):
    """A request with its response; turns before the request are shared with the answer that it continues."""

    before: Answer | None
    request_turns: list[Any]
    """The turns in the line of the request."""
    response_turns: list[Any]
    """The turns of the response."""
    conversation: str
    is_truncated: bool
    request: LoadedRequest | None
    """The loaded request, while ``_RequestCache`` retains it."""

    @property
    def turns(self) -> list[Any]:
        """All turns up to the response."""
        if self.request:
            return [*self.request.all_turns[: self.request.length], *self.response_turns]
        answers: list[Answer] = []
        answer: Answer | None = self
        while answer:
            answers.append(answer)
            answer = answer.before
        return [
            turn for each in reversed(answers) for turns in (each.request_turns, each.response_turns) for turn in turns
        ]


class _RequestCache(Struct):
    """Answers whose requests stay loaded: the ends of conversations, which the next requests probably continue."""

    _ends: dict[int, Answer] = field(default_factory=dict)
    _continued: deque[Answer] = field(default_factory=deque)
    """The answers that were continued last; a retry, for example, may continue one of them again."""
    _size: int = 0
    """The number of turns of all ends."""
    _seen: int = 0
    """The number of turns in the log."""

    def add(self, answer: Answer, request: LoadedRequest) -> None:
        """Retain the end of a conversation and drop the one that it continues."""
        base = answer.before
        if base and base.request:
            self._drop(base)
            self._continued.append(base)
            if len(self._continued) > _FEW and (oldest := self._continued.popleft()) not in self._continued:
                oldest.request = None
        self._ends[id(answer)] = answer
        self._size += request.length
        self._seen += len(answer.request_turns) + len(answer.response_turns)
        # Bounded by the size of the log, because many forks of a long history would otherwise take too much memory.
        while len(self._ends) > _FEW and self._size > max(_MOST_TURNS, 4 * self._seen):
            self._forget_oldest()

    def keep_last(self, count: int) -> None:
        """Keep only the last ``count`` ends."""
        while len(self._ends) > count:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        oldest = next(iter(self._ends.values()))
        self._drop(oldest)
        oldest.request = None

    def _drop(self, answer: Answer) -> None:
        if self._ends.pop(id(answer), None) and answer.request:
            self._size -= answer.request.length


class Answers(Struct):
    """The responses of a log, by id and by conversation."""

    _by_id: dict[str, Answer] = field(default_factory=dict)
    _by_conversation: dict[str, Answer] = field(default_factory=dict)
    """The last answer of each conversation."""
    _cache: _RequestCache = field(default_factory=_RequestCache)

    def find_base(self, exchange: Exchange, form: Format, turns: list[Any]) -> Answer | None:
        """Return the answer that a request with these turns continues by reference, if the log contains it."""
        key, conversation = _reference(exchange, form), _conversation(exchange, form)
        if not conversation:
            base = self._by_id.get(key) if key else None
        else:
            duplicate = self._by_id.get(_own_id(exchange) or _line_key(exchange, turns))
            # The same line logged twice, recognized by its response id or, if it has none, by its time and content.
            if duplicate and duplicate.conversation == conversation:
                return duplicate.before
            base = self._by_conversation.get(conversation)
            # Services store only complete answers, so the same turns after a truncated response are a retry.
            while base and base.is_truncated and base.request_turns == turns:
                base = base.before
        return base

    def keep_last(self, count: int) -> None:
        """Keep only the last ``count`` responses and conversations."""
        for responses in (self._by_id, self._by_conversation):
            for key in [*islice(responses, max(0, len(responses) - count))]:
                del responses[key]
        self._cache.keep_last(count)

    def is_history_missing(self, exchange: Exchange, form: Format) -> bool:
        """Return whether a request refers to turns that are missing from the log."""
        refers = exchange.first(form.REFERS)
        # The first request of a conversation has its id but no earlier turns.
        if refers in (NOTHING, b"null") or _conversation(exchange, form):
            return False
        return _reference(exchange, form) not in self._by_id

    def add(self, exchange: Exchange, form: Format, turns: list[Any], request: LoadedRequest) -> Answer | None:
        """Store the answer to a request if later requests can refer to it; otherwise return ``None``."""
        body, conversation = exchange.reply.body, _conversation(exchange, form)
        own = _own_id(exchange)
        if not own and not (conversation and isinstance(body, dict)):
            return None
        own = own or _line_key(exchange, turns)
        known = self._by_id.get(own)
        is_copy = known is not None and known.conversation == conversation and bool(known.response_turns)
        answer = Answer(
            before=request.base,
            request_turns=turns,
            response_turns=form.reply_turns(body) if form.reply_turns else [],
            conversation=conversation,
            is_truncated=exchange.reply.cut,
            request=request,
        )
        if own:
            self._by_id[own] = answer
        if conversation and exchange.reply.message is not None and not is_copy:
            self._by_conversation[conversation] = answer
        self._cache.add(answer, request)
        return answer


def _own_id(exchange: Exchange) -> str:
    body = exchange.reply.body
    own = body.get("id") if isinstance(body, dict) else None
    return own if isinstance(own, str) else ""


def _line_key(exchange: Exchange, turns: list[Any]) -> str:
    """Return a key that detects repeated lines of a conversation without response ids; empty if there is no time."""
    if exchange.timestamp == NOTHING:
        return ""
    digest = xxh3_128_hexdigest(jsonio.dumps([turns, exchange.reply.body]))
    return f"{exchange.timestamp.decode('utf-8', 'replace')} {digest}"


def _reference(exchange: Exchange, form: Format) -> str:
    value = _value(exchange.first(form.REFERS))
    return value if isinstance(value, str) else ""


def _conversation(exchange: Exchange, form: Format) -> str:
    """Return the id of the conversation that a request refers to; empty if it refers to none, or to a response."""
    if CONVERSATION[0] not in form.REFERS:
        return ""
    raw = exchange.first(CONVERSATION)
    if raw == NOTHING or raw != exchange.first(form.REFERS):
        return ""
    value = _value(raw)
    conversation_id = value.get("id") if isinstance(value, dict) else value
    return conversation_id if isinstance(conversation_id, str) else ""


def _value(raw: bytes) -> Json:
    return jsonio.loads(raw) if raw[:1] in (b'"', b"{") else None
