"""Group the lines of many files into sessions of requests that continue one another.

One pass over all files stores a few integers per line. The lines of each session are then sorted by time. The pass may
convert each log while it reads it: most logs contain one complete session, and need not be read again.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import BinaryIO, TypeVar

from msgspec import Struct, field, structs
from xxhash import xxh3_128

from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log, Piece
from chatsquash.core.model import Entry, Finding
from chatsquash.core.options import Options
from chatsquash.core.times import moment
from chatsquash.reading import envelopes
from chatsquash.reading.bounds import Bounds
from chatsquash.reading.identify import forget, is_readable
from chatsquash.reading.reader import Reader
from chatsquash.reading.sessions import SPAN, are_call_ids, expanded_copy
from chatsquash.session.log_lines import DocumentError, LogConverter, LogLines
from chatsquash.session.parts import UNKNOWN, count_out_of_order, fill_unknown, pack_time, parts
from chatsquash.sources.find import discover
from chatsquash.sources.no_logs import nothing_to_read
from chatsquash.sources.open import open_file
from chatsquash.storage.folder import Folder
from chatsquash.trees.chains import Chains

_ROW = 4
"""The number of integers stored per line: session and file, line and length, offset and line feed, time."""
_HEAD, _PIECE, _LONGEST = 1 << 16, 1 << 18, 1 << 24
"""The number of bytes in the first read, per later read, and in total, when looking for the first line of a file."""
_HALF = 32
_LOW = (1 << _HALF) - 1


class _ReadFile(Struct, frozen=True):
    """The properties of a file that was read."""

    lines: int
    size: int
    """The size in bytes after decompression."""
    is_compressed: bool
    problem: str | None
    """The reason why the rest of the file was not read."""


class ChainedLogs(Struct):
    """Groups the lines of logs into sessions; call ``read`` first, then ``sessions``."""

    logs: Sequence[Log]
    options: Options
    expanded: Folder | None = None
    """As in ``reading.sessions.split``."""
    digests: list[str] = field(default_factory=list)
    """The hash of each log's file; empty if it cannot be read."""
    _others: dict[int, list[Log]] = field(default_factory=dict)
    """The logs to convert for each log whose lines are not grouped, by log number."""
    _files: dict[int, _ReadFile] = field(default_factory=dict)
    _copies: dict[int, str] = field(default_factory=dict)
    """The paths of the expanded copies of compressed files, by log number."""
    _chains: Chains = field(default_factory=Chains)
    _rows: array[int] = field(default_factory=lambda: array("q"))
    _ignores_ids: bool = False
    """Whether the ids in the lines identify calls instead of sessions."""

    def read(self, converter: LogConverter | None = None, observe: Callable[[Log, int], None] | None = None) -> None:
        """Read all logs in the order of their first times.

        Args:
            converter: Converts the logs at the same time.
            observe: Called after each log with the bytes of all logs.
        """
        logs = self.logs
        total = sum(log.size for log in logs) if observe else 0
        self._ignores_ids = are_call_ids(logs, self.options)
        self.digests = [""] * len(logs)
        start_times = array("q", [0])
        if len(logs) > 1:  # a log without a time stays after the log before it
            start_times = fill_unknown(array("q", (pack_time(_start_time(log, self.options)) for log in logs)))
        reader = Reader(replace(self.options, sessions_by="file"), refers_back=True)
        for number in sorted(range(len(logs)), key=start_times.__getitem__):
            # A conversion resolves references within its log only, so it must not read with answers of other logs.
            self._read(number, start_times[number], reader, None if reader.has_answers else converter)
            if observe:
                observe(logs[number], total)
        self._chains.close()

    def _read(self, number: int, began: int, reader: Reader, converter: LogConverter | None) -> None:
        """Record the lines of a log, or the sessions of a document."""
        log, lines = self.logs[number], LogLines(reader, self.options, self._add)
        self._chains.begin_file()
        with suppress(OSError, MemoryError):
            digest = self._read_lines(log, lines, converter)
            self.digests[number] = digest if lines.is_complete else ""
        sessions = fill_unknown(lines.sessions, UNKNOWN)
        if not lines.is_complete or not sessions or sessions[0] == UNKNOWN:
            self._others[number] = lines.parts or [log]
            return
        spans, problem = lines.spans, lines.problem
        if len(sessions) < len(spans) // SPAN:
            # Reading stopped at the maximum number of lines.
            problem = Bounds.of(self.options).too_many()
            del spans[SPAN * len(sessions) :]
        self._note(number, spans, sessions, fill_unknown(lines.times, began))
        count = len(spans) // SPAN
        self._files[number] = _ReadFile(count, sum(spans[2::SPAN]) + count, lines.is_compressed, problem)

    def _read_lines(self, log: Log, lines: LogLines, converter: LogConverter | None) -> str:
        """Read the lines of a log, converting it at the same time if there is a converter; return its hash."""
        if converter and converter.convert(log, lines):
            return converter.digest
        digest = xxh3_128()
        with suppress(DocumentError), open_file(log.path, self.options) as file:
            for _ in lines.read(file, log, digest.update).items:
                pass
        return digest.hexdigest()

    def _add(self, entry: Entry) -> int:
        """Add an entry to the chains and return its session."""
        return self._chains.add(structs.replace(entry, session_id=None) if self._ignores_ids else entry)

    def _note(self, file: int, spans: array[int], sessions: array[int], times: array[int]) -> None:
        """Store the positions of a file's lines."""
        for at in range(0, len(spans), SPAN):
            line, offset, length, feed = spans[at : at + SPAN]
            known = at // SPAN
            length = min(length, _LOW)  # longer lines are never read
            self._rows.extend(
                (sessions[known] << _HALF | file, line << _HALF | length, offset << 1 | feed, times[known])
            )

    def sessions(self) -> Iterator[Log]:
        """Yield the sessions in the order of their first lines in the logs."""
        first, starts, rows = self._group()
        places = [(key, session) for session, key in enumerate(first) if key]
        places += [(number << _HALF, -1) for number in self._others]
        for key, session in sorted(places):
            if session < 0:
                yield from self._others[key >> _HALF]
            else:
                yield self._session(sorted(rows[starts[session] : starts[session + 1]], key=self._time))

    def _time(self, row: int) -> int:
        return self._rows[_ROW * row + 3]

    def _root(self, row: int) -> int:
        """Return the session of a row."""
        return self._chains.sets.find(self._rows[_ROW * row] >> _HALF)

    def _group(self) -> tuple[array[int], array[int], array[int]]:
        """Sort the rows by session with a counting sort.

        Returns, for each session, the position of its first line in the logs (0 for sessions that were joined to
        others), the index of its first row, and the sorted rows.
        """
        count, lines = len(self._chains.sets), len(self._rows) // _ROW
        first, starts, rows = (
            array("Q", bytes(8 * count)),
            array("I", bytes(4 * count + 4)),
            array("I", bytes(4 * lines)),
        )
        for row in range(lines):
            starts[self._root(row)] += 1
        for session in range(1, count + 1):
            starts[session] += starts[session - 1]
        for row in reversed(range(lines)):
            root = self._root(row)
            starts[root] -= 1
            rows[starts[root]] = row
            key = self._file(row) << _HALF | self._rows[_ROW * row + 1] >> _HALF
            first[root] = min(key, first[root] or key)
        return first, starts, rows

    def _session(self, rows: list[int]) -> Log:
        """Build the log of a session from its rows, sorted by time."""
        numbers = list(dict.fromkeys(self._file(row) for row in rows))
        files = [self._files[number] for number in numbers]
        reordered = self._reordered(rows)
        log = self.logs[numbers[0]]
        if len(numbers) == 1 and len(rows) == files[0].lines and not reordered:
            return log
        turns = sum(self._file(one) != self._file(other) for one, other in pairwise(rows))
        is_part = len(rows) < sum(file.lines for file in files) or turns >= len(files)
        bases: dict[int, Piece] = {}
        line = offset = 0
        for number, file in zip(numbers, files, strict=True):
            each = self.logs[number]
            path = self._path(number, is_part=is_part or bool(reordered))
            bases[number] = Piece(path, each.display_path, line, offset, each.size, each.modified)
            line, offset = line + file.lines, offset + file.size
        spans = array("Q")
        for row in rows:
            piece = bases[self._file(row)]
            line, start, _ = self._rows[_ROW * row + 1 : _ROW * row + _ROW]
            spans.extend((piece.line + (line >> _HALF), piece.offset + (start >> 1), line & _LOW, start & 1))
        container_size = log.size if len(numbers) == 1 else None
        cut = self._cut(rows, numbers)
        pieces = (*bases.values(),) if len(numbers) > 1 else ()
        path, size = bases[numbers[0]].path, sum(spans[2::SPAN])
        return structs.replace(
            log,
            path=path,
            size=size,
            spans=spans,
            container_size=container_size,
            cut=cut,
            reordered_lines=reordered,
            pieces=pieces,
        )

    def _file(self, row: int) -> int:
        return self._rows[_ROW * row] & _LOW

    def _reordered(self, rows: list[int]) -> int:
        """Count the lines that follow a line with a later time in their file."""
        times: dict[int, array[int]] = {}
        for row in sorted(rows):
            times.setdefault(self._file(row), array("q")).append(self._time(row))
        return sum(map(count_out_of_order, times.values()))

    def _cut(self, rows: list[int], files: list[int]) -> str | None:
        """Return why the rest of a file was not read if the session contains the last line that was."""
        ends = {self._file(row): self._rows[_ROW * row + 1] >> _HALF for row in sorted(rows)}
        return next((file.problem for each in files if ends[each] == (file := self._files[each]).lines), None)

    def _path(self, number: int, *, is_part: bool) -> str:
        """Return the path for reading lines: that of an expanded copy if only a part of a compressed file is needed."""
        log = self.logs[number]
        if not (is_part and self._files[number].is_compressed and self.expanded):
            return log.path
        if number not in self._copies:
            self._copies[number] = expanded_copy(log, self.options, self.expanded)
        return self._copies[number]


def _start_time(log: Log, options: Options) -> int | None:
    """Return the time of a log's first line, in any format or envelope, or ``None`` if unknown."""
    try:
        with open_file(log.path, options) as file:
            line = _first_line(file)
        raw = envelopes.exchange_members(line)
        when = moment(raw.get("timestamp", b"")) if raw else None
    except (OSError, MemoryError, ValueError):
        return None
    return when.at if when else None


def _first_line(file: BinaryIO) -> bytes:
    """Return the first line of a file, truncated after about ``_LONGEST`` bytes."""
    line = b""
    while len(line) < _LONGEST and (piece := file.read(_PIECE if line else _HEAD)):
        end = piece.find(b"\n")
        if end >= 0:
            return line + piece[:end]
        line += piece
    return line


def chain_logs(
    logs: Sequence[Log],
    options: Options,
    expanded: Folder | None = None,
    converter: LogConverter | None = None,
    observe: Callable[[Log, int], None] | None = None,
) -> ChainedLogs:
    """Group the lines of logs into sessions of requests that continue one another; see ``ChainedLogs.read``."""
    chains = ChainedLogs(logs, options, expanded)
    chains.read(converter, observe)
    return chains


T = TypeVar("T")


def each_session(
    logs: Iterable[str],
    options: Options,
    work: Callable[[Log], T | None],
    note: Callable[[Finding], T] | None = None,
) -> Iterator[T]:
    """Yield the results of ``note`` for findings about archives, then those of ``work`` for all sessions.

    If ``work`` returns ``None``, the log is split, and ``work`` is called for each session in it.

    Raises:
        UsageError: There is nothing to read, or ``work`` raised ``OSError`` for a log.
    """
    roots = list(logs)
    forget()  # cached by an earlier run
    discovery = discover(roots, options, is_readable)
    notes = list(map(note, discovery.findings)) if note else []
    if not discovery.logs and not notes:
        raise nothing_to_read(roots, discovery)
    yield from notes
    by_chain = options.sessions_by == "chain"
    for log in chain_logs(discovery.logs, options).sessions() if by_chain else discovery.logs:
        yield from _sessions_in(log, options, work)


def _sessions_in(log: Log, options: Options, work: Callable[[Log], T | None]) -> Iterator[T]:
    """Yield the results for a log, or for each session in its file."""
    is_divided = options.sessions_by == "id" and not log.is_part
    try:
        for part in _parts(log, options) if is_divided else [log]:
            if (result := work(part)) is not None:
                yield result
                continue
            sessions = parts(part, options)
            if sessions == [part]:
                raise UsageError(f"{log.display_path}: cannot be read (it changed while being read)")
            for each in sessions:
                yield from _sessions_in(each, options, work)
    except OSError as problem:
        raise UsageError(f"{log.display_path}: cannot be read ({problem.strerror})") from None


def _parts(log: Log, options: Options) -> list[Log]:
    """Return the sessions in a log, or the log itself if it cannot be read."""
    try:
        return parts(log, options)
    except OSError:
        # ``work`` opens the log as well and reports the error.
        return [log]
