"""One session's log, open, to its entries: which lines are its own, how they are wrapped, in which format they are."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Generator, Iterator
from errno import EIO
from io import BytesIO
from itertools import chain
from typing import BinaryIO

from chatsquash.checks import files, reading
from chatsquash.core.log import Log
from chatsquash.core.model import (
    AddedRun,
    Conversation,
    Entry,
    Origin,
    OriginReply,
    RepeatedViolation,
    Response,
    Seen,
    SkippedLine,
)
from chatsquash.core.options import Options
from chatsquash.formats import PLAIN, named
from chatsquash.formats.base import TurnError
from chatsquash.formats.documents import names as document_names
from chatsquash.reading import documents, recognise
from chatsquash.reading.bounds import Bounds
from chatsquash.reading.entries import EntryReader, unreadable
from chatsquash.reading.exchange import Exchange, LineError, split
from chatsquash.reading.lines import Buffers, Line, at_hand, lines
from chatsquash.reading.origins import first_line
from chatsquash.reading.recognise import Shape
from chatsquash.reading.session_log import PLAIN_LOG, Reading
from chatsquash.reading.sessions import MixedSessionsError, lines_of
from chatsquash.reading.tools import KnownTools
from chatsquash.sources.beginnings import Beginning, has_read, identifying, may_be_remembered
from chatsquash.sources.compression import Expanded, uncompressed
from chatsquash.sources.suffixes import LOGS

_PIECE = 1 << 20


Items = Generator[Entry | SkippedLine, None, str | None]
"""The entries of a log and its lines that are none, in file order; returns why the rest of it is not read."""
_Begun = tuple[Seen | None, Items, documents.LogDocument | None]


class Reader:
    """Reads session logs as the options say; tools met in one need not be parsed again in the next."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._from = options.from_format
        self._by_id = options.sessions_by == "id"
        self._split = options.sessions_by is None
        self._bounds = Bounds.of(options)
        self._known: dict[str, KnownTools] = {}
        self._room = Buffers()
        self._is_plain = True
        """Whether the last log was plain chat, as neighbours mostly are."""
        self._files = 1
        """How many hold the log that is read."""

    def read(
        self,
        file: BinaryIO,
        log: Log,
        hashed: Callable[[memoryview], object] | None = None,
        places: array[int] | None = None,
    ) -> Reading:
        """What the first lines of a log tell, and its entries, which are read as they are asked for.

        ``hashed`` is given all bytes of the log in turn, unless the document in it was read before and its digest is
        known; ``places`` gets those of its lines, as in ``Log.spans``.

        Raises ``MixedSessionsError`` for a file that has to be split first.
        """
        documents.forget(file)
        self._files = max(1, len(log.pieces))
        if log.part is not None or log.unit is not None:
            return self._part(file, log, hashed)
        expanded = file if isinstance(file, Expanded) else None
        beginning = None
        if log.spans is not None:
            stream = lines_of(file, log.spans, hashed, self._bounds.line)
        elif expanded:
            expanded.hashed = hashed  # as it stands on the disk
            stream = lines(file, self._bounds.line, room=self._room)
        elif places is None and may_be_remembered(file):
            beginning = Beginning(file, hashed)
            stream = lines(file, self._bounds.line, beginning.pass_on, self._room)
        else:
            stream = lines(file, self._bounds.line, hashed, self._room)
        if places is not None:
            stream = _noting(stream, places)
        with identifying(beginning):
            seen, items, held = self._begun(file, stream, log)
        return Reading(seen, _to_the_end(items, stream, log, expanded if log.spans is None else None), held)

    def refuse_several(self, file: BinaryIO, log: Log) -> None:
        """Raise ``MixedSessionsError`` for a file of many sessions, before it is taken for a log with one long line."""
        if not self._split or log.is_part or log.pieces or uncompressed(log.path).lower().endswith(LOGS):
            return
        from chatsquash.reading.split_files import has_several  # which most logs do not need

        if has_several(file, self._options):
            raise MixedSessionsError

    def _begun(self, file: BinaryIO, stream: Iterator[Line], log: Log) -> _Begun:
        """What the first lines tell, the entries, and the document that all lines are."""
        first = next(stream, None)
        if first is None:
            return None, _nothing(), None
        if self._from is not None or (self._by_id and log.spans is None):
            return self._as(self._look(file), file, chain([first], stream), log)
        held = [first, *_agreeing(first, stream)]
        if not self._is_plain and not (recognise.may_be_chat(first) and _is_plain(_split(first))):
            return self._as(self._look(file), file, chain(held, stream), log)
        chat = self._lines(Shape())  # as most logs are, which is told by what is read of them so
        items = chat.entries(chain(held, stream))
        begun = list[Entry | SkippedLine]()
        for line in held:
            item = next(items, None)  # none where too many before it cannot be read
            exchange = chat.exchange if isinstance(item, Entry) else _split(line)
            self._is_plain = item is not None and _is_plain(exchange)
            if item is None or not self._is_plain:
                break
            begun.append(item)
        else:
            return PLAIN_LOG, _then(begun, items), None
        return self._as(self._look(file), file, chain(held, stream), log)

    def _as(self, shape_seen: tuple[Shape, Seen], file: BinaryIO, stream: Iterator[Line], log: Log) -> _Begun:
        """The entries of a log, or what is none, as its first lines tell or the user says."""
        shape, seen = shape_seen
        if seen.format is None or self._from:
            try:
                held = documents.document(file, self._options)
            except TurnError as problem:
                held, seen = None, Seen(None, "document", str(problem), conflict=True)
            if held:
                held.is_alone = held.is_alone or not self._from
                if (len(held.conversations) > 1 or held.units > 1) and self._split:
                    raise MixedSessionsError
                if has_read(file, held.size):
                    file.seek(held.size)
                else:
                    deque(stream, maxlen=0)  # which hashes the rest
                return (*self._spread(held), None) if held.line else (_seen(held), _whole(held, log), held)
        if log.spans is None and (self._by_id or (shape.envelope.MIXES and self._split)):
            raise MixedSessionsError
        return seen, self._lines(shape).entries(stream), None

    def _lines(self, shape: Shape) -> EntryReader:
        most = (self._bounds.rejected + 1) * self._files - 1  # so many of each file
        return EntryReader(shape, self._known, self._bounds._replace(rejected=most))

    def _part(self, file: BinaryIO, log: Log, hashed: Callable[[memoryview], object] | None) -> Reading:
        """One conversation of a document, or one unit."""
        try:
            held = documents.document(file, self._options, log.unit)
        except TurnError as problem:
            if log.unit is None:
                raise OSError(EIO, "it changed while it was read") from None
            return self._broken(file, log, str(problem), hashed)
        if held and log.part is None and len(held.conversations) > 1 and self._options.sessions_by != "file":
            raise MixedSessionsError
        if held is None or (log.part or 0) >= max(1, len(held.conversations)):
            raise OSError(EIO, "it changed while it was read")
        if hashed and not held.digest:
            _hash(file, hashed)
        cut = [SkippedLine(lines=0, findings=(reading.cut_short(held.cut),))] if held.cut else []
        return Reading(_seen(held), chain(_whole(held, log), cut), held)

    def _broken(self, file: BinaryIO, log: Log, problem: str, hashed: Callable[[memoryview], object] | None) -> Reading:
        """A unit that cannot be read."""
        if hashed:
            _hash(file, hashed)
        seen = Seen(None, "document", problem, conflict=True)
        return Reading(seen, iter([SkippedLine(1, size=log.size)]), None)

    def _spread(self, held: documents.LogDocument) -> tuple[Seen, Items]:
        """The entry of a file that is one exchange on several lines."""
        line = held.line
        shape, seen = recognise.look(BytesIO(line), self._from, self._bounds.memory)
        stop = len(line) if len(line) <= self._bounds.line else 0
        whole = Line(1, 0, len(line), bytearray(line), 0, stop, held.size)
        return seen, self._lines(shape).entries([whole])

    def _look(self, file: BinaryIO) -> tuple[Shape, Seen]:
        if self._from in document_names():
            return Shape(), Seen(None, "document", "")
        return recognise.look(file, self._from, self._bounds.memory)


def _to_the_end(
    items: Items, stream: Iterator[Line], log: Log, expanded: Expanded | None
) -> Iterator[Entry | SkippedLine]:
    """The entries, and behind them why the rest of the log was not read, if that is so."""
    ended = yield from items
    problem: str | None = ended or log.cut
    if expanded:
        expanded.finish()
        problem = ended or expanded.problem
    elif ended:
        deque(stream, maxlen=0)  # which hashes the rest
    if problem:
        yield SkippedLine(lines=0, findings=(reading.cut_short(problem),))


def _nothing() -> Items:
    """The entries of an empty log."""
    yield from ()
    return None


def _seen(held: documents.LogDocument) -> Seen:
    if held.problem:
        return Seen(None, "document", held.problem, conflict=True)
    return Seen(held.format, "document", held.why, version=held.version)


def _whole(held: documents.LogDocument, log: Log) -> Items:
    """A conversation of a document as the one entry of its session; the document counts as one line.

    The bytes of a document with several conversations count with the first.
    """
    size = 0 if log.part else held.size if log.unit is None else log.size
    if held.problem:
        yield SkippedLine(1, size=size)
        return None
    if not log.part:
        for rejected in held.broken:
            taken = min(rejected.length + 1, held.size - rejected.offset)
            size -= taken
            yield unreadable(rejected, taken)
        if len(held.conversations) > 1 and log.part is None:
            yield SkippedLine(lines=0, findings=(reading.other_conversations(len(held.conversations)),))
    found = () if log.part else tuple(_aside(held))
    if not held.conversations:
        yield SkippedLine(1, size=size, findings=found)
        return None
    chosen = held.conversations[log.part or 0]
    yield from _found_in(chosen.origin)
    yield _entry(chosen, size, found)
    return None


def _found_in(origin: Origin | None) -> Iterator[SkippedLine]:
    """What was found in reading a conversation, at the lines of its file, and what was not read."""
    if origin:
        yield from (SkippedLine(line, lines=0, findings=(each,)) for line, each in origin.findings)
        yield from [SkippedLine(lines=0, findings=(files.not_read(origin.unread),))] if origin.unread else []


def _entry(chosen: Conversation, size: int, found: tuple[RepeatedViolation, ...]) -> Entry:
    """A conversation as the entry of its last reply, as far as its file tells of that."""
    origin = chosen.origin or Origin()
    last = origin.replies[-1] if origin.replies else OriginReply(0)
    reply = Response(included=True, finish_reason=last.finish_reason, model=last.model)
    line, edits = first_line(origin) or 1, (AddedRun(tuple(chosen.messages)),)
    named = origin.started, origin.session_id, chosen.messages, edits, chosen.tools, reply
    return Entry(line, *named, size=size, findings=found, loaded=True, origin=chosen.origin)


def _aside(held: documents.LogDocument) -> Iterator[RepeatedViolation]:
    """What of a document does not reach the record."""
    if held.aside.hosted:
        yield RepeatedViolation("hosted-tools")
    if held.aside.elsewhere:
        yield RepeatedViolation("missing-history")


def _then(begun: list[Entry | SkippedLine], others: Items) -> Items:
    yield from begun
    return (yield from others)


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


def _is_plain(exchange: Exchange | None) -> bool:
    return exchange is not None and recognise.is_plain(exchange)


def _split(line: Line) -> Exchange | None:
    """The exchange in a line that is no entry of chat all the same; ``None`` where there is none."""
    try:
        return split(line.buffer[line.start : line.stop], named(PLAIN))
    except (LineError, ValueError):
        return None


def _agreeing(first: Line, stream: Iterator[Line]) -> Iterator[Line]:
    """The next few lines, as far as they stand in the buffer of the first one, which stays as it is."""
    line = first
    for _ in range(recognise.AGREEING - 1):
        if line.buffer.find(b"\n", line.stop + 1, at_hand(first, line)) < 0:
            return
        line = next(stream)
        yield line


def _noting(stream: Iterator[Line], places: array[int]) -> Iterator[Line]:
    """The same lines, whose places are noted."""
    for line in stream:
        places.extend((line.number, line.offset, line.length, line.size - line.length))
        yield line
