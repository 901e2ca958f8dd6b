"""The output folder: staged files that take their places together, and the record of what is ours in it."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec import Struct, field

from pipeline import platform
from pipeline.errors import UsageError
from pipeline.model import OURS
from pipeline.write import commit
from pipeline.write.commit import RUN, STAGING, Plan

if TYPE_CHECKING:
    from hashlib import _Hash

__all__ = ["RUN", "Output", "Staged"]
_OPEN_FILES = 32
_TOGETHER = 1 << 16
"""Bytes of lines that wait, so that those of a file are written and hashed at once."""


class Staged(Struct):
    """A file on its way: where it will stand, its size in bytes and its hash so far."""

    name: str
    """Below OUT, parts joined by ``/``."""
    size: int = 0
    lines: int = 0
    digest: _Hash = field(default_factory=sha256)

    def add(self, data: bytes | bytearray, lines: int | None = None) -> None:
        """Count bytes that were written, and their lines, unless they are said to hold others than one sees."""
        self.size += len(data)
        self.lines += data.count(b"\n") if lines is None else lines
        self.digest.update(data)


class Output:
    """An output folder that is ours.

    Files are written below ``OUT/.chatsquash/staging`` and take their places in ``commit``, each by one rename and
    ``run.json`` last; a commit that an earlier run did not get to finish is finished first.  What an earlier run wrote
    there is replaced or removed; nothing else is ever touched.

    Raises ``UsageError`` for a folder that is not empty and not ours, unless ``force``; for one that another process
    is writing to; and, whatever ``force`` says, before a file would take the place of one that is not in the record of
    what we wrote.
    """

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self.path = path
        self._ours = path / OURS
        self._staging = path / STAGING
        self._made: list[Path] = []
        self._lock: int | None = None
        self._written: list[str] = []
        self._staged: dict[str, Staged] = {}
        self._handles: OrderedDict[str, BinaryIO] = OrderedDict()
        self._waiting: dict[str, list[bytes]] = {}
        self._held = 0
        try:
            self._claim(force=force)
        except OSError as problem:
            self.discard()
            raise UsageError(f"{path}: cannot be written to ({problem.strerror})") from None
        except UsageError:
            self.discard()
            raise

    def _claim(self, *, force: bool) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path}: is a file; choose another folder with --output")
        if not self._ours.is_dir() and self.path.is_dir() and any(self.path.iterdir()) and not force:
            hint = "choose another with --output, or add to it with --force"
            raise UsageError(f"{self.path}: is not empty and was not written by chatsquash; {hint}")
        self._made = [folder for folder in (self._ours, self.path, *self.path.parents) if not folder.exists()]
        self._ours.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = platform.lock(self._ours / "lock")
        except BlockingIOError as owner:
            who = f" ({owner.strerror})" if owner.strerror else ""
            hint = "wait for it, or choose another folder with --output"
            raise UsageError(f"{self.path}: another run is writing there{who}; {hint}") from None
        self._written = _read_record(self._ours / "written.json")
        self.refuse_foreign(*self._written)  # what took the place of one of our files since
        self._finish_earlier()
        platform.clear(self._staging)
        self._staging.mkdir()

    def refuse_foreign(self, *names: str) -> None:
        """Raise ``UsageError`` where one of these files would take the place of something that is not ours."""
        for name in names:
            target = self.path / name
            if target.parent != self.path and os.path.lexists(target.parent) and not target.parent.is_dir():
                target = target.parent
            elif not os.path.lexists(target) or (name in self._written and _is_file(target)):
                continue
            hint = "move it away, or choose another folder with --output"
            raise UsageError(f"{target}: was not written by chatsquash and would be overwritten; {hint}")

    def append(self, name: str, data: bytes) -> None:
        """Add a line to a staged file."""
        if name not in self._staged:
            self._stage(name)
        self._waiting.setdefault(name, []).append(data)
        self._held += len(data)
        if self._held >= _TOGETHER:
            self._flush()

    def append_private(self, name: str, pieces: Iterable[bytes]) -> None:
        """Add a line, piece by piece, to a staged file that only its owner can read."""
        if name not in self._staged:
            self.refuse_foreign(name)
            os.close(platform.private(self._place(name)))
        self._add(name, chain(pieces, (b"\n",)))

    def write(self, name: str, data: bytes | bytearray, lines: int | None = None) -> None:
        """Stage a whole file, or a piece of one; ``lines`` is how many records a piece holds that is no text."""
        self._add(name, (data,), lines)

    def rename(self, name: str, to: str) -> None:
        """Give a staged file another name."""
        self.refuse_foreign(to)
        self._flush()
        if handle := self._handles.pop(name, None):
            handle.close()
        self._place(name).rename(self._place(to))
        staged = self._staged[to] = self._staged.pop(name)
        staged.name = to

    def staged(self) -> list[Staged]:
        """The files staged so far, by name."""
        self._flush()
        return [self._staged[name] for name in sorted(self._staged)]

    def remembered(self) -> tuple[bytes, bool]:
        """What the last run gave to ``commit`` to remember, and whether all its files stand as it left them."""
        return commit.remembered(self.path)

    def is_decided(self) -> bool:
        """Whether a commit has begun that is to be finished, if need be by the next run."""
        return (self.path / commit.PLAN).exists()

    def commit(self, memory: bytes = b"") -> None:
        """Put all staged files in their places, ``run.json`` last; what only earlier runs wrote is removed."""
        self._flush()
        for handle in self._handles.values():
            handle.close()
        names = sorted(self._staged, key=lambda name: (name == RUN, name))
        gone = [name for name in self._written if name not in self._staged]
        plan = Plan({name: self._staged[name].size for name in names}, gone, memory)
        for folder in self._made:
            with suppress(PermissionError):  # one may be allowed to make folders somewhere, and not to list them
                platform.sync(folder.parent)
        commit.prepare(self.path, plan, self._record)
        with platform.uninterrupted():
            commit.finish(self.path, plan, self._record)
        self.discard()

    def discard(self) -> None:
        """Forget what is staged; what stood in the folder stays, and a folder that we made goes."""
        for handle in self._handles.values():
            with suppress(OSError):
                handle.close()
        if self._lock is not None:
            if not self.is_decided():
                platform.clear(self._staging)
            if self._ours in self._made and not (self._ours / "written.json").exists():
                (self._ours / "lock").unlink(missing_ok=True)
            platform.unlock(self._lock)
            self._lock = None
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()  # does nothing to one that is not empty

    def _finish_earlier(self) -> None:
        """Finish the commit of a run that was killed; what cannot be finished is no result, and is written anew."""
        path = self.path / commit.PLAN
        try:
            plan = commit.pending(self.path)
            names = [inside(name) for name in (*plan.files, *plan.gone)] if plan else []
        except ValueError:
            raise _damaged(path) from None
        if plan is None:
            return
        self.refuse_foreign(*names)
        if commit.can_be_finished(self.path, plan):
            commit.finish(self.path, plan, self._record)
            self._written = list(plan.files)
        else:
            path.unlink()

    def _record(self, names: Iterable[str]) -> None:
        """Say which files are ours; before they appear and after others went, so that it never says too little."""
        commit.replace(self._ours / "written.json", json.dumps({"files": sorted(names)}, indent=1).encode())

    def _add(self, name: str, pieces: Iterable[bytes | bytearray], lines: int | None = None) -> None:
        if name not in self._staged:
            self._stage(name)
        self._flush()  # what came before
        self._put(name, pieces, lines)

    def _stage(self, name: str) -> None:
        self.refuse_foreign(name)
        self._staged[name] = Staged(name)

    def _flush(self) -> None:
        """Write the lines that wait."""
        waiting, self._waiting, self._held = self._waiting, {}, 0
        for name, lines in waiting.items():
            self._put(name, (b"\n".join((*lines, b"")),))

    def _put(self, name: str, pieces: Iterable[bytes | bytearray], lines: int | None = None) -> None:
        handle, staged = self._handle(name), self._staged[name]
        for piece in pieces:
            handle.write(piece)
            staged.add(piece, lines)

    def _handle(self, name: str) -> BinaryIO:
        """An open file; of many groups only some are open at a time."""
        handle = self._handles.get(name)
        if handle is None:
            if len(self._handles) >= _OPEN_FILES:
                self._handles.popitem(last=False)[1].close()
            handle = self._handles[name] = self._place(name).open("ab")
        self._handles.move_to_end(name)
        return handle

    def _place(self, name: str) -> Path:
        place = self._staging / name
        place.parent.mkdir(parents=True, exist_ok=True)
        return place


def _read_record(path: Path) -> list[str]:
    """The files that earlier runs wrote, as paths below OUT."""
    try:
        record = json.loads(path.read_bytes())
        return [inside(name) for name in record["files"]]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError):
        raise _damaged(path) from None


def _damaged(path: Path) -> UsageError:
    hint = f"delete {path.parent}, after which all that stands beside it counts as foreign"
    return UsageError(f"{path}: is damaged; choose another folder with --output, or {hint}")


def _is_file(path: Path) -> bool:
    """Whether a path is a regular file or a link, to whatever: what a rename replaces and nothing is lost."""
    return path.is_symlink() or path.is_file()


def inside(name: Any) -> str:
    """A name that leads nowhere else, whoever wrote it."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or parts[0] in ("/", OURS):
        raise ValueError(name)
    return str(name)
