"""Where translated conversations are written: beside their place until all are there, then in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, Protocol

from chatsquash.core import platform
from chatsquash.core.errors import UsageError
from chatsquash.dataset.groups import sanitise
from chatsquash.dataset.shards import Packer, packer_of
from chatsquash.sources.compression import uncompressed
from chatsquash.storage.staging import StagedFiles, refuse_existing
from chatsquash.translate.sources import STREAM

_IN_MEMORY = 16 << 20
"""Bytes for a pipe that wait in memory; more wait in a file without a name."""


class DocumentWriter(Protocol):
    """Takes documents by their names."""

    def write(self, name: str, data: bytes) -> None:
        """Take a document, with its line feed."""

    def commit(self) -> None:
        """Put all that was taken in its place; raises ``UsageError`` where that cannot be."""


@contextmanager
def output(place: str, stdout: BinaryIO | None, *, jsonl: bool, force: bool) -> Iterator[DocumentWriter]:
    """The output of a translation; what is not committed goes.  Raises ``UsageError`` for what is there already."""
    if place == STREAM:
        if stdout is None:
            raise UsageError("standard output is closed; name a folder or a file with --output")
        with SpooledTemporaryFile(_IN_MEMORY) as buffer:
            yield _Stream(buffer, stdout, several=jsonl)
        return
    path = Path(place)
    if not place or (path.name == ".." and not path.is_dir()):
        raise UsageError(f"{place!r}: names no file and no folder; choose another with --output")
    if jsonl:
        refuse_existing(path, force=force)
        packer = packer_of(path)
    is_inside = not jsonl and os.path.lexists(path)
    # A run for which it was not there yet staged beside it, whatever name this one has for it.
    beside = Path(os.path.realpath(path)).parent if is_inside else None
    staged = StagedFiles(path if is_inside else path.parent, force=force, other_folder=beside)
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

    def __init__(self, buffer: IO[bytes], stdout: BinaryIO, *, several: bool) -> None:
        self._held, self._stdout, self._several = buffer, stdout, several
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


def is_lines(place: str) -> bool:
    """Whether the name of an output says that it is one file of lines, plain or compressed."""
    return Path(uncompressed(place)).suffix.lower() in (".jsonl", ".ndjson")


class _File:
    """One file of lines, compressed if its name says so."""

    def __init__(self, path: Path, staged: StagedFiles, packer: Packer) -> None:
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

    def __init__(self, path: Path, staged: StagedFiles, *, is_new: bool) -> None:
        self._path, self._staged, self._is_new = path, staged, is_new
        self._files = staged.staging
        if is_new:
            self._files = staged.staging.folder(path.name)
            self._files.make()
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}
        """The last number behind each name that was met more than once."""
        self._names: list[str] = []

    def write(self, name: str, data: bytes) -> None:
        target = f"{self._free(sanitise(name))}.json"
        refuse_existing(self._path / target, force=self._staged.force)
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
