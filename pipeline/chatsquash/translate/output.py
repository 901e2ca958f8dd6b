"""Where translated conversations are written: beside their place until all are there, then in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, Protocol

from chatsquash.errors import UsageError
from chatsquash.translate.sources import STREAM
from chatsquash.write.groups import sanitised

_IN_MEMORY = 16 << 20
"""Bytes for a pipe that wait in memory; more wait in a file without a name."""


class Output(Protocol):
    """Takes documents by their names."""

    def write(self, name: str, data: bytes) -> None:
        """Take a document, with its line feed."""

    def commit(self) -> None:
        """Put all that was taken in its place; raises ``UsageError`` where that cannot be."""


@contextmanager
def output(place: str, stdout: BinaryIO, *, jsonl: bool, force: bool) -> Iterator[Output]:
    """The output of a translation; what is not committed goes.  Raises ``UsageError`` for what is there already."""
    if place == STREAM:
        with SpooledTemporaryFile(_IN_MEMORY) as held:
            yield _Stream(held, stdout, several=jsonl)
        return
    path = Path(place)
    writer = _File(path, force=force) if jsonl else _Folder(path, force=force)
    try:
        yield writer
    except OSError as problem:
        raise UsageError(f"{path}: cannot be written ({problem.strerror})") from None
    finally:
        writer.discard()


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


def _beside(path: Path) -> Path:
    """Where something is written until it is whole."""
    return path.with_name(f".{path.name}.{os.getpid()}")


def _refuse(path: Path, *, force: bool) -> None:
    if not force and os.path.lexists(path):
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


class _File:
    """One file of lines."""

    def __init__(self, path: Path, *, force: bool) -> None:
        self._path, self._force = path, force
        _refuse(path, force=force)
        self._parents = _made(path.parent)
        self._staged = _beside(path)
        try:
            self._file = self._staged.open("xb")
        except OSError as problem:
            raise UsageError(f"{path}: cannot be written ({problem.strerror})") from None

    def write(self, name: str, data: bytes) -> None:  # noqa: ARG002 - the protocol's
        self._file.write(data)

    def commit(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        _refuse(self._path, force=self._force)  # once more, since another process may have made it
        self._staged.replace(self._path)

    def discard(self) -> None:
        """Leave nothing that is not in its place."""
        self._file.close()
        self._staged.unlink(missing_ok=True)
        _remove(self._parents)


class _Folder:
    """A folder with a file for each document."""

    def __init__(self, path: Path, *, force: bool) -> None:
        self._path, self._force = path, force
        self._is_new = not os.path.lexists(path)
        self._staged = _beside(path) if self._is_new else path / f".translated.{os.getpid()}"
        self._taken: set[str] = set()
        self._names: list[str] = []
        self._parents = _made(self._staged.parent)
        try:
            self._staged.mkdir()
        except OSError as problem:
            raise UsageError(f"{path}: cannot be made ({problem.strerror})") from None

    def write(self, name: str, data: bytes) -> None:
        label = sanitised(name)
        names = chain([label], (f"{label}-{number}" for number in count(2)))
        free = next(each for each in names if each.casefold() not in self._taken)
        self._taken.add(free.casefold())
        target = f"{free}.json"
        _refuse(self._path / target, force=self._force)
        with (self._staged / target).open("xb") as file:
            file.write(data)
        self._names.append(target)

    def commit(self) -> None:
        for name in self._names:
            _refuse(self._path / name, force=self._force)  # once more, since another process may have made it
        if self._is_new and not os.path.lexists(self._path):
            self._staged.rename(self._path)
            return
        for name in self._names:
            (self._staged / name).replace(self._path / name)

    def discard(self) -> None:
        """Leave nothing that is not in its place."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self._staged)
        _remove(self._parents)
