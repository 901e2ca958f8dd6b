"""What a shard gave: the outcomes of its sessions, one behind the other, in a file that is named by what it holds."""

from __future__ import annotations

import os
import struct
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct
from xxhash import xxh3_64_digest, xxh3_128

from chatsquash import jsonio
from chatsquash.errors import UsageError
from chatsquash.folder import Folder
from chatsquash.log import Log, Piece
from chatsquash.outcome import Outcome
from chatsquash.run import payload
from chatsquash.run.shards.place import passing

_FRAME = struct.Struct("<QQQ8s")
"""The job, the length of what is told of it, that of its records' lines behind that, and the hash of the first."""
_OPEN_FILES = 64
_PIECE = 1 << 20
_DAMAGED = "is not as it was written; convert the shard again with --full"


class _Told(Struct, array_like=True):
    """A session, of whose records the lines stand behind it."""

    outcome: Outcome
    path: str
    name: str
    size: int
    part: int | None
    whole: int | None
    pieces: list[tuple[str, int, int, int]]
    """Of each its path, lines and bytes before it, and its size."""
    rejected: list[tuple[int, int]]
    """Where its lines stand that could not be read, in the file for those, and how long they are."""

    def log(self, number: int) -> Log:
        """The log, as far as one needs to know once it was converted."""
        pieces = tuple(Piece(path, path, line, offset, size, None) for path, line, offset, size in self.pieces)
        log = Log(self.path, self.path, self.name, self.size, part=self.part, whole=self.whole)
        return msgspec.structs.replace(log, pieces=pieces, number=number)


class Written(Struct):
    """A file that was written, by what it holds."""

    name: str
    size: int


class PartWriter:
    """Writes the outcomes of a shard, and the lines that could not be read; nothing has its name until ``close``."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._files: dict[str, tuple[str, BinaryIO, Any]] = {}
        self._ends: dict[str, int] = {}

    def add(self, job: int, log: Log, outcome: Outcome, rejected: Iterator[Iterator[bytes]]) -> None:
        """Add what became of a session."""
        lines = payload.lines(outcome)
        pieces = [(each.shown, each.line, each.offset, each.size) for each in log.pieces]
        places = [self._rejected(each) for each in rejected]
        bare = payload.without(outcome)
        told = _packed(_Told(bare, log.shown, log.name, log.size, log.part, log.whole, pieces, places))
        sizes = len(told), sum(map(len, lines))
        self._write("part", _FRAME.pack(job, *sizes, xxh3_64_digest(told)), told, *lines)

    def close(self) -> tuple[Written, Written | None]:
        """Finish the files: that of the outcomes, and that of the lines that could not be read, if there are any."""
        self._write("part")
        written = {kind: self._finished(kind) for kind in list(self._files)}
        self._folder.sync()
        return written["part"], written.get("rejected")

    def discard(self) -> None:
        """Remove what is not finished."""
        while self._files:
            _, (name, file, _) = self._files.popitem()
            file.close()
            self._folder.remove(name)

    def _rejected(self, pieces: Iterator[bytes]) -> tuple[int, int]:
        """Where a line stands then, and how long it is."""
        start = self._ends.get("rejected", 0)
        for piece in pieces:
            self._write("rejected", piece)
        return start, self._ends.get("rejected", 0) - start

    def _write(self, kind: str, *pieces: bytes) -> None:
        if kind not in self._files:
            name = passing()
            file = os.fdopen(self._folder.create(name, 0o600), "wb", buffering=_PIECE)
            self._files[kind] = name, file, xxh3_128()
        _, file, digest = self._files[kind]
        for piece in pieces:
            file.write(piece)
            digest.update(piece)
        self._ends[kind] = self._ends.get(kind, 0) + sum(map(len, pieces))

    def _finished(self, kind: str) -> Written:
        name, file, digest = self._files[kind]
        file.close()
        self._folder.sync(name)
        written = Written(f"{kind}-{digest.hexdigest()}", self._ends[kind])
        self._folder.move(name, self._folder, written.name)
        del self._files[kind]
        return written


class PartReader:
    """Reads the outcomes of a shard in order."""

    def __init__(self, parts: Parts, shard: int, part: Written) -> None:
        self.part = part
        self._parts, self._shard = parts, shard
        self._at = 0
        self._waiting: tuple[int, int, int, bytes] | None = None

    def session(self, job: int) -> Iterator[tuple[Log, Outcome, list[tuple[int, int]]]]:
        """The sessions of a job, with the places of lines that could not be read; there is one at least."""
        count = 0
        while (found := self._peek()) and found[0] == job:
            _, size, beside, digest = found
            told = self._read(self._at + _FRAME.size, size)
            if xxh3_64_digest(told) != digest:
                raise self._damaged()
            lines = self._at + _FRAME.size + size
            self._at, self._waiting, count = lines + beside, None, count + 1
            held = self._unpacked(told)
            if sum(each.held.size for each in held.outcome.records if each.held) != beside:
                raise self._damaged()
            yield held.log(job), payload.placed(held.outcome, str(self._shard), lines), held.rejected
        if not count:
            raise self._damaged()

    def end(self) -> None:
        """Raise ``UsageError`` where there is more."""
        if self._at != self.part.size:
            raise self._damaged()

    def _peek(self) -> tuple[int, int, int, bytes] | None:
        if self._waiting is None and self._at < self.part.size:
            self._waiting = _FRAME.unpack(self._read(self._at, _FRAME.size))
        return self._waiting

    def _read(self, offset: int, size: int) -> bytes:
        if offset + size > self.part.size:
            raise self._damaged()
        data = os.pread(self._parts.open(self.part.name), size, offset)
        if len(data) < size:
            raise self._damaged()
        return data

    def _unpacked(self, told: bytes) -> _Told:
        try:
            if told[:1] == b"m":
                return msgspec.msgpack.decode(memoryview(told)[1:], type=_Told)
            return msgspec.convert(jsonio.loads(told[1:]), _Told)
        except (ValueError, RecursionError):
            raise self._damaged() from None

    def _damaged(self) -> UsageError:
        return UsageError(f"shard {self._shard + 1}: {self._parts.folder.path / self.part.name}: {_DAMAGED}")


class Parts:
    """The open files of shards, of which there may be more than can be open."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._open: OrderedDict[str, int] = OrderedDict()

    def open(self, name: str) -> int:
        """A descriptor of a file; it is closed when many others were asked for."""
        if name not in self._open:
            try:
                descriptor = self.folder.open(name)
            except FileNotFoundError:
                raise UsageError(f"{self.folder.path / name}: is gone; convert its shard again with --full") from None
            if len(self._open) >= _OPEN_FILES:
                os.close(self._open.popitem(last=False)[1])
            self._open[name] = descriptor
        self._open.move_to_end(name)
        return self._open[name]

    def pieces(self, name: str, place: tuple[int, int]) -> Iterator[bytes]:
        """So many bytes of a file, a moderate number at a time."""
        offset, left = place
        while left and (piece := os.pread(self.open(name), min(left, _PIECE), offset)):
            offset, left = offset + len(piece), left - len(piece)
            yield piece

    def close(self) -> None:
        """Close all files."""
        while self._open:
            os.close(self._open.popitem()[1])


def _packed(told: _Told) -> bytes:
    try:
        return b"m" + msgspec.msgpack.encode(told)
    except UnicodeEncodeError:  # the names of files may be no text
        return b"j" + jsonio.dumps(msgspec.to_builtins(told))
