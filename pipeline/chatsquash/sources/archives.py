"""Archives of logs: their members are files that are spelled ``a.zip!/b.jsonl``, one level deep.

A member of a zip file, and of a tar that is not compressed, is read from its place.  A compressed tar is expanded once,
into the folder for that, and then read from its copy.
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

_STORED, _DEFLATED, _BZIP2, _ZSTD = 0, 8, 12, 93
_NEEDS = "a member of it needs bzip2, or zstd: Python 3.14, or pip install 'chatsquash[zstd]'"
_LOCAL = struct.Struct("<4s22xHH")
"""What stands before a member of a zip file: a mark, and how long the name and the extra field behind it are."""
_LOCAL_MARK = b"PK\3\4"
_ENCRYPTED = 0x1
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, *decoders.PARSER_ERRORS)
_LONGEST_HEADER = 1 << 20
"""Bytes of a header of a tar that tells of the next one."""
_PIECE = 1 << 16


class ArchiveEntry(Struct, frozen=True):
    """A member of an archive."""

    name: str
    size: int
    """Bytes, expanded, as the archive says it."""
    offset: int
    """Where its bytes begin; of a zip file where its local header does."""
    packed: int
    """How many bytes it has there."""
    method: int = _STORED
    problem: str = ""
    """Why it is not read, in words."""


def entries(file: io.RawIOBase | PositionedFile) -> list[ArchiveEntry]:
    """The members of an archive that are files, in their order, and what is no file and no folder with its problem.

    Raises ``OSError`` for what is no archive.
    """
    members = list[ArchiveEntry]()
    try:
        members.extend(_zipped(file) if read_at(file, 2, 0) == b"PK" else _tarred(file))
    except _BROKEN as problem:
        if not members:
            raise OSError(EINVAL, f"it is not an archive that can be read: {error_text(problem)}") from None
        members.append(
            ArchiveEntry(
                "", 0, 0, 0, problem=f"stands behind a place where the archive is damaged ({error_text(problem)})"
            )
        )
    return find_unreadable(members)


def _zipped(file: Any) -> Iterator[ArchiveEntry]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            kind = info.external_attr >> 16
            problem = "is encrypted" if info.flag_bits & _ENCRYPTED else ""
            problem = "is a link" if stat.S_ISLNK(kind) else problem
            if info.compress_type not in (_STORED, _DEFLATED, _BZIP2, _ZSTD):
                problem = problem or f"is compressed by method {info.compress_type}, which is not known"
            if info.compress_type == _STORED and info.file_size != info.compress_size:
                problem = problem or "has two sizes"
            sizes = info.file_size, info.header_offset, info.compress_size
            # The name as it stands there, since the library cuts it at a NUL.
            yield ArchiveEntry(info.orig_filename, *sizes, info.compress_type, problem)


class _BoundedInfo(tarfile.TarInfo):
    """A member of a tar, of which no header makes us read very much."""

    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        is_header = self.type in (b"L", b"K", b"x", b"X", b"g")
        if is_header and self.size > _LONGEST_HEADER:
            raise tarfile.HeaderError(f"a header of {self.size:,} bytes")
        return super()._proc_member(archive)  # type: ignore[misc]


def _tarred(file: Any) -> Iterator[ArchiveEntry]:
    file.seek(0)
    buffered = io.BufferedReader(file)
    try:
        with tarfile.open(fileobj=buffered, mode="r:", tarinfo=_BoundedInfo) as archive:
            for info in archive:
                archive.members.clear()  # type: ignore[attr-defined] # of which there may be very many
                if not info.isdir():
                    yield ArchiveEntry(info.name, info.size, info.offset_data, info.size, problem=_kind(info))
    finally:
        buffered.detach()


def _kind(info: tarfile.TarInfo) -> str:
    """What a member of a tar is, unless it is a file."""
    if info.issym() or info.islnk():
        return "is a link"
    return "is sparse" if info.issparse() else "" if info.isfile() else "is not a file"


def member(archive: io.FileIO | PositionedFile, name: str) -> Member:
    """A member of an open archive, which is closed with it; raises ``OSError`` where there is none."""
    key = status_of(archive)
    entry = _directory(key, archive).get(name) if key else None
    if entry is None:
        raise OSError(ENOENT, os.strerror(ENOENT))
    if entry.problem:
        raise OSError(EINVAL, f"it {entry.problem}")
    return (StoredMember if entry.method == _STORED else Member)(archive, entry)


class _OpenArchives:
    """The directories of the archives that were read last."""

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


_known = _OpenArchives()


def _directory(key: tuple[object, ...], archive: Any) -> dict[str, ArchiveEntry]:
    _known.archive = archive
    try:
        return _known.directory(key)
    finally:
        _known.archive = None


def members(archive: io.FileIO | PositionedFile) -> dict[str, ArchiveEntry]:
    """The members of an open archive that can be read, by their names."""
    key = status_of(archive)
    return {name: each for name, each in _directory(key, archive).items() if not each.problem} if key else {}


class Member(PositionedFile):
    """What a member of an archive holds; what is compressed is expanded from its beginning to go back in it."""

    is_direct = False
    """Whether going to a place in it costs nothing."""

    def __init__(self, archive: Any, entry: ArchiveEntry) -> None:
        self._archive, self._entry = archive, entry
        self.name = f"{archive.name}{MARK}{entry.name}"
        self.size = entry.size
        self._start = _data_offset(archive, entry)
        self._expanded_to = -1
        self._next = self._start
        self._rest = b""
        self._stream: Any = None

    @property
    def identity(self) -> tuple[object, ...]:
        """What tells it from any other, and from what it was."""
        status = status_of(self._archive)
        return (self.name, self.size, status[3] if status and len(status) > 3 else None, self._start, status)

    def close(self) -> None:
        """Close the archive."""
        self._archive.close()
        super().close()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place; nothing is expanded yet."""
        self._at = max(0, offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence])
        return self._at

    def readinto(self, into: Any) -> int:
        """As many bytes as there is room for, fewer at the end only."""
        with memoryview(into) as view:
            data = self._read(len(view))
            view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _read(self, size: int) -> bytes:
        return self._expanded(size)

    def _expanded(self, size: int) -> bytes:
        """Bytes from where it stands, which are expanded."""
        if self._at < self._expanded_to or self._stream is None:
            self._begin()
        made = bytearray()
        while len(made) < size:
            piece = self._piece()
            if not piece:
                break
            skipped = min(len(piece), max(0, self._at - self._expanded_to))
            taken = piece[skipped : skipped + size - len(made)]
            self._expanded_to += skipped + len(taken)
            self._rest = piece[skipped + len(taken) :]
            made += taken
        return bytes(made)

    def _begin(self) -> None:
        self._stream = _stream(self._entry.method)
        self._next, self._rest, self._expanded_to = self._start, b"", 0

    def _piece(self) -> bytes:
        """What comes next, never more than the archive says that there is."""
        if self._rest:
            return self._rest
        left = self.size - self._expanded_to
        while left > 0 and not self._stream.eof:
            data = b""
            if self._stream.needs_input:
                stop = self._start + self._entry.packed
                step = _PIECE if self._entry.method != _ZSTD else 1 << 9
                data = read_at(self._archive, max(0, min(step, stop - self._next)), self._next)
                self._next += len(data)
                if not data:
                    raise OSError(EINVAL, "the member ends early")
            try:
                made = self._stream.decompress(data, min(left, _PIECE))
            except decoders.error_types():
                raise OSError(EINVAL, "the member is damaged") from None
            if len(made) > left:
                raise OSError(EFBIG, "the member is larger than its archive says")
            if made:
                return bytes(made)
        return b""


class StoredMember(Member):
    """A member that is not compressed."""

    is_direct = True

    def read_at(self, size: int, offset: int) -> bytes:
        """Bytes from another place; this one stays where it stands."""
        return read_at(self._archive, max(0, min(size, self.size - offset)), self._start + offset)

    def _read(self, size: int) -> bytes:
        return self.read_at(size, self._at)


def _stream(method: int) -> Any:
    if method == _DEFLATED:
        return decoders.Gzip(-zlib.MAX_WBITS)
    try:
        return decoders.bzip2() if method == _BZIP2 else decoders.zstd()
    except ImportError:
        raise OSError(ENOTSUP, _NEEDS) from None


def _data_offset(archive: Any, entry: ArchiveEntry) -> int:
    """Where a member's own bytes begin."""
    if read_at(archive, 2, 0) != b"PK":
        return entry.offset
    head = read_at(archive, _LOCAL.size, entry.offset)
    if len(head) < _LOCAL.size or not head.startswith(_LOCAL_MARK):
        raise OSError(EINVAL, "the archive is damaged: there is no member where its directory says")
    _, name, extra = _LOCAL.unpack(head)
    return entry.offset + int(_LOCAL.size) + int(name) + int(extra)


def find_unreadable(entries: list[ArchiveEntry]) -> list[ArchiveEntry]:
    """Members, of which those have a problem that stand nowhere below, or twice, or in another member's bytes."""
    met, within = set[str](), _overlapping(entries)
    judged_ones: list[ArchiveEntry] = []
    for at, each in enumerate(entries):
        name = str(PurePosixPath(each.name))
        problem = each.problem or _of_name(each.name)
        problem = problem or ("has the name of an earlier member" if name in met else "")
        problem = problem or ("stands where another member does" if at in within else "")
        met.add(name)
        judged_ones.append(replace(each, problem=problem))
    return judged_ones


def _of_name(name: str) -> str:
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name):
        return "has an absolute name"
    if ".." in name.split("/") or "\0" in name or "\\" in name:
        return "has a name that leads elsewhere"
    return ""


def _overlapping(entries: list[ArchiveEntry]) -> set[int]:
    """The numbers of members that begin before one that stands before them ends: few bytes could be very many so."""
    end, within = 0, set[int]()
    for at in sorted(range(len(entries)), key=lambda at: entries[at].offset):
        if entries[at].packed and entries[at].offset < end:
            within.add(at)
        end = max(end, entries[at].offset + entries[at].packed)
    return within


def too_large(member: ArchiveEntry, options: Options) -> str:
    """Why a member that is compressed goes beyond what it may expand to; empty where it does not."""
    if member.size > member.packed * options.max_expansion:
        return f"expands to more than {options.max_expansion:,} times its size (--max-expansion allows more)"
    if member.size > max(member.packed, options.max_expanded):
        return f"expands to more than {options.max_expanded:,} bytes (--max-expanded allows more)"
    return ""
