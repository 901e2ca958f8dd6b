"""An output folder that holds a result, of which nothing is read but what is asked for; no link is followed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from xxhash import xxh3_64

from chatsquash.core.errors import UsageError
from chatsquash.dataset.claim import inside
from chatsquash.dataset.commit import RUN
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.dataset.shards import PAIRS
from chatsquash.records.datasets import is_dataset
from chatsquash.results import reports
from chatsquash.results.verify import Place, run_text
from chatsquash.storage.folder import Folder

T = TypeVar("T")
_OTHERS = ("reports/", f"{PAIRS}/")
"""Folders whose files hold no records."""


class _File(msgspec.Struct):
    path: str
    size: int = 0


class Input(msgspec.Struct):
    """A log as ``run.json`` has it."""

    path: str
    size: int
    xxh3_128: str = ""
    path_digest: str = ""


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
            self.outputs = {inside(file.path): file.size for file in manifest.outputs}
        except (ValueError, RecursionError):
            raise UsageError(f"{folder.path / RUN}: is none of this version of chatsquash: convert again") from None
        self.version, self.options, self.counts = manifest.chatsquash_version, manifest.options, manifest.counts
        self.tag = xxh3_64(data).hexdigest()
        """Tells this result from those that other runs write there."""

    def _text(self) -> bytes:
        return run_text(Place(self.folder, self.folder.path))

    def inputs(self, paths: Collection[str]) -> dict[str, list[Input]]:
        """What ``run.json`` tells of logs; nothing where another run has taken its place.

        Raises ``UsageError`` where it does not tell of logs as chatsquash does.
        """
        found: dict[str, list[Input]] = {path: [] for path in paths}
        try:
            told = msgspec.json.decode(self._text(), type=_Inputs)
        except UsageError:
            return found
        except (ValueError, RecursionError):
            raise reports.damaged(self.folder, RUN) from None
        for each in told.inputs:
            if each.path in found:
                found[each.path].append(each)
        return found

    @cached_property
    def record_files(self) -> dict[str, int]:
        """The files of records and their bytes."""
        return {
            name: size
            for name, size in self.outputs.items()
            if is_dataset(self.folder.path / name) and not name.startswith(_OTHERS)
        }

    def lines(self, name: str, *members: str) -> Iterator[dict[str, Any]]:
        """The objects of a report, as ``reports.lines`` has them; none where the run did not write it."""
        return reports.lines(self.folder, name, *members) if name in self.outputs else iter(())

    def told(self, name: str, kind: type[T]) -> Iterator[T]:
        """The objects of a report as a type of ours; raises ``UsageError`` for what is none of it."""
        for each in self.lines(name):
            try:
                yield msgspec.convert(each, kind)
            except (ValueError, RecursionError):
                raise reports.damaged(self.folder, name) from None

    def rows(self, name: str, *columns: str) -> Iterator[dict[str, str]]:
        """The rows of a table, as ``reports.rows`` has them; none where the run did not write it."""
        return reports.rows(self.folder, name, *columns) if name in self.outputs else iter(())


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
