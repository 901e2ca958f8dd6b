"""Files that are staged in a folder beside their places, and take these together.

That folder is a journal folder: if a run is killed while several files take their places, the next one that stages
files in the same place finishes its commit.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from errno import EEXIST, ENOENT, EXDEV
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from xxhash import xxh3_64_hexdigest

from chatsquash.core import platform
from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS, STAGING_FOLDER
from chatsquash.storage import commit
from chatsquash.storage.commit import Commit, CommitPlan
from chatsquash.storage.folder import Folder
from chatsquash.storage.lock import is_alive, lock, unlock

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
        """Make it; what killed runs left is finished if they had begun to put files in their places, else removed."""
        self._made = _make_folders(self.place)
        with _alone(self._folder):
            self._make()
            _recover(self._folder, self._owner)
        if self._beside:
            with suppress(OSError), closing(Folder(self._beside)) as folder, _alone(folder):
                _recover(folder, self._owner)
        self.new.make()

    def _make(self) -> None:
        for tries in range(_TRIES):
            self._name = f"{OURS}-{os.urandom(8).hex()}"
            try:
                self._folder.make(self._name, 0o700)
                self._lock = lock(self._ours, "lock")
            except (BlockingIOError, FileNotFoundError):  # another run took it for one of those, without locks
                if tries == _TRIES - 1:
                    raise
            else:
                return

    @property
    def _ours(self) -> Folder:
        return self._folder.folder(self._name)

    @property
    def _owner(self) -> int:
        """The user to whom the system says that our files belong, which on a network may be another one."""
        return os.fstat(self._ours.descriptor).st_uid

    @property
    def new(self) -> Folder:
        """The folder for what is to take its place."""
        return self._ours.folder(commit.STAGING)

    def open(self, name: str) -> BinaryIO:
        """A new file, which is closed with the run."""
        self._files.append(os.fdopen(self.new.create(name), "wb"))
        return self._files[-1]

    def put(self, names: list[str]) -> None:
        """Put what is staged in its place; raises ``UsageError`` or ``OSError``, and then nothing is."""
        with _alone(self._folder), platform.uninterrupted():
            _recover(self._folder, self._owner)  # else its files would take the places of ours later
            for name in names:
                refuse_existing(self.place / name, force=self.force)  # once more, since it may have come meanwhile
            if len(names) == 1:
                self._put_one(names[0])
            elif names:
                plan = CommitPlan({name: self._size(name) for name in names}, [], b"")
                Commit(self._folder, self._ours, plan).carry_out()

    def _put_one(self, name: str) -> None:
        """Put a file or a folder in its place, which is done or not done and needs no journal."""
        replaces = self.force and self._folder.status(name)
        place = self.new.move if replaces else self.new.link  # which replaces nothing
        place(name, self._folder, name)

    def _size(self, name: str) -> int:
        status = self.new.status(name)
        if status is None:
            raise FileNotFoundError(ENOENT, os.strerror(ENOENT), name)
        return status.st_size

    def discard(self) -> None:
        """Leave nothing that is not in its place, unless the next run has to finish what this one began."""
        for file in self._files:
            with suppress(OSError):  # a disk may be full
                file.close()
        if self._name:
            _clear(self._folder, self._name)
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


def _recover(folder: Folder, owner: int) -> None:
    """Finish the commits of runs that were killed, and remove what they staged in a folder.

    A plan of another user is no reason to move anything.  Raises ``UsageError`` for a commit that cannot be finished.
    """
    for name in filter(STAGING_FOLDER.fullmatch, folder.names()):
        ours = folder.folder(name)
        try:
            stale = lock(ours, "lock")
        except OSError:  # it is locked by a run that goes on, or not ours to remove
            ours.close()
            continue
        try:
            if os.fstat(ours.descriptor).st_uid == owner:
                _finish(folder, ours)
            _clear(folder, name)
        finally:
            unlock(stale)


def _finish(folder: Folder, ours: Folder) -> None:
    try:
        if plan := _plan(ours):
            Commit(folder, ours, plan).finish()
    except ValueError:
        raise _unfinished(ours, "its plan is damaged") from None
    except OSError as problem:
        raise _unfinished(ours, str(problem.strerror)) from None


def _plan(ours: Folder) -> CommitPlan | None:
    plan = commit.pending(ours)
    if plan and plan.gone:
        raise ValueError(commit.PLAN)  # no commit of staged files removes any
    return plan


def _unfinished(ours: Folder, why: str) -> UsageError:
    hint = "fix that and run the command again, or delete the folder, which may leave old files next to new ones"
    return UsageError(f"{ours.path}: the interrupted run that left this folder cannot be completed ({why}); {hint}")


def _clear(folder: Folder, name: str) -> None:
    """Remove a folder of staged files; a call that fails once is tried again.  What has a plan stays."""
    with suppress(OSError):
        for _ in range(2):
            if not commit.is_pending(folder.folder(name)):
                folder.clear(name)


def write_elsewhere(staging: Folder, file: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file outside of the output folder, in which it is staged, so that it appears complete.

    By default only its owner can read it.

    Raises ``OSError`` that names the file.
    """
    staged = "elsewhere"
    try:
        with closing(Folder(file.parent)) as place:
            if (there := place.status(file.name)) and not S_ISREG(there.st_mode):
                raise FileExistsError(EEXIST, "exists and is not a regular file")
            try:
                _write(staging, staged, data, mode)
                staging.move(staged, place, file.name)
            except OSError as problem:
                if problem.errno != EXDEV:
                    raise
                _write_beside(place, file.name, data, mode)
            finally:
                staging.remove(staged)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(file)) from None


def _write_beside(place: Folder, name: str, data: bytes, mode: int) -> None:
    begin, host = f"{OURS}-{xxh3_64_hexdigest(os.fsencode(name))}-", os.uname().nodename
    end = f"-{xxh3_64_hexdigest(os.fsencode(host))}"
    for left in place.names():
        if left.startswith(begin) and left.endswith(end):
            process = left.removeprefix(begin).removesuffix(end)
            if is_alive(f"process {process} on {host}".encode()) is False:  # what a killed run left
                place.remove(left)
    beside = f"{begin}{os.getpid()}{end}"
    try:
        _write(place, beside, data, mode)
        place.move(beside, place, name)
    except BaseException:
        with suppress(OSError):
            place.remove(beside)
        raise


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
