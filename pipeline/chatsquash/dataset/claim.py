"""The files that chatsquash wrote to an output folder: checks that a run replaces no others, and their commit."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from chatsquash.core import platform
from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS
from chatsquash.storage.commit import Commit, CommitPlan
from chatsquash.storage.folder import Folder, parent_folders, validate_name

RECORD = "written.json"
"""The file that lists the files written by runs."""
FOLDERS = (OURS, "reports", "data", "images", "traces", "provenance")
"""The folders that chatsquash writes to; none of them may be a link."""
# Report files that are read without the modules that write them.
FINDINGS = "reports/findings.jsonl"
REJECTED = "reports/rejected.jsonl"
REPLIES = "reports/replies.jsonl"
LABELS = "reports/loss-labels.jsonl"
PROVENANCE = "provenance"
"""The folder of the provenance."""
FORGOTTEN = "reports/forgotten.jsonl"
"""The receipts of ``forget``."""
_STATE = "state.json"
_ANOTHER = "or choose another folder with --output"


def record(names: Iterable[str]) -> bytes:
    """Return the content of the record.

    It is written before files are added and after files are removed, so that it always lists all written files.
    """
    return json.dumps({"files": sorted(names)}, indent=1).encode()


def recorded_files(ours: Folder) -> list[str]:
    """Return the files that earlier runs wrote, as paths under OUT; raise ``UsageError`` if the record is damaged."""
    try:
        return [validate_name(name) for name in json.loads(ours.read(RECORD))["files"]]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError, RecursionError):
        raise damage_error(ours.path / RECORD) from None


def damage_error(path: Path) -> UsageError:
    """Return the error for a damaged record or commit plan."""
    hint = f"delete {path.parent}, after which all other files in the folder are treated as foreign"
    return UsageError(f"{path}: is damaged; choose another folder with --output, or {hint}")


def refuse_others(path: Path, display_path: Path, *, force: bool) -> None:
    """Raise ``UsageError`` if a path is not a folder, or contains foreign files and ``force`` is not set."""
    if path.is_symlink() and not path.exists():
        raise UsageError(f"{display_path}: broken link; remove it, {_ANOTHER}")
    if path.exists() and not path.is_dir():
        raise UsageError(f"{display_path}: not a folder; choose another with --output")
    names = {each.name for each in path.iterdir()} if path.is_dir() else set()
    if names and OURS not in names and not force:
        hint = "choose another with --output, or add to it with --force"
        raise UsageError(f"{display_path}: folder is not empty and was not written by chatsquash; {hint}")


def refuse_links(out: Folder, display_path: Path) -> None:
    """Raise ``UsageError`` if a folder or file to write is a link, because writing would follow it."""
    for name in FOLDERS:
        if (status := out.status(name)) and stat.S_ISLNK(status.st_mode):
            raise _link(display_path / name)
    status = out.status(OURS)
    if status is None:
        return
    if not stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{display_path / OURS}: not a folder; move it elsewhere, {_ANOTHER}")
    ours = out.folder(OURS)
    for name in ours.unexpected_entries():
        information = ours.status(name)
        raise (_link if information and stat.S_ISLNK(information.st_mode) else _foreign)(display_path / OURS / name)
    for name in ours.names():  # a file cannot replace a folder
        if (
            name.endswith((".json", ".json.new"))
            and (information := ours.status(name))
            and stat.S_ISDIR(information.st_mode)
        ):
            raise _foreign(display_path / OURS / name)


def _foreign(path: Path) -> UsageError:
    return UsageError(f"{path}: not written by chatsquash; remove it, {_ANOTHER}")


def _link(path: Path) -> UsageError:
    why = "is a link, and files written to it would end up in its target"
    return UsageError(f"{path}: {why}; remove the link, which does not change its target, {_ANOTHER}")


class Claim:
    """Checks whether files may be written: only files written by chatsquash are replaced, and only by a rename."""

    def __init__(self, out: Folder, display_path: Path) -> None:
        self._out, self._display_path = out, display_path
        self._ours: dict[str, None] = {}
        self._usable: set[str] = set()

    @property
    def ours(self) -> Collection[str]:
        """The files that earlier runs wrote, in order."""
        return self._ours.keys()

    @ours.setter
    def ours(self, names: Iterable[str]) -> None:
        self._ours = dict.fromkeys(names)  # looked up for each written file

    def refuse_foreign(self, *names: str) -> None:
        """Raise ``UsageError`` if one of these files would replace a file that chatsquash did not write."""
        for name in names:
            obstacle = self._find_obstacle(name, self._ours)
            if obstacle is not None:
                why = "not written by chatsquash, but would be overwritten"
                raise UsageError(f"{self._display_path / obstacle}: {why}; move it elsewhere, {_ANOTHER}")

    def _find_obstacle(self, name: str, known: Collection[str]) -> str | None:
        for folder in parent_folders(name):
            status = self._out.status(folder)
            if status is None:
                return None
            if not stat.S_ISDIR(status.st_mode):
                return folder
        status = self._out.status(name)
        # A link is replaced like a file, because a rename does not follow it.
        if status is None or (name in known and (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode))):
            return None
        return name

    def refuse_unusable(self, *names: str) -> None:
        """Raise ``UsageError`` if files cannot be renamed into the folder of one of these files."""
        for folder in dict.fromkeys(folder for name in names for folder in ("", *parent_folders(name))):
            if folder not in self._usable:
                self._refuse_folder(folder)
                self._usable.add(folder)

    def _refuse_folder(self, name: str) -> None:
        if name and self._out.status(name) is None:
            return
        path = self._display_path / name
        ours, folder = self._out.folder(OURS), self._out.folder(name) if name else self._out
        try:
            if platform.mount(folder.descriptor) != platform.mount(ours.descriptor):
                where = path if name else self._display_path / OURS
                why = "is on a different file system than the output folder, so files cannot be moved there in one step"
                raise UsageError(f"{where}: {why}; unmount it, {_ANOTHER}")
            if not os.access(".", os.W_OK | os.X_OK, dir_fd=folder.descriptor):
                raise UsageError(f"{path}: cannot be written to (Permission denied); change its mode, {_ANOTHER}")
        finally:
            if name:
                folder.close()


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
        return {RECORD: record({*self._plan.files, *self._plan.removals})}

    def _note_completion(self) -> None:
        ours, plan = self._journal, self._plan
        if plan.removals:
            ours.replace(RECORD, record(plan.files))
        # Not flushed to disk, because a file damaged by a crash is detected when it is read.
        ours.write_new(_STATE, msgspec.json.encode(Committed(_statuses(self._out, plan.files), plan.memory)))
        ours.move(f"{_STATE}.new", ours, _STATE)

    def _note_undoing(self) -> None:
        remaining = (name for name in (*self._plan.removals, *self._plan.files) if self._out.status(name))
        self._journal.replace(RECORD, record(remaining))


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
