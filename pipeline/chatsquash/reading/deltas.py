"""Raw lines to entries that say only what each request adds to the one before.

A request repeats the conversation so far, so most of a line's bytes stand in the line before it.  Runs of messages
whose bytes are the previous request's are replaced by a marker each, and so are unchanged tools; what is left is small
and is parsed.  On a log that only grows that is one run; where a message changed, a run ends before it and another may
go on behind it.

A marker that stands among the messages of the result, or in the place of the tools, proves the cut: the parser was in
the same state before and after the marker as it would have been around the bytes, which are whole elements of an array
that was parsed before.  Where to cut is a guess, and a wrong guess costs one more parse.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Struct, field

from chatsquash.core import jsonio
from chatsquash.core.model import AddedRun, Edits, KeptRun, Message
from chatsquash.formats import PLAIN
from chatsquash.formats.base import Format
from chatsquash.reading.exchange import Exchange, LineError, parse, split
from chatsquash.reading.members import elements
from chatsquash.reading.repeated_members import MARKER, TOOLS, Cut, RepeatedMembers, Spelled, shorten
from chatsquash.reading.repeats import Array, Change, SharedRun, behind_gap, find
from chatsquash.sources.lines import Line

_FIRST = MARKER + b'0"'
"""What stands in the place of the first run."""
_TEXT = {str}
_PATIENCE = 3
"""Lines in a row that share nothing, after which lines are not compared for a while."""
_HEAD = 16
"""Bytes at the beginning of an array that tell, as a guess, that it begins where it began before."""
_WHILE = 24


class Effort(Struct):
    """What reading took; tests hold the reader to it."""

    skipped: int = 0
    """Bytes split into raw members."""
    parsed: int = 0
    """Bytes of messages and tools made into objects."""
    grown: int = 0
    """Lines whose messages began with all the previous ones."""
    patched: int = 0
    """Lines that shared other runs of messages with the previous one."""
    alone: int = 0
    """Lines that shared nothing."""
    whole: int = 0
    """Lines that were not compared."""
    refused: int = 0
    """Guesses that the parse refused."""


class Request(Struct, frozen=True, gc=False):
    """The messages of a line, and their bytes for the next line to be compared with."""

    messages: list[Message]
    edits: Edits
    place: int
    """Where in its line the array begins."""
    array: Array | None
    """``None``: the one before, with these changes, in order."""
    changes: list[Change] = []
    bounds: list[tuple[int, int]] | None = None
    """Of the changed array, as in ``Array.change``."""


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
    """Where in its line the array began."""
    other_place: int = 0
    """Where it began before it began there; some clients write tools before messages in some requests only."""
    misses: int = 0
    """Lines in a row that shared nothing."""
    uncompared: int = 0
    """Lines that are not to be compared."""

    @property
    def key(self) -> bytes:
        """What stands before an array of turns."""
        return b'"%b"' % self.form.TURNS.encode()

    def read(self, line: Line) -> tuple[Exchange, Request]:
        """What a line holds, as an edit of the line before; raises ``LineError`` for what is no entry, and others."""
        compared = None if self.uncompared or not self.array.count else self._compare(line)
        return compared or self._whole(line) or self._alone(line)

    def remember(self, request: Request) -> None:
        """The request of a line that is an entry: the next one is compared with it."""
        if request.place != self.place:
            self.other_place = self.place
        self.messages, self.place = request.messages, request.place
        if request.array is not None:
            self.array = request.array
        else:
            self.array.change(request.changes, len(request.messages), request.bounds)

    # Ways to read a line; the first that can is taken.

    def _compare(self, line: Line) -> tuple[Exchange, Request] | None:
        """By what it shares with the line before."""
        place = line.start + self.place
        grown = line.buffer.startswith(self.array.data, place, line.stop)
        if not grown:
            place = self._find_array(line)
            grown = place >= 0 and line.buffer.startswith(self.array.data, place, line.stop)
        if grown:
            self.misses = 0
            request = self._continue_grown(line, place)
        else:
            runs = self.array.runs(line, place) if place >= 0 else []
            if not runs:
                self.misses += 1
                if self.misses >= _PATIENCE:
                    self.uncompared = _WHILE
                return None
            self.misses = 0
            request = self._patched(line, place, runs)
        if request is None:
            self.effort.refused += 1
        return request

    def _continue_grown(self, line: Line, place: int) -> tuple[Exchange, Request] | None:
        """By what it adds behind all the messages of the line before, as most lines do."""
        before = self.array.count
        behind = place + len(self.array.data)
        exchange = self._shorten(line, [(place + 1, behind, _FIRST)], behind, place)
        if exchange is None or not exchange.turns.startswith(_FIRST, 1):
            return None
        _, *added = self._parse(exchange.turns)
        self._judge(added, before)
        self.effort.grown += 1
        growth = exchange.turns[1 + len(_FIRST) : -1].rstrip()
        edits: Edits = (KeptRun(0, before), AddedRun(tuple(added))) if added else (KeptRun(0, before),)
        end = len(self.array.data)
        changes: list[Change] = [(end, end, growth)]
        messages = [*self.messages, *added]
        return exchange, Request(messages, edits, place - line.start, None, changes)

    def _patched(self, line: Line, place: int, runs: list[SharedRun]) -> tuple[Exchange, Request] | None:
        """By the runs of messages that it shares with the line before."""
        cuts = [(run.start, run.stop, _marker(n)) for n, run in enumerate(runs)]
        exchange = self._shorten(line, cuts, runs[-1].stop, place)
        if exchange is None:
            return None
        # Where the array really begins: the first place named so may have been another's.
        place = runs[0].start - exchange.turns.find(_marker(0))
        request = self._patch(exchange.turns, runs, line, place)
        return (exchange, request) if request else None

    def _whole(self, line: Line) -> tuple[Exchange, Request] | None:
        """In one go, for a while, where lines share nothing."""
        if not self.uncompared:
            return None
        data = line.buffer[line.start : line.stop]
        parsed = parse(data, self.form, self.answers)
        if parsed is None:
            return None
        self.uncompared -= 1
        self.effort.whole += 1
        messages, exchange = parsed
        self._judge(messages, 0)
        return exchange, Request(messages, _all(messages), 0, Array())

    def _alone(self, line: Line) -> tuple[Exchange, Request]:
        """By itself."""
        exchange = self._split(line.buffer[line.start : line.stop])
        self.effort.alone += 1
        raw = exchange.turns
        messages = self._parse(raw)
        self._judge(messages, 0)
        array = Array(bytearray(raw[:-1].rstrip()), len(messages))
        place = find(line.buffer, self.key, array.data, line.start, line.stop)
        return exchange, Request(messages, _all(messages), max(0, place - line.start), array)

    # Where a line repeats the one before

    def _find_array(self, line: Line) -> int:
        head = bytes(self.array.data[:_HEAD])
        for place in (self.place, self.other_place):
            if line.buffer.startswith(head, line.start + place, line.stop):
                return line.start + place
        return find(line.buffer, self.key, b"[", line.start, line.stop)

    def _shorten(self, line: Line, cuts: list[Cut], behind: int, before: int) -> Exchange | None:
        """The members of the line with markers in the places of the cuts and of known members, if that is an entry."""
        repeated = self.known.find(line, behind, before)
        for _, more in repeated:
            cuts += more
        short = shorten(line, cuts)
        if short is None:
            return None
        try:
            exchange = self._split(short)
        except LineError:
            return None
        return self.known.proven(exchange, repeated) if repeated else exchange

    # What was found

    def _patch(self, raw: bytes, runs: list[SharedRun], line: Line, place: int) -> Request | None:
        """A request that shares runs of messages; ``raw`` has a marker in the place of each."""
        patch = Patch(self.messages, self.array, line.buffer, place, place)
        number, name = 0, _marker(0)[1:-1].decode()
        for value in self._parse(raw):
            if value != name:
                patch.fresh.append(value)
                continue
            self._judge(patch.fresh, len(patch.messages))
            patch.keep(runs[number])
            number, name = number + 1, _marker(number + 1)[1:-1].decode()
        if number < len(runs):
            return None
        self._judge(patch.fresh, len(patch.messages))
        _, _, tail = raw.rpartition(_marker(number - 1))
        patch.close(tail[:-1].rstrip())
        self.effort.patched += 1
        edits, place = tuple(patch.edits), place - line.start
        return Request(patch.messages, edits, place, None, patch.changes, patch.bounds)

    def _judge(self, messages: list[Any], first: int) -> None:
        """Chat messages go into the record as they are; turns of other formats are judged where they are loaded."""
        if self.form.NAME != PLAIN:
            return
        try:
            if {type(message["role"]) for message in messages} <= _TEXT:
                return
        except (KeyError, TypeError, IndexError):
            pass  # what is wrong with which of them is told below
        for at, message in enumerate(messages, first):
            if type(message) is not dict:
                raise LineError("bad-entry", f"request.messages[{at}] is no object")
            if type(message.get("role")) is not str:
                raise LineError("bad-entry", f"request.messages[{at}] has no role")

    def learn_tools(self, raw: Spelled) -> Any:
        """The tools in raw JSON, or in the place of the marker for those of the line before."""
        return self.known.tools.value if raw == TOOLS else self.known.tools.learn(raw, self._parse)

    def _split(self, data: bytes | bytearray) -> Exchange:
        self.effort.skipped += len(data)
        return split(data, self.form, self.answers)

    def _parse(self, raw: bytes) -> Any:
        """Parse raw turns or tools."""
        self.effort.parsed += len(raw)
        return jsonio.loads(raw)


@cache
def _marker(number: int) -> bytes:
    """What stands in the place of a run; one for each, so that none is taken for another."""
    return b'%b%d"' % (MARKER, number)


def _all(messages: list[Message]) -> Edits:
    return (AddedRun(tuple(messages)),) if messages else ()


class Patch(Struct):
    """What a line makes of the line before, run by run."""

    before: list[Message]
    array: Array
    """The array of the line before."""
    buffer: bytearray
    """Holds this line."""
    place: int
    """Where in it the array begins."""
    at: int
    """Where in it the last run ends."""
    old: int = 0
    """Where that ends in the array before."""
    fresh: list[Any] = field(default_factory=list)
    """New messages behind the last run."""
    messages: list[Message] = field(default_factory=list)
    edits: list[KeptRun | AddedRun] = field(default_factory=list)
    bounds: list[tuple[int, int]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def keep(self, run: SharedRun) -> None:
        """Go on with a run, behind what is new before it."""
        known = self.array.bounds[run.first : run.last]
        gap = self.buffer[self.at : run.start]
        self.changes.append((self.old, known[0][0], gap))
        if self.fresh:
            self.bounds += _bounds(gap, self.at - self.place, len(self.fresh))
            self._add()
        shift = run.start - self.place - known[0][0]
        self.bounds += [(start + shift, stop + shift) for start, stop in known] if shift else known
        self.messages += self.before[run.first : run.last]
        self.edits.append(KeptRun(run.first, run.last))
        self.at, self.old = run.stop, known[-1][1]

    def close(self, tail: bytes) -> None:
        """Go on with what is new behind the last run, of which these are the bytes."""
        self.changes.append((self.old, len(self.array.data), tail))
        if self.fresh:
            self._add()

    def _add(self) -> None:
        self.messages += self.fresh
        self.edits.append(AddedRun(tuple(self.fresh)))
        self.fresh = []


def _bounds(gap: bytearray, place: int, count: int) -> list[tuple[int, int]]:
    """Where messages before a run start and stop, given what stands there, from a place of the array on."""
    at = behind_gap(gap, 0 if place else 1)
    stripped = gap.rstrip(b", \t\r")
    if count == 1:
        return [(place + at, place + len(stripped))]
    bounds: list[tuple[int, int]] = []
    for element in elements(b"[" + stripped[at:] + b"]"):
        bounds.append((place + at, place + at + len(element)))
        at = behind_gap(gap, at + len(element))
    return bounds
