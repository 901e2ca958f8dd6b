"""Repetitions of the previous line: runs of messages, tools and system prompts.

Runs of messages are guesses that parsing confirms or disproves; see ``deltas``. Tools and system prompts, which some
responses repeat as well, are replaced by markers so that they need not be split or parsed again. The positions of the
markers in the result prove that the replacement is correct.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import replace

from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Tool
from chatsquash.formats.base import Format, Tools
from chatsquash.reading.exchange import Exchange
from chatsquash.reading.members import PARSE_ERRORS, elements
from chatsquash.sources.lines import Line

_VALUE = lazy_compile(rb"[ \t\r]*:[ \t\r]*")
_GAP = lazy_compile(rb"[ \t\r]*,?[ \t\r]*")
_MOST_RUNS = 8
_FEW = 2
_NEEDLE = 96
"""The number of bytes at the beginning of a message to search for."""
_WINDOW = 8192
"""The number of bytes after a run in which the next run is searched, plus twice the length of the message there."""
# Markers are random in each process, so no log can contain them by chance or on purpose.
MARKER = b'"' + os.urandom(16).hex().encode()
"""The beginning of all markers."""
TOOLS, SYSTEM = MARKER + b't"', MARKER + b's"'
"""The markers of tools and of a system prompt equal to those of the previous line."""
Cut = tuple[int, int, bytes]
"""The start and stop of bytes in a line, and the marker that replaces them."""
_MOST_SILENT, _EVERY = 3, 32
"""The number of lines without repetitions in responses after which only every ``_EVERY``-th response is searched."""
_SHORT = 64
"""The size in bytes up to which splitting a member is faster than searching for it."""


class SharedRun(Struct, frozen=True):
    """Messages ``first`` up to, but not including, ``last`` of the previous request, and their position in a line."""

    first: int
    last: int
    start: int
    stop: int


Change = tuple[int, int, bytes | bytearray]
"""The start and stop of bytes in an array, and the bytes that replace them in the next array."""


class Array(Struct):
    """The bytes of a message array, from ``[`` on, without the closing bracket."""

    data: bytearray = field(default_factory=bytearray)
    """The bytes; empty if unknown."""
    count: int = 0
    """The number of messages."""
    bounds: list[tuple[int, int]] = field(default_factory=list)
    """The start and stop of its first messages; the others are determined when needed."""
    ends: tuple[int, int] | None = None
    """The numbers of messages before and after those shared with the last line, if these were a single run."""

    def change(self, changes: list[Change], count: int, bounds: list[tuple[int, int]] | None) -> None:
        """Change this array into the next one; without ``bounds``, all known bounds remain valid."""
        for start, stop, data in reversed(changes):
            self.data[start:stop] = data
        self.count = count
        if bounds is not None:
            self.bounds = bounds

    def runs(self, line: Line, at: int) -> list[SharedRun]:
        """Return the longest shared runs of messages in the array that begins at ``at``, in order."""
        self._find_bounds()
        with memoryview(self.data) as view:
            if run := self._repeat_last_run(line, at, view):
                return [run]
            runs = list(self._walk(line, at + 1, view))
        self.ends = (runs[0].first, self.count - runs[0].last) if len(runs) == 1 else None
        return runs

    def _repeat_last_run(self, line: Line, at: int, view: memoryview) -> SharedRun | None:
        """Return the run that differs in as few messages as last time, if it is at the same position."""
        if self.ends is None or max(self.ends) > _FEW or sum(self.ends) >= self.count:
            return None
        first, last = self.ends[0], self.count - self.ends[1]
        start, stop = self.bounds[first][0], self.bounds[last - 1][1]
        is_there = line.buffer.startswith(view[start:stop], at + start, line.stop)
        return SharedRun(first, last, at + start, at + stop) if is_there else None

    def _walk(self, line: Line, at: int, view: memoryview) -> Iterator[SharedRun]:
        index = 0
        for _ in range(_MOST_RUNS):
            last = self._find_difference(line, at, index, view)
            if last > index:
                stop = at + self.bounds[last - 1][1] - self.bounds[index][0]
                yield SharedRun(index, last, at, stop)
                at = skip_gap(line.buffer, stop)
                index = last
            if index == self.count:
                return
            run = self._resume(line, at, index, view)
            if run is None:
                return
            index, at = run

    def _find_difference(self, line: Line, at: int, index: int, view: memoryview) -> int:
        """Return the index of the first message that differs."""
        bounds, buffer = self.bounds, line.buffer
        start = bounds[index][0]
        shift = at - start
        low, high = index, self.count
        # Usually one message, all messages, or all except the last one are equal; these are tried before bisecting.
        likely = [high - 1, high, index + 1]
        while low < high:
            probe = likely.pop() if likely else (low + high + 1) // 2
            if not low < probe <= high:
                continue
            stop = bounds[probe - 1][1]
            if buffer.startswith(view[start:stop], start + shift, line.stop):
                low, start = probe, stop  # the bytes before it are known to be equal
            else:
                high = probe - 1
        return low

    def _resume(self, line: Line, at: int, index: int, view: memoryview) -> tuple[int, int] | None:
        """Return where the array continues after a difference: at the next message, or at this one after insertions."""
        begin, end = self.bounds[index]
        window = min(line.stop, at + 2 * (end - begin) + _WINDOW)
        for candidate in range(index + 1, index - 1, -1):
            if candidate < self.count:
                start, stop = self.bounds[candidate]
                needle = bytes(view[start : min(stop, start + _NEEDLE)])
                # The message in between probably has the same length, for example if it contains the time.
                if candidate > index and line.buffer.startswith(needle, at + start - begin, window):
                    return candidate, at + start - begin
                if (place := line.buffer.find(needle, at, window)) >= 0:
                    return candidate, place
        return None

    def _find_bounds(self) -> None:
        if len(self.bounds) == self.count:
            return
        position = skip_gap(self.data, self.bounds[-1][1] if self.bounds else 1)
        for raw in elements(b"[" + self.data[position:] + b"]"):
            self.bounds.append((position, position + len(raw)))
            position = skip_gap(self.data, position + len(raw))


def find(data: bytes | bytearray, key: bytes, value: bytes | bytearray, start: int, stop: int) -> int:
    """Return the position where ``value`` follows ``key``; -1 if it is at none of the likely positions."""
    while (position := data.find(key, start, stop)) >= 0:
        start = position + len(key)
        if data.startswith(b":", start) and data.startswith(
            value, start + 1, stop
        ):  # most lines have no white space here
            return start + 1
        colon = _VALUE.match(data, start, stop)
        if colon and data.startswith(value, colon.end(), stop):
            return colon.end()
        if colon and data.startswith(value[:2], colon.end(), stop):
            break  # probably the right place with another value; further search takes longer than parsing
    return -1


def skip_gap(data: bytes | bytearray, at: int) -> int:
    """Return the position after the comma and white space at ``at``."""
    gap = _GAP.match(data, at)
    return gap.end() if gap else at


class _Member(Struct, frozen=True):
    """A member of the previous line's request."""

    names: tuple[str, ...]
    """All possible names, of which the first one present counts."""
    name: str
    raw: bytes
    marker: bytes

    def cuts(self, line: Line, *places: tuple[int, int], is_echoed: bool) -> list[Cut]:
        """Return the cuts in the request between two places and, with ``is_echoed``, in the response after them."""
        key = b'"%b"' % self.name.encode()
        for start, stop in places:
            at = find(line.buffer, key, self.raw, start, stop)
            if at >= 0:
                after = at + len(self.raw)
                repetition = find(line.buffer, key, self.raw, after, line.stop) if is_echoed else -1
                echo = [(repetition, repetition + len(self.raw), self.marker)] if repetition >= 0 else []
                return [(at, after, self.marker), *echo]
        return []


_Repeat = tuple[_Member, list[Cut]]
"""A member, and its cuts in a line."""


class RepeatedMembers(Struct):
    """The members of the previous line other than messages."""

    form: Format
    tools: KnownTools
    is_echoed: bool
    """Whether responses may repeat the tools and the system prompt."""
    _silent: int = 0
    """The number of consecutive lines whose responses repeat neither."""
    _tools: _Member | None = None
    _system: _Member | None = None

    def find(self, line: Line, after: int, before: int) -> list[_Repeat]:
        """Return the members that a line repeats after or before its messages."""
        ahead, later = (line.start, before), (after, line.stop)
        raw = self.tools.raw
        repeats: list[_Repeat] = []
        # A response may be streamed as one long string, in which searching only takes time.
        is_echoed = self.is_echoed and (self._silent < _MOST_SILENT or self._silent % _EVERY == 0)
        if self._tools is None or self._tools.raw is not raw:
            self._tools = _Member(self.form.TOOLS, "tools", raw, TOOLS) if raw and isinstance(raw, bytes) else None
        if self._tools and (cuts := self._tools.cuts(line, later, ahead, is_echoed=is_echoed)):
            repeats.append((self._tools, cuts))
        if self._system and (cuts := self._system.cuts(line, ahead, later, is_echoed=is_echoed)):
            repeats.append((self._system, cuts))
        return repeats

    def learn_system(self, exchange: Exchange) -> None:
        """Remember the system prompt of a valid request."""
        names = self.form.SYSTEM
        raw = exchange.first(names)
        if raw != SYSTEM:
            name = next((name for name in names if name in exchange.request), "")
            self._system = _Member(names, name, raw, SYSTEM) if len(raw) > _SHORT else None

    def verify(self, exchange: Exchange, repeats: list[_Repeat]) -> Exchange | None:
        """Return the exchange in a line without markers, or ``None`` if a marker does not replace its member."""
        for member, _ in repeats:
            if exchange.first(member.names) != member.marker:
                return None
        echoed = [member for member, cuts in repeats if len(cuts) > 1]
        self._silent = 0 if echoed else self._silent + 1
        result = _restore_response(exchange, echoed) if echoed else exchange
        self.is_echoed = self.is_echoed and result is not None
        return result


def shorten(line: Line, cuts: list[Cut]) -> bytes | None:
    """Return a line with markers in place of the cuts, or ``None`` if the cuts overlap."""
    pieces: list[bytes | bytearray] = []
    position = line.start
    for start, stop, marker in sorted(cuts):
        if start < position:
            return None
        pieces += line.buffer[position:start], marker
        position = stop
    pieces.append(line.buffer[position : line.stop])
    return b"".join(pieces)


def _restore_response(exchange: Exchange, echoed: list[_Member]) -> Exchange | None:
    """Return an exchange with the logged response, or ``None`` if other members of the response contain markers."""
    reply = exchange.reply
    raw, body = reply.raw, reply.body or {}
    try:
        members = _members(tuple(each.name for each in echoed)).decode(raw)
    except PARSE_ERRORS:
        return None
    for each in echoed:
        if bytes(getattr(members, each.name)) != each.marker or each.name in body:
            return None
        raw = raw.replace(each.marker, each.raw)
    return replace(exchange, reply=replace(reply, raw=raw))


@cache
def _members(names: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(msgspec.defstruct("Members", [(name, Raw, Raw()) for name in names], gc=False))


NO_TOOLS: list[Tool] = []
"""The tools of a request without tools, which is always this object."""
_PATIENCE = 3
"""The number of consecutive lists without a known definition after which ``_WHILE`` lists are not split."""
_WHILE = 24
_MOST = 512
"""The maximum number of cached definitions, which usually take a few megabytes at most."""
_LARGE = 1 << 14
"""The size in bytes above which definitions are not cached."""


RawTools = bytes | list[bytes]
"""A raw list, or its raw elements if these were split with the line."""


class KnownTools(Struct):
    """The last list of tools, and single definitions for lists that differ in a few of them.

    Several sessions may share an instance.
    """

    check: Callable[[list[Tool], int], None] | None = None
    """Raises an error for new definitions, with the size of their raw JSON, that exceed a limit."""
    convert: Callable[[list[Tool]], Tools] = Tools
    """Converts a list of tools to those of plain chat, for other formats; the same object for the same list."""
    raw: RawTools = b""
    value: list[Tool] = field(default_factory=list)
    single: dict[bytes, Tool] = field(default_factory=dict)
    misses: int = 0
    """The number of consecutive lists without a known definition."""
    paused: int = 0
    """The number of lists for which looking up single definitions is still paused."""

    def learn(self, raw: RawTools, load: Callable[[bytes], Any]) -> list[Tool]:
        """Return the tools in raw JSON, as the same objects for equal bytes."""
        if raw != self.raw:
            self.raw, self.value = raw, self._load(raw, load)
        return self.value

    def _load(self, raw: RawTools, load: Callable[[bytes], Any]) -> Any:
        if isinstance(raw, bytes) and raw[:1] != b"[":
            return load(raw)
        if self.paused and isinstance(raw, bytes):
            self.paused -= 1
            if (tools := self._load_list(raw, load)) is not None:
                return tools
        definitions = elements(raw) if isinstance(raw, bytes) else raw
        known = list(map(self.single.get, definitions))
        if all(known):
            self.misses = 0
            return known
        self.misses = 0 if any(known) else self.misses + 1
        if self.misses >= _PATIENCE:
            # If every log has its own definitions, splitting lists only takes time.
            self.paused = _WHILE
        new = _load_definitions([each for each, tool in zip(definitions, known, strict=True) if not tool], load)
        if self.check:
            self.check(list(new.values()), max(map(len, new)))
        self._remember(new)
        return [tool or new[each] for each, tool in zip(definitions, known, strict=True)]

    def _load_list(self, raw: bytes, load: Callable[[bytes], Any]) -> Any:
        """Parse a list in one pass, or return ``None`` if it is invalid."""
        try:
            tools = load(raw)
        except (ValueError, RecursionError):
            return None
        if self.check:
            self.check(tools, len(raw))
        return tools

    def _remember(self, new: dict[bytes, Tool]) -> None:
        for raw, tool in new.items():
            if len(raw) <= _LARGE:
                if len(self.single) >= _MOST:
                    self.single.clear()
                self.single[raw] = tool


def _load_definitions(definitions: list[bytes], load: Callable[[bytes], Any]) -> dict[bytes, Tool]:
    """Parse definitions, in one pass if possible, and return them by raw JSON."""
    try:
        return dict(zip(definitions, load(b"[%b]" % b",".join(definitions)), strict=True))
    except (ValueError, RecursionError):  # parse one by one to locate the invalid one
        return {each: load(each) for each in definitions}
