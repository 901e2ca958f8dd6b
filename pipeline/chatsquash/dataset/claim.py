"""What is ours in an output folder; what a run must not touch or cannot use there is refused before it begins."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from chatsquash.core import platform
from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS
from chatsquash.storage.folder import Folder, parent_folders, validate_name

RECORD = "written.json"
"""The record of the files that runs wrote."""
FOLDERS = (OURS, "reports", "data", "images")
"""The folders of ours, which no link may stand for."""
_ANOTHER = "or choose another folder with --output"


def record(names: Iterable[str]) -> bytes:
    """The record of these: written before files appear and after others went, so that it never says too little."""
    return json.dumps({"files": sorted(names)}, indent=1).encode()


def recorded_files(ours: Folder) -> list[str]:
    """The files that earlier runs wrote, as paths below OUT."""
    try:
        return [validate_name(name) for name in json.loads(ours.read(RECORD))["files"]]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError, RecursionError):
        raise damage(ours.path / RECORD) from None


def damage(path: Path) -> UsageError:
    """The error for a file that says what is ours and cannot be read."""
    hint = f"delete {path.parent}, after which all that stands beside it counts as foreign"
    return UsageError(f"{path}: is damaged; choose another folder with --output, or {hint}")


def refuse_others(path: Path, shown: Path, *, force: bool) -> None:
    """Raise ``UsageError`` for what is no folder, and for one that has files of others in it, unless ``force``."""
    if path.is_symlink() and not path.exists():
        raise UsageError(f"{shown}: is a link that leads to no folder; remove it, {_ANOTHER}")
    if path.exists() and not path.is_dir():
        raise UsageError(f"{shown}: is a file; choose another folder with --output")
    names = {each.name for each in path.iterdir()} if path.is_dir() else set()
    if names and OURS not in names and not force:
        hint = "choose another with --output, or add to it with --force"
        raise UsageError(f"{shown}: is not empty and was not written by chatsquash; {hint}")


def refuse_links(out: Folder, shown: Path) -> None:
    """Raise ``UsageError`` for a link that stands for a folder or a file of ours: what is written may lead anywhere."""
    for name in FOLDERS:
        if (status := out.status(name)) and stat.S_ISLNK(status.st_mode):
            raise _link(shown / name)
    status = out.status(OURS)
    if status is None:
        return
    if not stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{shown / OURS}: is not a folder; move it away, {_ANOTHER}")
    ours = out.folder(OURS)
    for name in ours.unexpected_entries():
        information = ours.status(name)
        raise (_link if information and stat.S_ISLNK(information.st_mode) else _foreign)(shown / OURS / name)
    for name in ours.names():  # a file of ours could not take its place
        if (
            name.endswith((".json", ".json.new"))
            and (information := ours.status(name))
            and stat.S_ISDIR(information.st_mode)
        ):
            raise _foreign(shown / OURS / name)


def _foreign(path: Path) -> UsageError:
    return UsageError(f"{path}: was not written by chatsquash; remove it, {_ANOTHER}")


def _link(path: Path) -> UsageError:
    why = "is a link, and what is written there would end up where it leads"
    return UsageError(f"{path}: {why}; remove it, which leaves that as it is, {_ANOTHER}")


class Claim:
    """What may be written to in an output folder: nothing that is not ours, and nothing that a rename cannot reach."""

    def __init__(self, out: Folder, shown: Path) -> None:
        self._out, self._shown = out, shown
        self.ours: list[str] = []
        """The files that earlier runs wrote."""
        self._usable: set[str] = set()

    def refuse_foreign(self, *names: str) -> None:
        """Raise ``UsageError`` where one of these files would take the place of something that is not ours."""
        known = set(self.ours)
        for name in names:
            taken = self._in_the_way(name, known)
            if taken is not None:
                why = "was not written by chatsquash and would be overwritten"
                raise UsageError(f"{self._shown / taken}: {why}; move it away, {_ANOTHER}")

    def _in_the_way(self, name: str, known: set[str]) -> str | None:
        for folder in parent_folders(name):
            status = self._out.status(folder)
            if status is None:
                return None
            if not stat.S_ISDIR(status.st_mode):
                return folder
        status = self._out.status(name)
        # A link, to whatever, is replaced as a file is: the rename does not follow it.
        if status is None or (name in known and (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode))):
            return None
        return name

    def refuse_unusable(self, *names: str) -> None:
        """Raise ``UsageError`` where the folder of one of these files cannot be written to by a rename."""
        for folder in dict.fromkeys(folder for name in names for folder in ("", *parent_folders(name))):
            if folder not in self._usable:
                self._refuse_folder(folder)
                self._usable.add(folder)

    def _refuse_folder(self, name: str) -> None:
        if name and self._out.status(name) is None:
            return
        path = self._shown / name
        ours, folder = self._out.folder(OURS), self._out.folder(name) if name else self._out
        try:
            if platform.mount(folder.descriptor) != platform.mount(ours.descriptor):
                where = path if name else self._shown / OURS
                why = "is on another file system than the rest of the folder, where no file can take its place at once"
                raise UsageError(f"{where}: {why}; unmount it, {_ANOTHER}")
            if not os.access(".", os.W_OK | os.X_OK, dir_fd=folder.descriptor):
                raise UsageError(f"{path}: cannot be written to (Permission denied); allow it, {_ANOTHER}")
        finally:
            if name:
                folder.close()
