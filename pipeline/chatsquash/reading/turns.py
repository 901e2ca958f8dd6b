"""The turns of requests as canonical messages, loaded as far as they differ from those of the request before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from chatsquash.core.model import AddedRun, Edits, Json, KeptRun, Message
from chatsquash.formats import view
from chatsquash.formats.base import Format, TurnError
from chatsquash.reading.exchange import LineError


class Turns(Struct, frozen=True):
    """The turns of one request, loaded."""

    states: list[Any]
    """The state before each turn, and after the last one; a later request may share the list and add its own."""
    stops: list[int]
    """How many messages there are before each turn, and after the last one; shared likewise."""
    system: Json = None
    """The system member, as the same object while unchanged."""
    messages: list[Message] = field(default_factory=list)
    """Those of the system member, of the turns, and those still open after the last turn."""
    edits: Edits = ()
    """How they come out of the previous request's."""

    @property
    def are_verbatim(self) -> bool:
        """Whether the messages are those that were logged, in a log of plain chat."""
        return self.stops[0] == 0 and self.states[-1] is False


TurnReader = Callable[[Format, Json, Any], tuple[list[Message], Any]]
"""Loads a turn, given the state before it, as messages and the state after it; raises ``TurnError``."""


def blocks_of(form: Format, turn: Json, state: Any) -> tuple[list[Message], Any]:
    """A turn as its format reads it."""
    loaded = form.load(turn, state)
    return view.messages(loaded.turns), loaded.state


def rewrite(form: Format, turn: Json, state: Any) -> tuple[list[Message], Any]:  # noqa: ARG001 - the interface's
    """A message of plain chat as it was logged, or rewritten; the state is whether any message so far was."""
    from chatsquash.formats.providers.openai_chat import rewriting  # which plain chat does not need

    messages = rewriting.messages(turn)
    is_same = len(messages) == 1 and messages[0] is turn
    return messages, state is True or not is_same


def nothing(form: Format) -> Turns:
    """The turns before the first request: none."""
    return Turns([form.START], [0])


def follow(  # noqa: PLR0913, PLR0917 - what a request is made of
    form: Format, before: Turns, turns: list[Any], edits: Edits, system: Json, read: TurnReader = blocks_of
) -> Turns:
    """Load what a request adds to the one before; raises ``LineError`` for anything that is not a turn.

    ``edits`` are those of the turns.
    """
    same = system is before.system
    head = before.messages[: before.stops[0]] if same else _system(form, system)
    start = False if read is rewrite else form.START
    loading = _Loading(form, before, read, [start], [len(head)], list(head), [])
    loading.add(KeptRun(0, len(head)) if same else head)
    at = 0
    for run in edits:
        at = loading.run(run, turns, at)
    still_open = [] if read is rewrite else view.messages(form.close(loading.states[-1]))
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
        """Load or keep a run of turns from ``at`` on; return the place after it."""
        return self.keep(run, turns, at) if isinstance(run, KeptRun) else self.load(turns, at, at + len(run.messages))

    def keep(self, run: KeptRun, turns: list[Any], at: int) -> int:
        """A run of the previous request's turns: what they gave, if they begin in the same state."""
        if self.states[-1] != self.before.states[run.start]:
            return self.load(turns, at, at + run.stop - run.start)
        start, stop = self.before.stops[run.start], self.before.stops[run.stop]
        shift = len(self.messages) - start
        if not (run.start or at or shift) and len(self.before.states) == run.stop + 1:  # no other request added to them
            self.states, self.stops = self.before.states, self.before.stops
            head, self.messages = self.messages, self.before.messages[:stop]
            self.messages[:start] = head
            self.add(KeptRun(start, stop))
            return run.stop
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
