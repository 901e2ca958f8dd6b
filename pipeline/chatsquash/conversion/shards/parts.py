"""The results of a shard: the outcomes of its sessions, in order, in a file named after the hash of its content."""

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
"""The job, the length of its payload, the length of the record lines after it, and the hash of the payload."""
_PIECE = 1 << 20
DAMAGE_HINT = "was changed since it was written; convert the shard again with --full"


class RejectedPlace(NamedTuple):
    """The place of a malformed line in the file of rejected lines."""

    offset: int
    size: int
    digest: bytes
    """The 64-bit XXH3 hash of the line."""


class _PartSession(Struct, array_like=True):
    """A session, followed by the lines of its records."""

    outcome: Outcome
    log: StoredLog
    rejected: list[RejectedPlace]
    """The places of its malformed lines."""


class PartFile(Struct):
    """A finished file, named after the hash of its content."""

    name: str
    size: int


class PartWriter:
    """Writes the outcomes and malformed lines of a shard; files get their final names in ``close``."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._files: dict[str, tuple[BinaryIO, Any]] = {}
        self._ends: dict[str, int] = {}

    def add(self, job: int, log: Log, outcome: Outcome, rejected: Iterator[Iterable[bytes]]) -> None:
        """Add the outcome of a session."""
        lines = frames.lines(outcome)
        places = [self._rejected(each) for each in rejected]
        privacy = structs.replace(outcome.privacy, unreadable_lines=[])
        bare = structs.replace(frames.without_lines(outcome), privacy=privacy)
        payload = frames.pack(_PartSession(bare, StoredLog.of(log, log.size), places))
        sizes = len(payload), sum(map(len, lines))
        self._write("part", _FRAME.pack(job, *sizes, xxh3_64_digest(payload)), payload, *lines)

    def close(self) -> tuple[PartFile, PartFile | None]:
        """Finish the files; return that of the outcomes, and that of the malformed lines if there are any."""
        self._write("part")
        files = {kind: self._finish(kind) for kind in list(self._files)}
        return files["part"], files.get("rejected")

    def discard(self) -> None:
        """Close unfinished files."""
        while self._files:
            self._files.popitem()[1][0].close()

    def _rejected(self, pieces: Iterable[bytes]) -> RejectedPlace:
        """Write a malformed line, and return its place."""
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
        part = PartFile(f"{kind}-{digest.hexdigest()}", self._ends[kind])
        self._place.keep(kind, part.name)
        del self._files[kind]
        return part


class PartReader:
    """Reads the outcomes of a shard in order."""

    def __init__(self, place: Place, shard: int, part: PartFile) -> None:
        self.part = part
        self._place, self._shard = place, shard
        self._at = 0
        self._waiting: tuple[int, int, int, bytes] | None = None

    def restart(self) -> PartReader:
        """Return a new reader that begins with the first session."""
        return PartReader(self._place, self._shard, self.part)

    def session(self, job: int) -> Iterator[tuple[Log, Outcome, list[RejectedPlace]]]:
        """Yield the sessions of a job, with the places of malformed lines; raise ``UsageError`` if none exist."""
        count = 0
        while (header := self._peek()) and header[0] == job:
            _, size, line_bytes, digest = header
            payload = self._read(self._at + _FRAME.size, size)
            if xxh3_64_digest(payload) != digest:
                raise self._damage()
            lines = self._at + _FRAME.size + size
            self._at, self._waiting, count = lines + line_bytes, None, count + 1
            session = self._unpack(payload)
            if sum(each.line_place.size for each in session.outcome.records if each.line_place) != line_bytes:
                raise self._damage()
            yield session.log.log(job), frames.place_lines(session.outcome, str(self._shard), lines), session.rejected
        if not count:
            raise self._damage()

    def end(self) -> None:
        """Raise ``UsageError`` if there are further sessions."""
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

    def _unpack(self, payload: bytes) -> _PartSession:
        try:
            return frames.unpack(payload, _PartSession)
        except (ValueError, RecursionError):
            raise self._damage() from None

    def _damage(self) -> UsageError:
        return UsageError(f"shard {self._shard + 1}: {self._place.display_path(self.part.name)}: {DAMAGE_HINT}")
