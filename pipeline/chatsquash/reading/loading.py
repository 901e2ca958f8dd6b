"""Requests of a format other than plain chat, as canonical messages, with the turns that they only refer to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.edits import difference
from chatsquash.core.model import (
    AddedRun,
    Compacted,
    Edits,
    Json,
    KeptRun,
    Message,
    RepeatedViolation,
    Response,
    Tool,
)
from chatsquash.formats import bodies, view
from chatsquash.formats.base import Format, ShownTurns, TurnError
from chatsquash.reading.answers import Answer, Answers
from chatsquash.reading.deltas import Request
from chatsquash.reading.exchange import Exchange, LineError
from chatsquash.reading.members import NOTHING
from chatsquash.reading.repeated_members import SYSTEM


class LoadedRequest(NamedTuple):
    """A request as canonical messages, and what the next one needs."""

    turns: Turns
    whole: list[Any]
    """The request's turns, with those that it only refers to."""
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


@dataclass(slots=True)
class Loader:
    """Loads neighbouring requests of one format."""

    form: Format
    answers: Answers
    """The responses of the log that later requests may refer to."""
    is_mixed: bool = False
    """Whether turns are messages of plain chat, of which those with content of other formats are rewritten."""
    before: LoadedRequest | None = None
    last: Answer | None = None
    """The response to it, if later requests can refer to that."""

    def load(self, exchange: Exchange, request: Request) -> LoadedRequest:
        """A request as it adds to the one before; raises ``LineError`` for what is no turn of the format."""
        form = self.form
        before = self.before or LoadedRequest(nothing(form), [], [], (NOTHING, None))
        raw = exchange.first(form.SYSTEM)
        system = (
            before.system if raw in (SYSTEM, before.system[0]) else (raw, jsonio.loads(raw) if raw != NOTHING else None)
        )
        whole, edits, begun = request.messages, request.edits, before
        base = self.answers.referred(exchange, form, whole) if exchange.first(form.REFERS) else None
        if base:
            begun, whole = base.loaded or before, [*base.turns, *whole]
        if base and base.loaded:
            edits = (KeptRun(0, len(begun.whole)), AddedRun(tuple(whole[len(begun.whole) :])))
        elif base or before.base:  # the reader's edits are those of what stood in the lines
            edits = difference(before.whole, whole)
        added = [turn for run in edits if isinstance(run, AddedRun) for turn in run.messages]
        brought = bodies.tools_of_turns(form, added)
        seen = self._shown(begun, whole, added, exchange.reply)
        if seen.turns is not whole or begun.shown is not begun.whole:
            edits = difference(begun.shown, seen.turns)
        turns = follow(form, begun.turns, seen.turns, edits, system[1], rewritten if self.is_mixed else blocks_of)
        if begun is not before:
            turns = replace(turns, edits=difference(before.turns.messages, turns.messages))
        compacted = self._compacted(seen) if seen.summary else None
        return LoadedRequest(turns, whole, seen.turns, system, brought, base, compacted, seen.is_hidden)

    def _shown(self, begun: LoadedRequest, whole: list[Any], added: list[Any], reply: Response) -> ShownTurns:
        """The turns that the model saw, before a reply that may begin with a summary of them."""
        is_compacted = begun.shown is not begun.whole or any(map(self.form.is_compaction, added))
        is_compacted = is_compacted and any(map(self.form.is_compaction, whole))
        seen = self.form.shown(whole) if is_compacted else ShownTurns(whole)
        if not reply.compacted:
            return seen
        if not self.form.is_compaction(reply.compacted):  # the response is of another format
            return seen._replace(is_hidden=True)
        return self.form.shown([*seen.turns, reply.compacted])

    def _compacted(self, seen: ShownTurns) -> Compacted:
        """What a summary replaced, as messages."""
        summary: Any = {"role": "assistant", "content": seen.summary}
        said = (each for each in reversed(seen.replaced) if isinstance(each, dict) and each.get("role") == "assistant")
        for turn in said:
            messages = view.messages(self.form.load(turn, self.form.START).turns)
            return Compacted(summary, messages[-1] if messages else None)
        return Compacted(summary, None)

    def remember(self, loaded: LoadedRequest, exchange: Exchange, asked: list[Any]) -> tuple[RepeatedViolation, ...]:
        """A request that is an entry: the next one goes on from it; gives what was found."""
        self.before = loaded
        if not self.form.REFERS and exchange.reply.body is None:  # neither refers nor can be referred to
            self.last = None
            return ()
        is_missing = self.answers.lacks(exchange, self.form)
        self.last = self.answers.add(exchange, self.form, asked, loaded)
        return (RepeatedViolation("missing-history"),) if is_missing else ()

    def adopt(self, messages: list[Message]) -> None:
        """Go on with these messages in the place of the equal ones that were loaded last."""
        if self.before:
            self.before = self.before._replace(turns=replace(self.before.turns, messages=messages))
            if self.last and self.last.loaded:
                self.last.loaded = self.before


class Turns(Struct, frozen=True):
    """The turns of one request, loaded."""

    states: list[Any]
    """The state before each turn, and behind the last one."""
    stops: list[int]
    """How many messages there are before each turn, and behind the last one."""
    system: Json = None
    """The system member, as the same object while unchanged."""
    messages: list[Message] = field(default_factory=list)
    """Those of the system member, of the turns, and those still open behind the last turn."""
    edits: Edits = ()
    """How they come out of the previous request's."""

    @property
    def are_verbatim(self) -> bool:
        """Whether the messages are those that were logged, in a log of plain chat."""
        return self.stops[0] == 0 and self.states[-1] is False


TurnReader = Callable[[Format, Json, Any], tuple[list[Message], Any]]
"""Loads a turn, given the state before it, as messages and the state behind it; raises ``TurnError``."""


def blocks_of(form: Format, turn: Json, state: Any) -> tuple[list[Message], Any]:
    """A turn as its format reads it."""
    loaded = form.load(turn, state)
    return view.messages(loaded.turns), loaded.state


def rewritten(form: Format, turn: Json, state: Any) -> tuple[list[Message], Any]:  # noqa: ARG001 - the interface's
    """A message of plain chat as it was logged, or rewritten; the state is whether any message so far was."""
    from chatsquash.formats.providers.openai_chat import rewriting  # which plain chat does not need

    messages = rewriting.messages(turn)
    is_same = len(messages) == 1 and messages[0] is turn
    return messages, state is True or not is_same


def nothing(form: Format) -> Turns:
    """What stands before the first request."""
    return Turns([form.START], [0])


def follow(  # noqa: PLR0913, PLR0917 - what a request is made of
    form: Format, before: Turns, turns: list[Any], edits: Edits, system: Json, read: TurnReader = blocks_of
) -> Turns:
    """Load what a request adds to the one before; raises ``LineError`` for what is no turn of the format.

    ``edits`` are those of the turns.
    """
    same = system is before.system
    head = before.messages[: before.stops[0]] if same else _system(form, system)
    start = False if read is rewritten else form.START
    loading = _Loading(form, before, read, [start], [len(head)], list(head), [])
    loading.add(KeptRun(0, len(head)) if same else head)
    at = 0
    for run in edits:
        at = loading.run(run, turns, at)
    still_open = [] if read is rewritten else view.messages(form.close(loading.states[-1]))
    loading.messages += still_open
    loading.add(still_open)
    return Turns(loading.states, loading.stops, system, loading.messages, tuple(loading.edits))


class _Loading(Struct):
    form: Format
    before: Turns
    read: TurnReader
    states: list[Any]
    stops: list[int]
    messages: list[Message]
    edits: list[KeptRun | AddedRun]

    def run(self, run: KeptRun | AddedRun, turns: list[Any], at: int) -> int:
        """A run of turns from ``at`` on; gives the place behind it."""
        return self.keep(run, turns, at) if isinstance(run, KeptRun) else self.load(turns, at, at + len(run.messages))

    def keep(self, run: KeptRun, turns: list[Any], at: int) -> int:
        """A run of the previous request's turns: what they gave, if they begin in the same state."""
        if self.states[-1] != self.before.states[run.start]:
            return self.load(turns, at, at + run.stop - run.start)
        start, stop = self.before.stops[run.start], self.before.stops[run.stop]
        shift = len(self.messages) - start
        stops = self.before.stops[run.start + 1 : run.stop + 1]
        self.states += self.before.states[run.start + 1 : run.stop + 1]
        self.stops += [each + shift for each in stops] if shift else stops
        self.messages += self.before.messages[start:stop]
        self.add(KeptRun(start, stop))
        return at + run.stop - run.start

    def load(self, turns: list[Any], at: int, stop: int) -> int:
        """New turns, one by one."""
        first = len(self.messages)
        for number in range(at, stop):
            try:
                messages, state = self.read(self.form, turns[number], self.states[-1])
            except TurnError as problem:
                raise LineError("bad-entry", f"request.{self.form.TURNS}[{number}] {problem}") from None
            self.messages += messages
            self.states.append(state)
            self.stops.append(len(self.messages))
        self.add(self.messages[first:])
        return stop

    def add(self, run: KeptRun | list[Message]) -> None:
        """One run more, joined to the last one where they are neighbours."""
        last = self.edits[-1] if self.edits else None
        if isinstance(run, list):
            if run and isinstance(last, AddedRun):
                self.edits[-1] = AddedRun((*last.messages, *run))
            elif run:
                self.edits.append(AddedRun(tuple(run)))
        elif run.stop > run.start:
            if isinstance(last, KeptRun) and last.stop == run.start:
                self.edits[-1] = KeptRun(last.start, run.stop)
            else:
                self.edits.append(run)


def _system(form: Format, value: Json) -> list[Message]:
    try:
        return view.messages(form.system(value)) if value is not None else []
    except TurnError as problem:
        raise LineError("bad-entry", f"request.{form.SYSTEM[0]} {problem}") from None
