"""Outputs for translated conversations: files are staged until all are complete, then moved into place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, NamedTuple, Protocol

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


class Layout(NamedTuple):
    """The layout of an output."""

    is_file: bool
    """Whether it is one file of JSON lines."""
    has_lines: bool = False
    """Whether each document is a file of JSON lines, so that a file contains only one document."""


@contextmanager
def output(place: str, stdout: BinaryIO | None, layout: Layout, *, force: bool) -> Iterator[DocumentWriter]:
    """Open the output of a translation, which is discarded unless committed.

    Raises ``UsageError`` if a file exists already and ``force`` is not set.
    """
    if place == STREAM:
        if stdout is None:
            raise UsageError("standard output is closed; choose a folder or a file with --output")
        with SpooledTemporaryFile(_IN_MEMORY) as buffer:
            yield _Stream(buffer, stdout, layout)
        return
    path = Path(place)
    if not place or (path.name == ".." and not path.is_dir()):
        raise UsageError(f"{place!r}: neither a file nor a folder; choose another path with --output")
    if layout.is_file:
        refuse_existing(path, force=force)
        packer = packer_of(path)
    is_inside = not layout.is_file and os.path.lexists(path)
    # An interrupted run for which the folder did not exist yet has staged files next to it, under its real path.
    other_folder = Path(os.path.realpath(path)).parent if is_inside else None
    staging = StagedFiles(path if is_inside else path.parent, force=force, other_folder=other_folder)
    try:
        staging.begin()
        if layout.is_file:
            yield _File(path, staging, packer, layout)
        else:
            yield _Folder(path, staging, ".jsonl" if layout.has_lines else ".json", is_new=not is_inside)
    except OSError as problem:
        raise UsageError(f"{path}: cannot be written ({problem.strerror})") from None
    finally:
        with platform.uninterrupted():
            staging.discard()


class _Stream:
    """Standard output."""

    def __init__(self, buffer: IO[bytes], stdout: BinaryIO, layout: Layout) -> None:
        self._buffer, self._stdout, self._layout = buffer, stdout, layout
        self._count = 0

    def write(self, name: str, data: bytes) -> None:  # noqa: ARG002 - the protocol's
        self._count += 1
        self._buffer.write(data)

    def commit(self) -> None:
        if not self._layout.has_lines and self._count > 1 and not self._layout.is_file:
            raise UsageError(f"{self._count} conversations; print them with --jsonl, or choose a folder with --output")
        _refuse_several(self._count, self._layout)
        self._buffer.seek(0)
        shutil.copyfileobj(self._buffer, self._stdout)
        self._stdout.flush()


def _refuse_several(count: int, layout: Layout) -> None:
    if layout.has_lines and count > 1:
        raise UsageError(f"{count} conversations, but each is a separate file; choose a folder with --output")


def is_lines(place: str) -> bool:
    """Return whether an output path has the suffix of a JSON Lines file, plain or compressed."""
    return Path(uncompressed(place)).suffix.lower() in (".jsonl", ".ndjson")


class _File:
    """A JSON Lines file, compressed according to its suffix."""

    def __init__(self, path: Path, staging: StagedFiles, packer: Packer, layout: Layout) -> None:
        self._name, self._staging, self._packer, self._layout = path.name, staging, packer, layout
        self._count = 0
        self._file = staging.open(path.name)

    def write(self, name: str, data: bytes) -> None:  # noqa: ARG002 - the protocol's
        self._count += 1
        self._file.write(self._packer.compress(data))

    def commit(self) -> None:
        _refuse_several(self._count, self._layout)
        self._file.write(self._packer.flush())
        self._file.flush()
        platform.sync(self._file.fileno())
        self._staging.put([self._name])


class _Folder:
    """A folder with a file for each document; a new folder is created atomically, with all its files."""

    def __init__(self, path: Path, staging: StagedFiles, suffix: str, *, is_new: bool) -> None:
        self._path, self._staging, self._suffix, self._is_new = path, staging, suffix, is_new
        self._files = staging.staging
        if is_new:
            self._files = staging.staging.folder(path.name)
            self._files.make()
        self._used_names: set[str] = set()
        self._next: dict[str, int] = {}
        """The last number appended to each repeated name."""
        self._names: list[str] = []

    def write(self, name: str, data: bytes) -> None:
        target = f"{self._free_name(sanitise(name))}{self._suffix}"
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
