"""What finished sessions gave, kept in the output folder so that a later run need not find it again.

Each process of a run appends to a journal of its own, in one write per session, so that a run that is killed leaves
all that it finished.  A session is known by its log (path, size, time of change, hash of head and tail), by the options
that decide its outcome, by the fingerprint of the key and by the code that converts; its outcome by a hash.  What does
not agree is converted again.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import BinaryIO, NamedTuple

import msgspec
import orjson
from msgspec import Struct, field
from xxhash import xxh3_64, xxh3_128_digest

from chatsquash.conversion import frames
from chatsquash.core.log import Log
from chatsquash.core.options import list_options
from chatsquash.core.outcome import LinePlace, Outcome
from chatsquash.core.version import code_version
from chatsquash.sources.identity import LogHash, identify
from chatsquash.sources.relatives import is_unchanged
from chatsquash.storage.folder import Folder

_FRAME = struct.Struct("<QQ16s8s")
"""The length of an outcome, that of its records' lines behind it, the key of its session, and the hash of it all."""
_OF_THE_RUN = frozenset(each.name for each in list_options() if each.decides == "output")
"""Options that choose logs or say what is done with outcomes, and change none."""
_PASSING = frozenset(("unreadable-log", "changed-log", "lost-worker"))
"""Codes of findings that the next run may not make, though the log is the same."""
_MANY = 32
"""Journals above which they are put together."""
_OPEN_FILES = 16
_encode = msgspec.msgpack.Encoder().encode


class Frame(Struct, frozen=True):
    """Where the outcome of a session stands."""

    journal: str
    offset: int
    size: int


class PackedOutcome(NamedTuple):
    """An outcome as it is kept, which is also the fastest way to hand it to another process."""

    seen: bytes
    """What ``identify`` told of its log."""
    payload: bytes
    journal: str
    """Where it was appended to; empty where that failed."""
    offset: int
    """Where the lines of its records stand there."""

    @property
    def outcome(self) -> Outcome:
        """The outcome itself, whose records are held by the journal."""
        return frames.place_lines(frames.decode(self.payload, Outcome), self.journal, self.offset)


def identity(described: Mapping[str, object]) -> bytes:
    """What decides outcomes beside the logs: options as ``run.json`` holds them, and the code."""
    deciding = {name: value for name, value in described.items() if name not in _OF_THE_RUN}
    return xxh3_128_digest(orjson.dumps([code_version(), deciding], option=orjson.OPT_SORT_KEYS))


def is_passing(codes: Iterable[str]) -> bool:
    """Whether one of these findings may be gone in the next run, though the log is the same."""
    return not _PASSING.isdisjoint(codes)


class JournalWriter(Struct):
    """Appends to the journal of the process that it was sent to."""

    folder: Folder
    run: str
    identity: bytes
    descriptor: int | None = None
    size: int = 0
    """Bytes of the journal."""
    failed: bool = False
    seen: dict[str, bytes] = field(default_factory=dict)
    """What ``identify`` told of logs that were converted, by their shown paths, until somebody takes it."""

    def key(self, log: Log, seen: bytes) -> bytes:
        """The key of a session, of which ``identify`` tells so much."""
        part = log.spans.tobytes() + str(log.cut).encode() if log.spans else str(log.part).encode() + (log.unit or b"")
        joined = repr(log.join).encode("utf-8", "backslashreplace") if log.join else b""
        return xxh3_128_digest(self.identity + seen + part + joined)

    def look(self, log: Log, file: BinaryIO, hashed: LogHash | None = None) -> None:
        """Identify a log while it is open; ``add`` does it where that failed."""
        with suppress(OSError, UnicodeEncodeError):
            self.seen[log.display_path] = identify(log, file, hashed)

    def add(self, log: Log, outcome: Outcome) -> PackedOutcome | None:
        """Keep an outcome; that it cannot be kept, as on a full disk, stops nothing: whatever is wrong will say so."""
        seen = self.seen.pop(log.display_path, None)
        findings = outcome.findings
        if self.failed or log.modified is None or (findings and is_passing([finding.code for finding in findings])):
            return None
        try:
            seen = seen or identify(log)
            key, packed = self.key(log, seen), _encode(frames.without_lines(outcome))
        except (OSError, UnicodeEncodeError):
            return None  # the log is gone, or its name is no text: it will be converted again
        try:
            offset = self._append(key, packed, frames.lines(outcome))
        except OSError:
            self.failed = True  # what stood behind half a frame would never be found
            return PackedOutcome(seen, packed, "", 0)
        return PackedOutcome(seen, packed, "", 0) if self.failed else PackedOutcome(seen, packed, self._name, offset)

    @property
    def _name(self) -> str:
        return f"{self.run}-{os.getpid()}"

    def _append(self, key: bytes, packed: bytes, lines: list[bytes]) -> int:
        """Append a frame; where the lines in it begin."""
        if self.descriptor is None:
            self.folder.make(mode=0o700)
            self.descriptor = self.folder.create(self._name, 0o600)
        size = len(packed), sum(map(len, lines))
        frame = _FRAME.pack(*size, key, _digest(key, *size, packed, *lines))
        begin = self.size
        self.size += os.writev(self.descriptor, (frame, packed, *lines))
        self.failed = self.size < begin + len(frame) + sum(size)
        return begin + len(frame) + len(packed)

    def close(self) -> None:
        """Close the journal."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


class Journals(Struct):
    """The journals of an output folder: those that earlier runs left, and that of this one."""

    writer: JournalWriter
    reused: int = 0
    """Sessions that were taken from them."""
    _frames: dict[bytes, Frame] = field(default_factory=dict)
    _used: dict[str, dict[int, int]] = field(default_factory=dict)
    """Of each journal where the frames are that were taken, and their sizes."""
    _open: dict[str, int] = field(default_factory=dict)
    """The descriptors of the journals that hold lines of this run."""

    @property
    def folder(self) -> Folder:
        """Where they are."""
        return self.writer.folder

    def is_empty(self) -> bool:
        """Whether nothing is known."""
        return not self._frames

    def names(self) -> list[str]:
        """All that are there, in the order in which they were begun."""
        with suppress(OSError):
            return sorted(self.folder.names())
        return []

    def load(self, names: Iterable[str]) -> None:
        """Look up what these hold; of a session that stands in several, the last counts."""
        for name in names:
            with suppress(OSError):
                self._frames.update(_frames(self.folder, name))

    def find(self, log: Log) -> Frame | None:
        """Where the outcome of a session stands, if it is known."""
        with suppress(OSError):
            return self._frames.get(self.writer.key(log, identify(log)))
        return None

    def get(self, frame: Frame, is_current: Callable[[Outcome], bool] | None = None) -> Outcome | None:
        """An outcome; ``None`` where it is damaged, and where another file that it was made of changed."""
        try:
            data = _read(self.folder, frame)
            size, beside, key, digest = _FRAME.unpack_from(data)
            begin = _FRAME.size + size
            if digest != _digest(key, size, beside, memoryview(data)[_FRAME.size :]):
                return None
            outcome = frames.decode(memoryview(data)[_FRAME.size : begin], Outcome)
            outcome = frames.fill(
                frames.place_lines(outcome, "", begin), lambda place: data[place.offset : place.offset + place.size]
            )
        except (OSError, struct.error, msgspec.MsgspecError):
            return None
        if not all(map(is_unchanged, outcome.account.relatives)) or (is_current and not is_current(outcome)):
            return None
        self.reused += 1
        self._used.setdefault(frame.journal, {})[frame.offset] = frame.size
        return outcome

    def descriptor(self, place: LinePlace) -> int:
        """That of the journal that holds a line."""
        if place.journal not in self._open:
            if len(self._open) >= _OPEN_FILES:
                os.close(self._open.pop(next(iter(self._open))))
            self._open[place.journal] = self.folder.open(place.journal)
        return self._open[place.journal]

    def fill(self, outcome: Outcome) -> Outcome:
        """An outcome with the lines of its records, where another process wrote them."""
        return frames.fill(outcome, lambda place: os.pread(self.descriptor(place), place.size, place.offset))

    def close(self) -> None:
        """Close all journals."""
        self.writer.close()
        while self._open:
            os.close(self._open.popitem()[1])

    def settle(self) -> list[str]:
        """The names of the journals to keep for the next run: this run's own, and those that it took something from.

        Where most of what they hold is of no more use, or they are many, what is of use is put into one.
        """
        self.close()
        own = self.own()
        total = sum(status.st_size for name in self._used if (status := self.folder.status(name)))
        useful = sum(sum(frames.values()) for frames in self._used.values())
        if len(self._used) <= _MANY and 2 * useful >= total:
            return [*self._used, *own]
        joined = f"{self.writer.run}-joined"
        try:
            with open(self.folder.create(joined, 0o600), "wb") as file:
                for name, frames in self._used.items():
                    file.writelines(_read(self.folder, Frame(name, *frame)) for frame in frames.items())
        except OSError:  # no room: it is done another time
            return [*self._used, *own]
        return [joined, *own]

    def forget(self, names: Iterable[str]) -> None:
        """Delete these; the folder, too, where nothing is left."""
        self.close()
        for name in names:
            with suppress(OSError):
                self.folder.remove(name)
        with suppress(OSError):
            self.folder.remove_folder()  # does nothing to one that is not empty

    def own(self) -> list[str]:
        """Those that this run wrote."""
        return [name for name in self.names() if name.startswith(f"{self.writer.run}-")]


def _digest(key: bytes, size: int, beside: int, *pieces: bytes | memoryview) -> bytes:
    digest = xxh3_64(key + struct.pack("<QQ", size, beside))
    for piece in pieces:
        digest.update(piece)
    return digest.digest()


def _read(folder: Folder, frame: Frame) -> bytes:
    with open(folder.open(frame.journal), "rb", buffering=0) as file:
        return os.pread(file.fileno(), frame.size, frame.offset)


def _frames(folder: Folder, name: str) -> Iterator[tuple[bytes, Frame]]:
    """The frames of a journal, up to one that is not whole."""
    with open(folder.open(name), "rb", buffering=0) as file:
        end = os.fstat(file.fileno()).st_size
        offset = 0
        while offset + _FRAME.size <= end:
            length, beside, key, _ = _FRAME.unpack(os.pread(file.fileno(), _FRAME.size, offset))
            size = _FRAME.size + length + beside
            if offset + size > end:
                return
            yield key, Frame(name, offset, size)
            offset += size
