"""Which files are read, and which take their places."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS
from chatsquash.core.text import escape
from chatsquash.core.urls import refuse_remote
from chatsquash.dataset.groups import sanitise
from chatsquash.records.datasets import PARQUET, is_dataset
from chatsquash.sources.compression import suffixes
from chatsquash.storage.commit import RUN

_REPORTS = "reports"
"""The folder of a result that has no records."""
Hide = Callable[[str], str]
"""Gives a text with nothing private in it."""


class FilePlacement(NamedTuple):
    """A file, and the name of what takes its place below the output, its parts joined by ``/``."""

    source: Path
    name: str


class Places(NamedTuple):
    """The files of a run, and where they go."""

    folder: Path
    """All names are below it."""
    is_file: bool
    """Whether the output is one file, beside which nothing is written."""
    files: list[FilePlacement]
    others: Counter[str]
    """What lies in folders and is not read, by suffix."""


def places(inputs: Iterable[str], output: str, hide: Hide) -> Places:
    """The files that are named, lie in folders or fit globs; raises ``UsageError`` for what cannot be."""
    refuse_remote(output)
    others: Counter[str] = Counter()
    sources = [each for source in inputs for each in _find(source, others)]
    out = Path(output)
    is_file = is_dataset(out) and not out.is_dir()
    if is_file and len(sources) > 1:
        raise UsageError(f"{output}: is one file, and the inputs are {len(sources)}; name a folder with --output")
    if is_file:
        _refuse_another_kind(sources[0].source, out)
        files = [sources[0]._replace(name=out.name)]
    else:
        files = [each._replace(name=_hide(each.name, hide)) for each in sources]
    folder = out.parent if is_file else out
    _refuse_meeting(files)
    _refuse_inputs(inputs, files, folder, is_file=is_file)
    return Places(folder, is_file, files, others)


def rename(files: list[FilePlacement], hide: Hide) -> list[FilePlacement]:
    """Files whose names are hidden once more, when more is known; raises ``UsageError`` where two have one."""
    again = [each._replace(name=_hide(each.name, hide)) for each in files]
    _refuse_meeting(again)
    return again


def refuse_taken(folder: Path, names: Iterable[str]) -> None:
    """Raise ``UsageError`` where something has such a name."""
    for name in names:
        if os.path.lexists(folder / name):
            raise UsageError(f"{folder / name}: is there already; --force replaces it")


def _find(place: str, others: Counter[str]) -> Iterator[FilePlacement]:
    refuse_remote(place)
    path = Path(place)
    if path.is_dir():
        files = list(_below(path, others))
        if not files:
            raise UsageError(f"{place}: no datasets (*.jsonl, *.ndjson, also compressed, *.parquet) in this folder")
        yield from (FilePlacement(path / name, name) for name in files)
    elif glob.has_magic(place) and not os.path.lexists(place):
        paths = [Path(each) for each in sorted(glob.glob(place, recursive=True))]
        fitting = [each for each in paths if each.is_file() and is_dataset(each)]
        if not fitting:
            raise UsageError(f"{place}: no dataset has such a name")
        fixed = _fixed_folder(place)
        yield from (FilePlacement(each, each.relative_to(fixed).as_posix()) for each in fitting)
    elif not path.is_file():
        raise UsageError(f"{place}: is not a file, folder or glob")
    else:
        yield FilePlacement(path, path.name)


def _fixed_folder(pattern: str) -> Path:
    """The folder of a glob before the first part that is none."""
    parts = Path(pattern).parts
    magic = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:magic])


def _below(folder: Path, others: Counter[str]) -> Iterator[str]:
    """The datasets in a folder and in those in it, hidden ones and the reports of a result aside."""
    for place, folders, names in os.walk(folder):
        inside = Path(place)
        is_result = (inside / OURS).is_dir() or (inside / RUN).is_file()
        folders[:] = sorted(
            each for each in folders if not each.startswith(".") and not (is_result and each == _REPORTS)
        )
        for name in sorted(each for each in names if not each.startswith(".")):
            path = inside / name
            if is_dataset(path) and path.is_file():
                yield path.relative_to(folder).as_posix()
            else:
                others[path.suffix.lower() or "files without a suffix"] += 1


def _hide(name: str, hide: Hide) -> str:
    """A name without anything private, which has the suffixes that it had."""
    hidden = hide(name)
    if hidden == name:
        return name
    ending = suffixes(name)
    return "/".join(map(sanitise, hidden.removesuffix(ending).split("/"))) + ending


def _refuse_another_kind(source: Path, out: Path) -> None:
    if (source.suffix.lower() == PARQUET) != (out.suffix.lower() == PARQUET):
        raise UsageError(f"{out}: is of another kind than what is read; lines stay lines, and Parquet stays Parquet")


def _refuse_meeting(files: list[FilePlacement]) -> None:
    """Raise where two files would take one place, also where a system makes no difference between cases."""
    counts = Counter(each.name.casefold() for each in files)
    for each in files:
        if counts[each.name.casefold()] > 1:
            raise UsageError(f"{escape(each.name)}: several inputs would take this place; redact them one by one")


def _refuse_inputs(inputs: Iterable[str], files: list[FilePlacement], folder: Path, *, is_file: bool) -> None:
    """Raise where what is written would be read, or would take the place of what is read."""
    out = folder.resolve()
    for place in inputs:
        read = Path(place).resolve()
        if not is_file and read.is_dir() and (out == read or read in out.parents):
            raise UsageError(f"{folder}: lies in what is read; choose another place with --output")
    read_files = {each.source.resolve() for each in files}
    for each in files:
        if (folder / each.name).resolve() in read_files:
            raise UsageError(f"{folder}: what is read would be replaced; choose another place with --output")
