"""Files that are no logs and hold conversations: as a client or an agent keeps them, or one request's body alone."""

from __future__ import annotations

import os
from errno import EFBIG
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from chatsquash import formats
from chatsquash.core import footprint
from chatsquash.core.log import Log
from chatsquash.core.model import Conversation, Json, RejectedLine
from chatsquash.core.options import Options
from chatsquash.core.outcome import Relative
from chatsquash.formats import bodies, documents
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import of, with_origin
from chatsquash.reading import contents, envelopes, recognise, sidecars, split_files
from chatsquash.reading.recognise import first_lines
from chatsquash.sources import relatives
from chatsquash.sources.beginnings import beginning
from chatsquash.sources.compression import Expanded, uncompressed
from chatsquash.sources.open import opened
from chatsquash.sources.places import status_of

_GLANCE = 1 << 16
_DEFAULTS = Options()
PART = "part of another file"
"""What a file counts as that is read with another one."""
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")


class Held(NamedTuple):
    """A document: its format, the evidence for it, and what it holds."""

    format: str
    why: str
    objects: list[Json]
    broken: list[RejectedLine] = []  # noqa: RUF012 - never changed
    """Its lines that are no JSON."""
    lines: list[int] | None = None
    """Of each object the line that it begins at, from 1."""
    line: bytes = b""
    """All of it as one line, where it is an exchange that stands on several; it holds no conversations then."""
    meta: Json = None
    """What the file holds that lies beside."""
    units: int = 1
    """How many units the file has, of which this is one."""

    def conversations(self) -> list[Conversation]:
        """Its conversations; raises ``TurnError`` for a document that is broken."""
        if self.format in documents.names():
            return documents.load(self.format, self.objects, self.lines, self.meta)
        return [bodies.load(formats.named(self.format), body) for body in self.objects]

    def aside(self) -> bodies.Aside:
        """What a request's body has beside its conversation; nothing for a document."""
        if self.line or self.format in documents.names():
            return bodies.Aside(0, [], [])
        return bodies.aside(formats.named(self.format), self.objects[0])


def look(
    file: BinaryIO, forced: str | None = None, options: Options = _DEFAULTS, unit: bytes | None = None
) -> Held | None:
    """The document in a file, which stands after where it stood before; ``None`` where it holds none that is known.

    Of a file that is read unit by unit it is the one that is asked for, else the first.

    Raises ``TurnError`` for a file that may be of two formats, and for one that is said to be a document and is too
    large for that; ``OSError`` for a document, and for any file with the suffix of one, whose parsed form would take
    more memory than the options allow, and for a database that takes more of anything.
    """
    place = file.tell()
    try:
        return _of_unit(file, unit, options) if unit is not None else _look(file, forced, options)
    finally:
        file.seek(place)


def _of_unit(file: BinaryIO, unit: bytes, options: Options) -> Held:
    name = unit.partition(b"\0")[0].decode()
    return Held(name, name, split_files.objects(file, unit, options))


def _look(file: BinaryIO, forced: str | None, options: Options) -> Held | None:
    is_named = forced in documents.names()
    if not is_named and not contents.is_too_large(file) and _begins_as_log(file, options):
        return None
    if (is_named or forced is None) and (found := split_files.divided(file, forced, options)):
        units = found.units()
        read = split_files.objects(file, units[0], options) if units else []
        return Held(found.format, found.why, read, units=len(units))
    data = contents.whole(file)
    if data is None:
        if is_named:
            raise TurnError(f"is larger than {contents.LONGEST:,} bytes")
        return None
    is_json = uncompressed(str(getattr(file, "name", ""))).lower().endswith(".json")
    if data.startswith(split_files.DATABASE):
        return None
    footprint.hold_to_machine(data)
    if footprint.exceeds(data, options.max_memory):
        _refuse_heavy(file, forced, options, is_json=is_json)
        return None
    return _told(data, forced, is_json=is_json)


def _begins_as_log(file: BinaryIO, options: Options) -> bool:
    """Whether the first line is one of a log, which is told sooner than by reading a file whole."""
    return any(map(envelopes.recognise, first_lines(file, _GLANCE, options.max_memory)[:1]))


def _refuse_heavy(file: BinaryIO, forced: str | None, options: Options, *, is_json: bool) -> None:
    """Raise ``OSError`` for a document, or what a suffix calls one; lines of anything else are looked at one by one."""
    memory = options.max_memory
    if is_json or forced in documents.names() or _told(beginning(file, memory), forced, is_json=is_json):
        raise OSError(EFBIG, footprint.refusal(memory))


def _told(data: bytes, forced: str | None, *, is_json: bool) -> Held | None:
    """The document in the bytes of a file, whose name may say that it is JSON; raises ``TurnError`` and ``OSError``."""
    try:
        objects, broken, lines = contents.parsed(data)
    except contents.NoDocumentError:
        if forced in documents.names():
            raise
        return None
    if forced in documents.names():
        return Held(forced, f"{forced}, as --from says", objects, broken, lines)
    fitting = None if forced else documents.recognise(objects)
    if fitting:
        return Held(fitting.name, f"{fitting.name} ({fitting.why})", objects, broken, lines)
    if broken or len(objects) != 1:
        return None
    # In a file of lines, a single one may be the first row of a dataset.
    is_row = not (forced or is_json) and b"\n" not in data.strip() and formats.look_alike(objects[0]) is not None
    return None if is_row else _alone(objects[0], data, forced)


def _alone(value: Json, data: bytes, forced: str | None) -> Held | None:
    """An exchange on several lines, or a request's body with turns."""
    if line := as_line(data):
        return Held("", "", [], line=line)
    found = bodies.recognise(value)
    name = forced or found.name
    if name is None or not bodies.has_turns(formats.named(name), value):
        return None
    return Held(name, f"{name}, as --from says" if forced else f"{name} ({found.why})", [value])


def as_line(data: bytes) -> bytes | None:
    """A file that is one exchange on several lines, as one of the same length; ``None`` for any other."""
    line = data.removeprefix(contents.MARK).translate(_ONE_LINE)
    return line if envelopes.recognise(line) is not None else None


def is_document(path: str, options: Options = _DEFAULTS) -> bool | str:
    """Whether a file begins like one that is recognised: a document, one that is broken in a way to be said, or a log.

    Of a database, only what its first rows tell is read.  One that is read with another file is no document itself.
    """
    if any(map(relatives.is_there, documents.owners(path))):
        return PART
    try:
        with opened(path, options) as file:
            start = beginning(file, options.max_memory)
            if split_files.divided(file, None, options, start):
                return True
            is_large = contents.is_too_large(file)
        if _is_log(BytesIO(start), options):
            return True
        return not is_large and _told(start, None, is_json=True) is not None
    except TurnError:
        return True
    except (OSError, MemoryError):
        return False


def _is_log(file: BinaryIO, options: Options) -> bool:
    return recognise.look(file, memory=options.max_memory)[1].format is not None


class LogDocument(Struct):
    """A document that was read, with all that a session of it needs."""

    format: str
    why: str
    line: bytes
    """All of it as one line, where it is an exchange that stands on several."""
    broken: list[RejectedLine]
    aside: bodies.Aside
    conversations: list[Conversation]
    problem: str | None
    """What is wrong with it, in words; it has no conversations then."""
    cut: str | None
    """Why the rest of a compressed file was not read."""
    size: int
    """Bytes of the file, expanded."""
    digest: str = ""
    """Of the file as it stands on the disk, once somebody knows it."""
    version: str | None = None
    """That of the agent, as far as the file says it."""
    paths: Any = None
    """Its conversations with their kinds and parents, once ``trees.documents`` has found these."""
    relatives: list[Relative] = []
    """The files beside it that tell of it."""
    units: int = 1
    """How many units its file has, of which it is one."""
    is_alone: bool = False
    """Whether it is known that its first lines are not those of a log."""


_last: tuple[object, LogDocument | None] | None = None
"""The document that was read last, for its other conversations."""


def document(file: BinaryIO, options: Options, unit: bytes | None = None) -> LogDocument | None:
    """The document in a file, which is parsed once for all of its conversations; ``None`` and errors as in ``look``."""
    global _last  # noqa: PLW0603 - one of a process, since it may be large
    key = _key(file, options, unit)
    if _last and key == _last[0]:
        return _last[1]
    before, _last = _last, None
    found = alone(file, options, unit)
    if key:
        if found and before and before[1] and before[0][0] == key[0]:  # type: ignore[index]
            found.digest = before[1].digest
        _last = key, found
    return found


def alone(file: BinaryIO, options: Options, unit: bytes | None = None) -> LogDocument | None:
    """The document in a file, which is not kept in mind; ``None`` and errors as in ``look``."""
    held = look(file, options.from_format, options, unit)
    return _read(held, file, options) if held else None


def forget(file: BinaryIO | None = None) -> None:
    """Let go of the document that was read last, unless it is the one in a file."""
    global _last  # noqa: PLW0603 - as above
    if _last and (file is None or _last[0][0] != status_of(file)):  # type: ignore[index]
        _last = None


def _key(file: BinaryIO, options: Options, unit: bytes | None) -> tuple[object, ...] | None:
    status = status_of(file)
    bounds = options.max_memory, options.max_database_time, options.max_expansion, options.max_expanded
    return (status, unit, options.from_format, *bounds) if status else None


def _read(held: Held, file: BinaryIO, options: Options) -> LogDocument:
    problem, found = None, list[Conversation]()
    lying = sidecars.read(held.format, getattr(file, "name", ""), options)
    held = held._replace(meta=lying.held) if lying else held
    try:
        found = [] if held.line else held.conversations()
    except TurnError as raised:
        problem = f"{held.format}: {raised}"
    found = _named(found, held.format, getattr(file, "name", ""))
    place = file.tell()
    size = file.seek(0, os.SEEK_END)
    cut = file.problem if isinstance(file, Expanded) else None
    file.seek(place)
    aside = bodies.Aside(0, [], []) if problem else held.aside()
    version = documents.version(held.format, held.objects)
    told = (held.format, held.why, held.line, held.broken, aside, found, problem, cut, size)
    met = [relatives.look(lying.pattern)] if lying else []
    return LogDocument(*told, version=version, relatives=met, units=held.units)


def _named(found: list[Conversation], form: str, path: object) -> list[Conversation]:
    """Conversations with the ids of their sessions, where only the path of their file tells these."""
    if form not in documents.names() or not isinstance(path, str) or not path:
        return found
    inside = uncompressed(relatives.within(path))
    named = list[Conversation]()
    for each in found:
        origin = of(each)
        session = None if origin.session_id else documents.session(form, inside, origin)
        named.append(with_origin(each, session_id=session) if session else each)
    return named


def parts(log: Log, file: BinaryIO, options: Options) -> list[Log]:
    """The conversations of the document in a file, or the units of one that is read unit by unit.

    There are none of a log, of a broken document, and of anything else.
    """
    try:
        found = None if log.unit else split_files.divided(file, options.from_format, options)
        file.seek(0)
        if found:
            units = found.units()
            if len(units) > 1:
                shared = zip(units, _shares(units, log.size), strict=True)
                return [replace(log, unit=unit, size=size, whole=log.size) for unit, size in shared]
        held = document(file, options, log.unit)
    except (OSError, TurnError):
        return []
    if not held or not held.conversations:
        return []
    is_alone = held.is_alone or log.unit is not None or bool(options.from_format)
    count = len(held.conversations) if is_alone or not _is_log(file, options) else 0
    return [replace(log, part=part) for part in range(count)]


def _shares(units: list[bytes], size: int) -> list[int]:
    """The bytes of a file that count for each of its units, so that they come to all of them."""
    share = size // len(units)
    return [size - share * (len(units) - 1), *[share] * (len(units) - 1)]
