"""Split a file with several sessions into the lines of each one, in a pass that only records places.

Ids in logs may identify calls rather than sessions, as LiteLLM's do if clients send no session ids.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from msgspec.structs import replace

from chatsquash.core import footprint
from chatsquash.core.lazy import LazyModule
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.formats.base import TurnError
from chatsquash.reading import envelopes
from chatsquash.reading.evidence import first_lines
from chatsquash.reading.members import members
from chatsquash.sources.compression import ExpandedFile
from chatsquash.sources.identity import limit_to_discovered_size
from chatsquash.sources.lines import CHUNK, Line, lines
from chatsquash.sources.names import MARK
from chatsquash.sources.open import open_file, shortage
from chatsquash.storage import is_remote
from chatsquash.storage.folder import Folder

if TYPE_CHECKING:
    from chatsquash.reading import identify as identification
    from chatsquash.reading import split_files
    from chatsquash.reading.envelopes import litellm
else:
    identification = LazyModule("chatsquash.reading.identify")
    litellm = LazyModule("chatsquash.reading.envelopes.litellm")
    split_files = LazyModule("chatsquash.reading.split_files")

T = TypeVar("T")
SPAN = 4
"""The number of values per line in ``Log.spans``: number, offset, length, and length of the line feed."""
_LOGS = 8
"""The number of logs to examine; a single log with real session ids is decisive."""
_GLANCE, _EXAMINED = 1 << 12, 1 << 22
"""The numbers of bytes to examine: of any log, and of one written by LiteLLM."""
_ROWS = 16
Parts = Callable[[Log, BinaryIO, Options], "list[Log]"]
"""Returns the sessions in an open log."""


def are_call_ids(logs: Sequence[Log], options: Options) -> bool:
    """Return whether the first rows of the logs have distinct trace ids and no session ids."""
    seen: list[bytes] = []
    for log in islice(logs, _LOGS):
        traces = _traces(log, options)
        if not traces:
            return False
        seen += traces
    return 1 < len(seen) == len(set(seen))


def _traces(log: Log, options: Options) -> list[bytes]:
    """Return the trace ids of a log's first rows, or an empty list if any row has a session id or no trace id."""
    try:
        with open_file(log.path, options) as file:
            start = file.read(_GLANCE)
            file.seek(0)
            if b'"call_type"' not in start:
                return []
            lines = first_lines(file, _EXAMINED, options.max_memory)[:_ROWS]
    except (OSError, MemoryError):
        return []
    traces = [litellm.trace(members(line) or {}) for line in lines]
    trace_ids = [trace for trace in traces if trace]
    return trace_ids if len(trace_ids) == len(traces) else []


def split(
    log: Log, options: Options | None = None, expanded: Folder | None = None, parts_of: Parts | None = None
) -> list[Log]:
    """Return the sessions in a file, in the order of their first lines.

    Lines without a session id form one session. An unreadable line belongs to the session of the line before it. Each
    conversation of a document is a session. A file that cannot be read is returned unchanged, so that converting it
    reports the problem.

    Args:
        log: The file.
        options: The options of the run.
        expanded: A folder for expanded copies of compressed logs, so that lines can be read by their place. Without it,
            everything before a line is expanded to read the line.
        parts_of: Determines the sessions by means other than ids.
    """
    options = options or Options()
    parts_of = parts_of or by_ids
    try:
        with open_file(log.path, options, is_part=log.is_part) as file:
            if parts := document_parts(log, file, options):
                return parts
            if not isinstance(file, ExpandedFile) and getattr(file, "is_direct", True):
                unchanged = limit_to_discovered_size(file, log)
                parts = parts_of(log, unchanged, options)
                # Without a copy, every session would request the entire log from the remote store.
                is_copied = len(parts) > 1 and is_remote(log.path) and log.size <= options.max_expanded
                return _of_copy(log, unchanged, expanded, parts_of, options) if is_copied and expanded else parts
            if expanded is None:
                parts = parts_of(log, file, options)
            else:
                parts = _of_copy(log, file, expanded, parts_of, options)
            return [*parts[:-1], replace(parts[-1], cut=getattr(file, "problem", None))]
    except OSError:
        return [log]


def document_parts(log: Log, file: BinaryIO, options: Options) -> list[Log]:
    """Return the conversations of a document, or the units of a file that is read unit by unit.

    Empty for logs, invalid documents and all other files.
    """
    try:
        if not log.unit and (units := identification.units_of(file, options)):
            rows = zip(units, _shares(units, log.size), split_files.unit_lines(file, len(units)), strict=True)
            return [
                replace(log, unit=unit, size=size, unit_lines=of, container_size=log.size) for unit, size, of in rows
            ]
        # Detecting a document requires reading less of a log than its lines.
        document = identification.document_in(file, options, log.unit)
        if document and not (log.unit or document.is_identified):
            document = identification.identify(file, options).document
    except (OSError, TurnError):
        return []
    return [replace(log, part=part) for part in range(len(document.conversations))] if document else []


def _shares(units: tuple[bytes, ...], size: int) -> list[int]:
    """Distribute the bytes of a file among its units so that the total is correct."""
    share = size // len(units)
    return [size - share * (len(units) - 1), *[share] * (len(units) - 1)]


def _of_copy(log: Log, file: BinaryIO, folder: Folder, parts_of: Parts, options: Options) -> list[Log]:
    """Return the sessions in an expanded or downloaded copy of a file."""
    file.seek(0)
    name = _copy(file, folder)
    with _or_shortage(file, folder):
        descriptor = folder.open(name)
    with open(descriptor, "rb", buffering=0) as copy:
        return [replace(part, path=f"{folder.path}/{name}") for part in parts_of(log, copy, options)]


def expanded_copy(log: Log, options: Options, folder: Folder) -> str:
    """Expand a compressed log to a new file in a folder and return the path of the file."""
    with open_file(log.path, options) as file:
        assert isinstance(file, ExpandedFile)
        return f"{folder.path}/{_copy(file, folder)}"


def remove_finished(done: Iterable[tuple[Log, T]], expanded: Folder) -> Iterator[tuple[Log, T]]:
    """Yield the results unchanged, and remove each expanded copy after the results of its sessions."""
    before, inside = "", f"{expanded.path}/"
    for log, outcome in done:
        if log.path != before and before.startswith(inside) and MARK not in before:
            expanded.remove(before.removeprefix(inside))
        before = log.path
        yield log, outcome


def _copy(file: BinaryIO, folder: Folder) -> str:
    """Copy a file to a new one that only its owner can read, and return the name.

    Raises:
        ShortageError: There is not enough space.
    """
    name = f"{os.urandom(8).hex()}.jsonl"
    with _or_shortage(file, folder):
        folder.make()
        descriptor = folder.create(name, 0o600)
    try:
        while piece := file.read(CHUNK):
            with _or_shortage(file, folder):
                _write(descriptor, piece)
    finally:
        os.close(descriptor)
    return name


# The log itself is not damaged.
@contextmanager
def _or_shortage(file: BinaryIO, folder: Folder) -> Iterator[None]:
    """Raise ``ShortageError`` for any problem with a copy."""
    try:
        yield
    except OSError as problem:
        raise shortage(str(getattr(file, "name", "a log")), f"expanded into {folder.path}", problem) from None


def _write(descriptor: int, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def by_ids(log: Log, file: BinaryIO, options: Options | None = None) -> list[Log]:
    """Return the sessions in an open log based on the ids of its lines."""
    return [part_of(log, spans) for spans in places_by_id(file, options or Options()).values()] or [log]


def places_by_id(file: BinaryIO, options: Options) -> dict[str | None, array[int]]:
    """Return the places of a log's lines, as in ``Log.spans``, by session id, or ``None`` for lines without an id."""
    places: dict[str | None, array[int]] = {}
    name: str | None = None
    pending = array("Q")
    for line in lines(file):
        data = bytes(line.buffer[line.start : line.stop])
        raw = None if footprint.exceeds(data, options.max_memory) else members(data)
        place = (line.number, line.offset, line.length, line.size - line.length)
        if raw is not None:
            session_id, is_exchange = envelopes.session_of(raw)
            if not is_exchange:  # it belongs to the session before it, or else to the first one
                places.get(name, pending).extend(place)
                continue
            name = session_id
        places.setdefault(name, pending).extend(place)
        pending = array("Q") if places[name] is pending else pending
    return places or ({None: pending} if pending else {})


def part_of(log: Log, spans: array[int]) -> Log:
    """Return the session with the lines at these places."""
    return replace(log, size=sum(spans[2::SPAN]), spans=spans, container_size=log.size)


def lines_of(
    file: BinaryIO, spans: array[int], hashed: Callable[[memoryview], object] | None, longest: int
) -> Iterator[Line]:
    """Yield the lines of one session in a file with several sessions; adjacent lines are read together."""
    at = 0
    while at < len(spans):
        _, offset, length, _ = spans[at : at + SPAN]
        stop = _adjacent(spans, at, longest)
        data, start = bytearray(), offset
        if length <= longest:
            data = _read_at(file, offset, sum(spans[at + 2 : stop : SPAN]) + sum(spans[at + 3 : stop : SPAN]))
        for each in range(at, stop, SPAN):
            number, offset, length, feed = spans[each : each + SPAN]
            if length > longest:
                yield Line(number, offset, length, data, 0, 0, length + feed)
                continue
            begin = min(offset - start, len(data))
            end = min(begin + length, len(data))
            if hashed:
                with memoryview(data) as view:
                    hashed(view[begin:end])
            yield Line(number, offset, end - begin, data, begin, end, end - begin + feed)
        at = stop


def _adjacent(spans: array[int], at: int, longest: int) -> int:
    """Return the end of the lines from ``at`` on that follow one another in the file and fit in one chunk."""
    stop, limit = at + SPAN, spans[at + 1] + CHUNK
    while stop < len(spans) and spans[at + 2] <= longest:
        offset, length, feed = spans[stop + 1 : stop + SPAN]
        is_next = offset == sum(spans[stop - 3 : stop])
        if not is_next or length > longest or offset + length + feed > limit:
            break
        stop += SPAN
    return stop


def _read_at(file: BinaryIO, offset: int, size: int) -> bytearray:
    """Read bytes at an offset; fewer only if the file ends."""
    file.seek(offset)
    data = bytearray(size)
    read_size = 0
    with memoryview(data) as view:
        while count := file.readinto(view[read_size:]):  # type: ignore[attr-defined]
            read_size += count
    del data[read_size:]
    return data
