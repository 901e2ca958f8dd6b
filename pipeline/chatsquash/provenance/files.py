"""The stored bytes of logs, with their hashes, and the strings in them."""

from __future__ import annotations

import io
import zipfile
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256

from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.provenance.index import StringIndex
from chatsquash.provenance.tokens import GUNZIP, MEMBER, Scan, Steps
from chatsquash.provenance.values import StoredFile
from chatsquash.sources import unfold
from chatsquash.sources.compression import HEAD, ExpandedFile, recognise
from chatsquash.sources.open import raw
from chatsquash.storage.decoders import PARSER_ERRORS

_PIECE = 1 << 20
_MOST = 1 << 30
"""The maximum size in bytes of a file that is searched."""
_SPACE = b" \t\r\n\xef\xbb\xbf"
_ZIP, _GZIP = b"PK\3\4", b"\x1f\x8b\x08"
_MOST_EXPANDED = 256 << 20
"""The maximum number of bytes of streams in a file."""
_INDEXES = 4

Spans = tuple[tuple[int, int], ...]
"""Ranges of bytes after decompression."""


class LogFile:
    """A file with a session, in memory."""

    def __init__(self, path: str, options: Options) -> None:
        """Read a file; raise ``OSError`` if this fails, or ``ValueError`` if it is too large."""
        with closing(raw(path)) as file:
            file.seek(0)
            data = _read(file)
            self.identity = StoredFile(len(data), sha256(data).hexdigest())
            kind = recognise(data[:HEAD])
            self.data = _read(ExpandedFile(file, kind, options)) if kind else data
        self.is_unfolded = unfold.recognise(self.data[: unfold.HEAD]) is not None
        """Whether it is an export whose lines are not lines of the file."""
        self._feeds: array[int] | None = None
        self._indexes: dict[Spans, StringIndex] = {}

    def line(self, number: int) -> tuple[int, int] | None:
        """Return the range of a 1-based line, without its line feed."""
        feeds = self._line_feeds()
        if not 0 < number <= len(feeds) + 1:
            return None
        start = feeds[number - 2] + 1 if number > 1 else 0
        stop = feeds[number - 1] if number <= len(feeds) else len(self.data)
        return (start, stop) if start < len(self.data) else None

    def line_at(self, offset: int) -> tuple[int, int]:
        """Return the number of the line with a byte, and the offset of the line."""
        feeds = self._line_feeds()
        before = bisect_right(feeds, offset - 1)
        return before + 1, feeds[before - 1] + 1 if before else 0

    def _line_feeds(self) -> array[int]:
        if self._feeds is None:
            self._feeds = array("Q", _feeds(self.data))
        return self._feeds

    def index(self, spans: Spans = ()) -> StringIndex:
        """Return the strings of some ranges, by default of the complete file; several are remembered."""
        index = self._indexes.get(spans)
        if index is None:
            if len(self._indexes) == _INDEXES:
                self._indexes.clear()
            index = self._indexes[spans] = self._make_index(spans)
        return index

    def _make_index(self, spans: Spans) -> StringIndex:
        scan = Scan()
        for start, stop in spans or ((0, len(self.data)),):
            scan.add(self.data, start, stop)
        if spans:
            return StringIndex(scan, sum(stop - start for start, stop in spans))
        is_json = self.data.lstrip(_SPACE)[:1] in (b"{", b"[")
        for step, data in () if is_json else (*_members(self.data), *_streams(self.data)):
            scan.add(data, 0, len(data), step)
        return StringIndex(scan, len(self.data), b"" if is_json else self.data)


def open_files(log: Log, options: Options) -> list[LogFile | None]:
    """Return the files of a session in the order of ``file_paths``; ``None`` for those that cannot be read."""
    return [_open(path, log, options) for path in file_paths(log)]


def file_paths(log: Log) -> list[str]:
    """Return the paths of the files of a session: its log or the parts of it, and the files that it is joined with."""
    own = [piece.path for piece in log.pieces] or [_stored_path(log)]
    return [*own, *map(_stored_path, log.agents)]


def _stored_path(log: Log) -> str:
    return log.display_path if log.is_copy else log.path  # the bytes of a copy are not those of the log


_last: tuple[object, LogFile] | None = None
"""The last file with several sessions, since the next ones are usually in the same one."""


def _open(path: str, log: Log, options: Options) -> LogFile | None:
    global _last  # noqa: PLW0603 - only one per process
    key = (path, log.file_size, log.modified)
    if log.is_part and _last and _last[0] == key:
        return _last[1]
    _last = None
    try:
        file = LogFile(path, options)
    except (OSError, ValueError, MemoryError):
        return None
    if log.is_part and log.modified is not None:
        _last = key, file
    return file


def _read(file: io.RawIOBase) -> bytes:
    """Return the content of a file; raise ``ValueError`` if it is too large."""
    pieces, size = [], 0
    while piece := file.read(_PIECE):
        size += len(piece)
        if size > _MOST:
            raise ValueError(size)
        pieces.append(piece)
    return b"".join(pieces)


def _feeds(data: bytes) -> Iterator[int]:
    at = data.find(b"\n")
    while at >= 0:
        yield at
        at = data.find(b"\n", at + 1)


def _streams(data: bytes) -> Iterator[tuple[Steps, bytes]]:
    """Yield the gzip streams in a file, such as the bodies in a dump of exchanges."""
    at, rest = data.find(_GZIP), _MOST_EXPANDED
    while at >= 0 and rest > 0:
        stream = zlib.decompressobj(31)
        try:
            expanded = stream.decompress(data[at:], rest)
        except zlib.error:
            expanded = b""
        if expanded and stream.eof:
            stop = len(data) - len(stream.unused_data)
            yield ([at, stop], GUNZIP), expanded
            rest -= len(expanded)
        at = data.find(_GZIP, at + 1)


def _members(data: bytes) -> Iterator[tuple[Steps, bytes]]:
    """Yield the members of a file that is itself an archive."""
    if not data.startswith(_ZIP):
        return
    rest = _MOST
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for number, member in enumerate(archive.infolist()):  # names may be private
                rest -= member.file_size
                if rest < 0:
                    return
                yield ([MEMBER, number],), archive.read(member)
    except (*PARSER_ERRORS, zipfile.BadZipFile, NotImplementedError, OSError):
        return
