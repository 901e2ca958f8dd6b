"""Journals: the outcomes of finished sessions, stored in the output folder for later runs.

Each process of a run appends to its own journal, several sessions at a time but before they are reported, so that a
killed run loses no reported session. A session is identified by its log (path, size, modification time, hash of head
and tail), the options that affect its outcome, the fingerprint of the key and the version of the code; its outcome is
verified by a hash. Sessions that do not match are converted again.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO, Protocol

import msgspec
import orjson
from msgspec import Struct, field
from xxhash import xxh3_64, xxh3_128_digest

from chatsquash.conversion import frames
from chatsquash.core.lazy import LazyModule
from chatsquash.core.log import Log
from chatsquash.core.options import list_options
from chatsquash.core.outcome import LinePlace, Outcome
from chatsquash.core.version import code_version
from chatsquash.sources.identity import LogHash, identify
from chatsquash.storage.folder import Folder

if TYPE_CHECKING:
    from chatsquash.sources import relatives
else:
    relatives = LazyModule("chatsquash.sources.relatives")

_FRAME = struct.Struct("<QQ16s8s")
"""The length of an outcome, the length of the record lines after it, the key of its session, and a hash of all."""
_OUTPUT_OPTIONS = frozenset(each.name for each in list_options() if each.decides == "output")
"""Options that select logs or arrange outcomes, without effect on any outcome."""
_TRANSIENT = frozenset(("unreadable-log", "changed-log", "lost-worker"))
"""Codes of findings that the next run may not report again even if the log is unchanged."""
_MANY = 32
"""More journals than this are merged into one."""
_OPEN_FILES = 16
_BATCH = 1 << 20
"""Bytes of frames that are written together."""
_SECOND = 1.0
"""Time after which waiting frames are written, so that a killed run of slow sessions loses no more."""
_PIECES = 1000
"""The maximum number of pieces that are written together, since the system writes at most 1024 at once."""
_SMALL = 1 << 16
"""Bytes of a frame below which its pieces are joined, which takes less time than hashing and writing each of them."""
_LENGTHS = struct.Struct("<QQ").pack
_encode = msgspec.msgpack.Encoder().encode


class Frame(Struct, frozen=True):
    """The place of a session's outcome."""

    journal: str
    offset: int
    size: int


class PackedOutcome(Struct, frozen=True):
    """An encoded outcome, as stored in a journal and sent to other processes."""

    seen: bytes
    """The result of ``identify`` for its log."""
    payload: bytes
    journal: str
    """The journal that contains it."""
    offset: int
    """The offset of the lines of its records in the journal."""

    @property
    def outcome(self) -> Outcome:
        """The decoded outcome, whose record lines stay in the journal."""
        return frames.place_lines(frames.decode(self.payload, Outcome), self.journal, self.offset)


def identity(options_json: Mapping[str, object]) -> bytes:
    """Return a hash of everything except logs that affects outcomes: options as in ``run.json``, and the code."""
    deciding = {name: value for name, value in options_json.items() if name not in _OUTPUT_OPTIONS}
    return xxh3_128_digest(orjson.dumps([code_version(), deciding], option=orjson.OPT_SORT_KEYS))


def is_transient(codes: Iterable[str]) -> bool:
    """Return whether one of these findings may not be reported again even if the log is unchanged."""
    return not _TRANSIENT.isdisjoint(codes)


class JournalWriter(Struct):
    """Appends to the journal of the current process; can be sent to another process before its first use."""

    folder: Folder
    run: str
    identity: bytes
    descriptor: int | None = None
    size: int = 0
    """Size of the journal in bytes, including frames that are not written yet."""
    failed: bool = False
    seen: dict[str, bytes] = field(default_factory=dict)
    """Results of ``identify`` for converted logs, by display path, until they are consumed."""
    # If the file changes later, the next run finds another digest, so its sessions are converted again.
    _container: tuple[object, bytes] = None, b""
    """The last file with several sessions, and the result of ``identify`` for it."""
    _waiting: list[bytes] = field(default_factory=list)
    """Pieces of frames that are not written yet."""
    _waiting_bytes: int = 0
    _name: str = ""
    """The name of the journal, once it has a frame."""
    _flushed: float = field(default_factory=monotonic)
    """The time of the last write."""

    def key(self, log: Log, seen: bytes) -> bytes:
        """Return the key of a session, given the result of ``identify`` for its log."""
        part = b""
        if log.spans:
            part = log.spans.tobytes() + str(log.cut).encode()
        elif log.part is not None or log.unit:
            part = str(log.part).encode() + (log.unit or b"")
        join = repr(log.join).encode("utf-8", "backslashreplace") if log.join else b""
        return xxh3_128_digest(self.identity + seen + part + join)

    def remember(self, log: Log, seen: bytes) -> None:
        """Store the result of ``identify`` for a converted log; for a session in several files, it is not about one."""
        if not log.pieces:
            self.seen[log.display_path] = seen

    def identify_open(self, log: Log, file: BinaryIO, hashed: LogHash | None = None) -> None:
        """Identify a log while it is open; if this fails, ``add`` tries again."""
        container = (log.display_path, log.file_size, log.modified) if log.is_part and not log.pieces else None
        if container and container == self._container[0]:
            self.seen[log.display_path] = self._container[1]
            return
        try:
            seen = self.seen[log.display_path] = identify(log, file, hashed)
        except (OSError, UnicodeEncodeError):
            return
        if container:
            self._container = container, seen

    def add(self, log: Log, outcome: Outcome) -> PackedOutcome | None:
        """Append an outcome, which ``flush`` writes; returns ``None`` if it must not or cannot be stored.

        Errors, for example a full disk, are ignored here, since writing the output will report them.
        """
        seen = self.seen.pop(log.display_path, None)
        if self.failed or log.modified is None:
            return None
        for finding in outcome.report.findings:
            if finding.code in _TRANSIENT:
                return None
        if not self._name:
            self._name = f"{self.run}-{os.getpid()}"
        try:
            seen = seen or identify(log)
            key, payload = self.key(log, seen), _encode(frames.without_lines(outcome))
        except (OSError, UnicodeEncodeError):
            return None  # the log was removed or its name is not valid text: it is converted again
        if frames.are_spooled(outcome):
            offset = self._append_large(key, payload, outcome)
        else:
            offset = self._append(key, payload, frames.lines(outcome))
        return PackedOutcome(seen, payload, self._name, offset)

    def _append(self, key: bytes, payload: bytes, lines: list[bytes]) -> int:
        """Append a frame; return the offset of its lines."""
        size, line_bytes = len(payload), sum(map(len, lines))
        pieces = [payload, *lines]
        if size + line_bytes < _SMALL:
            pieces = [b"".join(pieces)]
        if len(self._waiting) + len(pieces) + 1 > _PIECES:
            self.flush()
        self._waiting.append(_FRAME.pack(size, line_bytes, key, _digest(key, size, line_bytes, pieces)))
        self._waiting += pieces
        offset = self.size + _FRAME.size + size
        self._waiting_bytes += _FRAME.size + size + line_bytes
        self.size = offset + line_bytes
        if self._waiting_bytes >= _BATCH or monotonic() - self._flushed > _SECOND:
            self.flush()
        return offset

    def _append_large(self, key: bytes, payload: bytes, outcome: Outcome) -> int:
        """Append a frame whose lines are read one at a time; return the offset of its lines."""

        def pieces() -> Iterator[bytes]:
            yield payload
            for each in outcome.records:
                yield each.line
                yield b"\n"

        size, line_bytes = len(payload), sum(len(each.content) + 1 for each in outcome.records)
        self.flush()
        self._waiting.append(_FRAME.pack(size, line_bytes, key, _digest(key, size, line_bytes, pieces())))
        self._waiting_bytes += _FRAME.size
        begin = self.size + _FRAME.size + size
        for piece in pieces():
            self._waiting.append(piece)
            self._waiting_bytes += len(piece)
            if self._waiting_bytes >= _BATCH or len(self._waiting) >= _PIECES:
                self.flush()
        self.size = begin + line_bytes
        return begin

    def flush(self) -> bool:
        """Write the waiting frames; return whether all frames so far were written."""
        pieces, count = self._waiting, self._waiting_bytes
        self._waiting, self._waiting_bytes, self._flushed = [], 0, monotonic()
        if pieces and not self.failed:
            try:
                if self.descriptor is None:
                    self.folder.make(mode=0o700)
                    self.descriptor = self.folder.create(self._name, 0o600)
                self.failed = os.writev(self.descriptor, pieces) < count
            except OSError:
                self.failed = True  # frames after an incomplete one could never be read
        return not self.failed

    def close(self) -> None:
        """Close the journal."""
        self.flush()
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


class OutcomeSource(Protocol):
    """Outcomes in the journal of this run."""

    def find(self, log: Log) -> tuple[Frame, bytes] | None:
        """As ``Journals.find``."""

    def contains(self, frame: Frame) -> bool:
        """Return whether a frame is one of these outcomes."""

    def get(self, frame: Frame) -> Outcome | None:
        """As ``Journals.get``."""


class Journals(Struct):
    """The journals of an output folder: those of earlier runs and of this one."""

    writer: JournalWriter
    reused: int = 0
    """Number of reused sessions."""
    early: OutcomeSource | None = None
    """The outcomes of this run so far, if it converts logs before their sessions are known."""
    _frames: dict[bytes, Frame] = field(default_factory=dict)
    _reused_frames: dict[str, dict[int, int]] = field(default_factory=dict)
    """The offsets and sizes of reused frames, by journal."""
    _open: dict[str, int] = field(default_factory=dict)
    """Descriptors of open journals, by name."""

    @property
    def folder(self) -> Folder:
        """The folder of the journals."""
        return self.writer.folder

    def is_empty(self) -> bool:
        """Return whether no outcomes are available."""
        return not (self._frames or self.early)

    def names(self) -> list[str]:
        """Return the names of all journals, oldest first."""
        with suppress(OSError):
            return sorted(self.folder.names())
        return []

    def load(self, names: Iterable[str]) -> None:
        """Index the frames of journals; the last frame of a session counts."""
        for name in names:
            with suppress(OSError):
                self._frames.update(_frames(self.folder, name))

    def find(self, log: Log) -> tuple[Frame, bytes] | None:
        """Return the frame of a session and the result of ``identify`` for its log, or ``None`` if it is unknown."""
        if self.early and (known := self.early.find(log)):
            return known
        with suppress(OSError):
            seen = identify(log)
            if frame := self._frames.get(self.writer.key(log, seen)):
                return frame, seen
        return None

    def get(self, frame: Frame, is_current: Callable[[Outcome], bool] | None = None) -> Outcome | None:
        """Read an outcome; return ``None`` if it is damaged or another file on which it depends has changed."""
        if self.early and self.early.contains(frame):
            return self.early.get(frame)
        try:
            data = os.pread(self.descriptor_of(frame.journal), frame.size, frame.offset)
            size, line_bytes, key, digest = _FRAME.unpack_from(data)
            begin = _FRAME.size + size
            if digest != _digest(key, size, line_bytes, [memoryview(data)[_FRAME.size :]]):
                return None
            outcome = frames.decode(memoryview(data)[_FRAME.size : begin], Outcome)
            outcome = frames.fill(
                frames.place_lines(outcome, "", begin), lambda place: data[place.offset : place.offset + place.size]
            )
        except (OSError, struct.error, msgspec.MsgspecError):
            return None
        if not all(relatives.is_unchanged(each) for each in outcome.account.relatives) or (
            is_current and not is_current(outcome)
        ):
            return None
        self.reused += 1
        self._reused_frames.setdefault(frame.journal, {})[frame.offset] = frame.size
        return outcome

    def descriptor(self, place: LinePlace) -> int:
        """Return the descriptor of the journal that contains a line."""
        return self.descriptor_of(place.journal)

    def descriptor_of(self, name: str) -> int:
        """Return the descriptor of a journal; the number of open journals is limited."""
        if name not in self._open:
            if len(self._open) >= _OPEN_FILES:
                os.close(self._open.pop(next(iter(self._open))))
            self._open[name] = self.folder.open(name)
        return self._open[name]

    def fill(self, outcome: Outcome) -> Outcome:
        """Read the lines of records that another process wrote."""
        return frames.fill(outcome, lambda place: os.pread(self.descriptor(place), place.size, place.offset))

    def close(self) -> None:
        """Close all journals."""
        self.writer.close()
        while self._open:
            os.close(self._open.popitem()[1])

    def settle(self) -> list[str]:
        """Return the journals to keep for the next run: those of this run and those with reused frames.

        If most of their content is unused, or there are many, the reused frames are copied to a new journal.
        """
        self.close()
        own = self.own()
        total = sum(status.st_size for name in self._reused_frames if (status := self.folder.status(name)))
        useful = sum(sum(frames.values()) for frames in self._reused_frames.values())
        if len(self._reused_frames) <= _MANY and 2 * useful >= total:
            return [*self._reused_frames, *own]
        merged_name = f"{self.writer.run}-joined"
        try:
            with open(self.folder.create(merged_name, 0o600), "wb") as file:
                for name, frames in self._reused_frames.items():
                    file.writelines(_read(self.folder, Frame(name, *frame)) for frame in frames.items())
        except OSError:  # not enough space: try again in the next run
            return [*self._reused_frames, *own]
        return [merged_name, *own]

    def forget(self, names: Iterable[str]) -> None:
        """Delete journals, and the folder if it is empty."""
        self.close()
        for name in names:
            with suppress(OSError):
                self.folder.remove(name)
        with suppress(OSError):
            self.folder.remove_folder()  # fails for a folder that is not empty

    def own(self) -> list[str]:
        """Return the journals of this run."""
        return [name for name in self.names() if name.startswith(f"{self.writer.run}-")]


def _digest(key: bytes, size: int, line_bytes: int, pieces: Iterable[bytes | memoryview]) -> bytes:
    digest = xxh3_64(key + _LENGTHS(size, line_bytes))
    for piece in pieces:
        digest.update(piece)
    return digest.digest()


def _read(folder: Folder, frame: Frame) -> bytes:
    with open(folder.open(frame.journal), "rb", buffering=0) as file:
        return os.pread(file.fileno(), frame.size, frame.offset)


def _frames(folder: Folder, name: str) -> Iterator[tuple[bytes, Frame]]:
    """Yield the frames of a journal, up to an incomplete one."""
    with open(folder.open(name), "rb", buffering=0) as file:
        end = os.fstat(file.fileno()).st_size
        offset = 0
        while offset + _FRAME.size <= end:
            length, line_bytes, key, _ = _FRAME.unpack(os.pread(file.fileno(), _FRAME.size, offset))
            size = _FRAME.size + length + line_bytes
            if offset + size > end:
                return
            yield key, Frame(name, offset, size)
            offset += size
