"""The output folder that a path or a URL names: files staged to be put in place together, and a record of ours."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import closing, suppress
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
from chatsquash.core.urls import is_remote, refuse_unknown
from chatsquash.dataset.claim import RECORD, Claim, damage, recorded_files, refuse_links, refuse_others
from chatsquash.dataset.commit import DatasetCommit, remembered
from chatsquash.storage import commit
from chatsquash.storage.commit import RUN, CommitPlan
from chatsquash.storage.folder import Folder
from chatsquash.storage.lock import is_held, lock, unlock
from chatsquash.storage.staging import write_elsewhere

if TYPE_CHECKING:
    from hashlib import _Hash

__all__ = ["RUN", "Output", "StagedFile"]
_OPEN_FILES = 32
_TOGETHER = 1 << 18
"""Bytes of lines that wait, so that those of a file are written and hashed at once."""


class StagedFile(Struct):
    """A file on its way: where it will stand, its size in bytes and its hash so far."""

    name: str
    """Below OUT, parts joined by ``/``."""
    size: int = 0
    lines: int = 0
    digest: _Hash = field(default_factory=sha256)
    is_hashed: bool = True
    """Whether that is of all that was written: of lines that were joined nobody saw the bytes."""

    def add(self, data: bytes | bytearray, lines: int | None = None) -> None:
        """Count bytes that were written, and their lines, unless they are said to hold others than one sees."""
        self.size += len(data)
        self.lines += data.count(b"\n") if lines is None else lines
        if self.is_hashed:
            self.digest.update(data)


class Output:
    """An output folder that is ours.

    Files are written below ``OUT/.chatsquash/staging`` and take their places in ``commit``, each by one rename and
    ``run.json`` last; a commit that an earlier run did not get to finish is finished first.  What an earlier run wrote
    there is replaced or removed; nothing else is ever touched, and no link below OUT is followed.  It is ours until it
    is discarded.

    Raises ``UsageError`` for a folder that is not empty and not ours, unless ``force``; for one that another run is
    writing to; for links and file systems that stand for folders of ours; and, whatever ``force`` says, before a file
    would take the place of one that is not in the record of what we wrote.
    """

    resumes = True  # whether a later run goes on from what this one leaves

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self.path = path
        self.shown = str(path)
        self._out = Folder(path)
        self._ours = self._out.folder(OURS)
        self._staging = self._ours.folder(commit.STAGING)
        self.journal = self._ours.folder("journal")
        """The folder for what sessions gave."""
        self.expanded = self._ours.folder("expanded")
        """The folder for compressed logs that are taken apart; it goes with the run."""
        self._claimed = Claim(self._out, path)
        self._made: list[Path] = []
        self._lock: int | None = None
        self._staged: dict[str, StagedFile] = {}
        self._files: dict[str, tuple[int, int]] = {}
        """The staged files that were begun: what tells each from another that took its place."""
        self._handles: OrderedDict[str, BinaryIO] = OrderedDict()
        self._scratches: list[BinaryIO] = []
        self._waiting: dict[str, list[bytes]] = {}
        self._held = 0
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
        self._made = [folder for folder in (outer, *outer.parents) if not folder.exists()]
        self._out.make()
        is_new = self._out.status(OURS) is None
        self._ours.make()
        self._made = [self._ours.path, *self._made] if is_new else self._made
        try:
            self._lock = lock(self._ours, "lock")
        except BlockingIOError as owner:
            who = f" ({owner.strerror})" if owner.strerror else ""
            hint = "wait for it, or choose another folder with --output"
            raise UsageError(f"{self.path}: another run is writing there{who}; {hint}") from None
        refuse_links(self._out, self.path)  # what was planted meanwhile
        self._claimed.ours = recorded_files(self._ours)
        self._claimed.refuse_foreign(*self._claimed.ours)  # what took the place of one of our files since
        self._finish_earlier()
        commit.sweep(self._ours)
        self._ours.clear("expanded")
        self._staging.make()
        self.refuse_foreign(*self._claimed.ours, "reports/any")
        self._claimed.refuse_unusable(f"{OURS}/{commit.STAGING}/any")

    def result(self) -> tuple[bytes, float] | None:
        """The ``run.json`` of an earlier run and when it was last changed, in seconds; ``None`` where there is none."""
        try:
            written, status = self._out.read(RUN), self._out.status(RUN)
        except OSError:
            return None
        return (written, status.st_mtime) if status else None

    def refuse_foreign(self, *names: str) -> None:
        """Raise ``UsageError`` where one of these files would take the place of something that is not ours.

        Also where it could not take its place: in a folder on another file system, or one that cannot be written to.
        """
        self._claimed.refuse_foreign(*names)
        self._claimed.refuse_unusable(*names)

    def is_ours(self, name: str) -> bool:
        """Whether a file may be written without taking the place of something that is not ours."""
        try:
            self.refuse_foreign(name)
        except UsageError:
            return False
        return True

    def append(self, name: str, data: bytes) -> None:
        """Add a line to a staged file."""
        lines = self._waiting.get(name)
        if lines is None:
            self._stage(name)
            lines = self._waiting[name] = []
        lines.append(data)
        self._held += len(data)
        if self._held >= _TOGETHER:
            self._flush()

    def join(self, name: str, journal: int, place: LinePlace) -> None:
        """Add a line that stands in an open journal, with its line feed, to a staged file."""
        self._stage(name)
        if name in self._waiting:
            self._flush()
        handle, staged = self._handle(name), self._staged[name]
        handle.flush()
        platform.copy_range(journal, place.offset, place.size, handle.fileno())
        staged.size, staged.lines, staged.is_hashed = staged.size + place.size, staged.lines + 1, False

    def append_private(self, name: str, pieces: Iterable[bytes]) -> None:
        """Add a line, piece by piece, to a staged file that only its owner can read."""
        self._stage(name)
        if name not in self._files:
            self._begin(name, 0o600)
        self._add(name, chain(pieces, (b"\n",)))

    def write(self, name: str, data: bytes | bytearray, lines: int | None = None) -> None:
        """Stage a whole file, or a piece of one; ``lines`` is how many records a piece holds that is no text."""
        self._add(name, (data,), lines)

    def scratch(self) -> BinaryIO:
        """A new file without a name, to be written and read, which goes when it is closed, or with the run."""
        name = f"scratch-{os.urandom(8).hex()}"
        descriptor = self._staging.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        self._staging.remove(name)
        self._scratches.append(open(descriptor, "r+b"))  # noqa: SIM115 - closed with the run
        return self._scratches[-1]

    def staged_content(self, name: str) -> bytes:
        """The content of a staged file."""
        self._flush()
        if handle := self._handles.get(name):
            handle.flush()
        with open(self._staging.open(name), "rb") as file:
            return file.read()

    def write_elsewhere(self, file: Path, data: bytes, mode: int) -> None:
        """Write a file of the run that is no part of the output; raises ``OSError``."""
        write_elsewhere(self._staging, file.absolute(), data, mode)

    def rename(self, name: str, to: str) -> None:
        """Give a staged file another name."""
        self.refuse_foreign(to)
        self._flush()
        if handle := self._handles.pop(name, None):
            handle.close()
        self._staging.move(name, self._staging, to)
        self._files[to] = self._files.pop(name)
        staged = self._staged[to] = self._staged.pop(name)
        staged.name = to

    def staged_files(self) -> list[StagedFile]:
        """The files staged so far, by name."""
        self._flush()
        platform.run_concurrently(partial(self._hash, each) for each in self._staged.values() if not each.is_hashed)
        return [self._staged[name] for name in sorted(self._staged)]

    def remembered(self) -> tuple[bytes, bool]:
        """What the last run gave to ``commit`` to remember, and whether all its files stand as it left them."""
        return remembered(self._out)

    def clear(self, folder: Folder) -> None:
        """Remove one of our folders with all that is in it, as far as that can be."""
        self._ours.clear(folder.path.name)

    def is_decided(self) -> bool:
        """Whether a commit has begun that is to be finished, if need be by the next run."""
        return commit.is_pending(self._ours)

    def commit(self, memory: bytes = b"") -> None:
        """Put all staged files in their places, ``run.json`` last; what only earlier runs wrote is removed.

        Where that fails, the folder is as it was.
        """
        self._flush()
        for handle in self._handles.values():
            handle.close()
        names = sorted(self._staged, key=lambda name: (name == RUN, name))
        gone = [name for name in self._claimed.ours if name not in self._staged]
        plan = CommitPlan({name: self._staged[name].size for name in names}, gone, memory)
        DatasetCommit(self._out, plan).carry_out(partial(_sync, folder.parent) for folder in self._made)

    def discard(self) -> None:
        """Give the folder up: what is staged is forgotten, what stood there stays, and a folder that we made goes."""
        for handle in (*self._handles.values(), *self._scratches):
            with suppress(OSError):
                handle.close()
        self._handles.clear()
        if self._lock is not None and is_held(self._lock):
            self._ours.clear("expanded")
            if not self.is_decided():
                commit.sweep(self._ours)
            if self._ours.path in self._made and self._ours.status(RECORD) is None:
                self._ours.remove("lock")
            unlock(self._lock)
        self._lock = None
        for folder in self._made:
            with suppress(OSError):
                if folder == self._ours.path:
                    self._out.remove_folder(OURS)
                else:
                    folder.rmdir()  # does nothing to one that is not empty
        self._out.close()

    def _finish_earlier(self) -> None:
        """Finish the commit of a run that was killed; what cannot be finished is no result, and is written anew."""
        try:
            plan = commit.pending(self._ours)
        except ValueError:
            raise damage(self.path / OURS / commit.PLAN) from None
        if plan is not None:
            self._claimed.refuse_foreign(*plan.files, *plan.removals)
            try:
                DatasetCommit(self._out, plan).finish()
            except ValueError:
                raise damage(self.path / OURS / commit.PLAN) from None
            self._claimed.ours = recorded_files(self._ours)

    def _add(self, name: str, pieces: Iterable[bytes | bytearray], lines: int | None = None) -> None:
        self._stage(name)
        self._flush()  # what came before
        self._put(name, pieces, lines)

    def _stage(self, name: str) -> None:
        if name not in self._staged:
            self.refuse_foreign(name)
            self._staged[name] = StagedFile(name)

    def _flush(self) -> None:
        """Write the lines that wait."""
        waiting, self._waiting, self._held = self._waiting, {}, 0
        for name, lines in waiting.items():
            self._put(name, (b"\n".join((*lines, b"")),), len(lines))

    def _put(self, name: str, pieces: Iterable[bytes | bytearray], lines: int | None = None) -> None:
        handle, staged = self._handle(name), self._staged[name]
        for piece in pieces:
            handle.write(piece)
            staged.add(piece, lines)

    def _hash(self, staged: StagedFile) -> None:
        """Hash a file to which lines were joined, as a whole."""
        if handle := self._handles.get(staged.name):
            handle.flush()
        with open(self._staging.open(staged.name), "rb", buffering=0) as file:
            staged.digest, staged.is_hashed = file_digest(file, sha256), True

    def _handle(self, name: str) -> BinaryIO:
        """An open file; of many groups only some are open at a time."""
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
        """Make a staged file."""
        descriptor = self._staging.create(name, mode)
        self._files[name] = platform.identity(descriptor)
        os.close(descriptor)


def _sync(folder: Path) -> None:
    """Make sure that a folder which we made is on the disk."""
    with suppress(PermissionError), closing(Folder(folder)) as made:
        made.sync()  # one may be allowed to make folders somewhere, and not to list them


def place_of(output: str | PathLike[str]) -> Path | str:
    """A folder, or the URL of one in a store."""
    named = fspath(output)
    if is_remote(named):
        return named
    refuse_unknown(named)
    return Path(named)
