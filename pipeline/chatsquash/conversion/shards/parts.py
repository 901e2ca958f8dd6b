"""What a shard gave: the outcomes of its sessions, one behind the other, in a file that is named by what it holds."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from msgspec import Struct, structs
from xxhash import xxh3_64, xxh3_64_digest, xxh3_128

from chatsquash.conversion import frames
from chatsquash.conversion.shards.place import Place
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.outcome import Outcome
from chatsquash.dataset.stored_sessions import StoredLog

_FRAME = struct.Struct("<QQQ8s")
"""The job, the length of its payload, that of its records' lines after it, and the hash of the payload."""
_PIECE = 1 << 20
DAMAGED = "is not as it was written; convert the shard again with --full"


class RejectedPlace(NamedTuple):
    """A line that could not be read, in the file for those."""

    offset: int
    size: int
    digest: bytes
    """Its XXH3, 64 bits."""


class _PartSession(Struct, array_like=True):
    """A session, of whose records the lines stand behind it."""

    outcome: Outcome
    log: StoredLog
    rejected: list[RejectedPlace]
    """Its lines that could not be read."""


class PartFile(Struct):
    """A file that was written, by what it holds."""

    name: str
    size: int


class PartWriter:
    """Writes the outcomes of a shard, and the lines that could not be read; nothing has its name until ``close``."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._files: dict[str, tuple[BinaryIO, Any]] = {}
        self._ends: dict[str, int] = {}

    def add(self, job: int, log: Log, outcome: Outcome, rejected: Iterator[Iterable[bytes]]) -> None:
        """Add what became of a session."""
        lines = frames.lines(outcome)
        places = [self._rejected(each) for each in rejected]
        privacy = structs.replace(outcome.privacy, unreadable_lines=[])
        bare = structs.replace(frames.without_lines(outcome), privacy=privacy)
        packed = frames.pack(_PartSession(bare, StoredLog.of(log), places))
        sizes = len(packed), sum(map(len, lines))
        self._write("part", _FRAME.pack(job, *sizes, xxh3_64_digest(packed)), packed, *lines)

    def close(self) -> tuple[PartFile, PartFile | None]:
        """Finish the files: that of the outcomes, and that of the lines that could not be read, if there are any."""
        self._write("part")
        written = {kind: self._finish(kind) for kind in list(self._files)}
        return written["part"], written.get("rejected")

    def discard(self) -> None:
        """Close what is not finished."""
        while self._files:
            self._files.popitem()[1][0].close()

    def _rejected(self, pieces: Iterable[bytes]) -> RejectedPlace:
        """Where a line stands then."""
        start, digest = self._ends.get("rejected", 0), xxh3_64()
        for piece in pieces:
            self._write("rejected", piece)
            digest.update(piece)
        return RejectedPlace(start, self._ends.get("rejected", 0) - start, digest.digest())

    def _write(self, kind: str, *pieces: bytes) -> None:
        if kind not in self._files:
            file = os.fdopen(self._place.work.create(kind, 0o600), "wb", buffering=_PIECE)
            self._files[kind] = file, xxh3_128()
        file, digest = self._files[kind]
        for piece in pieces:
            file.write(piece)
            digest.update(piece)
        self._ends[kind] = self._ends.get(kind, 0) + sum(map(len, pieces))

    def _finish(self, kind: str) -> PartFile:
        file, digest = self._files[kind]
        file.close()
        written = PartFile(f"{kind}-{digest.hexdigest()}", self._ends[kind])
        self._place.keep(kind, written.name)
        del self._files[kind]
        return written


class PartReader:
    """Reads the outcomes of a shard in order."""

    def __init__(self, place: Place, shard: int, part: PartFile) -> None:
        self.part = part
        self._place, self._shard = place, shard
        self._at = 0
        self._waiting: tuple[int, int, int, bytes] | None = None

    def anew(self) -> PartReader:
        """One that begins with the first session."""
        return PartReader(self._place, self._shard, self.part)

    def session(self, job: int) -> Iterator[tuple[Log, Outcome, list[RejectedPlace]]]:
        """The sessions of a job, with the places of lines that could not be read; there is one at least."""
        count = 0
        while (header := self._peek()) and header[0] == job:
            _, size, beside, digest = header
            packed = self._read(self._at + _FRAME.size, size)
            if xxh3_64_digest(packed) != digest:
                raise self._damage()
            lines = self._at + _FRAME.size + size
            self._at, self._waiting, count = lines + beside, None, count + 1
            session = self._unpack(packed)
            if sum(each.line_place.size for each in session.outcome.records if each.line_place) != beside:
                raise self._damage()
            yield session.log.log(job), frames.place_lines(session.outcome, str(self._shard), lines), session.rejected
        if not count:
            raise self._damage()

    def end(self) -> None:
        """Raise ``UsageError`` where there is more."""
        if self._at != self.part.size:
            raise self._damage()

    def _peek(self) -> tuple[int, int, int, bytes] | None:
        if self._waiting is None and self._at < self.part.size:
            self._waiting = _FRAME.unpack(self._read(self._at, _FRAME.size))
        return self._waiting

    def _read(self, offset: int, size: int) -> bytes:
        if offset + size > self.part.size:
            raise self._damage()
        data = self._place.read_at(self.part.name, size, offset)
        if len(data) < size:
            raise self._damage()
        return data

    def _unpack(self, packed: bytes) -> _PartSession:
        try:
            return frames.unpack(packed, _PartSession)
        except (ValueError, RecursionError):
            raise self._damage() from None

    def _damage(self) -> UsageError:
        return UsageError(f"shard {self._shard + 1}: {self._place.shown(self.part.name)}: {DAMAGED}")
