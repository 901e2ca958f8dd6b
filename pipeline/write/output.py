"""The output folder: staged files that take their places together, and the record of what is ours in it."""

from __future__ import annotations

import json
import os
import shutil
from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pipeline import platform
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from hashlib import _Hash

OURS = ".chatsquash"
RUN = "run.json"
_OPEN_FILES = 32


@dataclass(slots=True)
class Staged:
    """A file on its way: where it will stand, its size in bytes and its hash so far."""

    name: str
    """Below OUT, parts joined by ``/``."""
    size: int = 0
    lines: int = 0
    digest: _Hash = field(default_factory=sha256)


class Output:
    """An output folder that is ours.

    Files are written below ``OUT/.chatsquash/staging`` and take their places in ``commit``, each by one rename and
    ``run.json`` last.  What an earlier run wrote there is replaced or removed; nothing else is ever touched.

    Raises ``UsageError`` for a folder that is not empty and not ours, unless ``force``; and, whatever ``force`` says,
    before a file would take the place of one that is not in the record of what we wrote.
    """

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self.path = path
        self._ours = path / OURS
        self._staging = self._ours / "staging"
        self._claim(force=force)
        self._written = self._read_record()
        self._staged: dict[str, Staged] = {}
        self._handles: OrderedDict[str, BinaryIO] = OrderedDict()

    def _claim(self, *, force: bool) -> None:
        try:
            if self.path.exists() and not self.path.is_dir():
                raise UsageError(f"{self.path}: is a file; choose another folder with --output")
            if not self._ours.is_dir() and self.path.is_dir() and any(self.path.iterdir()) and not force:
                hint = "choose another with --output, or add to it with --force"
                raise UsageError(f"{self.path}: is not empty and was not written by chatsquash; {hint}")
            self._ours.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(self._staging, ignore_errors=True)
            self._staging.mkdir()
        except OSError as problem:
            raise UsageError(f"{self.path}: cannot be written to ({problem.strerror})") from None

    def _read_record(self) -> list[str]:
        try:
            record = json.loads((self._ours / "written.json").read_bytes())
            return [str(name) for name in record["files"]]
        except FileNotFoundError:
            return []
        except (ValueError, KeyError, TypeError):
            damaged = self._ours / "written.json"
            raise UsageError(f"{damaged}: is damaged; choose another folder with --output") from None

    def append(self, name: str, data: bytes, *, private: bool = False) -> None:
        """Add a line to a staged file."""
        staged = self._staged.get(name)
        if staged is None:
            self._refuse_foreign(name)
            staged = self._staged[name] = Staged(name)
        handle = self._handle(name, private=private)
        for piece in (data, b"\n"):
            handle.write(piece)
            staged.digest.update(piece)
        staged.size += len(data) + 1
        staged.lines += 1

    def write(self, name: str, data: bytes) -> None:
        """Stage a whole file."""
        self._refuse_foreign(name)
        staged = self._staged[name] = Staged(name)
        self._handle(name).write(data)
        staged.digest.update(data)
        staged.size = len(data)

    def staged(self) -> list[Staged]:
        """The files staged so far, by name."""
        return [self._staged[name] for name in sorted(self._staged)]

    def commit(self) -> None:
        """Put every staged file in its place, ``run.json`` last, and remove what earlier runs wrote and this did not."""
        for handle in self._handles.values():
            handle.close()
        names = sorted(self._staged, key=lambda name: (name == RUN, name))
        for name in names:
            with open(self._staging / name, "rb") as file:
                os.fsync(file.fileno())
        self._record(sorted({*self._written, *names}))
        stale = [name for name in self._written if name not in self._staged]
        for name in stale:
            (self.path / name).unlink(missing_ok=True)
        for name in names:
            target = self.path / name
            target.parent.mkdir(exist_ok=True)
            if name == RUN:
                self._sync()
            (self._staging / name).replace(target)
        self._sync()
        self._record(names)
        shutil.rmtree(self._staging)

    def discard(self) -> None:
        """Forget what was staged; what stood in the folder stays."""
        for handle in self._handles.values():
            handle.close()
        shutil.rmtree(self._staging, ignore_errors=True)

    def _sync(self) -> None:
        for folder in (self.path / "reports", self.path):
            if folder.is_dir():
                platform.sync_folder(folder)

    def _record(self, names: list[str]) -> None:
        """Say which files are ours; before they appear and after others went, so that it never says too little."""
        beside = self._ours / "written.json.new"
        with open(beside, "wb") as file:
            file.write(json.dumps({"files": names}, indent=1).encode())
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._ours / "written.json")
        platform.sync_folder(self._ours)

    def _refuse_foreign(self, name: str) -> None:
        target = self.path / name
        if name not in self._written and os.path.lexists(target):
            hint = "move it away, or choose another folder with --output"
            raise UsageError(f"{target}: was not written by chatsquash and would be overwritten; {hint}")

    def _handle(self, name: str, *, private: bool = False) -> BinaryIO:
        """An open file; of many groups only some are open at a time."""
        handle = self._handles.get(name)
        if handle is None:
            path = self._staging / name
            path.parent.mkdir(exist_ok=True)
            if len(self._handles) >= _OPEN_FILES:
                self._handles.popitem(last=False)[1].close()
            if private and not path.exists():
                os.close(platform.private(path))
            handle = self._handles[name] = open(path, "ab")  # noqa: SIM115 - closed by commit and discard
        self._handles.move_to_end(name)
        return handle
