"""One session's log, open, to its entries: which lines are its own, how they are wrapped, in which format they are."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Generator, Iterator
from errno import EIO
from functools import partial
from itertools import chain
from typing import BinaryIO, NamedTuple

from msgspec.structs import replace

from chatsquash.checks import files, reading
from chatsquash.core.log import Log
from chatsquash.core.model import (
    AddedRun,
    Conversation,
    Entry,
    LogHead,
    Origin,
    OriginReply,
    RepeatedViolation,
    Response,
    SkippedLine,
)
from chatsquash.core.options import Options
from chatsquash.formats.base import TurnError
from chatsquash.reading import unrecognised
from chatsquash.reading.bounds import Bounds
from chatsquash.reading.documents import LogDocument, first_line
from chatsquash.reading.entries import EntryReader, unreadable
from chatsquash.reading.evidence import AGREEING, Shape
from chatsquash.reading.identify import PLAIN_CHAT, Identity, are_chat, document_in, forget, has_units, identify
from chatsquash.reading.repeated_members import KnownTools
from chatsquash.reading.sessions import lines_of
from chatsquash.sources.beginnings import Beginning, has_read, identifying, may_be_remembered
from chatsquash.sources.compression import ExpandedFile
from chatsquash.sources.lines import Buffers, Line, at_hand, lines

_PIECE = 1 << 20
_ANSWERS = 4096
"""Responses in other logs that a request may refer to."""


Items = Generator[Entry | SkippedLine, None, str | None]
"""The entries of a log and its lines that are none, in file order; returns why the rest of it is not read."""


class Reader:
    """Reads session logs as the options say; tools met in one need not be parsed again in the next.

    ``refers_back``: requests may continue by reference what responses in logs before theirs said.
    """

    def __init__(self, options: Options, *, refers_back: bool = False) -> None:
        self._options = options
        self._from = options.from_format
        self._by_id = options.sessions_by == "id"
        self._split = options.sessions_by is None
        self._splits_mixed = options.splits_mixed
        self._bounds = Bounds.of(options)
        self._known: dict[str, KnownTools] = {}
        self._room = Buffers()
        self._refers_back = refers_back
        self._last: EntryReader | None = None
        self._files = 1
        """How many hold the log that is read."""

    def read(
        self,
        file: BinaryIO,
        log: Log,
        hashed: Callable[[memoryview], object] | None = None,
        places: array[int] | None = None,
    ) -> Reading:
        """What a log is, and its entries, which are read as they are asked for.

        ``hashed`` is given all bytes of the log in turn, unless the document in it was read before and its digest is
        known; ``places`` gets those of its lines, as in ``Log.spans``.

        A file of several sessions is only identified: it has to be split first. If only its ids tell, the entries end
        with ``MixedSessionsError``.
        """
        forget(file)
        self._files = max(1, len(log.pieces))
        if log.part is not None or log.unit is not None:
            return self._part(file, log, hashed)
        if self._split and not log.pieces and has_units(file, self._options, log):
            return MIXED
        expanded = file if isinstance(file, ExpandedFile) else None
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
        to_the_end = partial(_to_the_end, stream=stream, log=log, expanded=expanded if log.spans is None else None)
        with identifying(beginning):
            return self._begin(file, stream, log, to_the_end)

    def _begin(
        self,
        file: BinaryIO,
        stream: Iterator[Line],
        log: Log,
        to_the_end: Callable[[Items], Iterator[Entry | SkippedLine]],
    ) -> Reading:
        """What a log is, as its first lines or the user say, and its entries."""
        first = next(stream, None)
        if first is None:
            return Reading(None, to_the_end(_nothing()))
        head, is_chat = [first], False
        if self._from is None and not (self._by_id and log.spans is None):
            head += _agreeing(first, stream)
            is_chat = are_chat(head)
        identity = PLAIN_CHAT if is_chat else identify(file, self._options)
        if self._is_mixed(identity, log):
            return MIXED
        document = identity.document
        if document is None:
            items = self._lines(identity.shape).entries(chain(head, stream))
            if identity.seen.format is not None or not identity.seen.why:
                entries = to_the_end(items)
                is_watched = self._splits_mixed and not log.is_part
                return Reading(identity.seen, until_mixed(entries) if is_watched else entries)
            seen = unrecognised.describe(identity.seen, log.path)
            return Reading(seen, to_the_end(unrecognised.items(items, stream, is_part=not seen.why)))
        if has_read(file, document.size):
            file.seek(document.size)
        else:
            deque(stream, maxlen=0)  # which hashes the rest
        if document.line:
            return Reading(identity.seen, to_the_end(self._spread(document, identity.shape)))
        return Reading(identity.seen, to_the_end(_whole(document, log)), document)

    def _is_mixed(self, identity: Identity, log: Log) -> bool:
        """Whether a file has to be split into its sessions first."""
        if identity.document:
            return self._split and identity.has_several
        return log.spans is None and (self._by_id or (self._split and identity.may_mix))

    def _lines(self, shape: Shape) -> EntryReader:
        most = (self._bounds.rejected + 1) * self._files - 1  # so many of each file
        answers = self._last.answers if self._last else None
        if answers:
            answers.forget_all_but(_ANSWERS)
        entries = EntryReader(shape, self._known, self._bounds._replace(rejected=most), answers=answers)
        if self._refers_back:
            self._last = entries
        return entries

    def _part(self, file: BinaryIO, log: Log, hashed: Callable[[memoryview], object] | None) -> Reading:
        """One conversation of a document, or one unit."""
        try:
            document = document_in(file, self._options, log.unit)
        except TurnError as problem:
            if log.unit is None:
                raise OSError(EIO, "it changed while it was read") from None
            return self._unreadable_unit(file, log, str(problem), hashed)
        if document and log.part is None and len(document.conversations) > 1 and self._options.sessions_by != "file":
            return MIXED
        if document is None or (log.part or 0) >= max(1, len(document.conversations)):
            raise OSError(EIO, "it changed while it was read")
        if hashed and not document.digest:
            _hash(file, hashed)
        cut = [SkippedLine(lines=0, findings=(reading.cut_short(document.cut),))] if document.cut else []
        return Reading(document.seen, chain(_whole(document, log), cut), document)

    def _unreadable_unit(
        self, file: BinaryIO, log: Log, problem: str, hashed: Callable[[memoryview], object] | None
    ) -> Reading:
        """A unit that cannot be read."""
        if hashed:
            _hash(file, hashed)
        seen = LogHead(None, "document", problem, conflict=True)
        return Reading(seen, iter([SkippedLine(1, size=log.size, lines=log.unit_lines)]), None)

    def _spread(self, document: LogDocument, shape: Shape) -> Items:
        """The entry of a file that is one exchange on several lines."""
        line = document.line
        stop = len(line) if len(line) <= self._bounds.line else 0
        items = self._lines(shape).entries([Line(1, 0, len(line), bytearray(line), 0, stop, document.size)])
        for item in items:
            if isinstance(item, Entry):
                yield replace(item, lines=document.line_count)
            else:
                yield item
                yield SkippedLine(lines=document.line_count - 1)
        return None


class MixedSessionsError(Exception):
    """A file has several sessions, as the ids of its lines tell, and has to be split first."""


def until_mixed(items: Iterator[Entry | SkippedLine]) -> Iterator[Entry | SkippedLine]:
    """Pass on what is read of a file; raise ``MixedSessionsError`` once two ids have two lines each.

    A single line with another id may be a mistake of the logger, which is for the checks to report.
    """
    once: set[str] = set()
    repeated: set[str] = set()
    for item in items:
        if isinstance(item, Entry) and (name := item.session_id) is not None:
            if name not in once:
                once.add(name)
            elif name not in repeated:
                repeated.add(name)
                if len(repeated) > 1:
                    raise MixedSessionsError
        yield item


def _to_the_end(
    items: Items, stream: Iterator[Line], log: Log, expanded: ExpandedFile | None
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


def _whole(document: LogDocument, log: Log) -> Items:
    """A conversation of a document as the one entry of its session, for all lines of its file.

    The bytes and lines of a document with several conversations count with the first.
    """
    size, lines = (log.size, log.unit_lines) if log.unit is not None else (document.size, document.line_count)
    if log.part:
        size = lines = 0
    if document.problem:
        yield SkippedLine(1, size=size, lines=lines)
        return None
    if not log.part:
        for rejected in document.broken:
            taken = min(rejected.length + 1, document.size - rejected.offset)
            size, lines = size - taken, lines - 1
            yield unreadable(rejected, taken)
        if len(document.conversations) > 1 and log.part is None:
            yield SkippedLine(lines=0, findings=(reading.other_conversations(len(document.conversations)),))
    findings = () if log.part else tuple(_aside(document))
    if not document.conversations:
        yield SkippedLine(1, size=size, lines=lines, findings=findings)
        return None
    chosen = document.conversations[log.part or 0]
    yield from _found_in(chosen.origin)
    yield replace(_entry(chosen, size, findings), lines=lines)
    return None


def _found_in(origin: Origin | None) -> Iterator[SkippedLine]:
    """What was found in reading a conversation, at the lines of its file, and what was not read."""
    if origin:
        yield from (SkippedLine(line, lines=0, findings=(each,)) for line, each in origin.findings)
        yield from [SkippedLine(lines=0, findings=(files.not_read(origin.unread),))] if origin.unread else []


def _entry(chosen: Conversation, size: int, findings: tuple[RepeatedViolation, ...]) -> Entry:
    """A conversation as the entry of its last reply, as far as its file tells of that."""
    origin = chosen.origin or Origin()
    last = origin.replies[-1] if origin.replies else OriginReply(0)
    reply = Response(included=True, finish_reason=last.finish_reason, model=last.model)
    line, edits = first_line(origin) or 1, (AddedRun(tuple(chosen.messages)),)
    named = origin.started_at, origin.session_id, chosen.messages, edits, chosen.tools, reply
    return Entry(line, *named, size=size, findings=findings, has_private=True, origin=chosen.origin)


def _aside(document: LogDocument) -> Iterator[RepeatedViolation]:
    """What of a document does not reach the record."""
    if document.aside.hosted:
        yield RepeatedViolation("hosted-tools")
    if document.aside.elsewhere:
        yield RepeatedViolation("missing-history")


def _hash(file: BinaryIO, hashed: Callable[[memoryview], object]) -> None:
    """Have a whole file hashed, as it stands on the disk."""
    if isinstance(file, ExpandedFile):
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
    for _ in range(AGREEING - 1):
        if line.buffer.find(b"\n", line.stop + 1, at_hand(first, line)) < 0:
            return
        line = next(stream)
        yield line


def _noting(stream: Iterator[Line], places: array[int]) -> Iterator[Line]:
    """The same lines, whose places are noted."""
    for line in stream:
        places.extend((line.number, line.offset, line.length, line.size - line.length))
        yield line


class Reading(NamedTuple):
    """A session's log while it is read."""

    seen: LogHead | None
    """What it was identified as; ``None`` for an empty log."""
    items: Iterator[Entry | SkippedLine]
    """Its entries and its lines that are none, in file order, read as they are asked for."""
    document: LogDocument | None = None
    """The document that it is, or is a conversation of."""
    is_mixed: bool = False
    """Whether it has several sessions and has to be split first; it has no items then."""


MIXED = Reading(None, iter(()), is_mixed=True)
"""A file of several sessions."""
