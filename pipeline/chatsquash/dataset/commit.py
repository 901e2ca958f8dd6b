"""The commit of a dataset, which also updates the record of written files and the state for the next run."""

from __future__ import annotations

import stat
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from chatsquash.core.model import OURS
from chatsquash.dataset import claim
from chatsquash.storage.commit import Commit, CommitPlan
from chatsquash.storage.folder import Folder

_STATE = "state.json"


class Committed(Struct):
    """The state of the folder after the last commit."""

    files: dict[str, tuple[int, int]]
    """The size of each file and its modification time, in nanoseconds since the epoch."""
    memory: bytes


class DatasetCommit(Commit):
    """A commit in an output folder of ``convert``."""

    def __init__(self, out: Folder, plan: CommitPlan) -> None:
        super().__init__(out, out.folder(OURS), plan)

    def _notes(self) -> dict[str, bytes]:
        return {claim.RECORD: claim.record({*self._plan.files, *self._plan.removals})}

    def _note_completion(self) -> None:
        ours, plan = self._journal, self._plan
        if plan.removals:
            ours.replace(claim.RECORD, claim.record(plan.files))
        # Not flushed to disk, because a file damaged by a crash is detected when it is read.
        ours.write_new(_STATE, msgspec.json.encode(Committed(_statuses(self._out, plan.files), plan.memory)))
        ours.move(f"{_STATE}.new", ours, _STATE)

    def _note_undoing(self) -> None:
        remaining = (name for name in (*self._plan.removals, *self._plan.files) if self._out.status(name))
        self._journal.replace(claim.RECORD, claim.record(remaining))


def read_memory(out: Folder) -> tuple[bytes, bool]:
    """Return the memory of the last run, empty if there is none, and whether all its files are unchanged."""
    try:
        state = msgspec.json.decode(out.read(f"{OURS}/{_STATE}"), type=Committed)
    except (OSError, ValueError, RecursionError):
        return b"", False
    try:
        is_unchanged = _statuses(out, state.files) == state.files
    except (OSError, ValueError):
        is_unchanged = False
    return state.memory, is_unchanged


def _statuses(out: Folder, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the sizes and modification times of regular files."""
    statuses = ((name, out.status(name)) for name in names)
    return {name: (each.st_size, each.st_mtime_ns) for name, each in statuses if each and stat.S_ISREG(each.st_mode)}
