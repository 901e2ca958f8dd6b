"""One session's log, open, to its entries: which lines are its own, how they are wrapped, in which format they are."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator
from errno import EIO
from io import BytesIO
from itertools import chain
from typing import BinaryIO

from chatsquash.checks import reading
from chatsquash.formats.base import TurnError
from chatsquash.formats.documents import names as document_names
from chatsquash.ledger import Ledger
from chatsquash.model import Added, Entry, Log, Reply, Seen
from chatsquash.options import Options
from chatsquash.read import documents, recognise
from chatsquash.read.bounds import Bounds
from chatsquash.read.entries import EntryReader
from chatsquash.read.lines import Line, Room, lines
from chatsquash.read.recognise import Shape
from chatsquash.read.sessions import SPAN, MixedSessionsError
from chatsquash.read.tools import KnownTools
from chatsquash.sources.compression import Expanded

_PIECE = 1 << 20
_NEAR = 1 << 16
"""Bytes behind a line in which the next one is looked for."""


class Reader:
    """Reads session logs as the options say; tools met in one need not be parsed again in the next."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._from = options.from_format
        self._by_id = options.sessions_by == "id"
        self._split = options.sessions_by is None
        self._bounds = Bounds.of(options)
        self._known: dict[str, KnownTools] = {}
        self._room = Room()

    def entries(
        self, file: BinaryIO, log: Log, ledger: Ledger, hashed: Callable[[memoryview], object] | None = None
    ) -> Iterator[Entry]:
        """The entries of a log, in file order; what its first lines tell is noted in the ledger.

        ``hashed`` is given all bytes of the log in turn, unless the document in it was read before and its digest is
        known.  Raises ``MixedSessionsError`` before anything else for a file that has to be split first.
        """
        documents.forget(file)
        if log.part is not None:
            yield from self._part(file, log, ledger, hashed)
            return
        expanded = file if isinstance(file, Expanded) else None
        if log.spans is not None:
            stream = _spans(file, log.spans, hashed, self._bounds.line)
        elif expanded:
            expanded.hashed = hashed  # as it stands on the disk
            stream = lines(file, self._bounds.line, room=self._room)
        else:
            stream = lines(file, self._bounds.line, hashed, self._room)
        yield from self._entries(file, stream, log, ledger)
        problem: str | None = ledger.ended or log.cut
        if expanded and log.spans is None:
            expanded.finish()
            problem = ledger.ended or expanded.problem
        elif ledger.ended:
            deque(stream, maxlen=0)  # which hashes the rest
        if problem:
            ledger.note(reading.cut_short(problem))
        assert ledger.ended or log.spans is not None or ledger.size == file.tell(), (log, ledger.size)

    def _entries(self, file: BinaryIO, stream: Iterator[Line], log: Log, ledger: Ledger) -> Iterator[Entry]:
        first = next(stream, None)
        if first is None:
            return
        if self._from is not None:
            yield from self._as(self._look(file), file, chain([first], stream), log, ledger)
            return
        if self._by_id and log.spans is None:
            yield from self._as(self._look(file), file, chain([first], stream), log, ledger)
            return
        held = [first, *_agreeing(first, stream)]
        seen = recognise.PLAIN_LOG if all(map(self._is_plain, held)) else self._look(file)
        yield from self._as(seen, file, chain(held, stream), log, ledger)

    def _as(
        self, seen: tuple[Shape, Seen], file: BinaryIO, stream: Iterator[Line], log: Log, ledger: Ledger
    ) -> Iterator[Entry]:
        """The entries of a log, or what is none, as its first lines tell or the user says."""
        shape, ledger.seen = seen
        if (ledger.seen.format is None or self._from) and (held := self._document(file, ledger)):
            if len(held.conversations) > 1 and self._split:
                raise MixedSessionsError
            deque(stream, maxlen=0)  # which hashes the rest
            yield from self._spread(held, ledger) if held.line else self._whole(held, log, ledger)
            return
        if log.spans is None and (self._by_id or (shape.envelope.MIXES and self._split)):
            raise MixedSessionsError
        yield from self._log(shape).entries(stream, ledger)

    def _log(self, shape: Shape) -> EntryReader:
        return EntryReader(shape, self._known, self._bounds)

    def _document(self, file: BinaryIO, ledger: Ledger) -> documents.Document | None:
        """The document in a file that is no log; what is wrong with it takes the place of what was seen."""
        try:
            return documents.document(file, self._options)
        except TurnError as problem:
            ledger.seen = Seen(None, "document", str(problem), conflict=True)
            return None

    def _part(
        self, file: BinaryIO, log: Log, ledger: Ledger, hashed: Callable[[memoryview], object] | None
    ) -> Iterator[Entry]:
        """One conversation of a document."""
        held = self._document(file, ledger)
        if held is None or (log.part or 0) >= max(1, len(held.conversations)):
            raise OSError(EIO, "it changed while it was read")
        ledger.document = held
        if hashed and not held.digest:
            _hash(file, hashed)
        yield from self._whole(held, log, ledger)
        if held.cut:
            ledger.note(reading.cut_short(held.cut))

    def _spread(self, held: documents.Document, ledger: Ledger) -> Iterator[Entry]:
        """The entry of a file that is one exchange on several lines."""
        line = held.line
        shape, ledger.seen = recognise.look(BytesIO(line), self._from, self._bounds.memory)
        stop = len(line) if len(line) <= self._bounds.line else 0
        whole = Line(1, 0, len(line), bytearray(line), 0, stop, held.size)
        yield from self._log(shape).entries([whole], ledger)

    def _whole(self, held: documents.Document, log: Log, ledger: Ledger) -> Iterator[Entry]:
        """A conversation of a document as the one entry of its session; the document counts as one line.

        The bytes of a document with several conversations count with the first.
        """
        ledger.seen, ledger.loaded, ledger.lines = Seen(held.format, "document", held.why), True, 1
        ledger.size = 0 if log.part else held.size
        if held.problem:
            ledger.seen = Seen(None, "document", held.problem, conflict=True)
            return
        found = held.conversations
        if not log.part:
            ledger.lines += len(held.broken)
            for rejected in held.broken:
                ledger.reject(rejected, min(rejected.length + 1, held.size - rejected.offset))
            self._note(held, log, ledger)
        if found:
            messages, tools = found[log.part or 0].messages, found[log.part or 0].tools
            left = ledger.size - ledger.rejected_size
            yield Entry(1, None, None, messages, (Added(tuple(messages)),), tools, Reply(included=True), size=left)

    def _note(self, held: documents.Document, log: Log, ledger: Ledger) -> None:
        """What of a document does not reach the record."""
        if len(held.conversations) > 1 and log.part is None:
            ledger.note(reading.other_conversations(len(held.conversations)))
        if held.aside.hosted:
            ledger.count(1, "hosted-tools")
        if held.aside.elsewhere:
            ledger.count(1, "missing-history")

    def _look(self, file: BinaryIO) -> tuple[Shape, Seen]:
        if self._from in document_names():
            return Shape(), Seen(None, "document", "")
        return recognise.look(file, self._from, self._bounds.memory)

    def _is_plain(self, line: Line) -> bool:
        is_light = line.length <= self._bounds.light
        return is_light and recognise.is_plain(line.buffer[line.start : line.stop])


def _hash(file: BinaryIO, hashed: Callable[[memoryview], object]) -> None:
    """Have a whole file hashed, as it stands on the disk."""
    if isinstance(file, Expanded):
        file.seek(0)
        file.hashed = hashed
        file.finish()
        return
    file.seek(0)
    while piece := file.read(_PIECE):
        hashed(memoryview(piece))


def _agreeing(first: Line, stream: Iterator[Line]) -> Iterator[Line]:
    """The next few lines, as far as they stand in the buffer of the first one, which stays as it is."""
    line = first
    for _ in range(recognise.AGREEING - 1):
        if line.buffer.find(b"\n", line.stop + 1, min(line.stop + _NEAR, line.filled)) < 0:
            return
        line = next(stream)
        yield line


def _spans(
    file: BinaryIO, spans: array[int], hashed: Callable[[memoryview], object] | None, longest: int
) -> Iterator[Line]:
    """The lines of one session in a file that holds several."""
    for at in range(0, len(spans), SPAN):
        number, offset, length, feed = spans[at : at + SPAN]
        if length > longest:
            yield Line(number, offset, length, bytearray(), 0, 0, length + feed)
            continue
        file.seek(offset)
        data = bytearray(length)
        with memoryview(data) as view:
            filled = 0
            while count := file.readinto(view[filled:]):  # type: ignore[attr-defined]
                filled += count
            if hashed:
                hashed(view[:filled])
        yield Line(number, offset, filled, data, 0, filled, filled + feed)
