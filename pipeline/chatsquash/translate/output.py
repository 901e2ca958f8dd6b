"""Outputs for translated conversations: files are staged until all are complete, then moved into place."""

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
"""Bytes for standard output that are buffered in memory; beyond that, an unnamed file is used."""


class DocumentWriter(Protocol):
    """Receives documents with their names."""

    def write(self, name: str, data: bytes) -> None:
        """Add a document, which ends with a line feed."""

    def commit(self) -> None:
        """Publish all documents; raise ``UsageError`` if that is impossible."""


@contextmanager
def output(place: str, stdout: BinaryIO | None, *, jsonl: bool, force: bool) -> Iterator[DocumentWriter]:
    """Open the output of a translation, which is discarded unless committed.

    Raises ``UsageError`` if a file exists already and ``force`` is not set.
    """
    if place == STREAM:
        if stdout is None:
            raise UsageError("standard output is closed; choose a folder or a file with --output")
        with SpooledTemporaryFile(_IN_MEMORY) as buffer:
            yield _Stream(buffer, stdout, several=jsonl)
        return
    path = Path(place)
    if not place or (path.name == ".." and not path.is_dir()):
        raise UsageError(f"{place!r}: neither a file nor a folder; choose another path with --output")
    if jsonl:
        refuse_existing(path, force=force)
        packer = packer_of(path)
    is_inside = not jsonl and os.path.lexists(path)
    # An interrupted run for which the folder did not exist yet has staged files next to it, under its real path.
    other_folder = Path(os.path.realpath(path)).parent if is_inside else None
    staging = StagedFiles(path if is_inside else path.parent, force=force, other_folder=other_folder)
    try:
        staging.begin()
        yield _File(path, staging, packer) if jsonl else _Folder(path, staging, is_new=not is_inside)
    except OSError as problem:
        raise UsageError(f"{path}: cannot be written ({problem.strerror})") from None
    finally:
        with platform.uninterrupted():
            staging.discard()


class _Stream:
    """Standard output."""

    def __init__(self, buffer: IO[bytes], stdout: BinaryIO, *, several: bool) -> None:
        self._buffer, self._stdout, self._several = buffer, stdout, several
        self._count = 0

    def write(self, name: str, data: bytes) -> None:  # noqa: ARG002 - the protocol's
        self._count += 1
        self._buffer.write(data)

    def commit(self) -> None:
        if self._count > 1 and not self._several:
            raise UsageError(f"{self._count} conversations; print them with --jsonl, or choose a folder with --output")
        self._buffer.seek(0)
        shutil.copyfileobj(self._buffer, self._stdout)
        self._stdout.flush()


def is_lines(place: str) -> bool:
    """Return whether an output path has the suffix of a JSON Lines file, plain or compressed."""
    return Path(uncompressed(place)).suffix.lower() in (".jsonl", ".ndjson")


class _File:
    """A JSON Lines file, compressed according to its suffix."""

    def __init__(self, path: Path, staging: StagedFiles, packer: Packer) -> None:
        self._name, self._staging, self._packer = path.name, staging, packer
        self._file = staging.open(path.name)

    def write(self, name: str, data: bytes) -> None:  # noqa: ARG002 - the protocol's
        self._file.write(self._packer.compress(data))

    def commit(self) -> None:
        self._file.write(self._packer.flush())
        self._file.flush()
        platform.sync(self._file.fileno())
        self._staging.put([self._name])


class _Folder:
    """A folder with a file for each document; a new folder is created atomically, with all its files."""

    def __init__(self, path: Path, staging: StagedFiles, *, is_new: bool) -> None:
        self._path, self._staging, self._is_new = path, staging, is_new
        self._files = staging.staging
        if is_new:
            self._files = staging.staging.folder(path.name)
            self._files.make()
        self._used_names: set[str] = set()
        self._next: dict[str, int] = {}
        """The last number appended to each repeated name."""
        self._names: list[str] = []

    def write(self, name: str, data: bytes) -> None:
        target = f"{self._free_name(sanitise(name))}.json"
        refuse_existing(self._path / target, force=self._staging.force)
        with os.fdopen(self._files.create(target), "wb") as file:
            file.write(data)
        self._names.append(target)

    def _free_name(self, label: str) -> str:
        free, key = label, label.casefold()
        while free.casefold() in self._used_names:
            number = self._next[key] = self._next.get(key, 1) + 1
            free = f"{label}-{number}"
        self._used_names.add(free.casefold())
        return free

    def commit(self) -> None:
        self._staging.put([self._path.name] if self._is_new else self._names)
