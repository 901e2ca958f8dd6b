"""Convert the turns of requests to canonical messages where they differ from those of the previous request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from chatsquash.core.model import AddedRun, Edits, Json, KeptRun, Message
from chatsquash.formats import view
from chatsquash.formats.base import Format, TurnError
from chatsquash.reading.exchange import LineError


class Turns(Struct, frozen=True):
    """The converted turns of one request."""

    states: list[Any]
    """The state before each turn and after the last one; later requests may share the list and append to it."""
    stops: list[int]
    """The number of messages before each turn and after the last one; shared in the same way."""
    system: Json = None
    """The system member, which is the same object while it is unchanged."""
    messages: list[Message] = field(default_factory=list)
    """The messages of the system member and of the turns, and those still unfinished after the last turn."""
    edits: Edits = ()
    """The edits relative to the messages of the previous request."""

    @property
    def are_verbatim(self) -> bool:
        """Whether the messages are exactly the logged ones of a plain chat log."""
        return self.stops[0] == 0 and self.states[-1] is False


TurnReader = Callable[[Format, Json, Any], tuple[list[Message], Any]]
"""Converts a turn, given the state before it, to messages and the state after it; raises ``TurnError``."""


def blocks_of(form: Format, turn: Json, state: Any) -> tuple[list[Message], Any]:
    """Convert a turn using its format."""
    if (usual := form.usual(turn, state)) is not None:
        return usual
    result = form.load(turn, state)
    return view.messages(result.turns), result.state


def rewrite(form: Format, turn: Json, state: Any) -> tuple[list[Message], Any]:  # noqa: ARG001 - the interface's
    """Convert a plain chat message if necessary; the state is whether any message so far was converted."""
    from chatsquash.formats.providers.openai_chat import rewriting  # imported late because plain chat does not need it

    messages = rewriting.messages(turn)
    is_same = len(messages) == 1 and messages[0] is turn
    return messages, state is True or not is_same


def no_turns(form: Format) -> Turns:
    """Return the empty turns before the first request."""
    return Turns([form.START], [0])


def follow(  # noqa: PLR0913, PLR0917 - the parts of a request
    form: Format, before: Turns, turns: list[Any], edits: Edits, system: Json, read: TurnReader = blocks_of
) -> Turns:
    """Convert the turns that a request adds to the previous one.

    Args:
        form: The format of the turns.
        before: The turns of the previous request.
        turns: The turns of this request.
        edits: The edits from the previous turns to these.
        system: The system member.
        read: Converts a turn.

    Raises:
        LineError: A turn is invalid.
    """
    is_same_system = system is before.system
    index, first = 0, edits[0] if edits else None
    if is_same_system and isinstance(first, KeptRun) and (first.start, first.stop + 1) == (0, len(before.states)):
        # Usually, a request adds to the previous one. The lists can be shared while no other request appended to them.
        index, stop, edits = first.stop, before.stops[-1], edits[1:]
        loading = _Loading(form, before, read, before.states, before.stops, before.messages[:stop], [])
        loading.add(KeptRun(0, stop))
    else:
        head = before.messages[: before.stops[0]] if is_same_system else _system(form, system)
        start = False if read is rewrite else form.START
        loading = _Loading(form, before, read, [start], [len(head)], list(head), [])
        loading.add(KeptRun(0, len(head)) if is_same_system else head)
    for run in edits:
        index = loading.run(run, turns, index)
    if read is not rewrite and (open_turns := form.close(loading.states[-1])):
        unfinished = view.messages(open_turns)
        loading.messages += unfinished
        loading.add(unfinished)
    return Turns(loading.states, loading.stops, system, loading.messages, tuple(loading.edits))


class _Loading(Struct):
    form: Format
    before: Turns
    read: TurnReader
    states: list[Any]
    stops: list[int]
    messages: list[Message]
    edits: list[KeptRun | AddedRun]

    def run(self, run: KeptRun | AddedRun, turns: list[Any], index: int) -> int:
        """Convert or keep a run of turns from ``index`` on; return the index after it."""
        if isinstance(run, KeptRun):
            return self.keep(run, turns, index)
        return self.load(turns, index, index + len(run.messages))

    def keep(self, run: KeptRun, turns: list[Any], index: int) -> int:
        """Reuse the messages of the previous request's turns if the run begins in the same state."""
        if self.states[-1] != self.before.states[run.start]:
            return self.load(turns, index, index + run.stop - run.start)
        start, stop = self.before.stops[run.start], self.before.stops[run.stop]
        shift = len(self.messages) - start
        # The lists can be shared while no other request has appended to them.
        if not (run.start or index or shift) and len(self.before.states) == run.stop + 1:
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
        return index + run.stop - run.start

    def load(self, turns: list[Any], index: int, stop: int) -> int:
        """Convert new turns one by one."""
        first = len(self.messages)
        for number in range(index, stop):
            try:
                messages, state = self.read(self.form, turns[number], self.states[-1])
            except TurnError as problem:
                raise LineError("bad-entry", f"request.{self.form.TURNS}[{number}]: {problem}") from None
            self.messages += messages
            self.states.append(state)
            self.stops.append(len(self.messages))
        self.add(self.messages[first:])
        return stop

    def add(self, run: KeptRun | list[Message]) -> None:
        """Append a run of messages, merged with the last run if they are adjacent."""
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
        raise LineError("bad-entry", f"request.{form.SYSTEM[0]}: {problem}") from None
