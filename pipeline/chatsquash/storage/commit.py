"""The commit: all staged files take their places, and what a killed run left half done is finished by the next.

The plan is on the disk before the first file moves, and goes after the last.  While it is there, ``run.json`` is not,
or the files do not have the hashes that it names: a mixture of two runs is never taken for a result.  What is replaced
or removed is kept aside until then, so that a commit that fails leaves the old files as they were.

Staged files, plan and what is kept aside are in one journal folder, which belongs to one run at a time.
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
from chatsquash.storage.folder import Folder, above, inside

RUN = "run.json"
STAGING = "staging"
PLAN = "commit.json"
_PLAN_BYTES = 1 << 27
"""Bytes that a plan may have: a million names."""
_REPLACING, _REPLACED = "replacing", "replaced"
"""What is being put aside, and all that was: only then does the first file move."""


class CommitPlan(Struct):
    """What a commit has to do."""

    files: dict[str, int]
    """Names below OUT and sizes, in the order in which they take their places; ``run.json`` is the last."""
    gone: list[str]
    """What an earlier run wrote and this one did not."""
    memory: bytes
    """What the run wants to know the next time."""


class Commit:
    """One commit in an output folder; ``ours`` is its journal folder."""

    def __init__(self, out: Folder, ours: Folder, plan: CommitPlan) -> None:
        self._out, self._ours, self._plan = out, ours, plan
        self._staging = ours.folder(STAGING)

    def carry_out(self, beside: Iterable[Callable[[], object]] = ()) -> None:
        """Do all of it; where something fails, the folder is as it was before.

        ``beside`` are calls that flush what else has to be on the disk before the plan is.
        """
        try:
            self._prepare(beside)
        except Exception:
            self._give_up()
            raise
        self._complete()

    def finish(self) -> None:
        """Do the rest of what a killed run left; where that cannot be done, the folder is as it was before that run.

        Raises ``ValueError`` for a plan that would replace or move anything but regular files, as none of ours does.
        """
        for name in (*self._plan.files, *self._plan.gone):
            for status in (self._staging.status(name), self._out.status(name)):
                if status and not stat.S_ISREG(status.st_mode):
                    raise ValueError(PLAN)
        if not all(self._has(name, size) for name, size in self._plan.files.items()):
            self._undo()
            return
        try:
            self._complete()
        except OSError:
            if is_pending(self._ours):  # neither could be done
                raise

    def _has(self, name: str, size: int) -> bool:
        """Whether a file is staged or in its place, where the one that it replaces does not count."""
        staged, placed = self._staging.status(name), self._out.status(name)
        if staged:
            return staged.st_size == size
        olds = [self._ours.folder(aside).status(name) for aside in (_REPLACING, _REPLACED)]
        is_old = any(old and placed and os.path.samestat(old, placed) for old in olds)
        return placed is not None and placed.st_size == size and not is_old

    def _complete(self) -> None:
        with platform.uninterrupted():
            try:
                self._place()
            except Exception:
                self._give_up()
                raise
            self._conclude()

    def _give_up(self) -> None:
        with suppress(OSError):  # the next run tries it again
            self._undo()

    def _prepare(self, beside: Iterable[Callable[[], object]]) -> None:
        """Make sure that all staged files and the plan are on the disk: from here on the commit will be finished."""
        ours, plan = self._ours, self._plan
        for name in (_REPLACING, _REPLACED):
            if ours.status(name):  # it would be put back
                raise OSError(ENOTEMPTY, f"{ours.path / name}: cannot be removed")
        written = {**self._notes(), PLAN: _plan_bytes(plan)}
        try:
            for name, data in written.items():
                ours.write_new(name, data)
            new = (partial(ours.sync, f"{name}.new") for name in written)
            staged = (partial(self._staging.sync, name) for name in plan.files)
            platform.run_concurrently([*beside, *new, *staged, *_folders(self._staging, plan.files)])
            for name in written:
                ours.move(f"{name}.new", ours, name)
        except BaseException:
            for name in written:
                ours.remove(f"{name}.new")
            raise
        ours.sync()

    def _notes(self) -> dict[str, bytes]:
        """Files of the journal folder that have to be on the disk before the plan is, by name."""
        return {}

    def _place(self) -> None:
        """Put the files in their places, those that are not there yet.

        The old ``run.json`` goes first and the new one comes when all else is on the disk.
        """
        out, plan = self._out, self._plan
        self._put_aside()
        if self._staging.status(RUN):
            out.remove(RUN)
        for name in plan.gone:
            out.remove(name)
        for name in plan.files:
            if name != RUN:
                self._settle(name)
        platform.run_concurrently(_folders(out, [*plan.files, *plan.gone]))
        if RUN in plan.files:
            self._settle(RUN)
            out.sync()

    def _put_aside(self) -> None:
        """Keep what will be replaced or removed; it stays in its place, too, where the system has such links."""
        if self._ours.status(_REPLACED):
            return
        self._ours.make(_REPLACING)
        aside = self._ours.folder(_REPLACING)
        for name in (*self._plan.gone, *self._plan.files):
            if self._out.status(name) and not aside.status(name):
                self._out.link(name, aside, name)
        aside.close()
        self._ours.move(_REPLACING, self._ours, _REPLACED)

    def _settle(self, name: str) -> None:
        if self._staging.status(name):
            self._staging.move(name, self._out, name)

    def _conclude(self) -> None:
        with suppress(OSError):
            self._note_completion()
        self._close()

    def _note_completion(self) -> None:
        """Write what the next run uses; if that fails, it does without."""

    def _close(self) -> None:
        self._ours.remove(PLAN)
        self._ours.sync()
        sweep(self._ours)

    def _undo(self) -> None:
        """Put back what stood there before."""
        if not self._ours.status(PLAN):
            return
        names = [*self._plan.gone, *self._plan.files]
        with platform.uninterrupted():
            aside = self._ours.folder(_REPLACING)
            if self._ours.status(_REPLACED):
                aside = self._ours.folder(_REPLACED)
                for name in reversed(self._plan.files):  # ``run.json`` first
                    if self._out.status(name) and not self._staging.status(name):
                        self._out.move(name, self._staging, name)
            for name in (name for name in names if name != RUN):
                self._put_back(aside, name)
            for folder in _above(names):
                with suppress(OSError):
                    self._out.remove_folder(folder)  # does nothing to one that is not empty
            platform.run_concurrently(_folders(self._out, names))
            self._put_back(aside, RUN)
            self._close()
            with suppress(OSError):
                self._note_undoing()

    def _note_undoing(self) -> None:
        """Correct what the commit noted; if that fails, it contains too much, which does no harm."""

    def _put_back(self, aside: Folder, name: str) -> None:
        if not self._out.status(name) and self._ours.status(aside.path.name) and aside.status(name):
            aside.link(name, self._out, name)


def pending(ours: Folder) -> CommitPlan | None:
    """The plan of a commit that was not finished; raises ``ValueError`` for one that is damaged."""
    try:
        with ours.reading(PLAN) as file:
            data = file.read(_PLAN_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(data) > _PLAN_BYTES:
        raise ValueError(PLAN)
    try:
        plan = msgspec.json.decode(data, type=CommitPlan)
    except RecursionError:
        raise ValueError(PLAN) from None
    for name in (*plan.files, *plan.gone):
        inside(name)
    return plan


def _plan_bytes(plan: CommitPlan) -> bytes:
    """A plan that ``pending`` reads; raises ``OSError`` for one that it would refuse."""
    data = msgspec.json.encode(plan)
    if len(data) > _PLAN_BYTES:
        raise OSError(EFBIG, "too many files for one run")
    try:
        for name in plan.files:
            inside(name)
    except ValueError as name:
        raise OSError(EINVAL, f"{name}: no file of ours may have such a name") from None
    return data


def is_pending(ours: Folder) -> bool:
    """Whether a commit has begun that is to be finished, if need be by the next run."""
    return ours.status(PLAN) is not None


def sweep(ours: Folder) -> None:
    """Remove what a run leaves that is over: nothing that another could go on with."""
    for name in (STAGING, _REPLACING, _REPLACED):
        ours.clear(name)
    with suppress(OSError):
        for name in ours.names():
            if name.endswith(".new"):
                ours.remove(name)


def _folders(root: Folder, names: Iterable[str]) -> list[Callable[[], None]]:
    """What flushes the folders that hold these names."""
    return [root.sync, *(partial(root.sync, name) for name in _above(names) if root.status(name))]


def _above(names: Iterable[str]) -> list[str]:
    """The folders that these names stand in, the innermost first; not the outermost."""
    folders = {folder for name in names for folder in above(name)}
    return sorted(folders, key=lambda name: (-name.count("/"), name))
