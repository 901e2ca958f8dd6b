"""Raw lines to entries that say only what each request adds to the one before.

A request repeats the conversation so far, so most of a line's bytes stand in the line before it.  Where the message
array begins with the very bytes of the previous one, those are replaced by a marker, and so are unchanged tools; what
is left is small and is parsed.  A marker that stands in the result exactly where it was put proves the cut: the
parser was in the same state before and after it as it would have been around the bytes.  Where to cut is a guess, and
a wrong guess costs one more parse.  Where the beginning differs, the array is split into raw messages, and those that
the previous request had, byte for byte, are taken over from it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pipeline import codec
from pipeline.edits import difference
from pipeline.ledger import Ledger
from pipeline.model import Added, Edits, Entry, Kept, Message, Rejected, Tool, WrongType
from pipeline.read import envelopes
from pipeline.read.envelopes import Envelope, LineError
from pipeline.read.lines import Line
from pipeline.read.times import Moment, moment

# No log can hold these by chance or by intent: they are drawn anew in every process.
_MARKER = os.urandom(16).hex().encode()
_HEAD = b'["' + _MARKER + b'm"'
_TOOLS = b'"' + _MARKER + b't"'
_NO_TOOLS: list[Tool] = []
_VALUE = re.compile(rb"[ \t\r]*:[ \t\r]*")


@dataclass(slots=True)
class Effort:
    """What reading took; tests hold the reader to it."""

    skipped: int = 0
    """Bytes split into raw members."""
    parsed: int = 0
    """Bytes of messages and tools made into objects."""
    cut: int = 0
    """Lines whose messages began with all the previous ones, byte for byte."""
    compared: int = 0
    """Lines whose messages were compared one by one."""
    whole: int = 0
    """Lines parsed whole: the first of a log."""


class _Cut(NamedTuple):
    """A place in a line that a marker takes."""

    start: int
    stop: int
    marker: bytes


class _Request(NamedTuple):
    """What a line's request becomes, and what the next line is compared with."""

    messages: list[Message]
    edits: Edits
    grown: bytes | None
    """What follows the previous array's bytes; ``None`` for an array of its own."""
    array: bytes
    slices: list[bytes] | None


@dataclass(slots=True)
class _History:
    """The previous entry of a log, as messages and as bytes."""

    effort: Effort
    messages: list[Message] = field(default_factory=list)
    array: bytearray = field(default_factory=bytearray)
    """Its message array from ``[`` on, without the closing bracket."""
    slices: list[bytes] | None = None
    """Its raw messages, where they are known."""
    place: int = 0
    """Where in its line the array began."""
    tools_raw: bytes = b""
    tools: list[Tool] = field(default_factory=list)
    older: tuple[bytes, list[Tool]] = (b"", [])
    """The tools before those, since some clients alternate."""

    def read(self, line: Line, ledger: Ledger) -> Entry:
        """The entry of a line; raises ``LineError`` and changes nothing where it is none."""
        head, tools_cut = self._guess(line)
        cuts = sorted(cut for cut in (head, tools_cut) if cut)
        envelope = self._attempt(line, cuts, head, tools_cut) if cuts else None
        if envelope is None:
            head = None
            envelope = self._split(bytes(line.buffer[line.start : line.stop]))
        try:
            request = self._grown(envelope.messages) if head else self._other(envelope.messages)
            when, session_id = moment(envelope.timestamp), envelopes.session_id(envelope.session_id)
            reply = envelopes.reply(envelope.response)
            tools, wrong = self._tools_of(envelope.tools)  # last, since it remembers them
        except RecursionError:
            raise LineError("bad-line", "nested too deeply") from None
        except codec.NotFiniteError as problem:
            raise LineError("bad-line", f"messages or tools hold the number {problem}, which is not JSON") from None
        except ValueError as problem:
            raise LineError("bad-line", f"no JSON object: {problem}") from None
        self._remember(line, head, request)
        _note(ledger, line.number, when, session_id, [each for each in (wrong, reply.wrong) if each])
        at = when.at if when else None
        return Entry(line.number, at, session_id, request.messages, request.edits, tools, reply)

    def _split(self, data: bytes) -> Envelope:
        self.effort.skipped += len(data)
        return envelopes.split(data)

    def _load(self, raw: bytes) -> Any:
        self.effort.parsed += len(raw)
        return codec.loads(raw)

    # Where to cut

    def _guess(self, line: Line) -> tuple[_Cut | None, _Cut | None]:
        data, start, stop = line.buffer, line.start, line.stop
        head = tools = None
        if self.messages:
            at = start + self.place
            if not data.startswith(self.array, at, stop):
                at = _find(data, b'"messages"', self.array, start, stop)
            head = _Cut(at, at + len(self.array), _HEAD) if at >= 0 else None
        if self.tools_raw:
            # Behind the messages, or before them.
            spans = [(head.stop, stop), (start, head.start)] if head else [(start, stop)]
            for low, high in spans:
                if (at := _find(data, b'"tools"', self.tools_raw, low, high)) >= 0:
                    tools = _Cut(at, at + len(self.tools_raw), _TOOLS)
                    break
        return head, tools

    def _attempt(self, line: Line, cuts: list[_Cut], head: _Cut | None, tools: _Cut | None) -> Envelope | None:
        """The shortened line, if every marker stands in it where it was meant to."""
        pieces: list[bytes | bytearray] = []
        at = line.start
        for cut in cuts:
            pieces += [line.buffer[at : cut.start], cut.marker]
            at = cut.stop
        pieces.append(line.buffer[at : line.stop])
        try:
            envelope = self._split(b"".join(pieces))
        except LineError:
            return None
        if head and not envelope.messages.startswith(_HEAD):
            return None
        if tools and envelope.tools != _TOOLS:
            return None
        return envelope

    # What was found

    def _grown(self, raw: bytes) -> _Request:
        """A request whose messages begin with all the previous ones; ``raw`` has the marker in their place."""
        self.effort.cut += 1
        added = self._load(raw)[1:]
        _judge(added, len(self.messages))
        edits: Edits = (Kept(0, len(self.messages)),)
        if added:
            edits += (Added(tuple(added)),)
        return _Request([*self.messages, *added], edits, raw[len(_HEAD) : -1].rstrip(), b"", None)

    def _other(self, raw: bytes) -> _Request:
        """A request whose messages are not simply more than the previous ones."""
        array = raw[:-1].rstrip()
        if not self.messages:
            self.effort.whole += 1
            messages = self._load(raw)
            _judge(messages, 0)
            return _Request(messages, (Added(tuple(messages)),) if messages else (), None, array, None)
        self.effort.compared += 1
        self.effort.skipped += len(raw)
        known = self.slices
        if known is None:
            known = envelopes.elements(bytes(self.array) + b"]")
        same = dict(zip(known, self.messages, strict=True))
        slices = envelopes.elements(raw)
        messages = []
        for at, slice_ in enumerate(slices):
            message = same.get(slice_)
            if message is None:
                message = self._load(slice_)
                _judge([message], at)
            messages.append(message)
        return _Request(messages, difference(self.messages, messages), None, array, slices)

    def _tools_of(self, raw: bytes) -> tuple[list[Tool], WrongType | None]:
        """The tools of a request: the same object as before where the bytes are the same."""
        if raw in (_TOOLS, self.tools_raw) and self.tools_raw:
            return self.tools, None
        if raw in (envelopes.NOTHING, b"null"):
            return _NO_TOOLS, None
        if raw[:1] != b"[":
            return _NO_TOOLS, WrongType("request.tools", envelopes.kind(raw))
        before = (self.tools_raw, self.tools)
        self.tools_raw, self.tools = self.older if raw == self.older[0] else (raw, self._load(raw))
        self.older = before
        return self.tools, None

    def _remember(self, line: Line, head: _Cut | None, request: _Request) -> None:
        self.messages, self.slices = request.messages, request.slices
        if request.grown is not None:
            self.array += request.grown
        else:
            self.array = bytearray(request.array)
        if head:
            self.place = head.start - line.start
        elif (at := _find(line.buffer, b'"messages"', request.array, line.start, line.stop)) >= 0:
            self.place = at - line.start


def entries(lines: Iterable[Line], ledger: Ledger, effort: Effort | None = None) -> Iterator[Entry]:
    """The entries of a log, in file order; lines that are none go to the ledger."""
    history = _History(effort or Effort())
    for line in lines:
        ledger.lines += 1
        if line.length > line.stop - line.start:
            reason = f"longer than {line.length - 1:,} bytes are read"
            ledger.reject(Rejected(line.number, line.offset, line.length, "bad-line", reason))
            continue
        try:
            entry = history.read(line, ledger)
        except LineError as problem:
            if envelopes.is_blank(line.buffer[line.start : line.stop]):
                ledger.blank += 1
            else:
                ledger.reject(Rejected(line.number, line.offset, line.length, problem.code, str(problem)))
        else:
            yield entry


def _find(data: bytearray, key: bytes, value: bytes | bytearray, start: int, stop: int) -> int:
    """Where ``value`` stands behind ``key``; -1 where it does not, as far as a few places tell."""
    while (at := data.find(key, start, stop)) >= 0:
        start = at + len(key)
        colon = _VALUE.match(data, start, stop)
        if colon and data.startswith(value, colon.end(), stop):
            return colon.end()
        if colon and data.startswith(value[:2], colon.end(), stop):
            break  # the right place, most likely, with something else in it; looking on costs more than parsing
    return -1


def _judge(messages: list[Any], first: int) -> None:
    for at, message in enumerate(messages, first):
        if not isinstance(message, dict):
            raise LineError("bad-entry", f"request.messages[{at}] is no object")
        if not isinstance(message.get("role"), str):
            raise LineError("bad-entry", f"request.messages[{at}] has no role")


def _note(ledger: Ledger, line: int, when: Moment | None, session_id: str | None, wrong: list[WrongType]) -> None:
    """What a line lacks; each is reported once per session."""
    if when is None:
        ledger.count(line, "missing-timestamp")
    elif when.naive:
        ledger.count(line, "naive-timestamp")
    if session_id is None:
        ledger.count(line, "missing-session-id")
    for each in wrong:
        ledger.wrong(line, each)
