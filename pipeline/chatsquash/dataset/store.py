"""The output folder: its files are staged and committed together, and a record lists all written files."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import closing, suppress
from errno import EIO
from functools import partial
from hashlib import file_digest, sha256
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct, field

from chatsquash.core import platform
from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS
from chatsquash.core.outcome import LinePlace
from chatsquash.dataset.claim import (
    FORGOTTEN,
    RECORD,
    Claim,
    DatasetCommit,
    damage_error,
    read_memory,
    recorded_files,
    refuse_links,
    refuse_others,
)
from chatsquash.storage import commit, is_remote, refuse_unknown
from chatsquash.storage.commit import RUN, CommitPlan
from chatsquash.storage.folder import Folder
from chatsquash.storage.lock import is_held, lock, unlock

if TYPE_CHECKING:
    from hashlib import _Hash

__all__ = ["RUN", "Output", "StagedFile"]
_OPEN_FILES = 32
_BATCH = 1 << 18
"""Bytes of lines that are buffered, so that the lines of a file are written and hashed together."""


_SHORT = 1 << 15
"""The size of a line of a journal up to which it is read, which takes less time than a copy by the system."""


class StagedFile(Struct):
    """A file before the commit: its final name, and its size in bytes and hash so far."""

    name: str
    """A path under OUT, with parts joined by ``/``."""
    size: int = 0
    lines: int = 0
    digest: _Hash = field(default_factory=sha256)
    is_hashed: bool = True
    """Whether the hash covers all content; lines copied from a journal by the system are not hashed yet."""

    def add(self, data: bytes | bytearray, lines: int | None = None) -> None:
        """Count and hash written bytes; ``lines`` is the number of records if it is not that of line feeds."""
        self.size += len(data)
        self.lines += data.count(b"\n") if lines is None else lines
        if self.is_hashed:
            self.digest.update(data)


class Output:
    """An output folder, locked until it is discarded.

    Files are written under ``OUT/.chatsquash/staging`` and moved to their places by ``commit``, each by one rename and
    ``run.json`` last. An interrupted commit of an earlier run is finished first. Files of earlier runs are replaced or
    removed; no other file is ever changed, and no link under OUT is followed.

    Raises:
        UsageError: If the folder is not empty and was not written by chatsquash, unless ``force``; if another run is
            writing to it; if a folder that it uses is a link or on another file system; and, even with ``force``, if a
            file would replace one that is not in the record of written files.
    """

    resumes = True  # whether a later run can continue from the journal of this one

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self.path = path
        self.display_path = str(path)
        self._out = Folder(path)
        self._ours = self._out.folder(OURS)
        self._staging = self._ours.folder(commit.STAGING)
        self.journal = self._ours.folder("journal")
        """The folder of the journal."""
        self.expanded = self._ours.folder("expanded")
        """The folder for expanded logs; removed at the end of the run."""
        self._claims = Claim(self._out, path)
        self._new_folders: list[Path] = []
        self._lock: int | None = None
        self._staged_files: dict[str, StagedFile] = {}
        self._files: dict[str, tuple[int, int]] = {}
        """The identities of staged files, for detecting replaced files."""
        self._handles: OrderedDict[str, BinaryIO] = OrderedDict()
        self._scratches: list[BinaryIO] = []
        self._waiting: dict[str, list[bytes]] = {}
        self._waiting_bytes = 0
        try:
            self._claim(force=force)
        except BaseException as problem:
            self.discard()
            if isinstance(problem, OSError):
                raise UsageError(f"{path}: cannot be written to ({problem.strerror})") from None
            raise

    def _claim(self, *, force: bool) -> None:
        refuse_others(self._out.path, self.path, force=force)
        if self._out.path.is_dir():
            refuse_links(self._out, self.path)
        outer = self._out.path
        self._new_folders = [folder for folder in (outer, *outer.parents) if not folder.exists()]
        self._out.make()
        is_new = self._out.status(OURS) is None
        self._ours.make()
        self._new_folders = [self._ours.path, *self._new_folders] if is_new else self._new_folders
        try:
            self._lock = lock(self._ours, "lock")
        except BlockingIOError as owner:
            who = f" ({owner.strerror})" if owner.strerror else ""
            hint = "wait until it ends, or choose another folder with --output"
            raise UsageError(f"{self.path}: another run is writing to this folder{who}; {hint}") from None
        refuse_links(self._out, self.path)  # links may have been added before the lock was taken
        self._claims.ours = recorded_files(self._ours)
        self._claims.refuse_foreign(*self._claims.ours)  # one of the written files may have been replaced
        self._finish_earlier()
        commit.sweep(self._ours)
        self._ours.clear("expanded")
        self._staging.make()
        self.refuse_foreign(*self._claims.ours, "reports/any")
        self._claims.refuse_unusable(f"{OURS}/{commit.STAGING}/any")

    def result(self) -> tuple[bytes, float] | None:
        """Return the ``run.json`` of an earlier run and its modification time in seconds, if it exists."""
        try:
            manifest, status = self._out.read(RUN), self._out.status(RUN)
        except OSError:
            return None
        return (manifest, status.st_mtime) if status else None

    def receipts(self) -> bytes:
        """Return the receipts of ``forget`` in the result of an earlier run; empty if nothing was forgotten.

        Raises:
            UsageError: They were deleted, so that the sessions cannot be recognized.
        """
        if FORGOTTEN not in self._claims.ours:
            return b""
        if not self._out.status(FORGOTTEN):
            why = "is missing, so sessions removed by chatsquash forget cannot be recognized"
            raise UsageError(f"{self.display_path}/{FORGOTTEN}: {why}; restore it, or write them again with --replace")
        return self._out.read(FORGOTTEN)

    def refuse_foreign(self, *names: str) -> None:
        """Raise ``UsageError`` if one of these files would replace a foreign file or cannot be moved to its place.

        A file cannot be moved to a folder on another file system or without write permission.
        """
        self._claims.refuse_foreign(*names)
        self._claims.refuse_unusable(*names)

    def is_ours(self, name: str) -> bool:
        """Return whether a file can be written without replacing a foreign file."""
        try:
            self.refuse_foreign(name)
        except UsageError:
            return False
        return True

    def append(self, name: str, data: bytes) -> None:
        """Append a line to a staged file."""
        lines = self._waiting.get(name)
        if lines is None:
            self._stage(name)
            lines = self._waiting[name] = []
        lines.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes >= _BATCH:
            self._flush()

    def join(self, name: str, journal: int, place: LinePlace) -> None:
        """Append a line of an open journal, including its line feed, to a staged file."""
        if place.size <= _SHORT:
            line = os.pread(journal, place.size, place.offset)
            if len(line) < place.size:
                raise OSError(EIO, "a file of this run is shorter than expected")
            self.append(name, line[:-1])
            return
        self._stage(name)
        if name in self._waiting:
            self._flush()
        handle, staged_file = self._handle(name), self._staged_files[name]
        handle.flush()
        platform.copy_range(journal, place.offset, place.size, handle.fileno())
        staged_file.size, staged_file.lines, staged_file.is_hashed = (
            staged_file.size + place.size,
            staged_file.lines + 1,
            False,
        )

    def append_private(self, name: str, pieces: Iterable[bytes]) -> None:
        """Append a line, given in pieces, to a staged file that only its owner can read."""
        self._stage(name)
        if name not in self._files:
            self._begin(name, 0o600)
        self._add(name, chain(pieces, (b"\n",)))

    def write(self, name: str, data: bytes | bytearray, lines: int | None = None) -> None:
        """Stage a file, or append a piece to it; ``lines`` is the number of records in a piece that is not text."""
        self._add(name, (data,), lines)

    def scratch(self) -> BinaryIO:
        """Open a new temporary file without a name, which is removed when it is closed or the run ends."""
        name = f"scratch-{os.urandom(8).hex()}"
        descriptor = self._staging.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        self._staging.remove(name)
        self._scratches.append(open(descriptor, "r+b"))  # noqa: SIM115 - closed with the run
        return self._scratches[-1]

    def staged_content(self, name: str) -> bytes:
        """Return the content of a staged file."""
        self._flush()
        if handle := self._handles.get(name):
            handle.flush()
        with open(self._staging.open(name), "rb") as file:
            return file.read()

    def write_elsewhere(self, file: Path, data: bytes, mode: int) -> None:
        """Write a file of the run outside the output folder; may raise ``OSError``."""
        from chatsquash.storage.staging import write_elsewhere  # rarely needed

        write_elsewhere(self._staging, file.absolute(), data, mode)

    def rename(self, name: str, to: str) -> None:
        """Rename a staged file."""
        self.refuse_foreign(to)
        self._flush()
        if handle := self._handles.pop(name, None):
            handle.close()
        self._staging.move(name, self._staging, to)
        self._files[to] = self._files.pop(name)
        staged_file = self._staged_files[to] = self._staged_files.pop(name)
        staged_file.name = to

    def staged_files(self) -> list[StagedFile]:
        """Return the files staged so far, sorted by name."""
        self._flush()
        platform.run_concurrently(
            partial(self._hash, each) for each in self._staged_files.values() if not each.is_hashed
        )
        return [self._staged_files[name] for name in sorted(self._staged_files)]

    def read_memory(self) -> tuple[bytes, bool]:
        """Return the memory that the last run passed to ``commit``, and whether all its files are unchanged."""
        return read_memory(self._out)

    def clear(self, folder: Folder) -> None:
        """Remove a folder of the run with as much of its content as possible."""
        self._ours.clear(folder.path.name)

    def is_decided(self) -> bool:
        """Return whether a commit has started, which the next run finishes if necessary."""
        return commit.is_pending(self._ours)

    def commit(self, memory: bytes = b"") -> None:
        """Move all staged files to their places, ``run.json`` last, and remove files that only earlier runs wrote.

        If this fails, the folder is restored.
        """
        self._flush()
        for handle in self._handles.values():
            handle.close()
        names = sorted(self._staged_files, key=lambda name: (name == RUN, name))
        obsolete = [name for name in self._claims.ours if name not in self._staged_files]
        plan = CommitPlan({name: self._staged_files[name].size for name in names}, obsolete, memory)
        DatasetCommit(self._out, plan).carry_out(partial(_sync, folder.parent) for folder in self._new_folders)

    def discard(self) -> None:
        """Unlock the folder and drop staged files; existing files stay, and new folders are removed if empty."""
        for handle in (*self._handles.values(), *self._scratches):
            with suppress(OSError):
                handle.close()
        self._handles.clear()
        if self._lock is not None and is_held(self._lock):
            self._ours.clear("expanded")
            if not self.is_decided():
                commit.sweep(self._ours)
            if self._ours.path in self._new_folders and self._ours.status(RECORD) is None:
                self._ours.remove("lock")
            unlock(self._lock)
        self._lock = None
        for folder in self._new_folders:
            with suppress(OSError):
                if folder == self._ours.path:
                    self._out.remove_folder(OURS)
                else:
                    folder.rmdir()  # fails for a folder that is not empty
        self._out.close()

    def _finish_earlier(self) -> None:
        """Finish the commit of a run that was killed; if this is impossible, the output counts as incomplete."""
        try:
            plan = commit.pending(self._ours)
        except ValueError:
            raise damage_error(self.path / OURS / commit.PLAN) from None
        if plan is not None:
            self._claims.refuse_foreign(*plan.files, *plan.removals)
            try:
                DatasetCommit(self._out, plan).finish()
            except ValueError:
                raise damage_error(self.path / OURS / commit.PLAN) from None
            self._claims.ours = recorded_files(self._ours)

    def _add(self, name: str, pieces: Iterable[bytes | bytearray], lines: int | None = None) -> None:
        self._stage(name)
        self._flush()  # keeps the order of lines
        self._put(name, pieces, lines)

    def _stage(self, name: str) -> None:
        if name not in self._staged_files:
            self.refuse_foreign(name)
            self._staged_files[name] = StagedFile(name)

    def _flush(self) -> None:
        """Write the buffered lines."""
        waiting, self._waiting, self._waiting_bytes = self._waiting, {}, 0
        for name, lines in waiting.items():
            self._put(name, (b"\n".join((*lines, b"")),), len(lines))

    def _put(self, name: str, pieces: Iterable[bytes | bytearray], lines: int | None = None) -> None:
        handle, staged_file = self._handle(name), self._staged_files[name]
        for piece in pieces:
            handle.write(piece)
            staged_file.add(piece, lines)

    def _hash(self, staged_file: StagedFile) -> None:
        """Hash the complete content of a file with lines copied from a journal."""
        if handle := self._handles.get(staged_file.name):
            handle.flush()
        with open(self._staging.open(staged_file.name), "rb", buffering=0) as file:
            staged_file.digest, staged_file.is_hashed = file_digest(file, sha256), True

    def _handle(self, name: str) -> BinaryIO:
        """Return an open handle; the number of open handles is limited."""
        handle = self._handles.get(name)
        if handle is None:
            if len(self._handles) >= _OPEN_FILES:
                self._handles.popitem(last=False)[1].close()
            if name not in self._files:
                self._begin(name)
            handle = self._handles[name] = os.fdopen(self._staging.append(name, self._files[name]), "ab")
        self._handles.move_to_end(name)
        return handle

    def _begin(self, name: str, mode: int = 0o666) -> None:
        """Create a staged file."""
        descriptor = self._staging.create(name, mode)
        self._files[name] = platform.identity(descriptor)
        os.close(descriptor)


def _sync(folder: Path) -> None:
    """Flush the parent of a created folder to disk."""
    with suppress(PermissionError), closing(Folder(folder)) as handle:
        handle.sync()  # a folder may be writable but not readable


def place_of(output: str | PathLike[str]) -> Path | str:
    """Return an output as a path, or as a URL for a folder in a store."""
    location = fspath(output)
    if is_remote(location):
        return location
    refuse_unknown(location)
    return Path(location)
