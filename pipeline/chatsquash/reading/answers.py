"""Turns that a service stores: what requests refer to by the id of a response or of a conversation."""

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
"""The member by which a request refers to a conversation: to all earlier requests with its id and their responses."""
_FEW = 8
"""Requests that stay loaded in any case: the last ends of conversations, and the last ones that are continued."""
_MOST_TURNS = 200_000
"""Turns of all ends that stay loaded in any case; beyond, there may be four times as many as the log has."""


class LoadedRequest(NamedTuple):
    """A request as canonical messages, and what the next one needs."""

    turns: Turns
    whole: list[Any]
    """The request's turns, with those that it only refers to; a later request may share the list and add its own."""
    length: int
    """How many of them there are."""
    shown: list[Any]
    """Those that the model saw; the same list unless the service compacted the request."""
    system: tuple[bytes, Json]
    """The system member, raw and parsed."""
    brought: list[Tool] = []  # noqa: RUF012 - never changed
    """The tools that its new turns bring."""
    base: Answer | None = None
    """The response that it continues by reference."""
    compacted: Compacted | None = None
    """What a summary replaced in it."""
    is_hidden: bool = False
    """Whether the model also saw an encrypted summary."""
    known: int = 0
    """As in ``Entry.known``."""
    continued: list[Message] | None = None
    """As in ``Entry.continued``."""


class Answer(Struct, eq=False, kw_only=True):
    """A request that a response answered; each shares the turns before it with the one that it continues."""

    before: Answer | None
    asked: list[Any]
    """The turns in the line of the request."""
    said: list[Any]
    """The turns of the response."""
    conversation: str
    is_cut: bool
    loaded: LoadedRequest | None
    """The request as it was loaded, as long as ``_Loaded`` keeps it."""

    @property
    def turns(self) -> list[Any]:
        """All turns up to the response."""
        if self.loaded:
            return [*self.loaded.whole[: self.loaded.length], *self.said]
        answers: list[Answer] = []
        answer: Answer | None = self
        while answer:
            answers.append(answer)
            answer = answer.before
        return [turn for each in reversed(answers) for turns in (each.asked, each.said) for turn in turns]


class _Loaded(Struct):
    """The answers whose requests stay loaded: the ends of conversations, which the next requests likely continue.

    Together, ends have at most four times the turns of the log, so that many forks of a long history take no more.
    """

    _ends: dict[int, Answer] = field(default_factory=dict)
    _continued: deque[Answer] = field(default_factory=deque)
    """The last answers that another request continues; it may be sent again."""
    _size: int = 0
    """The turns of all ends."""
    _seen: int = 0
    """The turns of the log."""

    def add(self, answer: Answer, loaded: LoadedRequest) -> None:
        """Keep the end of a conversation in place of the one that it continues."""
        base = answer.before
        if base and base.loaded:
            self._drop(base)
            self._continued.append(base)
            if len(self._continued) > _FEW and (oldest := self._continued.popleft()) not in self._continued:
                oldest.loaded = None
        self._ends[id(answer)] = answer
        self._size += loaded.length
        self._seen += len(answer.asked) + len(answer.said)
        while len(self._ends) > _FEW and self._size > max(_MOST_TURNS, 4 * self._seen):
            self._forget_oldest()

    def forget_all_but(self, count: int) -> None:
        """Keep only so many, the last ones."""
        while len(self._ends) > count:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        oldest = next(iter(self._ends.values()))
        self._drop(oldest)
        oldest.loaded = None

    def _drop(self, answer: Answer) -> None:
        if self._ends.pop(id(answer), None) and answer.loaded:
            self._size -= answer.loaded.length


class Answers(Struct):
    """The responses of a log."""

    _by_id: dict[str, Answer] = field(default_factory=dict)
    _by_conversation: dict[str, Answer] = field(default_factory=dict)
    """The last one of each conversation."""
    _loaded: _Loaded = field(default_factory=_Loaded)

    def referred(self, exchange: Exchange, form: Format, asked: list[Any]) -> Answer | None:
        """Return the response that a request with these turns continues by reference, if the log has it.

        A service stores what was answered completely. The same turns after a truncated response are a retry; a line
        that repeats the id of a response, or without one its time and content, is a copy.
        """
        key, conversation = _reference(exchange, form), _conversation(exchange, form)
        if not conversation:
            base = self._by_id.get(key) if key else None
        else:
            copied = self._by_id.get(_own_id(exchange) or _line_key(exchange, asked))
            if copied and copied.conversation == conversation:
                return copied.before
            base = self._by_conversation.get(conversation)
            while base and base.is_cut and base.asked == asked:
                base = base.before
        return base

    def forget_all_but(self, count: int) -> None:
        """Keep only so many responses and conversations, the last ones."""
        for known in (self._by_id, self._by_conversation):
            for key in [*islice(known, max(0, len(known) - count))]:
                del known[key]
        self._loaded.forget_all_but(count)

    def lacks(self, exchange: Exchange, form: Format) -> bool:
        """Whether a request refers to turns that the log does not have; a new conversation has none before it."""
        refers = exchange.first(form.REFERS)
        if refers in (NOTHING, b"null") or _conversation(exchange, form):
            return False
        return _reference(exchange, form) not in self._by_id

    def add(self, exchange: Exchange, form: Format, asked: list[Any], loaded: LoadedRequest) -> Answer | None:
        """Remember the response of a request, if later ones can refer to it."""
        body, conversation = exchange.reply.body, _conversation(exchange, form)
        own = _own_id(exchange)
        if not own and not (conversation and isinstance(body, dict)):
            return None
        own = own or _line_key(exchange, asked)
        known = self._by_id.get(own)
        is_copy = known is not None and known.conversation == conversation and bool(known.said)
        answer = Answer(
            before=loaded.base,
            asked=asked,
            said=form.reply_turns(body) if form.reply_turns else [],
            conversation=conversation,
            is_cut=exchange.reply.cut,
            loaded=loaded,
        )
        if own:
            self._by_id[own] = answer
        if conversation and exchange.reply.message is not None and not is_copy:
            self._by_conversation[conversation] = answer
        self._loaded.add(answer, loaded)
        return answer


def _own_id(exchange: Exchange) -> str:
    body = exchange.reply.body
    own = body.get("id") if isinstance(body, dict) else None
    return own if isinstance(own, str) else ""


def _line_key(exchange: Exchange, asked: list[Any]) -> str:
    """What a line in a conversation, whose response has no id, is recognised by if it is logged twice."""
    if exchange.timestamp == NOTHING:
        return ""
    said = xxh3_128_hexdigest(jsonio.dumps([asked, exchange.reply.body]))
    return f"{exchange.timestamp.decode('utf-8', 'replace')} {said}"


def _reference(exchange: Exchange, form: Format) -> str:
    value = _value(exchange.first(form.REFERS))
    return value if isinstance(value, str) else ""


def _conversation(exchange: Exchange, form: Format) -> str:
    """The id of the conversation that a request belongs to; empty if it names none, or an earlier response."""
    if CONVERSATION[0] not in form.REFERS:
        return ""
    raw = exchange.first(CONVERSATION)
    if raw == NOTHING or raw != exchange.first(form.REFERS):
        return ""
    value = _value(raw)
    named = value.get("id") if isinstance(value, dict) else value
    return named if isinstance(named, str) else ""


def _value(raw: bytes) -> Json:
    return jsonio.loads(raw) if raw[:1] in (b'"', b"{") else None
