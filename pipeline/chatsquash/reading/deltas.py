"""Turn raw lines into entries that contain only what each request adds to the previous one.

A request repeats the conversation so far, so most bytes of a line also occur in the previous line. Runs of messages
with the same bytes as in the previous request are replaced by markers, and so are unchanged tools; only the short
remainder is parsed. A log that only grows has one run. A changed message ends a run, and another run may follow.

A marker that appears among the parsed messages, or instead of the tools, proves that the cut is valid: the parser was
in the same state before and after the marker as it would have been around the bytes, which are complete elements of an
array that was parsed before. The choice of cuts is a guess; a wrong guess only costs one more parse.
"""

from __future__ import annotations

from functools import cache
from operator import itemgetter
from typing import Any

from msgspec import Struct, field

from chatsquash.core import jsonio
from chatsquash.core.model import AddedRun, Edits, KeptRun, Message
from chatsquash.formats import PLAIN
from chatsquash.formats.base import Format
from chatsquash.reading import evidence
from chatsquash.reading.exchange import Exchange, LineError, parse, split
from chatsquash.reading.members import elements
from chatsquash.reading.repeats import (
    MARKER,
    TOOLS,
    Array,
    Change,
    Cut,
    RawTools,
    RepeatedMembers,
    SharedRun,
    find,
    shorten,
    skip_gap,
)
from chatsquash.sources.lines import Line

_FIRST_MARKER = MARKER + b'0"'
"""The marker of the first run."""
_CONTINUED = b"[" + _FIRST_MARKER
"""The beginning of an array that continues the previous one."""
_TEXT = frozenset((str,))
_role = itemgetter("role")
_PATIENCE = 3
"""The number of consecutive unrelated lines after which ``_WHILE`` lines are not compared."""
_HEAD = 16
"""The number of bytes whose equality suggests that an array begins at the same position as before."""
_WHILE = 24


class UncertainError(Exception):
    """One of the first lines of a log is not certainly plain chat."""


class Effort(Struct):
    """Counts of the reader's work, for tests."""

    skipped: int = 0
    """Bytes split into raw members."""
    parsed: int = 0
    """Bytes of messages and tools parsed into objects."""
    extensions: int = 0
    """Lines whose messages begin with all messages of the previous line."""
    patches: int = 0
    """Lines that share other runs of messages with the previous line."""
    unrelated: int = 0
    """Lines that share nothing with the previous line."""
    whole: int = 0
    """Lines that were not compared."""
    wrong_guesses: int = 0
    """Guessed cuts that parsing disproved."""


class Request(Struct, frozen=True, gc=False):
    """The messages of a line, and their bytes for comparison with the next line."""

    messages: list[Message]
    edits: Edits
    place: int
    """The position of the array in its line."""
    length: int
    """An upper bound of the size of the raw new messages in bytes."""
    array: Array | None
    """The array of messages; ``None`` for the previous array with ``changes`` applied in order."""
    changes: list[Change] = []
    bounds: list[tuple[int, int]] | None = None
    """The bounds of the messages in the changed array, as in ``Array.change``."""


class History(Struct):
    """The previous entry of a log, as messages and as bytes."""

    form: Format
    """The format of requests."""
    answers: Format
    """The format of responses."""
    known: RepeatedMembers
    effort: Effort = field(default_factory=Effort)
    messages: list[Message] = field(default_factory=list)
    array: Array = field(default_factory=Array)
    place: int = 0
    """The position of the array in its line."""
    other_place: int = 0
    """The last different position, because some clients write tools before messages only in some requests."""
    misses: int = 0
    """The number of consecutive unrelated lines."""
    uncompared: int = 0
    """The number of lines for which comparing is still paused."""
    is_first: bool = False
    """Whether the next lines are the first ones of a log, which must be certainly plain chat."""

    @property
    def key(self) -> bytes:
        """The member name of the array of turns, as JSON."""
        return b'"%b"' % self.form.TURNS.encode()

    def read(self, line: Line) -> tuple[Exchange, Request]:
        """Return a line as an edit of the previous one; raise ``LineError`` or a parse error for an invalid line."""
        result = None if self.uncompared or not self.array.count else self._read_compared(line)
        return result or self._read_uncompared(line) or self._read_alone(line)

    def remember(self, request: Request) -> None:
        """Compare the next line with the request of this valid entry."""
        if request.place != self.place:
            self.other_place = self.place
        self.messages, self.place = request.messages, request.place
        if request.array is not None:
            self.array = request.array
        else:
            self.array.change(request.changes, len(request.messages), request.bounds)

    # The readers of a line, in the order in which they are tried.

    def _read_compared(self, line: Line) -> tuple[Exchange, Request] | None:
        """Read a line based on the runs that it shares with the previous line."""
        place = line.start + self.place
        is_extension = line.buffer.startswith(self.array.data, place, line.stop)
        if not is_extension:
            place = self._find_array(line)
            is_extension = place >= 0 and line.buffer.startswith(self.array.data, place, line.stop)
        if is_extension:
            self.misses = 0
            request = self._read_extension(line, place)
        else:
            runs = self.array.runs(line, place) if place >= 0 else []
            if not runs:
                self.misses += 1
                if self.misses >= _PATIENCE:
                    # In a log of unrelated requests, comparing only takes time.
                    self.uncompared = _WHILE
                return None
            self.misses = 0
            request = self._read_patched(line, place, runs)
        if request is None:
            self.effort.wrong_guesses += 1
        return request

    def _read_extension(self, line: Line, place: int) -> tuple[Exchange, Request] | None:
        """Read a line that adds messages to all those of the previous line, the most frequent case."""
        before, end = self.array.count, len(self.array.data)
        after = place + end
        exchange = self._shorten(line, [(place + 1, after, _FIRST_MARKER)], after, place)
        if exchange is None or not exchange.turns.startswith(_CONTINUED):
            return None
        turns = exchange.turns
        _, *new = self._parse(turns)
        self._check_messages(new, before)
        self.effort.extensions += 1
        growth = turns[len(_CONTINUED) : -1].rstrip()
        edits: Edits = (KeptRun(0, before), AddedRun(tuple(new))) if new else (KeptRun(0, before),)
        changes: list[Change] = [(end, end, growth)]
        messages = [*self.messages, *new]
        return exchange, Request(messages, edits, place - line.start, len(growth), None, changes)

    def _read_patched(self, line: Line, place: int, runs: list[SharedRun]) -> tuple[Exchange, Request] | None:
        """Read a line that shares runs of messages with the previous line."""
        cuts = [(run.start, run.stop, _marker(n)) for n, run in enumerate(runs)]
        exchange = self._shorten(line, cuts, runs[-1].stop, place)
        if exchange is None:
            return None
        # Calculate the start of the array, because the guess may be that of another member with the same name.
        place = runs[0].start - exchange.turns.find(_marker(0))
        request = self._patch(exchange.turns, runs, line, place)
        return (exchange, request) if request else None

    def _read_uncompared(self, line: Line) -> tuple[Exchange, Request] | None:
        """Read a line in one pass while comparing is paused."""
        if not self.uncompared or self.is_first:
            return None
        data = line.buffer[line.start : line.stop]
        parsed = parse(data, self.form, self.answers)
        if parsed is None:
            return None
        self.uncompared -= 1
        self.effort.whole += 1
        messages, exchange = parsed
        self._check_messages(messages, 0)
        return exchange, Request(messages, _all(messages), 0, line.length, Array())

    def _read_alone(self, line: Line) -> tuple[Exchange, Request]:
        """Read a line by itself."""
        exchange = self._split(line.buffer[line.start : line.stop])
        self.effort.unrelated += 1
        raw = exchange.turns
        messages = self._parse(raw)
        self._check_messages(messages, 0)
        array = Array(bytearray(raw[:-1].rstrip()), len(messages))
        place = find(line.buffer, self.key, array.data, line.start, line.stop)
        return exchange, Request(messages, _all(messages), max(0, place - line.start), len(raw), array)

    # Finding repetitions

    def _find_array(self, line: Line) -> int:
        """Return the probable position of the array of turns in a line."""
        head = bytes(self.array.data[:_HEAD])
        for place in (self.place, self.other_place):
            if line.buffer.startswith(head, line.start + place, line.stop):
                return line.start + place
        return find(line.buffer, self.key, b"[", line.start, line.stop)

    def _shorten(self, line: Line, cuts: list[Cut], after: int, before: int) -> Exchange | None:
        """Return a line's members with markers for cuts and known members; ``None`` if the result is not an entry."""
        repeats = self.known.find(line, after, before)
        for _, more in repeats:
            cuts += more
        short = shorten(line, cuts)
        if short is None:
            return None
        try:
            exchange = self._split(short)
        except (LineError, UncertainError):
            return None
        return self.known.verify(exchange, repeats) if repeats else exchange

    # Building requests

    def _patch(self, raw: bytes, runs: list[SharedRun], line: Line, place: int) -> Request | None:
        """Return a request that shares runs of messages; ``raw`` contains a marker for each run."""
        patch = Patch(self.messages, self.array, line.buffer, place, place)
        number, name = 0, _marker(0)[1:-1].decode()
        for value in self._parse(raw):
            if value != name:
                patch.new_messages.append(value)
                continue
            self._check_messages(patch.new_messages, len(patch.messages))
            patch.keep(runs[number])
            number, name = number + 1, _marker(number + 1)[1:-1].decode()
        if number < len(runs):
            return None
        self._check_messages(patch.new_messages, len(patch.messages))
        _, _, tail = raw.rpartition(_marker(number - 1))
        patch.close(tail[:-1].rstrip())
        self.effort.patches += 1
        edits, place = tuple(patch.edits), place - line.start
        return Request(patch.messages, edits, place, len(raw), None, patch.changes, patch.bounds)

    def _check_messages(self, messages: list[Any], first: int) -> None:
        """Raise ``LineError`` for chat messages without a role."""
        if self.form.NAME != PLAIN:
            # Turns of other formats are checked on conversion; chat messages are written to records unchanged.
            return
        try:
            if _TEXT.issuperset(map(type, map(_role, messages))):
                return
        except (KeyError, TypeError, IndexError):
            pass  # the loop below finds the invalid message
        for index, message in enumerate(messages, first):
            if type(message) is not dict:
                raise LineError("bad-entry", f"request.messages[{index}]: not an object")
            if type(message.get("role")) is not str:
                raise LineError("bad-entry", f"request.messages[{index}]: no role")

    def learn_tools(self, raw: RawTools) -> Any:
        """Return the tools in raw JSON, or those of the previous line for their marker."""
        return self.known.tools.value if raw == TOOLS else self.known.tools.learn(raw, self._parse)

    def _split(self, data: bytes | bytearray) -> Exchange:
        self.effort.skipped += len(data)
        if not self.is_first:
            return split(data, self.form, self.answers)
        if (exchange := evidence.chat_exchange(data)) is None:
            raise UncertainError
        return exchange

    def _parse(self, raw: bytes) -> Any:
        """Parse raw turns or tools."""
        self.effort.parsed += len(raw)
        return jsonio.loads(raw)


# It differs for each run so that runs cannot be confused.
@cache
def _marker(number: int) -> bytes:
    """Return the marker of a run."""
    return b'%b%d"' % (MARKER, number)


def _all(messages: list[Message]) -> Edits:
    return (AddedRun(tuple(messages)),) if messages else ()


class Patch(Struct):
    """The changes from the previous line to this one, run by run."""

    before: list[Message]
    array: Array
    """The array of the previous line."""
    buffer: bytearray
    """The bytes that contain this line."""
    place: int
    """The position of the array in ``buffer``."""
    position: int
    """The position in ``buffer`` where the last run ends."""
    old_position: int = 0
    """The position in the previous array where the last run ends."""
    new_messages: list[Any] = field(default_factory=list)
    """New messages after the last run."""
    messages: list[Message] = field(default_factory=list)
    edits: list[KeptRun | AddedRun] = field(default_factory=list)
    bounds: list[tuple[int, int]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def keep(self, run: SharedRun) -> None:
        """Append a run after the new messages that precede it."""
        known = self.array.bounds[run.first : run.last]
        gap = self.buffer[self.position : run.start]
        self.changes.append((self.old_position, known[0][0], gap))
        if self.new_messages:
            self.bounds += _bounds(gap, self.position - self.place, len(self.new_messages))
            self._add()
        shift = run.start - self.place - known[0][0]
        self.bounds += [(start + shift, stop + shift) for start, stop in known] if shift else known
        self.messages += self.before[run.first : run.last]
        self.edits.append(KeptRun(run.first, run.last))
        self.position, self.old_position = run.stop, known[-1][1]

    def close(self, tail: bytes) -> None:
        """Append the new messages after the last run; ``tail`` contains their bytes."""
        self.changes.append((self.old_position, len(self.array.data), tail))
        if self.new_messages:
            self._add()

    def _add(self) -> None:
        self.messages += self.new_messages
        self.edits.append(AddedRun(tuple(self.new_messages)))
        self.new_messages = []


def _bounds(gap: bytearray, place: int, count: int) -> list[tuple[int, int]]:
    """Return the bounds of new messages in the array; ``gap`` contains the bytes from ``place`` to the next run."""
    position = skip_gap(gap, 0 if place else 1)
    content = gap.rstrip(b", \t\r")
    if count == 1:
        return [(place + position, place + len(content))]
    bounds: list[tuple[int, int]] = []
    for element in elements(b"[" + content[position:] + b"]"):
        bounds.append((place + position, place + position + len(element)))
        position = skip_gap(gap, position + len(element))
    return bounds
