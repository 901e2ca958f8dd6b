"""Stage files in a folder next to their destinations, and move them into place together.

The folder is a journal folder: if a run is killed while it moves several files, the next run that stages files in the
same place completes the commit.
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
"""The number of attempts if another run removes the new folder."""
_WAIT = 10
"""The number of seconds to wait for another run that creates its folder."""


class StagedFiles:
    """A private folder of this run next to the destinations of its files."""

    def __init__(self, place: Path, *, force: bool, other_folder: Path | None = None) -> None:
        """Prepare staging; nothing is written before ``begin``.

        Args:
            place: The folder of the destinations.
            force: Whether to replace existing files.
            other_folder: Another folder in which earlier runs with the same destination may have staged files.
        """
        self.place, self.force = place, force
        self._other_folder = other_folder
        self._folder = Folder(place)
        self._created_folders: list[Path] = []
        self._name = ""
        self._lock: int | None = None
        self._files: list[BinaryIO] = []

    def begin(self) -> None:
        """Create the folder; complete the commits of killed runs and remove their other files."""
        self._created_folders = _make_folders(self.place)
        with _exclusive_access(self._folder):
            self._make()
            _recover(self._folder, self._owner)
        if self._other_folder:
            with suppress(OSError), closing(Folder(self._other_folder)) as folder, _exclusive_access(folder):
                _recover(folder, self._owner)
        self.staging.make()

    def _make(self) -> None:
        for tries in range(_TRIES):
            self._name = f"{OURS}-{os.urandom(8).hex()}"
            try:
                self._folder.make(self._name, 0o700)
                self._lock = lock(self._journal, "lock")
            except (BlockingIOError, FileNotFoundError):  # without locks, another run may have removed it as stale
                if tries == _TRIES - 1:
                    raise
            else:
                return

    @property
    def _journal(self) -> Folder:
        return self._folder.folder(self._name)

    @property
    def _owner(self) -> int:
        """The owner of new files, which may be a different user on a network file system."""
        return os.fstat(self._journal.descriptor).st_uid

    @property
    def staging(self) -> Folder:
        """The folder for staged files."""
        return self._journal.folder(commit.STAGING)

    def open(self, name: str) -> BinaryIO:
        """Create a staged file, which ``discard`` closes."""
        self._files.append(os.fdopen(self.staging.create(name), "wb"))
        return self._files[-1]

    def put(self, names: list[str]) -> None:
        """Move staged files into place, all or none; raise ``UsageError`` or ``OSError`` if that fails."""
        with _exclusive_access(self._folder), platform.uninterrupted():
            _recover(self._folder, self._owner)  # a later recovery would replace the files of this run
            for name in names:
                refuse_existing(self.place / name, force=self.force)  # it may have been created since the first check
            if len(names) == 1:
                self._put_one(names[0])
            elif names:
                plan = CommitPlan({name: self._size(name) for name in names}, [], b"")
                Commit(self._folder, self._journal, plan).carry_out()

    def _put_one(self, name: str) -> None:
        """Move a single file or folder into place, which is atomic and requires no journal."""
        replaces = self.force and self._folder.status(name)
        place = self.staging.move if replaces else self.staging.link  # link never replaces a file
        place(name, self._folder, name)

    def _size(self, name: str) -> int:
        status = self.staging.status(name)
        if status is None:
            raise FileNotFoundError(ENOENT, os.strerror(ENOENT), name)
        return status.st_size

    def discard(self) -> None:
        """Remove staged files, unless the next run must complete the commit."""
        for file in self._files:
            with suppress(OSError):  # the disk may be full
                file.close()
        if self._name:
            _clear(self._folder, self._name)
        if self._lock is not None:
            unlock(self._lock)
        self._folder.close()
        _remove(self._created_folders)


@contextmanager
def _exclusive_access(folder: Folder) -> Iterator[None]:
    """Prevent other runs from creating or removing staged files in a folder, if the file system supports locks."""
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
    """Complete the commits of killed runs in a folder, and remove their staged files.

    Plans of other users are ignored. Raises ``UsageError`` for a commit that cannot be completed.
    """
    for name in filter(STAGING_FOLDER.fullmatch, folder.names()):
        journal = folder.folder(name)
        try:
            stale = lock(journal, "lock")
        except OSError:  # a running process has locked it, or it belongs to another user
            journal.close()
            continue
        try:
            if os.fstat(journal.descriptor).st_uid == owner:
                _finish(folder, journal)
            _clear(folder, name)
        finally:
            unlock(stale)


def _finish(folder: Folder, journal: Folder) -> None:
    try:
        if plan := _plan(journal):
            Commit(folder, journal, plan).finish()
    except ValueError:
        raise _unfinished(journal, "its plan is damaged") from None
    except OSError as problem:
        raise _unfinished(journal, str(problem.strerror)) from None


def _plan(journal: Folder) -> CommitPlan | None:
    plan = commit.pending(journal)
    if plan and plan.removals:
        raise ValueError(commit.PLAN)  # commits of staged files never remove files
    return plan


def _unfinished(journal: Folder, why: str) -> UsageError:
    hint = "fix that and run the command again, or delete the folder, which may leave old files next to new ones"
    return UsageError(f"{journal.path}: the interrupted run that left this folder cannot be completed ({why}); {hint}")


def _clear(folder: Folder, name: str) -> None:
    """Remove a folder of staged files in two attempts; a folder with a plan is kept."""
    with suppress(OSError):
        for _ in range(2):
            if not commit.is_pending(folder.folder(name)):
                folder.clear(name)


def write_elsewhere(staging: Folder, file: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file outside the output folder atomically; by default, only its owner can read it.

    The file is staged in the output folder, or next to its destination if that is on another file system.

    Raises:
        OSError: The file cannot be written; the error contains its path.
    """
    temporary = "elsewhere"
    try:
        with closing(Folder(file.parent)) as place:
            if (existing := place.status(file.name)) and not S_ISREG(existing.st_mode):
                raise FileExistsError(EEXIST, "exists and is not a regular file")
            try:
                _write(staging, temporary, data, mode)
                staging.move(temporary, place, file.name)
            except OSError as problem:
                if problem.errno != EXDEV:
                    raise
                _write_beside(place, file.name, data, mode)
            finally:
                staging.remove(temporary)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(file)) from None


def _write_beside(place: Folder, name: str, data: bytes, mode: int) -> None:
    begin, host = f"{OURS}-{xxh3_64_hexdigest(os.fsencode(name))}-", os.uname().nodename
    end = f"-{xxh3_64_hexdigest(os.fsencode(host))}"
    for leftover in place.names():
        if leftover.startswith(begin) and leftover.endswith(end):
            process = leftover.removeprefix(begin).removesuffix(end)
            if is_alive(f"process {process} on {host}".encode()) is False:  # left by a killed run
                place.remove(leftover)
    temporary = f"{begin}{os.getpid()}{end}"
    try:
        _write(place, temporary, data, mode)
        place.move(temporary, place, name)
    except BaseException:
        with suppress(OSError):
            place.remove(temporary)
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
        raise UsageError(f"{path}: already exists and is not a regular file; choose another path with --output")
    if not force:
        raise UsageError(f"{path}: already exists; add --force to replace it")


def _make_folders(folder: Path) -> list[Path]:
    """Create a folder and its missing parents; return the created ones, innermost first."""
    missing = [each for each in (folder, *folder.parents) if not os.path.lexists(each)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        _remove(missing)
        raise UsageError(f"{folder}: cannot be created ({problem.strerror})") from None
    return missing


def _remove(folders: list[Path]) -> None:
    """Remove the folders that this run created, innermost first, as long as they are empty."""
    with suppress(OSError):
        for each in folders:
            each.rmdir()
