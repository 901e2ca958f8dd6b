"""Identify files: a log, with the formats of its exchanges and their envelope, or a document.

All of this is decided here, before anything is converted: from the first bytes of databases and arrays, from the first
lines and, if these are not exchanges of a known format, from the content of the entire file.
"""

from __future__ import annotations

from errno import EFBIG
from io import BytesIO
from threading import local
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from chatsquash import formats
from chatsquash.core import footprint
from chatsquash.core.lazy import LazyModule
from chatsquash.core.model import Json, LogHead
from chatsquash.core.options import Options
from chatsquash.formats.base import TurnError
from chatsquash.reading import envelopes, evidence
from chatsquash.reading.evidence import Shape
from chatsquash.reading.members import BYTE_ORDER_MARK
from chatsquash.sources import beginnings
from chatsquash.sources.compression import uncompressed
from chatsquash.sources.identity import status_of
from chatsquash.sources.open import open_file

if TYPE_CHECKING:
    from chatsquash.formats import bodies, documents
    from chatsquash.reading import contents, split_files
    from chatsquash.reading import documents as log_documents
    from chatsquash.reading.documents import Content, LogDocument
    from chatsquash.sources import relatives
else:
    log_documents = LazyModule("chatsquash.reading.documents")
    bodies = LazyModule("chatsquash.formats.bodies")
    documents = LazyModule("chatsquash.formats.documents")
    contents = LazyModule("chatsquash.reading.contents")
    split_files = LazyModule("chatsquash.reading.split_files")
    relatives = LazyModule("chatsquash.sources.relatives")

_GLANCE = 1 << 16
_FIRST = 1 << 14
"""The number of bytes of a file with the suffix of documents that are examined first."""
_DEFAULTS = Options()
PART = "part of another file"
"""The category of files that are read together with another file."""
_SIDES = frozenset(("request", "response"))
"""The members of a log entry, neither of which the body of a request has."""
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")


class Identity(Struct, frozen=True):
    """The identity of a file: its format, and its document if it is one."""

    seen: LogHead
    """The format, the envelope and the evidence as shown in reports."""
    shape: Shape = Shape()
    """The shape of the lines, unless the file is a document."""
    document: LogDocument | None = None
    """The document; the first unit of a file that is read unit by unit."""

    @property
    def has_several(self) -> bool:
        """Whether it is a document with several conversations or units."""
        return self.document is not None and (len(self.document.conversations) > 1 or bool(self.document.units))

    @property
    def may_mix(self) -> bool:
        """Whether loggers with this envelope are known to write several sessions to one file."""
        return self.document is None and self.shape.envelope.MIXES


def identify(file: BinaryIO, options: Options = _DEFAULTS) -> Identity:
    """Identify an open file; its position is preserved.

    Raises:
        OSError: The file cannot be read, or it is a document whose parsed form would need more memory than allowed.
    """
    forced = options.from_format
    # A document format is not the format of an exchange, so lines need not be examined.
    is_named = forced in documents.names()
    if is_named:
        shape, head = Shape(), LogHead(None, "document", "")
    else:
        shape, head = evidence.detect_shape(file, forced, options.max_memory)
    if head.format is not None and not forced:
        return Identity(head, shape)
    try:
        document = document_in(file, options)
    except TurnError as problem:
        return Identity(LogHead(None, "document", str(problem), conflict=True), shape)
    if document is None:
        return Identity(head if is_named else evidence.describe(head, file, options.max_memory), shape)
    document.is_identified = True
    if document.line:
        line = BytesIO(document.line)
        shape, head = evidence.detect_shape(line, forced, options.max_memory)
        return Identity(evidence.describe(head, line, options.max_memory), shape, document)
    return Identity(document.seen, shape, document)


class _Last(local):
    """The last files, each with a key; every thread has its own, because releasing a document changes it."""

    log: tuple[object, Identity] | None = None
    """The last identified log with several sessions, kept for the other sessions in it."""
    document: tuple[object, LogDocument | None] | None = None
    """The last document, kept for the other conversations in it; only one, because documents may be large."""


_last = _Last()


def identify_once(file: BinaryIO, options: Options) -> Identity:
    """Return the result of ``identify``; that of a log is cached, so that it is not repeated for each of its sessions.

    Raises the same errors as ``identify``.
    """
    key = _key(file, options, None)
    if key and _last.log and key == _last.log[0]:
        return _last.log[1]
    identity = identify(file, options)
    # Documents have their own cache, because they may be large.
    _last.log = (key, identity) if key and identity.document is None else None
    return identity


def units_of(file: BinaryIO, options: Options) -> tuple[bytes, ...]:
    """Return the places of a file's units if it has several; the position is at the beginning afterwards."""
    try:
        division = split_files.divide(file, options.from_format, options)
        units = division.units() if division else []
    except (OSError, TurnError):
        return ()
    finally:
        file.seek(0)
    return tuple(units) if len(units) > 1 else ()


# Documents


def document_in(file: BinaryIO, options: Options, unit: bytes | None = None) -> LogDocument | None:
    """Return the document in a file, or one unit of it, or ``None`` for other files.

    The last document is cached, so that it is parsed once for all of its conversations.

    Raises:
        TurnError: The file may have two formats, or is too large for the document format given in the options.
        OSError: Parsing a document, or any file with the suffix of documents, would need more memory than allowed, or a
            database exceeds a limit.
    """
    key, last = _key(file, options, unit), _last.document
    if last and key == last[0]:
        return last[1]
    # Units of the same file have the same hash; the document itself is released before the next one is read.
    digest = last[1].digest if key and last and last[1] and last[0][0] == key[0] else ""  # type: ignore[index]
    _last.document = last = None
    document = read_document(file, options, unit)
    if key:
        if document and digest:
            document.digest = digest
        _last.document = key, document
    return document


def read_document(file: BinaryIO, options: Options, unit: bytes | None = None) -> LogDocument | None:
    """Return the result of ``document_in`` without the cache."""
    content = document_content(file, options.from_format, options, unit)
    if content:
        beginnings.discard(file)
    return log_documents.load(content, file, options) if content else None


def forget(file: BinaryIO | None = None) -> None:
    """Forget the cached document unless it is the one in ``file``; without a file, also the identified log."""
    last = _last.document
    if file is None:
        _last.document = _last.log = None
    elif last and last[0][0] != status_of(file):  # type: ignore[index]
        if last[1]:
            last[1].release()
        _last.document = None


def _key(file: BinaryIO, options: Options, unit: bytes | None) -> tuple[object, ...] | None:
    status = status_of(file)
    bounds = options.max_memory, options.max_database_time, options.max_expansion, options.max_expanded
    return (status, unit, options.from_format, *bounds) if status else None


def document_content(
    file: BinaryIO, forced: str | None = None, options: Options = _DEFAULTS, unit: bytes | None = None
) -> Content | None:
    """Return the content of a document before its conversations are loaded; the file position is preserved.

    For a file that is read unit by unit, this is the given unit or the first one. Raises the same errors as
    ``document_in``.
    """
    place = file.tell()
    try:
        if unit is None:
            return _content(file, forced, options)
        name = unit.partition(b"\0")[0].decode()
        return log_documents.Content(name, name, split_files.objects(file, unit, options))
    finally:
        file.seek(place)


def _content(file: BinaryIO, forced: str | None, options: Options) -> Content | None:
    is_named = forced in documents.names()
    if not is_named and not contents.is_too_large(file) and _begins_as_log(file, options):
        return None
    if (is_named or forced is None) and (division := split_files.divide(file, forced, options)):
        units = division.units()
        objects = split_files.objects(file, units[0], options) if units else []
        first, *_ = split_files.unit_lines(file, len(units) or 1)
        several = tuple(units) if len(units) > 1 else ()
        return log_documents.Content(division.format, division.why, objects, units=several, line_count=first)
    data = contents.read_all(file)
    if data is None:
        if is_named:
            raise TurnError(f"file is larger than {contents.LONGEST:,} bytes")
        return None
    is_json = uncompressed(str(getattr(file, "name", ""))).lower().endswith(".json")
    if data.startswith(split_files.DATABASE):
        return None
    footprint.require_memory(data)
    if footprint.exceeds(data, options.max_memory):
        _reject_heavy(file, forced, options, is_json=is_json)
        return None
    return _parsed_content(data, forced, is_json=is_json)


def _begins_as_log(file: BinaryIO, options: Options) -> bool:
    """Return whether the first line has the envelope of a log."""
    # Faster than reading the entire file.
    return any(map(envelopes.recognise, evidence.first_lines(file, _GLANCE, options.max_memory, 1)))


def _reject_heavy(file: BinaryIO, forced: str | None, options: Options, *, is_json: bool) -> None:
    """Raise ``OSError`` for a document or a file with the suffix of documents; other files are read line by line."""
    memory = options.max_memory
    if (
        is_json
        or forced in documents.names()
        or _parsed_content(beginnings.beginning(file, memory), forced, is_json=is_json)
    ):
        raise OSError(EFBIG, footprint.refusal(memory))


def _parsed_content(data: bytes, forced: str | None, *, is_json: bool) -> Content | None:
    """Return the document in the bytes of a file; ``is_json``: whether its name has the suffix of JSON documents."""
    try:
        objects, rejected, lines, line_count = contents.parse(data)
    except contents.NoDocumentError:
        if forced in documents.names():
            raise
        return None
    if forced in documents.names():
        return log_documents.Content(
            forced, f"{forced}, set by --from", objects, rejected, lines, line_count=line_count
        )
    match = None if forced else documents.recognise(objects)
    if match:
        return log_documents.Content(
            match.name, f"{match.name} ({match.why})", objects, rejected, lines, line_count=line_count
        )
    if rejected or len(objects) != 1:
        return None
    # In a file of lines, a single line may be the first row of a dataset.
    is_row = not (forced or is_json) and b"\n" not in data.strip() and formats.look_alike(objects[0]) is not None
    content = None if is_row else _single(objects[0], data, forced)
    return content and content._replace(line_count=line_count)


def _single(value: Json, data: bytes, forced: str | None) -> Content | None:
    """Return the content of a file that is one exchange on several lines or the body of a request."""
    if line := as_line(data):
        return log_documents.Content("", "", [], line=line)
    if isinstance(value, dict) and not value.keys().isdisjoint(_SIDES):
        return None  # as a body, it would lose its reply
    body = bodies.recognise(value)
    name = forced or body.name
    if name is None or not bodies.has_turns(formats.get_format(name), value):
        return None
    return log_documents.Content(name, f"{name}, set by --from" if forced else f"{name} ({body.why})", [value])


def log_in(data: bytes) -> bytes | None:
    """Return the lines of a log if the first line has a known envelope, or if all of it is one exchange."""
    first = next((line for line in data.split(b"\n", 50) if line.strip()), b"")
    return data if envelopes.recognise(first) is not None else as_line(data)


def as_line(data: bytes) -> bytes | None:
    """Return one exchange on several lines as a single line of the same length, or ``None`` for other files."""
    line = data.removeprefix(BYTE_ORDER_MARK).translate(_ONE_LINE)
    return line if envelopes.recognise(line) is not None else None


def _begins_as_document(start: bytes) -> bool:
    """Return whether the first bytes of a file, made valid, are those of a document; may raise ``TurnError``."""
    try:
        return documents.recognise(contents.parse(start).objects) is not None
    except contents.NoDocumentError:
        return False


def _begins_with_non_exchange(start: bytes) -> bool:
    """Return whether the first line is known not to be an exchange, such as a score."""
    line = start.partition(b"\n")[0]
    envelope = envelopes.recognise(line)
    return envelope is not None and envelopes.describe_non_exchange(line, envelope) is not None


def is_readable(path: str, options: Options = _DEFAULTS) -> bool | str:
    """Return whether a file with the suffix of documents begins like a log or a document, even an invalid one.

    Returns ``PART`` for a file that is part of another one. Of a database, only the first rows are read.
    """
    if any(map(relatives.exists, documents.owners(path))):
        return PART
    try:
        with open_file(path, options) as file:
            data = beginnings.read_from_start(file, beginnings.MOST + 1)
            # Trimming keeps only complete lines, and databases have no lines.
            if split_files.divide(file, None, options, data[:_FIRST]):
                return True
            is_large = contents.is_too_large(file)
        # The first bytes of nearly all documents show what they are.
        start = beginnings.trim(data, options.max_memory, _FIRST)
        if len(data) > _FIRST and not is_large and _begins_as_document(start):
            return True
        start = beginnings.trim(data, options.max_memory, beginnings.MOST)
        is_log = evidence.detect_shape(BytesIO(start), memory=options.max_memory)[1].format is not None
        is_log = is_log or _begins_with_non_exchange(start)
        return is_log or (not is_large and _parsed_content(start, None, is_json=True) is not None)
    except TurnError:
        return True
    except (OSError, MemoryError):
        return False
