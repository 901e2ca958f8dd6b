"""Reads a finished output on demand, without following links: ``run.json``, reports and record files."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeVar

import msgspec
import orjson
from xxhash import xxh3_64

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS, Json
from chatsquash.dataset.card import TRACES
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.dataset.shards import PAIRS
from chatsquash.records.datasets import is_dataset
from chatsquash.results.types import Counts, Input
from chatsquash.storage.commit import RUN
from chatsquash.storage.folder import Folder, validate_name

T = TypeVar("T")
_OTHERS = ("reports/", f"{PAIRS}/", f"{TRACES}/")
"""Folders without records."""


_ADVICE = "convert again (chatsquash verify lists all changes)"
_CHUNK = 1 << 20
LONGEST = 256 << 20
"""The longest line in bytes that is read; names in a report are never longer than the lines of a log."""


class _ResultStore(Protocol):
    """Read access to an output folder, on disk or in a store."""

    def status(self, name: str) -> object | None:
        """Return the status of a file or folder, or ``None`` if it does not exist."""

    def read(self, name: str) -> bytes:
        """Return the content of a file; may raise ``OSError``."""

    def open_file(self, name: str) -> BinaryIO:
        """Open a file for reading; may raise ``OSError``."""

    def close(self) -> None:
        """Release its resources."""


class OutputSource(NamedTuple):
    """An output folder and its path or URL for messages."""

    folder: _ResultStore
    location: Path | str

    def __truediv__(self, name: str) -> str:
        return str(self.location / name) if isinstance(self.location, Path) else f"{self.location}/{name}"

    def __str__(self) -> str:
        return str(self.location)


def open_output(out: Path | str) -> OutputSource:
    """Open an output folder by its path, or by its URL in a store."""
    if isinstance(out, Path):
        return OutputSource(Folder(out), out)
    from chatsquash.dataset.bucket import Bucket  # slow to import, and not needed for a folder

    bucket = Bucket(out)
    return OutputSource(bucket, bucket.display_path)


def manifest(out: OutputSource) -> dict[str, Json]:
    """Return the content of ``run.json``; raise ``UsageError`` if it cannot be read."""
    try:
        run = orjson.loads(run_text(out))
    except ValueError:
        raise UsageError(f"{out / RUN}: not valid JSON; convert again") from None
    if not isinstance(run, dict):
        raise UsageError(f"{out / RUN}: not a JSON object; convert again")
    return run


def run_text(out: OutputSource) -> bytes:
    """Return the text of ``run.json``; raise ``UsageError`` if it cannot be read."""
    try:
        return out.folder.read(RUN)
    except OSError as problem:
        is_unfinished = isinstance(problem, FileNotFoundError) and out.folder.status(OURS)
        why = "no run has finished there" if is_unfinished else problem.strerror
        raise UsageError(f"{out / RUN}: cannot be read ({why}); convert again, or choose another folder") from None


def damage(folder: Folder, name: str) -> UsageError:
    """Return the error for a damaged file."""
    return UsageError(f"{folder.path / name}: invalid content; {_ADVICE}")


def lines(folder: Folder, name: str, *members: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a report; raise ``UsageError`` for a line without the given members."""
    for line in text_lines(folder, name):
        value = _load(folder, name, line)
        if not set(members) <= value.keys():
            raise damage(folder, name)
        yield value


def rows(folder: Folder, name: str, *columns: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV table; raise ``UsageError`` for a row without the given columns."""
    csv.field_size_limit(LONGEST)  # names of tools may be longer than the default limit
    try:
        for row in csv.DictReader(map(bytes.decode, text_lines(folder, name))):
            if not set(columns) <= row.keys() or None in row.values():
                raise damage(folder, name)
            yield row
    except (ValueError, csv.Error):
        raise damage(folder, name) from None


def text_lines(folder: Folder, name: str) -> Iterator[bytes]:
    """Yield the lines of a file with their line feeds; raise ``UsageError`` for one longer than ``LONGEST``."""
    with _open(folder, name) as file:
        while line := file.readline(LONGEST + 1):
            if len(line) > LONGEST:
                raise damage(folder, name)
            yield line


class Lines:
    """The lines of a report as objects of a type, each read on demand; raises like ``lines``."""

    def __init__(self, folder: Folder, name: str, kind: type[Any] = dict) -> None:
        self._folder, self._name, self._kind = folder, name, kind
        with _open(folder, name) as file:
            self._offsets = _offsets(file)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, at: int) -> dict[str, Any]:
        """Return the object on a line, counted from 0, with all its members."""
        if at >= len(self):
            raise damage(self._folder, self._name)
        with _open(self._folder, self._name) as file:
            file.seek(self._offsets[at])
            size = self._offsets[at + 1] - self._offsets[at]
            line = _load(self._folder, self._name, file.read(min(size, LONGEST)))
        convert_value(self._folder, self._name, line, self._kind)
        return line


@contextmanager
def _open(folder: Folder, name: str) -> Iterator[BinaryIO]:
    try:
        with folder.open_file(name) as file:
            yield file
    except OSError as problem:
        raise UsageError(f"{folder.path / name}: cannot be read ({problem.strerror}); {_ADVICE}") from None


def _load(folder: Folder, name: str, line: bytes) -> dict[str, Any]:
    try:
        value = jsonio.loads(line)
    except (ValueError, RecursionError):
        raise damage(folder, name) from None
    if not isinstance(value, dict):
        raise damage(folder, name)
    return value


def convert_value(folder: Folder, name: str, value: Any, kind: type[T]) -> T:
    """Convert a value of a file to a type; raise ``UsageError`` if it does not match."""
    try:
        return msgspec.convert(value, kind)
    except (ValueError, RecursionError):
        raise damage(folder, name) from None


def _offsets(file: BinaryIO) -> array[int]:
    """Return the offset of each line and the end of the last one."""
    offsets = array("Q", [0])
    at = 0
    while chunk := file.read(_CHUNK):
        place = -1
        while (place := chunk.find(b"\n", place + 1)) >= 0:
            offsets.append(at + place + 1)
        at += len(chunk)
    if offsets[-1] != at:
        offsets.append(at)
    return offsets


class _File(msgspec.Struct):
    path: str
    size: int = 0


class _Manifest(msgspec.Struct):
    chatsquash_version: str
    options: dict[str, Any]
    counts: dict[str, Any]
    outputs: list[_File]


class _Inputs(msgspec.Struct):
    inputs: list[Input]


class ResultFolder:
    """The output of a run in a folder."""

    def __init__(self, folder: Folder) -> None:
        """Open the output in a folder; raise ``UsageError`` if it contains none."""
        self.folder = folder
        data = self._text()
        try:
            manifest = msgspec.json.decode(data, type=_Manifest)
            self.outputs = {validate_name(file.path): file.size for file in manifest.outputs}
        except (ValueError, RecursionError):
            raise UsageError(
                f"{folder.path / RUN}: file was not written by this version of chatsquash; convert again"
            ) from None
        self.version, self.options, self.counts = manifest.chatsquash_version, manifest.options, manifest.counts
        self.tag = xxh3_64(data).hexdigest()
        """Identifies this output; it changes when another run replaces it."""

    def _text(self) -> bytes:
        return run_text(OutputSource(self.folder, self.folder.path))

    def inputs(self, paths: Collection[str]) -> dict[str, list[Input]]:
        """Return the entries of logs in ``run.json``, by path; none if another run has replaced it.

        Raises ``UsageError`` if the entries are malformed.
        """
        inputs: dict[str, list[Input]] = {path: [] for path in paths}
        try:
            run = msgspec.json.decode(self._text(), type=_Inputs)
        except UsageError:
            return inputs
        except (ValueError, RecursionError):
            raise damage(self.folder, RUN) from None
        for each in run.inputs:
            if each.path in inputs:
                inputs[each.path].append(each)
        return inputs

    def typed_counts(self, *lines: str) -> Counts:
        """Return the counts of ``run.json``; raise ``UsageError`` if they are malformed or incomplete."""
        counts = convert_value(self.folder, RUN, self.counts, Counts)
        if not set(lines) <= counts.lines.keys():
            raise damage(self.folder, RUN)
        return counts

    @cached_property
    def record_files(self) -> dict[str, int]:
        """The record files and their sizes in bytes."""
        return {
            name: size
            for name, size in self.outputs.items()
            if is_dataset(self.folder.path / name) and not name.startswith(_OTHERS)
        }

    def lines(self, name: str, *members: str) -> Iterator[dict[str, Any]]:
        """Yield the objects of a report like ``lines``; none if the run did not write it."""
        return lines(self.folder, name, *members) if name in self.outputs else iter(())

    def objects(self, name: str, kind: type[T]) -> Iterator[T]:
        """Yield the objects of a report as a type; raise ``UsageError`` for one that does not match."""
        for each in self.lines(name):
            yield convert_value(self.folder, name, each, kind)

    def rows(self, name: str, *columns: str) -> Iterator[dict[str, str]]:
        """Yield the rows of a table like ``rows``; none if the run did not write it."""
        return rows(self.folder, name, *columns) if name in self.outputs else iter(())


def is_result(path: Path) -> bool:
    """Return whether a folder is the output of a conversion, with ``run.json`` and the session table."""
    return (path / RUN).is_file() and (path / SESSIONS).is_file()


def is_output(path: Path) -> bool:
    """Return whether a folder contains the ``run.json`` of a conversion, even if other files are missing."""
    if is_result(path):
        return True
    if not (path / RUN).is_file():
        return False
    try:
        ResultFolder(Folder(path))
    except UsageError:
        return False
    return True
