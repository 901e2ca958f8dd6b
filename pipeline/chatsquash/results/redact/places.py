"""Maps the input files of a run to the names of their output files."""

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
from chatsquash.dataset.card import TRACES
from chatsquash.dataset.groups import sanitise
from chatsquash.records.datasets import PARQUET, is_dataset
from chatsquash.sources.compression import suffixes
from chatsquash.storage import refuse_remote
from chatsquash.storage.commit import RUN

_REPORTS = "reports"
"""The folder of an output that contains no records."""
Hide = Callable[[str], str]
"""Redacts a text."""


class FilePlacement(NamedTuple):
    """An input file, and the relative name of its output file, with ``/`` as separator."""

    source: Path
    name: str
    is_trace: bool = False
    """Whether it is in the folder of session traces of an output, whose lines are not records."""


class Places(NamedTuple):
    """The files of a run and their destination."""

    folder: Path
    """The folder that contains all output files."""
    is_file: bool
    """Whether the output is a single file, without reports."""
    files: list[FilePlacement]
    others: Counter[str]
    """Ignored files in folders, by suffix."""


def places(inputs: Iterable[str], output: str, hide: Hide) -> Places:
    """Return the files of paths, folders and globs; raise ``UsageError`` for impossible or conflicting paths."""
    refuse_remote(output)
    others: Counter[str] = Counter()
    sources = [each for source in inputs for each in _find(source, others)]
    out = Path(output)
    is_file = is_dataset(out) and not out.is_dir()
    if is_file and len(sources) > 1:
        raise UsageError(f"{output}: a single output file for {len(sources)} inputs; choose a folder with --output")
    if is_file:
        _refuse_other_format(sources[0].source, out)
        files = [sources[0]._replace(name=out.name)]
    else:
        files = [each._replace(name=_redact_name(each.name, hide)) for each in sources]
    folder = out.parent if is_file else out
    _refuse_collisions(files)
    _refuse_inputs(inputs, files, folder, is_file=is_file)
    return Places(folder, is_file, files, others)


def rename(files: list[FilePlacement], hide: Hide) -> list[FilePlacement]:
    """Redact file names again with values detected meanwhile; raise ``UsageError`` if two become equal."""
    placements = [each._replace(name=_redact_name(each.name, hide)) for each in files]
    _refuse_collisions(placements)
    return placements


def refuse_existing(folder: Path, names: Iterable[str]) -> None:
    """Raise ``UsageError`` if one of the names exists."""
    for name in names:
        if os.path.lexists(folder / name):
            raise UsageError(f"{folder / name}: already exists; add --force to replace it")


def _find(place: str, others: Counter[str]) -> Iterator[FilePlacement]:
    refuse_remote(place)
    path = Path(place)
    if path.is_dir():
        files = list(_datasets_below(path, others))
        if not files:
            raise UsageError(f"{place}: no *.parquet, and no plain or compressed *.jsonl or *.ndjson, in this folder")
        yield from files
    elif glob.has_magic(place) and not os.path.lexists(place):
        paths = [Path(each) for each in sorted(glob.glob(place, recursive=True))]
        fitting = [each for each in paths if each.is_file() and is_dataset(each)]
        if not fitting:
            raise UsageError(f"{place}: no matching dataset")
        folder = _fixed_folder(place)
        yield from (FilePlacement(each, each.relative_to(folder).as_posix()) for each in fitting)
    elif not path.is_file():
        raise UsageError(f"{place}: not a file, folder or glob")
    else:
        yield FilePlacement(path, path.name)


def _fixed_folder(pattern: str) -> Path:
    """Return the folder of a glob before its first part with wildcards."""
    parts = Path(pattern).parts
    magic = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:magic])


def _datasets_below(folder: Path, others: Counter[str]) -> Iterator[FilePlacement]:
    """Yield the datasets in a folder tree, without hidden files and without the reports of an output."""
    traces = set[Path]()
    for place, folders, names in os.walk(folder):
        inside = Path(place)
        is_result = (inside / OURS).is_dir() or (inside / RUN).is_file()
        folders[:] = sorted(
            each for each in folders if not each.startswith(".") and not (is_result and each == _REPORTS)
        )
        traces |= {inside / TRACES} if is_result else {inside} if inside.parent in traces else set()
        for name in sorted(each for each in names if not each.startswith(".")):
            path = inside / name
            if is_dataset(path) and path.is_file():
                yield FilePlacement(path, path.relative_to(folder).as_posix(), inside in traces)
            else:
                others[path.suffix.lower() or "files without a suffix"] += 1


def _redact_name(name: str, hide: Hide) -> str:
    """Redact a name, except for its suffixes."""
    hidden = hide(name)
    if hidden == name:
        return name
    ending = suffixes(name)
    return "/".join(map(sanitise, hidden.removesuffix(ending).split("/"))) + ending


def _refuse_other_format(source: Path, out: Path) -> None:
    if (source.suffix.lower() == PARQUET) != (out.suffix.lower() == PARQUET):
        raise UsageError(f"{out}: does not match the input; JSON Lines and Parquet cannot be converted into each other")


def _refuse_collisions(files: list[FilePlacement]) -> None:
    """Raise ``UsageError`` if two files would get the same name, ignoring case as some file systems do."""
    counts = Counter(each.name.casefold() for each in files)
    for each in files:
        if counts[each.name.casefold()] > 1:
            raise UsageError(f"{escape(each.name)}: several inputs would have this output path; redact them one by one")


def _refuse_inputs(inputs: Iterable[str], files: list[FilePlacement], folder: Path, *, is_file: bool) -> None:
    """Raise ``UsageError`` if output files would be read as input, or would replace it."""
    out = folder.resolve()
    for place in inputs:
        source = Path(place).resolve()
        if not is_file and source.is_dir() and (out == source or source in out.parents):
            raise UsageError(f"{folder}: is inside the input folder; choose another folder with --output")
    read_files = {each.source.resolve() for each in files}
    for each in files:
        if (folder / each.name).resolve() in read_files:
            raise UsageError(f"{folder}: the input would be replaced; choose another path with --output")
