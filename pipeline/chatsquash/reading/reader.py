"""Read the open log of one session as entries: detect its format, its envelope and its lines."""

from __future__ import annotations

import sys
from array import array
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import nullcontext
from errno import EIO
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct, structs
from msgspec.structs import replace

from chatsquash.checks import files, reading
from chatsquash.core.lazy import LazyModule
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
from chatsquash.reading.bounds import Bounds
from chatsquash.reading.deltas import UncertainError
from chatsquash.reading.entries import EntryReader, unreadable
from chatsquash.reading.evidence import AGREEING, PLAIN_CHAT, Shape, are_chat
from chatsquash.reading.repeats import KnownTools
from chatsquash.reading.sessions import lines_of
from chatsquash.sources.beginnings import Beginning, has_read, keep, may_be_remembered
from chatsquash.sources.compression import ExpandedFile, uncompressed
from chatsquash.sources.lines import Buffers, Line, lines, lookahead_end
from chatsquash.sources.names import LOGS

if TYPE_CHECKING:
    from chatsquash.reading import documents, unrecognised
    from chatsquash.reading import identify as identification
    from chatsquash.reading.documents import LogDocument
    from chatsquash.reading.identify import Identity
    from chatsquash.reading.score_files import ScoreJoin
else:
    identification = LazyModule("chatsquash.reading.identify")
    documents = LazyModule("chatsquash.reading.documents")
    unrecognised = LazyModule("chatsquash.reading.unrecognised")

_PIECE = 1 << 20
_ANSWERS = 4096
"""The maximum number of responses in other logs that requests may refer to."""


Items = Generator[Entry | SkippedLine, None, str | None]
"""The entries of a log and its lines without entries, in file order; returns why the rest was not read, or ``None``."""


class Reader:
    """Reads session logs according to the options; tools in one log need not be parsed again in the next.

    Args:
        options: The options of the run.
        refers_back: Whether requests may refer to responses in earlier logs.
    """

    def __init__(self, options: Options, *, refers_back: bool = False) -> None:
        self._options = options
        self._from = options.from_format
        self._by_id = options.sessions_by == "id"
        self._split = options.sessions_by is None
        self._splits_mixed = options.splits_mixed
        self._bounds = Bounds.of(options)
        self._known: dict[str, KnownTools] = {}
        self._buffers = Buffers()
        self._refers_back = refers_back
        self._last: EntryReader | None = None
        self._was_chat = True
        """Whether the last log was plain chat."""
        self._files = 1
        """The number of files of the current log."""

    @property
    def has_answers(self) -> bool:
        """Whether requests of the next log may refer to responses in earlier ones."""
        return self._last is not None and self._last.answers is not None

    def read(
        self,
        file: BinaryIO,
        log: Log,
        hashed: Callable[[memoryview], object] | None = None,
        places: array[int] | None = None,
    ) -> Reading:
        """Identify a log and return its entries, which are read lazily.

        A file with several sessions is only identified, because it must be split first. If only its ids reveal this,
        iterating over the entries raises ``MixedSessionsError``.

        Args:
            file: The open log.
            log: The location of the log.
            hashed: Receives all bytes of the log in order, unless its document was read before and the hash is known.
            places: Receives the places of the log's lines, as in ``Log.spans``.
        """
        if "chatsquash.reading.identify" in sys.modules:  # otherwise no document was read
            identification.forget(file)
        self._files = len(log.pieces) or 1
        if log.part is not None or log.unit is not None:
            return self._read_part(file, log, hashed)
        if self._split and not log.pieces and _may_have_units(log) and identification.units_of(file, self._options):
            return _MIXED_SESSIONS
        is_stored = may_be_remembered(file)
        expanded = file if not is_stored and isinstance(file, ExpandedFile) else None
        beginning: Beginning | None = None
        if log.spans is not None:
            stream = lines_of(file, log.spans, hashed, self._bounds.line)
        elif expanded:
            expanded.hashed = hashed  # the compressed file is hashed
            stream = lines(file, self._bounds.line, buffers=self._buffers)
        elif places is None and is_stored:
            beginning = Beginning(file, hashed)
            stream = lines(file, self._bounds.line, beginning.pass_on, self._buffers)
        else:
            stream = lines(file, self._bounds.line, hashed, self._buffers)
        if places is not None:
            stream = _record_places(stream, places)
        to_the_end = partial(_with_problem, stream=stream, log=log, expanded=expanded if log.spans is None else None)
        with beginning or nullcontext():
            return self._identify(file, stream, log, to_the_end)

    def _identify(
        self,
        file: BinaryIO,
        stream: Iterator[Line],
        log: Log,
        to_the_end: Callable[[Items], Iterator[Entry | SkippedLine]],
    ) -> Reading:
        """Identify a log from its first lines or the options, and return its entries."""
        first = next(stream, None)
        if first is None:
            return Reading(None, to_the_end(_no_entries()))
        head = [first]
        if self._from is None and not (self._by_id and log.spans is None):
            head += _lines_at_hand(first, stream)
            if (chat := self._read_chat(head, stream)) is not None:
                return self._reading(PLAIN_CHAT, to_the_end(chat), log)
        with memoryview(first.buffer) as view:
            keep(file, view[: first.read_end])  # the first bytes of the file: the next lines were read with this one
        identify = identification.identify if log.spans is None else identification.identify_once
        identity = identify(file, self._options)
        if self._is_mixed(identity, log):
            return _MIXED_SESSIONS
        document = identity.document
        if document is None:
            join = self._score_join(identity.shape, log)
            items = self._entry_reader(identity.shape, join).entries(chain(head, stream))
            if identity.seen.format is not None or not identity.seen.why:
                return structs.replace(self._reading(identity.seen, to_the_end(items), log), scores=join)
            seen = unrecognised.describe(identity.seen, log.path)
            return Reading(seen, to_the_end(unrecognised.items(items, stream, is_part=not seen.why)))
        return self._read_document(file, stream, log, identity, to_the_end)

    def _read_chat(self, head: list[Line], stream: Iterator[Line]) -> Items | None:
        """Return the entries of a log if its first lines are certainly plain chat."""
        # Mostly, logs of the same kind follow one another, and most lines of other kinds are recognized quickly.
        if not self._was_chat and not are_chat(head[:1]):
            return None
        chat = self._try_chat(head, stream)
        self._was_chat = chat is not None
        return chat

    def _try_chat(self, head: list[Line], stream: Iterator[Line]) -> Items | None:
        """Return the entries of a log by reading its first lines as plain chat; ``None`` if they are not."""
        reader = self._entry_reader(Shape())
        try:
            entries = reader.first_entries(head)
        except UncertainError:
            return None
        if entries is not None:
            return reader.entries(stream, entries)
        return self._entry_reader(Shape()).entries(chain(head, stream)) if are_chat(head) else None

    def _read_document(
        self,
        file: BinaryIO,
        stream: Iterator[Line],
        log: Log,
        identity: Identity,
        to_the_end: Callable[[Items], Iterator[Entry | SkippedLine]],
    ) -> Reading:
        """Return the entries of a file that is a document."""
        document = identity.document
        assert document
        if has_read(file, document.size):
            file.seek(document.size)
        else:
            deque(stream, maxlen=0)  # read the rest to complete the hash
        if document.line:
            join = self._score_join(identity.shape, log)
            return Reading(identity.seen, to_the_end(self._single_entry(document, identity.shape, join)), scores=join)
        return Reading(identity.seen, to_the_end(_document_entries(document, log)), document)

    def _reading(self, seen: LogHead, items: Iterator[Entry | SkippedLine], log: Log) -> Reading:
        """Return the items of a log of exchanges, which may turn out to have several sessions."""
        is_watched = self._splits_mixed and not log.is_part
        return Reading(seen, until_mixed(items) if is_watched else items)

    def _is_mixed(self, identity: Identity, log: Log) -> bool:
        """Return whether a file must be split into its sessions first."""
        if identity.document:
            return self._split and identity.has_several
        return log.spans is None and (self._by_id or (self._split and identity.may_mix))

    def _score_join(self, shape: Shape, log: Log) -> ScoreJoin | None:
        """Return the join of a log's lines with scores that are logged apart from them, if its logger does that."""
        if shape.envelope.score_rows is None:
            return None
        from chatsquash.reading.score_files import ScoreJoin  # imported late because few logs need it

        return ScoreJoin(shape.envelope, log, self._options)

    def _entry_reader(self, shape: Shape, join: ScoreJoin | None = None) -> EntryReader:
        """Return a reader of the lines of a file."""
        # The limit applies to each of the files that were joined.
        limit = (self._bounds.rejected + 1) * self._files - 1
        answers = self._last.answers if self._last else None
        if answers:
            answers.keep_last(_ANSWERS)
        bounds = self._bounds if limit == self._bounds.rejected else structs.replace(self._bounds, rejected=limit)
        entries = EntryReader(shape, self._known, bounds, answers=answers)
        entries.join = join
        if self._refers_back:
            self._last = entries
        return entries

    def _read_part(self, file: BinaryIO, log: Log, hashed: Callable[[memoryview], object] | None) -> Reading:
        """Read one conversation of a document, or one unit of a file."""
        try:
            document = identification.document_in(file, self._options, log.unit)
        except TurnError as problem:
            if log.unit is None:
                raise OSError(EIO, "it changed while being read") from None
            return self._unreadable_unit(file, log, str(problem), hashed)
        if document and log.part is None and len(document.conversations) > 1 and self._options.sessions_by != "file":
            return _MIXED_SESSIONS
        if document is None or (log.part or 0) >= max(1, len(document.conversations)):
            raise OSError(EIO, "it changed while being read")
        if hashed and not document.digest:
            _hash(file, hashed)
        cut = [SkippedLine(lines=0, findings=(reading.cut_short(document.cut),))] if document.cut else []
        return Reading(document.seen, chain(_document_entries(document, log), cut), document)

    def _unreadable_unit(
        self, file: BinaryIO, log: Log, problem: str, hashed: Callable[[memoryview], object] | None
    ) -> Reading:
        """Return a unit that cannot be read."""
        if hashed:
            _hash(file, hashed)
        seen = LogHead(None, "document", problem, conflict=True)
        return Reading(seen, iter([SkippedLine(1, size=log.size, lines=log.unit_lines)]), None)

    def _single_entry(self, document: LogDocument, shape: Shape, join: ScoreJoin | None) -> Items:
        """Yield the entry of a file that is one exchange on several lines."""
        line = document.line
        stop = len(line) if len(line) <= self._bounds.line else 0
        items = self._entry_reader(shape, join).entries(
            [Line(1, 0, len(line), bytearray(line), 0, stop, document.size)]
        )
        for item in items:
            if isinstance(item, Entry):
                yield replace(item, lines=document.line_count)
            else:
                yield item
                yield SkippedLine(lines=document.line_count - 1)
        return None


class MixedSessionsError(Exception):
    """The lines of a file have the ids of several sessions, so it must be split first."""


# A single line with another id may be a mistake of the logger, which a check reports.
def until_mixed(items: Iterator[Entry | SkippedLine]) -> Iterator[Entry | SkippedLine]:
    """Yield the items of a file; raise ``MixedSessionsError`` once two ids have two lines each."""
    seen: set[str] = set()
    confirmed: set[str] = set()
    for item in items:
        if isinstance(item, Entry) and (name := item.session_id) is not None:
            if name not in seen:
                seen.add(name)
            elif name not in confirmed:
                confirmed.add(name)
                if len(confirmed) > 1:
                    raise MixedSessionsError
        yield item


def _with_problem(
    items: Items, stream: Iterator[Line], log: Log, expanded: ExpandedFile | None
) -> Iterator[Entry | SkippedLine]:
    """Yield the entries, followed by the reason for not reading the rest of the log, if any."""
    stop_reason = yield from items
    problem: str | None = stop_reason or log.cut
    if expanded:
        expanded.finish()
        problem = stop_reason or expanded.problem
    elif stop_reason:
        deque(stream, maxlen=0)  # read the rest to complete the hash
    if problem:
        yield SkippedLine(lines=0, findings=(reading.cut_short(problem),))


def _no_entries() -> Items:
    """Return the entries of an empty log."""
    yield from ()
    return None


def _document_entries(document: LogDocument, log: Log) -> Items:
    """Yield a conversation of a document as the only entry of its session, for all lines of its file.

    If a document has several conversations, its bytes and lines count for the first one.
    """
    size, lines = (log.size, log.unit_lines) if log.unit is not None else (document.size, document.line_count)
    if log.part:
        size = lines = 0
    if document.problem:
        yield SkippedLine(1, size=size, lines=lines)
        return None
    if not log.part:
        for rejected in document.rejected_lines:
            line_size = min(rejected.length + 1, document.size - rejected.offset)
            size, lines = size - line_size, lines - 1
            yield unreadable(rejected, line_size)
        if len(document.conversations) > 1 and log.part is None:
            yield SkippedLine(lines=0, findings=(reading.other_conversations(len(document.conversations)),))
    findings = () if log.part else tuple(_document_losses(document))
    if not document.conversations:
        yield SkippedLine(1, size=size, lines=lines, findings=findings)
        return None
    conversation = document.conversations[log.part or 0]
    yield from _origin_findings(conversation.origin)
    yield replace(_entry(conversation, size, findings), lines=lines)
    return None


def _origin_findings(origin: Origin | None) -> Iterator[SkippedLine]:
    """Yield the findings about a conversation at the lines of its file, and the finding about unread lines."""
    if origin:
        yield from (SkippedLine(line, lines=0, findings=(each,)) for line, each in origin.findings)
        yield from [SkippedLine(lines=0, findings=(files.not_read(origin.unread),))] if origin.unread else []


def _entry(conversation: Conversation, size: int, findings: tuple[RepeatedViolation, ...]) -> Entry:
    """Return a conversation as the entry of its last reply, with the file's data about that reply."""
    origin = conversation.origin or Origin()
    last = origin.replies[-1] if origin.replies else OriginReply(0)
    reply = Response(included=True, finish_reason=last.finish_reason, model=last.model)
    line, edits = documents.first_line(origin) or 1, (AddedRun(tuple(conversation.messages)),)
    values = origin.started_at, origin.session_id, conversation.messages, edits, conversation.tools, reply
    return Entry(line, *values, size=size, findings=findings, has_private=True, origin=conversation.origin)


def _document_losses(document: LogDocument) -> Iterator[RepeatedViolation]:
    """Yield findings about parts of a document that the record does not contain."""
    if document.request_extras.hosted:
        yield RepeatedViolation("hosted-tools")
    if document.request_extras.elsewhere:
        yield RepeatedViolation("missing-history")


def _hash(file: BinaryIO, hashed: Callable[[memoryview], object]) -> None:
    """Hash an entire file as it is stored."""
    if isinstance(file, ExpandedFile):
        file.seek(0)
        file.hashed = hashed
        file.finish()
        return
    file.seek(0)
    while piece := file.read(_PIECE):
        hashed(memoryview(piece))


def _may_have_units(log: Log) -> bool:
    """Return whether a file may have several units, which logs of lines do not."""
    # Checked before lines are examined, because an array may be one long line.
    return not (log.is_part or log.path.endswith(LOGS) or uncompressed(log.path).lower().endswith(LOGS))


def _lines_at_hand(first: Line, stream: Iterator[Line]) -> Iterator[Line]:
    """Yield the next few lines that are complete in the buffer of the first one, without changing the buffer."""
    line = first
    for _ in range(AGREEING - 1):
        # Reading more would overwrite the buffer of the first line, which is still needed.
        if line.buffer.find(b"\n", line.stop + 1, lookahead_end(first, line)) < 0:
            return
        line = next(stream)
        yield line


def _record_places(stream: Iterator[Line], places: array[int]) -> Iterator[Line]:
    """Yield the lines unchanged and record their places."""
    for line in stream:
        places.extend((line.number, line.offset, line.length, line.size - line.length))
        yield line


class Reading(Struct, frozen=True):
    """The log of a session while it is read."""

    seen: LogHead | None
    """The format and evidence of the log; ``None`` for an empty log."""
    items: Iterator[Entry | SkippedLine]
    """The entries and the lines without entries, in file order, read lazily."""
    document: LogDocument | None = None
    """The document in the log, or the document that contains the conversation."""
    is_mixed: bool = False
    """Whether the log has several sessions and must be split first; ``items`` is then empty."""
    scores: ScoreJoin | None = None
    """The join with scores that are logged apart from exchanges."""


_MIXED_SESSIONS = Reading(None, iter(()), is_mixed=True)
"""A file with several sessions."""
