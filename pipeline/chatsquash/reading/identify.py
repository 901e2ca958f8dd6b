"""What a file is: a log, with the format of each side of its exchanges and their envelope, or a document.

This is decided here alone, before anything is converted: by how databases and arrays begin, by the first lines, and, if
these are not exchanges of a known format, by the content of the whole file.
"""

from __future__ import annotations

from collections.abc import Iterable
from errno import EFBIG
from io import BytesIO
from typing import BinaryIO, NamedTuple

from chatsquash import formats
from chatsquash.core import footprint
from chatsquash.core.log import Log
from chatsquash.core.model import Json, LogHead
from chatsquash.core.options import Options
from chatsquash.formats import PLAIN, bodies, documents
from chatsquash.formats.base import TurnError
from chatsquash.reading import contents, envelopes, evidence, split_files
from chatsquash.reading.documents import Content, LogDocument, load
from chatsquash.reading.evidence import Shape
from chatsquash.reading.members import MARK
from chatsquash.sources import relatives
from chatsquash.sources.beginnings import beginning
from chatsquash.sources.compression import uncompressed
from chatsquash.sources.identity import status_of
from chatsquash.sources.lines import Line, count_lines
from chatsquash.sources.names import LOGS
from chatsquash.sources.open import open_file

_GLANCE = 1 << 16
_DEFAULTS = Options()
PART = "part of another file"
"""What a file counts as that is read with another one."""
_SIDES = frozenset(("request", "response"))
"""The members of a log entry; no body of a request has any of them."""
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")


class Identity(NamedTuple):
    """What a file is."""

    seen: LogHead
    """The format, the envelope and the evidence, as reports show them."""
    shape: Shape = Shape()
    """How lines are read, unless the file is a document."""
    document: LogDocument | None = None
    """The document; of a file that is read unit by unit the first one."""

    @property
    def has_several(self) -> bool:
        """Whether it is a document with several conversations or units."""
        return self.document is not None and (len(self.document.conversations) > 1 or bool(self.document.units))

    @property
    def may_mix(self) -> bool:
        """Whether loggers that use this envelope are known to write several sessions into one file."""
        return self.document is None and self.shape.envelope.MIXES


PLAIN_CHAT = Identity(LogHead(PLAIN, envelopes.PLAIN.NAME, f"{PLAIN} (choices[].message in the response)"))
"""A log whose first lines are chat with an answer, as in most logs."""


def are_chat(head: Iterable[Line]) -> bool:
    """Whether the first lines of a log are plain chat and nothing else, so that no other format is considered."""
    return all(evidence.is_chat(line.buffer[line.start : line.stop]) for line in head)


def identify(file: BinaryIO, options: Options = _DEFAULTS) -> Identity:
    """What an open file is; its position is the same afterwards.

    Raises ``OSError`` for a file that cannot be read, and for a document whose parsed form would take more memory than
    the options allow.
    """
    forced = options.from_format
    if forced in documents.names():
        shape, seen = Shape(), LogHead(None, "document", "")
    else:
        shape, seen = evidence.look(file, forced, options.max_memory)
    if seen.format is not None and not forced:
        return Identity(seen, shape)
    try:
        document = document_in(file, options)
    except TurnError as problem:
        return Identity(LogHead(None, "document", str(problem), conflict=True), shape)
    if document is None:
        return Identity(seen, shape)
    document.is_identified = True
    if document.line:
        shape, seen = evidence.look(BytesIO(document.line), forced, options.max_memory)
        return Identity(seen, shape, document)
    return Identity(document.seen, shape, document)


def has_units(file: BinaryIO, options: Options, log: Log) -> bool:
    """Whether a file has several units, which is asked before its lines are looked at: an array may be one long line.

    The position of the file is at its beginning if units are looked for, which is not done in logs of lines.
    """
    if log.is_part or uncompressed(log.path).lower().endswith(LOGS):
        return False
    return bool(units_of(file, options))


def units_of(file: BinaryIO, options: Options) -> tuple[bytes, ...]:
    """The places of the units of a file that has several; the position is at its beginning afterwards."""
    try:
        division = split_files.divide(file, options.from_format, options)
        units = division.units() if division else []
    except (OSError, TurnError):
        return ()
    finally:
        file.seek(0)
    return tuple(units) if len(units) > 1 else ()


# Documents

_last: tuple[object, LogDocument | None] | None = None
"""The document that was read last, for its other conversations."""


def document_in(file: BinaryIO, options: Options, unit: bytes | None = None) -> LogDocument | None:
    """The document in a file, or one unit of it, parsed once for all of its conversations; ``None`` for other files.

    Raises ``TurnError`` for a file that may have two formats, and for one that is too large for the document that it is
    said to be; ``OSError`` for a document, and for any file with the suffix of documents, whose parsed form would take
    more memory than the options allow, and for a database that takes more of anything.
    """
    global _last  # noqa: PLW0603 - one of a process, since it may be large
    key = _key(file, options, unit)
    if _last and key == _last[0]:
        return _last[1]
    before, _last = _last, None
    document = read_document(file, options, unit)
    if key:
        if document and before and before[1] and before[0][0] == key[0]:  # type: ignore[index]
            document.digest = before[1].digest
        _last = key, document
    return document


def read_document(file: BinaryIO, options: Options, unit: bytes | None = None) -> LogDocument | None:
    """The same, which is not remembered."""
    content = document_content(file, options.from_format, options, unit)
    return load(content, file, options) if content else None


def forget(file: BinaryIO | None = None) -> None:
    """Forget the document that was read last, unless it is the one in a file."""
    global _last  # noqa: PLW0603 - as above
    if _last and (file is None or _last[0][0] != status_of(file)):  # type: ignore[index]
        _last = None


def _key(file: BinaryIO, options: Options, unit: bytes | None) -> tuple[object, ...] | None:
    status = status_of(file)
    bounds = options.max_memory, options.max_database_time, options.max_expansion, options.max_expanded
    return (status, unit, options.from_format, *bounds) if status else None


def document_content(
    file: BinaryIO, forced: str | None = None, options: Options = _DEFAULTS, unit: bytes | None = None
) -> Content | None:
    """The content of a document before conversations are loaded; the position of the file is the same afterwards.

    For a file that is read unit by unit this is the requested unit, or the first one. Raises as ``document_in``.
    """
    place = file.tell()
    try:
        if unit is None:
            return _content(file, forced, options)
        name = unit.partition(b"\0")[0].decode()
        return Content(name, name, split_files.objects(file, unit, options))
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
        return Content(division.format, division.why, objects, units=several, line_count=first)
    data = contents.whole(file)
    if data is None:
        if is_named:
            raise TurnError(f"is larger than {contents.LONGEST:,} bytes")
        return None
    is_json = uncompressed(str(getattr(file, "name", ""))).lower().endswith(".json")
    if data.startswith(split_files.DATABASE):
        return None
    footprint.require_memory(data)
    if footprint.exceeds(data, options.max_memory):
        _refuse_heavy(file, forced, options, is_json=is_json)
        return None
    content = _parsed_content(data, forced, is_json=is_json)
    return content and content._replace(line_count=count_lines(BytesIO(data)))


def _begins_as_log(file: BinaryIO, options: Options) -> bool:
    """Whether the first line is in an envelope of logs, which is found sooner than by reading the whole file."""
    return any(map(envelopes.recognise, evidence.first_lines(file, _GLANCE, options.max_memory)[:1]))


def _refuse_heavy(file: BinaryIO, forced: str | None, options: Options, *, is_json: bool) -> None:
    """Raise ``OSError`` for a document, or what a suffix calls one; other files are read line by line."""
    memory = options.max_memory
    if is_json or forced in documents.names() or _parsed_content(beginning(file, memory), forced, is_json=is_json):
        raise OSError(EFBIG, footprint.refusal(memory))


def _parsed_content(data: bytes, forced: str | None, *, is_json: bool) -> Content | None:
    """The document in the bytes of a file, whose name may say that it is JSON; raises ``TurnError`` and ``OSError``."""
    try:
        objects, broken, lines = contents.parse(data)
    except contents.NoDocumentError:
        if forced in documents.names():
            raise
        return None
    if forced in documents.names():
        return Content(forced, f"{forced}, as --from says", objects, broken, lines)
    fitting = None if forced else documents.recognise(objects)
    if fitting:
        return Content(fitting.name, f"{fitting.name} ({fitting.why})", objects, broken, lines)
    if broken or len(objects) != 1:
        return None
    # In a file of lines, a single one may be the first row of a dataset.
    is_row = not (forced or is_json) and b"\n" not in data.strip() and formats.look_alike(objects[0]) is not None
    return None if is_row else _single(objects[0], data, forced)


def _single(value: Json, data: bytes, forced: str | None) -> Content | None:
    """An exchange that spans several lines, or a request's body with turns."""
    if line := as_line(data):
        return Content("", "", [], line=line)
    if isinstance(value, dict) and not value.keys().isdisjoint(_SIDES):
        return None  # as a body it would lose its reply
    body = bodies.recognise(value)
    name = forced or body.name
    if name is None or not bodies.has_turns(formats.get_format(name), value):
        return None
    return Content(name, f"{name}, as --from says" if forced else f"{name} ({body.why})", [value])


def log_in(data: bytes) -> bytes | None:
    """The lines of a log, of which the first is in a known envelope or which is one exchange; ``None`` for others."""
    first = next((line for line in data.split(b"\n", 50) if line.strip()), b"")
    return data if envelopes.recognise(first) is not None else as_line(data)


def as_line(data: bytes) -> bytes | None:
    """A file that is one exchange on several lines, as one line of the same length; ``None`` for any other file."""
    line = data.removeprefix(MARK).translate(_ONE_LINE)
    return line if envelopes.recognise(line) is not None else None


def is_readable(path: str, options: Options = _DEFAULTS) -> bool | str:
    """Whether a file with the suffix of documents begins like a log or a document, even a broken one.

    A text says what the file is a part of. Of a database, only the first rows are read.
    """
    if any(map(relatives.is_there, documents.owners(path))):
        return PART
    try:
        with open_file(path, options) as file:
            start = beginning(file, options.max_memory)
            if split_files.divide(file, None, options, start):
                return True
            is_large = contents.is_too_large(file)
        if evidence.look(BytesIO(start), memory=options.max_memory)[1].format is not None:
            return True
        return not is_large and _parsed_content(start, None, is_json=True) is not None
    except TurnError:
        return True
    except (OSError, MemoryError):
        return False
