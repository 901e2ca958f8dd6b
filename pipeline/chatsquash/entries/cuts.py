"""The lines of a file one after the other, each without what it repeats of the line before.

A line's message array mostly begins with the bytes of the one before it, or has them behind a first message that
changes; markers take the place of these bytes and of the tools.  Where to cut is a guess, which ``transcript`` proves.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from io import FileIO

from msgspec import Struct, field

from chatsquash.entries.layout import Core, Layout, layout
from chatsquash.entries.lines import Line, fill, make_room
from chatsquash.entries.repeats import find
from chatsquash.sources.places import read_at

# No log can hold these by chance or by intent: they are drawn anew in every process.
DRAWN = os.urandom(16).hex()
SAME, LAST, END, TOOLS = f"{DRAWN}same", f"{DRAWN}last", f"{DRAWN}end", f"{DRAWN}tools"
"""What stands in the place of repeated messages, before the last message and behind it, and in the place of tools."""
BETWEEN = f"{DRAWN}between"
"""What stands between two lines."""
_START, _STOP, _BEFORE_LAST = f'"{SAME}"'.encode(), f',"{END}"'.encode(), f',"{LAST}"'.encode()
_TOOLS_CUT, _SEAM = f'"{TOOLS}"'.encode(), f',"{BETWEEN}",'.encode()
_NEAR = 1 << 12
"""Bytes by which an array, or the second message, may begin later than in the line before."""
_NEEDLE = 96
"""Bytes at the beginning of the second message by which it is looked for."""
_LAYOUTS = 4
"""Layouts that a log may have."""
PIECES = 6
"""Pieces of what is left of a line: what stands before the messages, a marker, what the line adds to them, what stands
behind up to the tools, the rest, and what stands between two lines."""


class TooLongError(Exception):
    """A line that is longer than what is read."""


class Cuts(Struct):
    """The lines of a file, and what is left of those that are not parsed yet."""

    file: FileIO
    hashed: Callable[[memoryview], object]
    longest: int
    buffer: bytearray
    start: int = 0
    """Where in the buffer the present line begins."""
    filled: int = 0
    ended: bool = False
    """Whether the file was read to its end."""
    number: int = 1
    """That of the present line."""
    offset: int = 0
    """Where in the file it begins."""
    tools: bytes = b""
    """Those of every line, raw; empty where there are none."""
    body: bytearray = field(default_factory=bytearray)
    """What each line repeats of the array of the line before."""
    lead: int = 0
    """How many bytes stand before that in the array."""
    last: bytes = b""
    """What the last message begins with, where that may change; then the first one may, too."""
    layouts: list[Layout] = field(default_factory=list)
    """Those that were met; the last one first."""
    pieces: list[bytes | bytearray] = field(default_factory=list)
    """What is left of lines, ``PIECES`` of each."""
    places: list[tuple[int, int, int]] = field(default_factory=list)
    """The numbers of these lines, where they begin in the file, and their bytes with the line feeds."""
    waiting: int = 0
    """Bytes of the pieces."""
    carried: bytes | bytearray = b""
    """Messages in the body that only an unreadable line added so far."""

    # The file

    def goes_on(self) -> bool:
        """Whether there is another line."""
        return self.start < self.filled or self._more()

    def _more(self) -> bool:
        """Read more of the file; what there is of the present line moves to the front of the buffer."""
        self.buffer, self.filled = make_room(self.buffer, self.start, self.filled)
        self.start = 0
        if self.filled > self.longest:
            raise TooLongError
        count = 0 if self.ended else fill(self.file, self.buffer, self.filled, self.hashed)
        self.filled += count
        self.ended = count == 0
        return count > 0

    def stop(self) -> int:
        """Where the present line ends, which is read as far as that."""
        while (stop := self.buffer.find(b"\n", self.start, self.filled)) < 0 and self._more():
            pass
        return self.filled if stop < 0 else stop

    def line(self) -> Line:
        """The present line."""
        stop = self.stop()
        size = min(stop + 1, self.filled) - self.start
        return Line(self.number, self.offset, stop - self.start, self.buffer, self.start, stop, size, self.filled)

    def go_behind(self, stop: int) -> int:
        """Go behind the present line, which ends here; gives its bytes with the line feed."""
        behind = min(stop + 1, self.filled)
        size = behind - self.start
        if size > self.longest:
            raise TooLongError
        self.offset += size
        self.start = behind
        self.number += 1
        return size

    def again(self, place: tuple[int, int, int]) -> Line:
        """A line that was read before, by its place."""
        number, offset, size = place
        data = bytearray(read_at(self.file, size, offset))
        length = len(data.removesuffix(b"\n"))
        return Line(number, offset, length, data, 0, length, size)

    # What lines repeat

    def learn(self, line: bytes, array: bytes) -> bool:
        """Learn the layout of a line with this raw array of messages; whether it is a new one."""
        met = layout(line, array, self.tools)
        if met is None or met in self.layouts or len(self.layouts) >= _LAYOUTS:
            return False
        self.layouts.insert(0, met)
        return True

    def loosen(self, core: Core) -> None:
        """Let the first message and the last one be others in each line."""
        self.lead, self.body, self.last = core.lead, bytearray(core.body), core.start

    def take(self) -> bool:
        """Leave of the present line what it does not repeat, and go behind it; ``False``: it is none of these."""
        while (stop := self._cut()) < 0:
            if self.ended or self.buffer.find(b"\n", self.start, self.filled) >= 0:
                return False
            self._more()
        self.places.append((self.number, self.offset, self.go_behind(stop)))
        return True

    def left(self) -> tuple[list[bytes | bytearray], list[tuple[int, int, int]]]:
        """The pieces of the lines that were taken since the last call, and the places of these."""
        pieces, places = self.pieces, self.places
        self.pieces, self.places, self.waiting = [], [], 0
        return pieces, places

    def _cut(self) -> int:
        """Leave of the present line what it does not repeat.

        Gives its end, or -1 where something of it is not there, or not there yet.
        """
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
        buffer, start, tools = self.buffer, self.start, self.tools
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
