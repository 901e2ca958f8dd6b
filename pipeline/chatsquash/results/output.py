"""A finished output, opened without following links: ``run.json``, its reports and its record files, read on demand."""

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
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.dataset.shards import PAIRS
from chatsquash.records.datasets import is_dataset
from chatsquash.results.types import Counts, Input
from chatsquash.storage.commit import RUN
from chatsquash.storage.folder import Folder, validate_name

T = TypeVar("T")
_OTHERS = ("reports/", f"{PAIRS}/")
"""Folders whose files hold no records."""


_AGAIN = "chatsquash verify says what changed; convert again"
_CHUNK = 1 << 20
LONGEST = 256 << 20
"""Bytes of a line that are read; a name of a log is no longer than what a run reads of a line."""


class _ResultStore(Protocol):
    """What is looked at of an output folder, or of what is one in a store."""

    def status(self, name: str) -> object | None:
        """What stands under a name."""

    def read(self, name: str) -> bytes:
        """What is in a file; raises ``OSError``."""

    def open_file(self, name: str) -> BinaryIO:
        """A file, to be read; raises ``OSError``."""

    def close(self) -> None:
        """Let go of it."""


class OutputSource(NamedTuple):
    """An output folder, and what it is called."""

    folder: _ResultStore
    shown: Path | str

    def __truediv__(self, name: str) -> str:
        return str(self.shown / name) if isinstance(self.shown, Path) else f"{self.shown}/{name}"

    def __str__(self) -> str:
        return str(self.shown)


def open_output(out: Path | str) -> OutputSource:
    """The output folder of a path, or of the URL of one in a store."""
    if isinstance(out, Path):
        return OutputSource(Folder(out), out)
    from chatsquash.dataset.bucket import Bucket  # which a folder does not need

    bucket = Bucket(out)
    return OutputSource(bucket, bucket.display_path)


def manifest(out: OutputSource) -> dict[str, Json]:
    """What ``run.json`` says; raises ``UsageError`` where it cannot be read."""
    try:
        run = orjson.loads(run_text(out))
    except ValueError:
        raise UsageError(f"{out / RUN}: is not valid JSON: convert again") from None
    if not isinstance(run, dict):
        raise UsageError(f"{out / RUN}: is not an object: convert again")
    return run


def run_text(out: OutputSource) -> bytes:
    """The text of ``run.json``; raises ``UsageError`` where it cannot be read."""
    try:
        return out.folder.read(RUN)
    except OSError as problem:
        is_unfinished = isinstance(problem, FileNotFoundError) and out.folder.status(OURS)
        why = "no run was finished there" if is_unfinished else problem.strerror
        raise UsageError(f"{out / RUN}: cannot be read, {why}: convert again, or name another folder") from None


def damage(folder: Folder, name: str) -> UsageError:
    """The error for a file that cannot be read as what it is."""
    return UsageError(f"{folder.path / name}: is not as chatsquash wrote it: {_AGAIN}")


def lines(folder: Folder, name: str, *members: str) -> Iterator[dict[str, Any]]:
    """The objects of a report, which have these members; raises ``UsageError`` for what is none."""
    for line in text_lines(folder, name):
        value = _load(folder, name, line)
        if not set(members) <= value.keys():
            raise damage(folder, name)
        yield value


def rows(folder: Folder, name: str, *columns: str) -> Iterator[dict[str, str]]:
    """The rows of a table, which has these columns; raises ``UsageError`` for what is none."""
    csv.field_size_limit(LONGEST)  # the tools of a log may have any names
    try:
        for row in csv.DictReader(map(bytes.decode, text_lines(folder, name))):
            if not set(columns) <= row.keys() or None in row.values():
                raise damage(folder, name)
            yield row
    except (ValueError, csv.Error):
        raise damage(folder, name) from None


def text_lines(folder: Folder, name: str) -> Iterator[bytes]:
    """The lines of a file with their line feeds; one that is longer than any is an error."""
    with _open(folder, name) as file:
        while line := file.readline(LONGEST + 1):
            if len(line) > LONGEST:
                raise damage(folder, name)
            yield line


class Lines:
    """The lines of a report as objects of a type, each read on demand; raises as ``lines``."""

    def __init__(self, folder: Folder, name: str, kind: type[Any] = dict) -> None:
        self._folder, self._name, self._kind = folder, name, kind
        with _open(folder, name) as file:
            self._offsets = _offsets(file)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, at: int) -> dict[str, Any]:
        """The object on a line, from 0, with all its members."""
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
        raise UsageError(f"{folder.path / name}: cannot be read ({problem.strerror}): {_AGAIN}") from None


def _load(folder: Folder, name: str, line: bytes) -> dict[str, Any]:
    try:
        value = jsonio.loads(line)
    except (ValueError, RecursionError):
        raise damage(folder, name) from None
    if not isinstance(value, dict):
        raise damage(folder, name)
    return value


def convert_value(folder: Folder, name: str, value: Any, kind: type[T]) -> T:
    """A value of a file as a type of ours; raises ``UsageError`` if it is not one."""
    try:
        return msgspec.convert(value, kind)
    except (ValueError, RecursionError):
        raise damage(folder, name) from None


def _offsets(file: BinaryIO) -> array[int]:
    """Where each line begins, and where the last one ends."""
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
    """What a run left in a folder."""

    def __init__(self, folder: Folder) -> None:
        """Raises ``UsageError`` for a folder that holds no result."""
        self.folder = folder
        data = self._text()
        try:
            manifest = msgspec.json.decode(data, type=_Manifest)
            self.outputs = {validate_name(file.path): file.size for file in manifest.outputs}
        except (ValueError, RecursionError):
            raise UsageError(f"{folder.path / RUN}: is none of this version of chatsquash: convert again") from None
        self.version, self.options, self.counts = manifest.chatsquash_version, manifest.options, manifest.counts
        self.tag = xxh3_64(data).hexdigest()
        """Tells this result from those that other runs write there."""

    def _text(self) -> bytes:
        return run_text(OutputSource(self.folder, self.folder.path))

    def inputs(self, paths: Collection[str]) -> dict[str, list[Input]]:
        """What ``run.json`` tells of logs; nothing where another run has taken its place.

        Raises ``UsageError`` where it does not tell of logs as chatsquash does.
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
        """The counts of ``run.json``, including these of lines; raises ``UsageError`` if no run wrote them."""
        counts = convert_value(self.folder, RUN, self.counts, Counts)
        if not set(lines) <= counts.lines.keys():
            raise damage(self.folder, RUN)
        return counts

    @cached_property
    def record_files(self) -> dict[str, int]:
        """The files of records and their bytes."""
        return {
            name: size
            for name, size in self.outputs.items()
            if is_dataset(self.folder.path / name) and not name.startswith(_OTHERS)
        }

    def lines(self, name: str, *members: str) -> Iterator[dict[str, Any]]:
        """The objects of a report, as ``lines`` has them; none where the run did not write it."""
        return lines(self.folder, name, *members) if name in self.outputs else iter(())

    def objects(self, name: str, kind: type[T]) -> Iterator[T]:
        """The objects of a report as a type of ours; raises ``UsageError`` for what is none of it."""
        for each in self.lines(name):
            yield convert_value(self.folder, name, each, kind)

    def rows(self, name: str, *columns: str) -> Iterator[dict[str, str]]:
        """The rows of a table, as ``rows`` has them; none where the run did not write it."""
        return rows(self.folder, name, *columns) if name in self.outputs else iter(())


def is_result(path: Path) -> bool:
    """Whether a folder holds what a conversion wrote."""
    return (path / RUN).is_file() and (path / SESSIONS).is_file()


def is_output(path: Path) -> bool:
    """Whether a folder holds the ``run.json`` of a conversion, be its other files there or not."""
    if is_result(path):
        return True
    if not (path / RUN).is_file():
        return False
    try:
        ResultFolder(Folder(path))
    except UsageError:
        return False
    return True
