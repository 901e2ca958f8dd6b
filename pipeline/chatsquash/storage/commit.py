"""Commits: move all staged files into place, and let the next run complete the commit of a killed run.

The plan is written to the disk before the first file is moved, and removed after the last one. While it exists,
``run.json`` is missing or the files do not match the hashes in it, so that a mixture of two runs is never taken for a
result. Replaced and removed files are backed up until then, so that a failed commit leaves the old files unchanged.
Staged files, the plan and the backup are in one journal folder, which belongs to one run at a time.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from errno import EFBIG, EINVAL, ENOTEMPTY
from functools import partial

import msgspec
from msgspec import Struct

from chatsquash.core import platform
from chatsquash.storage.folder import Folder, parent_folders, validate_name

RUN = "run.json"
STAGING = "staging"
PLAN = "commit.json"
_PLAN_BYTES = 1 << 27
"""The maximum size of a plan in bytes, enough for a million names."""
_PARTIAL_BACKUP, _BACKUP = "replacing", "replaced"
"""The backup folder while it is being filled and when it is complete; no file is moved before that."""
BACKUPS = (_PARTIAL_BACKUP, _BACKUP)


class CommitPlan(Struct):
    """The steps of a commit."""

    files: dict[str, int]
    """Names under OUT with sizes, in the order in which they are moved into place, with ``run.json`` last."""
    removals: list[str] = msgspec.field(name="gone")
    """Files written by an earlier run but not by this one."""
    memory: bytes
    """The state for the next run."""


class Commit:
    """A commit in an output folder.

    If a step fails before the plan is complete, the folder is restored to its previous state.
    """

    def __init__(self, out: Folder, journal: Folder, plan: CommitPlan) -> None:
        self._out, self._journal, self._plan = out, journal, plan
        self._staging = journal.folder(STAGING)

    def carry_out(self, flushes: Iterable[Callable[[], object]] = ()) -> None:
        """Execute the commit; if it fails, restore the folder.

        Args:
            flushes: Calls that flush other data, which must be on the disk before the plan.
        """
        try:
            self._prepare(flushes)
        except Exception:
            self._give_up()
            raise
        self._complete()

    def finish(self) -> None:
        """Complete the commit of a killed run; if that is impossible, restore the folder to its state before that run.

        Raises:
            ValueError: The plan would replace or move something other than a regular file, so it was not written here.
        """
        for name in (*self._plan.files, *self._plan.removals):
            for status in (self._staging.status(name), self._out.status(name)):
                if status and not stat.S_ISREG(status.st_mode):
                    raise ValueError(PLAN)
        if not all(self._has_file(name, size) for name, size in self._plan.files.items()):
            self._undo()
            return
        try:
            self._complete()
        except OSError:
            if is_pending(self._journal):  # the commit could be neither completed nor undone
                raise

    def _has_file(self, name: str, size: int) -> bool:
        """Return whether a file is staged or already in place; the file that it replaces does not count."""
        staged_status, current_status = self._staging.status(name), self._out.status(name)
        if staged_status:
            return staged_status.st_size == size
        backups = [self._journal.folder(aside).status(name) for aside in (_PARTIAL_BACKUP, _BACKUP)]
        is_old = any(old and current_status and os.path.samestat(old, current_status) for old in backups)
        return current_status is not None and current_status.st_size == size and not is_old

    def _complete(self) -> None:
        with platform.uninterrupted():
            try:
                self._place()
            except Exception:
                self._give_up()
                raise
            self._conclude()

    def _give_up(self) -> None:
        with suppress(OSError):  # the next run retries
            self._undo()

    def _prepare(self, flushes: Iterable[Callable[[], object]]) -> None:
        """Flush all staged files and the plan to the disk; after that, the commit will be completed."""
        ours, plan = self._journal, self._plan
        for name in (_PARTIAL_BACKUP, _BACKUP):
            if ours.status(name):  # otherwise an old backup could be restored
                raise OSError(ENOTEMPTY, f"{ours.path / name}: cannot be removed")
        contents = {**self._notes(), PLAN: _plan_bytes(plan)}
        try:
            for name, data in contents.items():
                ours.write_new(name, data)
            new_syncs = (partial(ours.sync, f"{name}.new") for name in contents)
            staged_syncs = (partial(self._staging.sync, name) for name in plan.files)
            platform.run_concurrently([*flushes, *new_syncs, *staged_syncs, *_folders(self._staging, plan.files)])
            for name in contents:
                ours.move(f"{name}.new", ours, name)
        except BaseException:
            for name in contents:
                ours.remove(f"{name}.new")
            raise
        ours.sync()

    def _notes(self) -> dict[str, bytes]:
        """Return the files of the journal folder, by name, that must be on the disk before the plan."""
        return {}

    def _place(self) -> None:
        """Move the remaining files into place.

        The old ``run.json`` is removed first, and the new one is moved when everything else is on the disk.
        """
        out, plan = self._out, self._plan
        self._back_up()
        if self._staging.status(RUN):
            out.remove(RUN)
        for name in plan.removals:
            out.remove(name)
        for name in plan.files:
            if name != RUN:
                self._move_into_place(name)
        platform.run_concurrently(_folders(out, [*plan.files, *plan.removals]))
        if RUN in plan.files:
            self._move_into_place(RUN)
            out.sync()

    def _back_up(self) -> None:
        """Back up the files to be replaced or removed, with hard links if possible, so that they stay in place."""
        if self._journal.status(_BACKUP):
            return
        self._journal.make(_PARTIAL_BACKUP)
        aside = self._journal.folder(_PARTIAL_BACKUP)
        for name in (*self._plan.removals, *self._plan.files):
            if self._out.status(name) and not aside.status(name):
                self._out.link(name, aside, name)
        aside.close()
        self._journal.move(_PARTIAL_BACKUP, self._journal, _BACKUP)

    def _move_into_place(self, name: str) -> None:
        if self._staging.status(name):
            self._staging.move(name, self._out, name)

    def _conclude(self) -> None:
        with suppress(OSError):
            self._note_completion()
        self._close()

    def _note_completion(self) -> None:
        """Write optional data for the next run; errors are ignored."""

    def _close(self) -> None:
        self._journal.remove(PLAN)
        self._journal.sync()
        sweep(self._journal)

    def _undo(self) -> None:
        """Restore the previous files."""
        if not self._journal.status(PLAN):
            return
        names = [*self._plan.removals, *self._plan.files]
        with platform.uninterrupted():
            aside = self._journal.folder(_PARTIAL_BACKUP)
            if self._journal.status(_BACKUP):
                aside = self._journal.folder(_BACKUP)
                for name in reversed(self._plan.files):  # ``run.json`` first
                    if self._out.status(name) and not self._staging.status(name):
                        self._out.move(name, self._staging, name)
            for name in (name for name in names if name != RUN):
                self._put_back(aside, name)
            for folder in _above(names):
                with suppress(OSError):
                    self._out.remove_folder(folder)  # only removes empty folders
            platform.run_concurrently(_folders(self._out, names))
            self._put_back(aside, RUN)
            self._close()
            with suppress(OSError):
                self._note_undoing()

    def _note_undoing(self) -> None:
        """Correct the data for the next run; errors are ignored, because surplus data does no harm."""

    def _put_back(self, aside: Folder, name: str) -> None:
        if not self._out.status(name) and self._journal.status(aside.path.name) and aside.status(name):
            aside.link(name, self._out, name)


def pending(journal: Folder) -> CommitPlan | None:
    """Return the plan of an unfinished commit, or ``None``; raise ``ValueError`` if it is damaged."""
    try:
        with journal.open_file(PLAN) as file:
            data = file.read(_PLAN_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(data) > _PLAN_BYTES:
        raise ValueError(PLAN)
    try:
        plan = msgspec.json.decode(data, type=CommitPlan)
    except RecursionError:
        raise ValueError(PLAN) from None
    for name in (*plan.files, *plan.removals):
        validate_name(name)
    return plan


def _plan_bytes(plan: CommitPlan) -> bytes:
    """Encode a plan; raise ``OSError`` for a plan that ``pending`` would reject."""
    data = msgspec.json.encode(plan)
    if len(data) > _PLAN_BYTES:
        raise OSError(EFBIG, "too many files for one run")
    try:
        for name in plan.files:
            validate_name(name)
    except ValueError as name:
        raise OSError(EINVAL, f"{name}: not allowed as the name of an output file") from None
    return data


def is_pending(journal: Folder) -> bool:
    """Return whether a commit was started and must be completed, possibly by the next run."""
    return journal.status(PLAN) is not None


def sweep(journal: Folder) -> None:
    """Remove the files of a completed run, which no other run can use."""
    for name in (STAGING, _PARTIAL_BACKUP, _BACKUP):
        journal.clear(name)
    with suppress(OSError):
        for name in journal.names():
            if name.endswith(".new"):
                journal.remove(name)


def _folders(root: Folder, names: Iterable[str]) -> list[Callable[[], None]]:
    """Return calls that flush the folders that contain these names."""
    return [root.sync, *(partial(root.sync, name) for name in _above(names) if root.status(name))]


def _above(names: Iterable[str]) -> list[str]:
    """Return the folders that contain these names, innermost first, without the output folder itself."""
    folders = {folder for name in names for folder in parent_folders(name)}
    return sorted(folders, key=lambda name: (-name.count("/"), name))
