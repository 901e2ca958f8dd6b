"""Files that are staged in a folder beside their places, and take these together."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from errno import EXDEV
from pathlib import Path
from typing import BinaryIO

from xxhash import xxh3_64_hexdigest

from chatsquash.core import platform
from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS, STAGED
from chatsquash.storage.folder import Folder
from chatsquash.storage.lock import lock, unlock

_TRIES = 10
"""How often another run may remove a folder that is just being made."""
_WAIT = 10
"""Seconds that another run may take to make its folder."""


class StagedFiles:
    """A folder of this run beside the places that its files will take; other runs neither read nor touch it."""

    def __init__(self, place: Path, *, force: bool, beside: Path | None = None) -> None:
        """``beside``: another folder in which runs to this place may have staged files."""
        self.place, self.force = place, force
        self._beside = beside
        self._folder = Folder(place)
        self._made: list[Path] = []
        self._name = ""
        self._lock: int | None = None
        self._files: list[BinaryIO] = []

    def begin(self) -> None:
        """Make it, and remove those of runs that were killed."""
        self._made = _make_folders(self.place)
        if self._beside:
            with suppress(OSError), closing(Folder(self._beside)) as folder, _alone(folder):
                _remove_stale(folder)
        with _alone(self._folder):
            _remove_stale(self._folder)
            self._make()
        for name in ("new", "old"):
            self._folder.make(f"{self._name}/{name}")

    def _make(self) -> None:
        for tries in range(_TRIES):
            self._name = f"{OURS}-{os.urandom(8).hex()}"
            try:
                self._folder.make(self._name)
                self._lock = lock(self._folder.folder(self._name), "lock")
            except (BlockingIOError, FileNotFoundError):  # another run took it for one of those, without locks
                if tries == _TRIES - 1:
                    raise
            else:
                return

    @property
    def new(self) -> Folder:
        """The folder for what is to take its place."""
        return self._folder.folder(self._name).folder("new")

    def open(self, name: str) -> BinaryIO:
        """A new file, which is closed with the run."""
        self._files.append(os.fdopen(self.new.create(name), "wb"))
        return self._files[-1]

    def put(self, names: list[str]) -> None:
        """Put what is staged in its place; raises ``UsageError`` or ``OSError``, and then nothing is."""
        old, new, put = self._folder.folder(self._name).folder("old"), self.new, set[str]()
        with platform.uninterrupted():
            for name in names:
                refuse_existing(self.place / name, force=self.force)  # once more, since it may have come meanwhile
            try:
                for name in names:
                    is_there = self.force and self._folder.status(name)
                    if is_there:
                        self._folder.link(name, old, name)
                    place = new.move if is_there else new.link  # which replaces nothing
                    place(name, self._folder, name)
                    put.add(name)
            except BaseException:
                for name in names:
                    with suppress(OSError):
                        if old.status(name):
                            old.move(name, self._folder, name)
                        elif name in put:
                            self._folder.remove(name)
                raise

    def discard(self) -> None:
        """Leave nothing that is not in its place."""
        for file in self._files:
            with suppress(OSError):  # a disk may be full
                file.close()
        if self._name:
            self._folder.clear(self._name)
        if self._lock is not None:
            unlock(self._lock)
        self._folder.close()
        _remove(self._made)


@contextmanager
def _alone(folder: Folder) -> Iterator[None]:
    """Keep other runs from making or removing staged files in a folder, on a system with locks."""
    for _ in range(_WAIT * 20):
        try:
            fcntl.flock(folder.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.05)
        except OSError:  # a file system without locks
            break
        else:
            break
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(folder.descriptor, fcntl.LOCK_UN)


def _remove_stale(folder: Folder) -> None:
    """Remove what runs that were killed have staged in a folder."""
    for name in filter(STAGED.fullmatch, folder.names()):
        with suppress(OSError):  # it is locked by a run that goes on, or not ours to remove
            stale = lock(folder.folder(name), "lock")
            folder.clear(name)
            unlock(stale)


def write_elsewhere(staging: Folder, file: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file outside of the output folder, in which it is staged, so that it appears complete.

    By default only its owner can read it.

    Raises ``OSError`` that names the file.
    """
    staged = "elsewhere"
    try:
        with closing(Folder(file.parent)) as place:
            try:
                _write(staging, staged, data, mode)
                staging.move(staged, place, file.name)
            except OSError as problem:
                if problem.errno != EXDEV:
                    raise
                beside = f"{OURS}-{xxh3_64_hexdigest(os.fsencode(file.name))}"  # which the next run replaces
                _write(place, beside, data, mode)
                place.move(beside, place, file.name)
            finally:
                staging.remove(staged)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(file)) from None


def _write(folder: Folder, name: str, data: bytes, mode: int) -> None:
    folder.remove(name)
    with os.fdopen(folder.create(name, mode), "wb") as file:
        file.write(data)
        file.flush()
        platform.sync(file.fileno())


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raise ``UsageError`` for a path that exists, unless it is a regular file that may be replaced."""
    if not os.path.lexists(path):
        return
    if not path.is_file():
        raise UsageError(f"{path}: is there already, and is no regular file; choose another place with --output")
    if not force:
        raise UsageError(f"{path}: is there already; --force replaces it")


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder, and those that it lies in; what was made is returned, the innermost first."""
    missing = [each for each in (folder, *folder.parents) if not os.path.lexists(each)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        _remove(missing)
        raise UsageError(f"{folder}: cannot be made ({problem.strerror})") from None
    return missing


def _remove(folders: list[Path]) -> None:
    """Take away the folders that were made and in which nothing lies, the innermost first."""
    with suppress(OSError):
        for each in folders:
            each.rmdir()
