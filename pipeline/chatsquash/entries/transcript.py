"""Logs that only grow, read as bytes: a line is compared with the one before, and parsed where it differs.

In a plain log every request is all of the one before it, the reply to that, and what comes behind.  So each line
repeats the message array of the line before it, byte for byte, and the tools.  Both are cut out, a marker takes the
place of each, and what is left of all lines is parsed in one go.

Where to cut is a guess, which the parse proves: one marker has to be the first of the line's messages, and another,
where the array seemed to end, the last.  Between two lines stands a string that no log can hold, and it has to be found
between two values, so that each line is JSON by itself.

Whatever is not as expected raises ``NotPlainError``: the log is then read in the general way, which defines the result.
"""

from __future__ import annotations

from collections.abc import Callable
from io import FileIO
from typing import Any, Protocol

from msgspec import UNSET, Struct, ValidationError, field

from chatsquash.entries import envelopes
from chatsquash.entries.cuts import BETWEEN, END, LAST, PIECES, SAME, TOOLS, Cuts, TooLongError
from chatsquash.entries.layout import core
from chatsquash.entries.lines import Buffers, Line
from chatsquash.entries.members import REFUSED
from chatsquash.entries.plain_lines import decoders, limits, turns
from chatsquash.model import Message, Skipped

_BATCH = 1 << 20
"""Bytes of what is left of lines that are parsed at once."""
_SKIPPED = 1000
"""Lines that may be passed over: each takes a hundred times the memory of a blank one."""


class NotPlainError(Exception):
    """A log that has to be read in the general way."""


class Transcript(Struct):
    """The lines of a plain log; lists but that of messages have an item for each request that goes on."""

    messages: list[Message] = field(default_factory=list)
    """Those of the last request."""
    heads: list[Message] = field(default_factory=list)
    """The first message of each request, where they change; the last ones may change then, too."""
    lasts: list[Message] = field(default_factory=list)
    """The last message of each request, where these may change."""
    counts: list[int] = field(default_factory=list)
    """How many of them each request has."""
    lines: list[int] = field(default_factory=list)
    """The 1-based numbers of the lines."""
    times: list[str] = field(default_factory=list)
    """As logged."""
    replies: list[Message] = field(default_factory=list)
    reasons: list[str | None] = field(default_factory=list)
    """Why each reply ended."""
    usages: list[bytes] = field(default_factory=list)
    """What the responses have for their use of tokens, raw."""
    ids: list[Any] = field(default_factory=list)
    """What each response has for an id."""
    session_ids: set[str | None] = field(default_factory=set)
    tools: bytes = b""
    """The tools of every request, raw; empty where there are none."""
    limit: tuple[Any, ...] = ()
    """The members of every request that say how many tokens the reply may have, in the order of ``LIMITS``."""
    model: str = ""
    """The one that the last response names."""
    choices: int = 0
    """How many the last response has."""
    last: bytes = b""
    """What is left of the last of these lines."""
    last_size: int = 0
    """All bytes of that line, with the line feed."""
    size: int = 0
    """Bytes of all lines."""
    skipped: list[Skipped] = field(default_factory=list)
    """The lines that are none of these."""


class Beside(Protocol):
    """Judges the lines that do not go on from others."""

    def is_side(self, messages: list[Message]) -> bool:
        """Whether a request may be one of the client's own, which is dropped."""

    def skipped(self, line: Line) -> Skipped | None:
        """A line that is dropped, blank or unreadable; ``None`` for any other."""


def transcribe(
    file: FileIO, longest: int, hashed: Callable[[memoryview], object], room: Buffers, beside: Beside
) -> Transcript:
    """The lines of a plain log; ``longest`` bounds the bytes of each.

    ``hashed`` is given all bytes in turn.  Raises ``NotPlainError`` for any other log.
    """
    reading = _Reading(Cuts(file, hashed, longest, room.take()), beside)
    try:
        return reading.read()
    except (*REFUSED, TooLongError, AttributeError, IndexError, KeyError, TypeError):  # of another shape
        raise NotPlainError from None
    finally:
        room.leave(reading.cuts.buffer)


class _Reading(Struct):
    """A plain log while it is read."""

    cuts: Cuts
    beside: Beside
    array: bytes = b""
    """The messages of the first line, raw."""
    found: Transcript = field(default_factory=Transcript)

    def read(self) -> Transcript:
        """All lines."""
        cuts, found = self.cuts, self.found
        while not self._first():
            if not cuts.goes_on():
                raise NotPlainError
        while cuts.goes_on():
            if cuts.waiting > _BATCH:
                self._parse()
            if not cuts.take() and not (self._adapts() and cuts.take()):
                self._skip()
        self._parse()
        found.size = cuts.offset
        if found.heads:
            found.messages = [found.heads[-1], *found.messages, found.lasts[-1]]
        return found

    # One line

    def _first(self) -> bool:
        """Parse the first line; whether it is one that others may go on from."""
        cuts, found = self.cuts, self.found
        stop = cuts.stop()
        line = bytes(cuts.buffer[cuts.start : stop])
        parsed, messages = _parsed(line), []
        if parsed:
            self.array = bytes(parsed.request.messages)
            messages = turns.decode(self.array)
        if not parsed or self.beside.is_side(messages):
            self._skip()
            return False
        found.messages, found.tools, found.limit = messages, bytes(parsed.request.tools), limits(parsed.request)
        found.counts = [len(messages)]
        cuts.body, cuts.tools = bytearray(self.array[1:-1].rstrip()), found.tools
        self._take([parsed], [(cuts.number, cuts.offset, cuts.go_behind(stop))], line)
        cuts.learn(line, self.array)
        return True

    def _skip(self) -> None:
        """Pass over the present line, which goes on from none."""
        line = self.cuts.line()
        self._note(line)
        self.cuts.go_behind(line.stop)

    def _note(self, line: Line) -> None:
        skipped = self.beside.skipped(line)
        if skipped is None or len(self.found.skipped) >= _SKIPPED:
            raise NotPlainError
        self.found.skipped.append(skipped)

    def _adapts(self) -> bool:
        """Whether a line that was not taken is one all the same, as another layout or a changed message tells."""
        cuts = self.cuts
        line = bytes(cuts.buffer[cuts.start : cuts.stop()])
        parsed = _parsed(line)
        if parsed is None:
            return False
        array = bytes(parsed.request.messages)
        is_loosened = not cuts.last and not array.startswith(cuts.body, 1) and self._loosens()
        return cuts.learn(line, array) or is_loosened

    def _loosens(self) -> bool:
        """From the second line on, let the first message and the last one be others in each line."""
        cuts, found = self.cuts, self.found
        parts = core(self.array) if len(found.counts) == 1 and not cuts.places else None
        if parts is None:
            return False
        cuts.loosen(parts)
        first, *found.messages, last = found.messages
        found.heads, found.lasts = [first], [last]
        return True

    # What is left of many lines

    def _parse(self) -> None:
        """Parse what is left of lines."""
        pieces, places = self.cuts.left()
        if not pieces:
            return
        pieces[-1] = b"]"
        try:
            parsed = decoders(tuple(envelopes.__path__))[1].decode(b"[%b" % b"".join(pieces))
        except REFUSED:
            self._parse_singly(pieces, places)
            return
        lines = parsed[::2]
        if len(lines) != len(places) or parsed[1::2] != [BETWEEN] * (len(lines) - 1):
            raise NotPlainError
        self._add(lines, places, b"".join(pieces[-PIECES:-1]))

    def _parse_singly(self, pieces: list[bytes | bytearray], places: list[tuple[int, int, int]]) -> None:
        """Parse lines of which some cannot be read; the next one that can has what these added."""
        decode = decoders(tuple(envelopes.__path__))[1].decode
        cuts = self.cuts
        for at, place in enumerate(places):
            head, start, added, *rest, _ = pieces[PIECES * at : PIECES * (at + 1)]
            added = cuts.carried + added
            line = b"".join((head, start, added, *rest))
            try:
                parsed = decode(b"[%b]" % line)
            except REFUSED:
                self._note(cuts.again(place))
                cuts.carried = added
            else:
                self._add(parsed, [place], line)
                cuts.carried = b""

    def _add(self, lines: list[Any], places: list[tuple[int, int, int]], last: bytes) -> None:
        """Add lines, which hold what they were taken for."""
        found, count = self.found, len(lines)
        requests = [line.request for line in lines]
        arrays = [request.messages for request in requests]
        tools = TOOLS if found.tools else UNSET
        if any(request.tools is not tools and request.tools != tools for request in requests):
            raise NotPlainError
        if any(limits(request) != found.limit for request in requests):
            raise NotPlainError
        first = 1 if self.cuts.last else 0
        if [array[first] for array in arrays] != [SAME] * count or [array[-1] for array in arrays] != [END] * count:
            raise NotPlainError
        if first and [array[-3] for array in arrays] != [LAST] * count:
            raise NotPlainError
        for array in arrays:
            found.messages += array[first + 1 : -3 if first else -1]
            found.counts.append(len(found.messages) + 2 * first)
        if first:
            found.heads += [array[0] for array in arrays]
            found.lasts += [array[-2] for array in arrays]
        self._take(lines, places, last)

    def _take(self, lines: list[Any], places: list[tuple[int, int, int]], last: bytes) -> None:
        """Take lines for what they have beside the messages."""
        found = self.found
        found.lines += [number for number, _, _ in places]
        found.last, found.last_size = last, places[-1][2]
        found.times += [line.timestamp for line in lines]
        found.session_ids.update([line.session_id for line in lines])
        responses = [line.response for line in lines]
        first = [response.choices[0] for response in responses]
        found.replies += [choice.message for choice in first]
        found.reasons += [choice.finish_reason for choice in first]
        found.ids += [response.id for response in responses]
        found.usages += [bytes(response.usage) or b"null" for response in responses]
        found.model, found.choices = responses[-1].model, len(responses[-1].choices)


def _parsed(line: bytes) -> Any:
    """A line as a first one is parsed; ``None`` for what is no JSON, or no request."""
    try:
        parsed = decoders(tuple(envelopes.__path__))[0].decode(line)
    except ValidationError:  # it may well be an entry, though none of a plain log
        raise NotPlainError from None
    except REFUSED:
        return None
    return parsed if bytes(parsed.request.messages).startswith(b"[") else None
