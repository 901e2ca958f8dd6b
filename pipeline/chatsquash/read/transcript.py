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

import os
from collections.abc import Callable
from functools import cache
from io import FileIO
from typing import Any, Literal, Protocol

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from chatsquash import jsonio
from chatsquash.formats.openai_chat.members import RESPONSE
from chatsquash.model import Message, Skipped
from chatsquash.read import envelopes
from chatsquash.read.exchange import claims
from chatsquash.read.layout import Layout, core, layout
from chatsquash.read.lines import Buffers, Line, fill, make_room
from chatsquash.read.members import REFUSED
from chatsquash.read.repeats import find

# No log can hold these by chance or by intent: they are drawn anew in every process.
_DRAWN = os.urandom(16).hex()
_SAME, _LAST, _END, _TOOLS = f"{_DRAWN}same", f"{_DRAWN}last", f"{_DRAWN}end", f"{_DRAWN}tools"
"""What stands in the place of repeated messages, before the last message and behind it, and in the place of tools."""
_BETWEEN, _NEVER = f"{_DRAWN}between", f"{_DRAWN}never"
_START, _STOP, _BEFORE_LAST = f'"{_SAME}"'.encode(), f',"{_END}"'.encode(), f',"{_LAST}"'.encode()
_TOOLS_CUT, _SEAM = f'"{_TOOLS}"'.encode(), f',"{_BETWEEN}",'.encode()
_BATCH = 1 << 20
"""Bytes of what is left of lines that are parsed at once."""
_NEAR = 1 << 12
"""Bytes by which an array, or the second message, may begin later than in the line before."""
_NEEDLE = 96
"""Bytes at the beginning of the second message by which it is looked for."""
_SKIPPED = 1000
"""Lines that may be passed over: each takes a hundred times the memory of a blank one."""
_LAYOUTS = 4
"""Layouts that a log may have."""

_Absent: Any = Literal[_NEVER] | UnsetType
"""The type of a member that no plain line has."""
_Limit: Any = int | None | UnsetType


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


class _Choice(Struct, gc=False):
    message: dict[str, Any]
    finish_reason: str | None = None


_Response = msgspec.defstruct(
    "Response",
    [
        ("choices", list[_Choice]),
        ("object", Literal["chat.completion"], "chat.completion"),
        ("model", str),
        ("id", Any, None),
        *((name, Raw, Raw()) for name in RESPONSE if name not in ("choices", "object", "model", "id")),
    ],
    forbid_unknown_fields=True,
    gc=False,
    kw_only=True,
)


@cache
def _decoders(folders: tuple[str, ...]) -> tuple[msgspec.json.Decoder[Any], msgspec.json.Decoder[Any]]:
    """What parses the first line of a log, and what parses the others as far as they are left."""
    unclaimed = {f"claim{at}": name for at, name in enumerate(claims(folders))}
    beside: list[Any] = [
        ("response", _Response),
        ("timestamp", str),
        ("session_id", str | None, None),
        ("status", Literal[200] | None, None),
        *((name, _Absent, UNSET) for name in unclaimed),
    ]
    request: list[Any] = [
        *((name, _Absent, UNSET) for name in ("functions", "generationConfig", "options")),
        *((name, _Limit, UNSET) for name in ("max_tokens", "max_completion_tokens", "max_output_tokens")),
    ]

    def line(messages: Any, tools: Any, default: Any) -> Any:
        members = [("messages", messages), ("tools", tools, default), *request]
        whole = msgspec.defstruct("Request", members, gc=False, kw_only=True)
        return msgspec.defstruct("Line", [("request", whole), *beside], rename=unclaimed, gc=False, kw_only=True)

    later = line(list[Any], Literal[_TOOLS] | UnsetType, UNSET)
    others: Any = list[later | Literal[_BETWEEN]]  # type: ignore[valid-type]
    return jsonio.decoder(line(Raw, Raw, Raw())), jsonio.decoder(others)


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
    lines = _Lines(file, hashed, longest, beside, room.take())
    try:
        return lines.read()
    except (*REFUSED, AttributeError, IndexError, KeyError, TypeError):  # of another shape
        raise NotPlainError from None
    finally:
        room.leave(lines.buffer)


class _Lines(Struct):
    """The lines of a file one after the other, and what is left of them to be parsed."""

    file: FileIO
    hashed: Callable[[memoryview], object]
    longest: int
    beside: Beside
    buffer: bytearray
    start: int = 0
    """Where in the buffer the present line begins."""
    filled: int = 0
    ended: bool = False
    """Whether the file was read to its end."""
    number: int = 1
    """That of the present line."""
    array: bytes = b""
    """The messages of the first line, raw."""
    body: bytearray = field(default_factory=bytearray)
    """What each line repeats of the array of the line before."""
    lead: int = 0
    """How many bytes stand before that in the array."""
    last: bytes = b""
    """What the last message begins with, where that may change; then the first one may, too."""
    layouts: list[Layout] = field(default_factory=list)
    """Those that were met; the last one first."""
    pieces: list[bytes | bytearray] = field(default_factory=list)
    """What is left of lines that are not parsed yet, six of each."""
    places: list[tuple[int, int, int]] = field(default_factory=list)
    """The numbers of these lines, where they begin in the file, and their bytes with the line feeds."""
    waiting: int = 0
    """Bytes of the pieces."""
    carried: bytes | bytearray = b""
    """Messages in the body that only an unreadable line added so far."""
    found: Transcript = field(default_factory=Transcript)

    def read(self) -> Transcript:
        """All lines."""
        while not self._first():
            if not self._goes_on():
                raise NotPlainError
        while self._goes_on():
            if self.waiting > _BATCH:
                self._parse()
            self._later()
        self._parse()
        found = self.found
        if found.heads:
            found.messages = [found.heads[-1], *found.messages, found.lasts[-1]]
        return found

    # The file

    def _goes_on(self) -> bool:
        """Whether there is another line."""
        return self.start < self.filled or self._more()

    def _more(self) -> bool:
        """Read more of the file; what there is of the present line moves to the front of the buffer."""
        self.buffer, self.filled = make_room(self.buffer, self.start, self.filled)
        self.start = 0
        if self.filled > self.longest:
            raise NotPlainError
        count = 0 if self.ended else fill(self.file, self.buffer, self.filled, self.hashed)
        self.filled += count
        self.ended = count == 0
        return count > 0

    def _whole(self) -> int:
        """Read on until the present line is whole; gives where it ends."""
        while (stop := self.buffer.find(b"\n", self.start, self.filled)) < 0 and self._more():
            pass
        return self.filled if stop < 0 else stop

    def _pass(self, stop: int) -> int:
        """Go behind a line that ends here; gives its bytes with the line feed."""
        behind = min(stop + 1, self.filled)
        size = behind - self.start
        if size > self.longest:
            raise NotPlainError
        self.found.size += size
        self.start = behind
        self.number += 1
        return size

    def _skip(self, line: Line) -> None:
        """Take note of a line that does not go on from others."""
        skipped = self.beside.skipped(line)
        if skipped is None or len(self.found.skipped) >= _SKIPPED:
            raise NotPlainError
        self.found.skipped.append(skipped)

    # One line

    def _first(self) -> bool:
        """Parse the first line; whether it is one that others may go on from."""
        stop = self._whole()
        line, found = bytes(self.buffer[self.start : stop]), self.found
        parsed, messages = self._parsed(line), []
        if parsed:
            self.array = bytes(parsed.request.messages)
            messages = jsonio.loads(self.array)
        if not parsed or self.beside.is_side(messages):
            self._skip_to(stop)
            return False
        found.messages, found.tools, found.limit = messages, bytes(parsed.request.tools), _limit(parsed.request)
        found.counts = [len(messages)]
        self.body = bytearray(self.array[1:-1].rstrip())
        self._take([parsed], [(self.number, 0, self._pass(stop))], line)
        self._learn(line, self.array)
        return True

    @staticmethod
    def _parsed(line: bytes) -> Any:
        """A line as a first one is parsed; ``None`` for what is none."""
        try:
            parsed = _decoders(tuple(envelopes.__path__))[0].decode(line)
        except REFUSED:
            return None
        return parsed if bytes(parsed.request.messages).startswith(b"[") else None

    def _skip_to(self, stop: int) -> None:
        """Pass over the present line, which ends here."""
        length = stop - self.start
        size = min(stop + 1, self.filled) - self.start
        self._skip(Line(self.number, self.found.size, length, self.buffer, self.start, stop, size, self.filled))
        self._pass(stop)

    def _later(self) -> None:
        """Cut out of a line what it repeats; where it is of another layout, learn that; else it must be passed over."""
        while (stop := self._cut()) < 0:
            if not self.ended and self.buffer.find(b"\n", self.start, self.filled) < 0:
                self._more()
                continue
            end = self._whole()
            if not self._adapts(bytes(self.buffer[self.start : end])) or (stop := self._cut()) < 0:
                self._skip_to(end)
                return
            break
        offset = self.found.size
        self.places.append((self.number, offset, self._pass(stop)))

    def _adapts(self, line: bytes) -> bool:
        """Whether a line that could not be cut is one all the same, as another layout or a changed message tells."""
        parsed = self._parsed(line)
        if parsed is None:
            return False
        array = bytes(parsed.request.messages)
        is_loosened = not self.last and not array.startswith(self.body, 1) and self._loosens()
        return self._learn(line, array) or is_loosened

    def _loosens(self) -> bool:
        """From the second line on, let the first message and the last one be others in each line."""
        found = self.found
        parts = core(self.array) if len(found.counts) == 1 and not self.places else None
        if parts is None:
            return False
        self.lead, self.body, self.last = parts.lead, bytearray(parts.body), parts.start
        first, *found.messages, last = found.messages
        found.heads, found.lasts = [first], [last]
        return True

    def _learn(self, line: bytes, array: bytes) -> bool:
        """Learn the layout of a line; whether it is a new one."""
        met = layout(line, array, self.found.tools)
        if met is None or met in self.layouts or len(self.layouts) >= _LAYOUTS:
            return False
        self.layouts.insert(0, met)
        return True

    def _cut(self) -> int:
        """Leave of a line what it does not repeat; gives its end, or -1 where something of it is not there yet."""
        buffer, start, filled = self.buffer, self.start, self.filled
        for each in self.layouts:
            place = start + each.at
            first = place + 1 + self.lead
            if buffer.startswith(b"[", place) and buffer.startswith(self.body, first, filled):
                stop = self._cut_as(each, place, first, filled)
                if stop >= 0:
                    return stop
        farthest = max([each.at for each in self.layouts], default=0)
        place = find(buffer, b'"messages"', b"[", start, min(filled, start + farthest + _NEAR))
        first = self._body_at(place) if place >= 0 else -1
        limit = buffer.find(b"\n", first + len(self.body), filled) if first >= 0 else -1
        if limit < 0:
            return -1
        for each in self.layouts:
            stop = self._cut_as(each, place, first, limit + 1)
            if stop >= 0:
                return stop
        return -1

    def _body_at(self, place: int) -> int:
        """Where in the array that begins here the body does; -1 where it does not."""
        first = place + 1 + self.lead
        if self.buffer.startswith(self.body, first, self.filled):
            return first
        if not self.last or not self.body:
            return -1
        first = self.buffer.find(bytes(self.body[:_NEEDLE]), place, min(self.filled, first + _NEAR))
        return first if first >= 0 and self.buffer.startswith(self.body, first, self.filled) else -1

    def _cut_as(self, each: Layout, place: int, first: int, limit: int) -> int:
        """The same for a line of this layout, whose array and body begin here, and which ends before ``limit``."""
        buffer, start, tools = self.buffer, self.start, self.found.tools
        behind = first + len(self.body)
        stop = buffer.find(b"\n", behind, limit)
        if stop < 0 and not (self.ended and limit == self.filled):
            return -1
        stop = self.filled if stop < 0 else stop
        end = buffer.find(each.behind, behind, stop)
        rest = end + len(each.behind)
        head, bridge = buffer[start:first], _STOP + each.behind
        if end < 0 or b"\n" in head:
            return -1
        if each.ahead:
            at = place - each.ahead
            if at < start or not buffer.startswith(tools, at, place):
                return -1
            head[at - start : at - start + len(tools)] = _TOOLS_CUT
        elif tools:
            at = find(buffer, b'"tools"', tools, rest, stop) if each.is_apart else rest
            if not buffer.startswith(tools, at, stop):
                return -1
            bridge += buffer[rest:at] + _TOOLS_CUT
            rest = at + len(tools)
        cut = buffer.rfind(self.last, behind, end) if self.last else end
        if cut < 0:
            return -1
        added, marker = buffer[behind:cut], _START
        if self.last:
            bridge = _BEFORE_LAST + buffer[cut:end] + bridge
            marker = b"," + _START
        self.lead = first - place - 1
        self.body += added
        self.waiting += len(head) + len(added) + len(bridge) + stop - rest
        self.pieces += (head, marker, self.carried + added if self.carried else added, bridge, buffer[rest:stop], _SEAM)
        self.carried = b""
        if each is not self.layouts[0]:
            self.layouts.remove(each)
            self.layouts.insert(0, each)
        return stop

    # What is left of many lines

    def _parse(self) -> None:
        """Parse what is left of lines."""
        pieces, places = self.pieces, self.places
        self.pieces, self.places, self.waiting = [], [], 0
        if not pieces:
            return
        pieces[-1] = b"]"
        try:
            parsed = _decoders(tuple(envelopes.__path__))[1].decode(b"[%b" % b"".join(pieces))
        except REFUSED:
            self._parse_singly(pieces, places)
            return
        lines = parsed[::2]
        if len(lines) != len(places) or parsed[1::2] != [_BETWEEN] * (len(lines) - 1):
            raise NotPlainError
        self._add(lines, places, b"".join(pieces[-6:-1]))

    def _parse_singly(self, pieces: list[bytes | bytearray], places: list[tuple[int, int, int]]) -> None:
        """Parse lines of which some cannot be read; the next one that can has what these added."""
        decode = _decoders(tuple(envelopes.__path__))[1].decode
        for at, place in enumerate(places):
            head, start, added, *rest, _ = pieces[6 * at : 6 * at + 6]
            added = self.carried + added
            line = b"".join((head, start, added, *rest))
            try:
                parsed = decode(b"[%b]" % line)
            except REFUSED:
                number, offset, size = place
                data = bytearray(os.pread(self.file.fileno(), size, offset))
                length = len(data.removesuffix(b"\n"))
                self._skip(Line(number, offset, length, data, 0, length, size))
                self.carried = added
            else:
                self._add(parsed, [place], line)
                self.carried = b""

    def _add(self, lines: list[Any], places: list[tuple[int, int, int]], last: bytes) -> None:
        """Add lines, which hold what they were taken for."""
        found, count = self.found, len(lines)
        requests = [line.request for line in lines]
        arrays = [request.messages for request in requests]
        tools = _TOOLS if found.tools else UNSET
        if any(request.tools is not tools and request.tools != tools for request in requests):
            raise NotPlainError
        if any(_limit(request) != found.limit for request in requests):
            raise NotPlainError
        first = 1 if self.last else 0
        if [array[first] for array in arrays] != [_SAME] * count or [array[-1] for array in arrays] != [_END] * count:
            raise NotPlainError
        if self.last and [array[-3] for array in arrays] != [_LAST] * count:
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
        found.model, found.choices = responses[-1].model, len(responses[-1].choices)


def _limit(request: Any) -> tuple[Any, ...]:
    return request.max_tokens, request.max_completion_tokens, request.max_output_tokens
