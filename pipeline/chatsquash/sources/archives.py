"""Archives of logs, whose members are addressed as ``a.zip!/b.jsonl``, one level deep.

Members of zip files and uncompressed tars are read in place. A compressed tar is expanded once into the scratch folder
and then read from that copy.
"""

from __future__ import annotations

import io
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from errno import EFBIG, EINVAL, ENOENT, ENOTSUP
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.core.options import Options
from chatsquash.core.text import error_text
from chatsquash.sources.compression import PositionedFile
from chatsquash.sources.identity import read_at, status_of
from chatsquash.sources.names import MARK
from chatsquash.storage import decoders

_NO_COMPRESSION, _DEFLATE, _BZIP2, _ZSTD = 0, 8, 12, 93
_MISSING_LIBRARY = "a member requires Python with bzip2, or (for zstd) Python 3.14 or pip install 'chatsquash[zstd]'"
_LOCAL = struct.Struct("<4s22xHH")
"""The local header of a zip member: its signature, and the lengths of the file name and extra field that follow it."""
_LOCAL_MARK = b"PK\3\4"
_ENCRYPTED = 0x1
_ARCHIVE_ERRORS = (zipfile.BadZipFile, tarfile.TarError, *decoders.PARSER_ERRORS)
_MAX_HEADER = 1 << 20
"""The maximum size in bytes of a tar header that extends the next one."""
_PIECE = 1 << 16
_FIRST = 1 << 16
"""The number of bytes of a member that are kept."""


class ArchiveEntry(Struct, frozen=True):
    """A member of an archive."""

    name: str
    size: int
    """The uncompressed size in bytes according to the archive."""
    offset: int
    """The offset of the data in the archive; for zip files, that of the local header."""
    compressed_size: int
    """The size in the archive in bytes."""
    method: int = _NO_COMPRESSION
    problem: str = ""
    """The reason why the member is not read, in words."""


def entries(file: io.RawIOBase | PositionedFile) -> list[ArchiveEntry]:
    """Return the members of an archive in order, without folders.

    Members that cannot be read have a ``problem``. If the archive is damaged, a final entry without a name reports it.

    Raises:
        OSError: The file is not a readable archive.
    """
    members = list[ArchiveEntry]()
    try:
        members.extend(_zip_entries(file) if read_at(file, 2, 0) == b"PK" else _tar_entries(file))
    except _ARCHIVE_ERRORS as problem:
        if not members:
            raise OSError(EINVAL, f"not a readable archive: {error_text(problem)}") from None
        members.append(
            ArchiveEntry("", 0, 0, 0, problem=f"follows a damaged part of the archive ({error_text(problem)})")
        )
    return find_unreadable(members)


def _zip_entries(file: Any) -> Iterator[ArchiveEntry]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            kind = info.external_attr >> 16
            problem = "is encrypted" if info.flag_bits & _ENCRYPTED else ""
            problem = "is a link" if stat.S_ISLNK(kind) else problem
            if info.compress_type not in (_NO_COMPRESSION, _DEFLATE, _BZIP2, _ZSTD):
                problem = problem or f"is compressed with method {info.compress_type}, which is not supported"
            if info.compress_type == _NO_COMPRESSION and info.file_size != info.compress_size:
                problem = problem or "has two different sizes"
            sizes = info.file_size, info.header_offset, info.compress_size
            # zipfile truncates ``filename`` at a NUL byte, so the original name is used.
            yield ArchiveEntry(info.orig_filename, *sizes, info.compress_type, problem)


class _BoundedInfo(tarfile.TarInfo):
    """A tar member whose header size is limited."""

    # tarfile reads extended headers into memory.
    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        is_header = self.type in (b"L", b"K", b"x", b"X", b"g")
        if is_header and self.size > _MAX_HEADER:
            raise tarfile.HeaderError(f"a header of {self.size:,} bytes")
        return super()._proc_member(archive)  # type: ignore[misc]


def _tar_entries(file: Any) -> Iterator[ArchiveEntry]:
    file.seek(0)
    buffered = io.BufferedReader(file)
    try:
        with tarfile.open(fileobj=buffered, mode="r:", tarinfo=_BoundedInfo) as archive:
            for info in archive:
                archive.members.clear()  # type: ignore[attr-defined] # saves memory if there are very many
                if not info.isdir():
                    yield ArchiveEntry(info.name, info.size, info.offset_data, info.size, problem=_tar_problem(info))
    finally:
        buffered.detach()


def _tar_problem(info: tarfile.TarInfo) -> str:
    """Return why a tar member is not a regular file, or an empty string for a regular file."""
    if info.issym() or info.islnk():
        return "is a link"
    return "is sparse" if info.issparse() else "" if info.isfile() else "is not a file"


def open_member(archive: io.FileIO | PositionedFile, name: str) -> Member:
    """Open a member of an open archive; closing the member closes the archive.

    Raises:
        OSError: The member does not exist or cannot be read.
    """
    key = status_of(archive)
    entry = _directory(key, archive).get(name) if key else None
    if entry is None:
        raise OSError(ENOENT, os.strerror(ENOENT))
    if entry.problem:
        raise OSError(EINVAL, f"it {entry.problem}")
    return (StoredMember if entry.method == _NO_COMPRESSION else Member)(archive, entry)


class _Directories:
    """A cache of the directories of recently read archives."""

    def __init__(self) -> None:
        self.archive: Any = None
        self.directory = lru_cache(maxsize=4)(self._read)

    def _read(self, key: tuple[object, ...]) -> dict[str, ArchiveEntry]:
        del key
        known = dict[str, ArchiveEntry]()
        for each in entries(self.archive):
            if not each.problem or each.name not in known:
                known.setdefault(each.name, each)
        return known


_open_archives = _Directories()


def _directory(key: tuple[object, ...], archive: Any) -> dict[str, ArchiveEntry]:
    _open_archives.archive = archive
    try:
        return _open_archives.directory(key)
    finally:
        _open_archives.archive = None


def members(archive: io.FileIO | PositionedFile) -> dict[str, ArchiveEntry]:
    """Return the readable members of an open archive by name."""
    key = status_of(archive)
    return {name: each for name, each in _directory(key, archive).items() if not each.problem} if key else {}


class Member(PositionedFile):
    """A file-like view of an archive member; seeking backwards decompresses the member from its start."""

    is_direct = False
    """Whether seeking is cheap."""

    def __init__(self, archive: Any, entry: ArchiveEntry) -> None:
        self._archive, self._entry = archive, entry
        self.name = f"{archive.name}{MARK}{entry.name}"
        self.size = entry.size
        self._start = _data_offset(archive, entry)
        self._expanded_to = -1
        self._next = self._start
        self._rest = b""
        self._stream: Any = None
        # They are examined before a log is read, and most logs have no others.
        self._first = b""
        """The first bytes once they were decompressed."""

    @property
    def identity(self) -> tuple[object, ...]:
        """A value that changes when the archive or the member changes."""
        status = status_of(self._archive)
        return (self.name, self.size, status[3] if status and len(status) > 3 else None, self._start, status)

    def close(self) -> None:
        """Close the archive."""
        self._archive.close()
        super().close()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the position; nothing is decompressed yet."""
        self._at = max(0, offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence])
        return self._at

    def readinto(self, into: Any) -> int:
        """Fill the buffer; fewer bytes are returned only at the end."""
        with memoryview(into) as view:
            data = self._read(len(view))
            view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _read(self, size: int) -> bytes:
        return self._expand(size)

    def _expand(self, size: int) -> bytes:
        """Decompress up to ``size`` bytes at the current position, of which the first ones of the member are known."""
        known = self._first[self._at : self._at + size]
        expanded = bytearray(known)
        if len(known) < size:
            expanded += self._expand_from(self._at + len(known), size - len(known))
        if not self._at and not self._first:
            self._first = bytes(expanded[:_FIRST])
        return bytes(expanded)

    def _expand_from(self, start: int, size: int) -> bytearray:
        if start < self._expanded_to or self._stream is None:
            self._begin()
        expanded = bytearray()
        while len(expanded) < size:
            piece = self._next_piece()
            if not piece:
                break
            skipped = min(len(piece), max(0, start - self._expanded_to))
            part = piece[skipped : skipped + size - len(expanded)]
            self._expanded_to += skipped + len(part)
            self._rest = piece[skipped + len(part) :]
            expanded += part
        return expanded

    def _begin(self) -> None:
        self._stream = _stream(self._entry.method)
        self._next, self._rest, self._expanded_to = self._start, b"", 0

    def _next_piece(self) -> bytes:
        """Return the next decompressed bytes, at most as many as the size stated in the archive."""
        if self._rest:
            return self._rest
        remaining = self.size - self._expanded_to
        while remaining > 0 and not self._stream.eof:
            data = b""
            if self._stream.needs_input:
                stop = self._start + self._entry.compressed_size
                # A zstd block of four bytes may expand to 128 KiB.
                step = _PIECE if self._entry.method != _ZSTD else 1 << 9
                data = read_at(self._archive, max(0, min(step, stop - self._next)), self._next)
                self._next += len(data)
                if not data:
                    raise OSError(EINVAL, "the member ends early")
            try:
                expanded = self._stream.decompress(data, min(remaining, _PIECE))
            except decoders.error_types():
                raise OSError(EINVAL, "the member is damaged") from None
            if len(expanded) > remaining:
                raise OSError(EFBIG, "the member is larger than its stated size")
            if expanded:
                return bytes(expanded)
        return b""


class StoredMember(Member):
    """An uncompressed member."""

    is_direct = True

    def read_at(self, size: int, offset: int) -> bytes:
        """Read bytes at an offset without moving the position."""
        return read_at(self._archive, max(0, min(size, self.size - offset)), self._start + offset)

    def _read(self, size: int) -> bytes:
        return self.read_at(size, self._at)


def _stream(method: int) -> Any:
    if method == _DEFLATE:
        return decoders.Gzip(-zlib.MAX_WBITS)
    try:
        return decoders.bzip2() if method == _BZIP2 else decoders.zstd()
    except ImportError:
        raise OSError(ENOTSUP, _MISSING_LIBRARY) from None


def _data_offset(archive: Any, entry: ArchiveEntry) -> int:
    """Return the offset of a member's data in the archive."""
    if read_at(archive, 2, 0) != b"PK":
        return entry.offset
    head = read_at(archive, _LOCAL.size, entry.offset)
    if len(head) < _LOCAL.size or not head.startswith(_LOCAL_MARK):
        raise OSError(EINVAL, "the archive is damaged (no member at the offset in its directory)")
    _, name, extra = _LOCAL.unpack(head)
    return entry.offset + int(_LOCAL.size) + int(name) + int(extra)


def find_unreadable(entries: list[ArchiveEntry]) -> list[ArchiveEntry]:
    """Mark entries with unsafe or duplicate names, and entries whose data overlaps that of another one."""
    names, overlapping = set[str](), _overlapping(entries)
    result: list[ArchiveEntry] = []
    for at, each in enumerate(entries):
        name = str(PurePosixPath(each.name))
        problem = each.problem or _name_problem(each.name)
        problem = problem or ("has the name of an earlier member" if name in names else "")
        problem = problem or ("overlaps another member" if at in overlapping else "")
        names.add(name)
        result.append(replace(each, problem=problem))
    return result


def _name_problem(name: str) -> str:
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name):
        return "has an absolute path"
    if ".." in name.split("/") or "\0" in name or "\\" in name:
        return "has a path that leads outside the archive"
    return ""


def _overlapping(entries: list[ArchiveEntry]) -> set[int]:
    """Return the indices of entries that start before an earlier entry ends."""
    # With overlapping entries, a small archive could expand to a huge amount of data.
    end, overlapping = 0, set[int]()
    for at in sorted(range(len(entries)), key=lambda at: entries[at].offset):
        if entries[at].compressed_size and entries[at].offset < end:
            overlapping.add(at)
        end = max(end, entries[at].offset + entries[at].compressed_size)
    return overlapping


def too_large(member: ArchiveEntry, options: Options) -> str:
    """Return which expansion limit a compressed member exceeds, or an empty string if it is within the limits."""
    if member.size > member.compressed_size * options.max_expansion:
        return f"expands to more than {options.max_expansion:,} times its size (--max-expansion allows more)"
    if member.size > max(member.compressed_size, options.max_expanded):
        return f"expands to more than {options.max_expanded:,} bytes (--max-expanded allows more)"
    return ""
