"""Where translated conversations are written: beside their place until all are there, then in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, Protocol

from chatsquash import platform
from chatsquash.errors import UsageError
from chatsquash.folder import Folder
from chatsquash.model import OURS, STAGED
from chatsquash.sources.compression import KINDS, uncompressed
from chatsquash.translate.sources import STREAM
from chatsquash.write.groups import sanitised
from chatsquash.write.jsonl import PACKERS, Packer
from chatsquash.write.lock import lock, unlock

_IN_MEMORY = 16 << 20
"""Bytes for a pipe that wait in memory; more wait in a file without a name."""


class Output(Protocol):
    """Takes documents by their names."""

    def write(self, name: str, data: bytes) -> None:
        """Take a document, with its line feed."""

    def commit(self) -> None:
        """Put all that was taken in its place; raises ``UsageError`` where that cannot be."""


@contextmanager
def output(place: str, stdout: BinaryIO | None, *, jsonl: bool, force: bool) -> Iterator[Output]:
    """The output of a translation; what is not committed goes.  Raises ``UsageError`` for what is there already."""
    if place == STREAM:
        if stdout is None:
            raise UsageError("standard output is closed; name a folder or a file with --output")
        with SpooledTemporaryFile(_IN_MEMORY) as held:
            yield _Stream(held, stdout, several=jsonl)
        return
    path = Path(place)
    if not place or (path.name == ".." and not path.is_dir()):
        raise UsageError(f"{place!r}: names no file and no folder; choose another with --output")
    if jsonl:
        _refuse(path, force=force)
        packer = packer_of(path)
    is_inside = not jsonl and os.path.lexists(path)
    staged = Staged(path if is_inside else path.parent, force=force)
    try:
        staged.begin()
        yield _File(path, staged, packer) if jsonl else _Folder(path, staged, is_new=not is_inside)
    except OSError as problem:
        raise UsageError(f"{path}: cannot be written ({problem.strerror})") from None
    finally:
        with platform.uninterrupted():
            staged.discard()


class _Stream:
    """Standard output."""

    def __init__(self, held: IO[bytes], stdout: BinaryIO, *, several: bool) -> None:
        self._held, self._stdout, self._several = held, stdout, several
        self._count = 0

    def write(self, name: str, data: bytes) -> None:  # noqa: ARG002 - the protocol's
        self._count += 1
        self._held.write(data)

    def commit(self) -> None:
        if self._count > 1 and not self._several:
            raise UsageError(f"{self._count} conversations: print them with --jsonl, or name a folder")
        self._held.seek(0)
        shutil.copyfileobj(self._held, self._stdout)
        self._stdout.flush()


def _refuse(path: Path, *, force: bool) -> None:
    if not os.path.lexists(path):
        return
    if not path.is_file():
        raise UsageError(f"{path}: is there already, and is no regular file; choose another place with --output")
    if not force:
        raise UsageError(f"{path}: is there already; --force replaces it")


def _made(folder: Path) -> list[Path]:
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


def is_lines(place: str) -> bool:
    """Whether the name of an output says that it is one file of lines, plain or compressed."""
    return Path(uncompressed(place)).suffix.lower() in (".jsonl", ".ndjson")


def packer_of(path: Path) -> Packer:
    """What compresses a file of lines, as its name says."""
    suffix = path.suffix.lower() if path.suffix.lower() in KINDS else ""
    if f"jsonl{suffix}" not in PACKERS:
        raise UsageError(f"{path}: {suffix} is read only; .gz and .zst are written")
    return PACKERS[f"jsonl{suffix}"]()


class Staged:
    """A folder of this run beside the places that its files will take; other runs neither read nor touch it."""

    def __init__(self, place: Path, *, force: bool) -> None:
        self.place, self.force = place, force
        self._folder = Folder(place)
        self._made: list[Path] = []
        self._name = ""
        self._lock: int | None = None
        self._files: list[BinaryIO] = []

    def begin(self) -> None:
        """Make it, and remove those of runs that were killed."""
        self._made = _made(self.place)
        for name in filter(STAGED.fullmatch, self._folder.names()):
            with suppress(OSError):  # it is locked by a run that goes on, or not ours to remove
                stale = lock(self._folder.folder(name), "lock")
                self._folder.clear(name)
                unlock(stale)
        while self._lock is None:
            self._name = f"{OURS}-{os.urandom(8).hex()}"
            self._folder.make(self._name)
            with suppress(BlockingIOError, FileNotFoundError):  # another run took it for one of those
                self._lock = lock(self._folder.folder(self._name), "lock")
        for name in ("new", "old"):
            self._folder.make(f"{self._name}/{name}")

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
                _refuse(self.place / name, force=self.force)  # once more, since it may have come meanwhile
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
        if self._lock is not None:
            self._folder.clear(self._name)
            unlock(self._lock)
        self._folder.close()
        _remove(self._made)


class _File:
    """One file of lines, compressed if its name says so."""

    def __init__(self, path: Path, staged: Staged, packer: Packer) -> None:
        self._name, self._staged, self._packer = path.name, staged, packer
        self._file = staged.open(path.name)

    def write(self, name: str, data: bytes) -> None:  # noqa: ARG002 - the protocol's
        self._file.write(self._packer.compress(data))

    def commit(self) -> None:
        self._file.write(self._packer.flush())
        self._file.flush()
        platform.sync(self._file.fileno())
        self._staged.put([self._name])


class _Folder:
    """A folder with a file for each document; a new one takes its place as a whole."""

    def __init__(self, path: Path, staged: Staged, *, is_new: bool) -> None:
        self._path, self._staged, self._is_new = path, staged, is_new
        self._files = staged.new
        if is_new:
            self._files = staged.new.folder(path.name)
            self._files.make()
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}
        """The last number behind each name that was met more than once."""
        self._names: list[str] = []

    def write(self, name: str, data: bytes) -> None:
        target = f"{self._free(sanitised(name))}.json"
        _refuse(self._path / target, force=self._staged.force)
        with os.fdopen(self._files.create(target), "wb") as file:
            file.write(data)
        self._names.append(target)

    def _free(self, label: str) -> str:
        free, key = label, label.casefold()
        while free.casefold() in self._taken:
            number = self._next[key] = self._next.get(key, 1) + 1
            free = f"{label}-{number}"
        self._taken.add(free.casefold())
        return free

    def commit(self) -> None:
        self._staged.put([self._path.name] if self._is_new else self._names)
