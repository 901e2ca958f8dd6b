"""Write an output of ``--samples forest`` as ``--samples reply`` would have, or as traces of verifiers."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

from chatsquash.conversion.merge_options import as_options
from chatsquash.core import platform
from chatsquash.core.errors import UsageError
from chatsquash.core.options import Options
from chatsquash.dataset.columns import fields
from chatsquash.dataset.shards import FOLDER, opener
from chatsquash.records import places
from chatsquash.records.forest_traces import traces
from chatsquash.results.output import OutputSource, ResultFolder, is_output, manifest
from chatsquash.results.redact.places import refuse_existing
from chatsquash.results.verify import differences
from chatsquash.storage import refuse_remote
from chatsquash.storage.folder import Folder
from chatsquash.storage.staging import StagedFiles


class Flattening(NamedTuple):
    """The numbers of files and samples, or traces, written."""

    files: int
    samples: int


def flatten(forest: str, output: str, *, to: str = "samples", force: bool = False) -> Flattening:
    """Write the data files of a forest with one row per sample, or as traces of verifiers.

    Args:
        forest: The output folder of ``convert --samples forest``.
        output: The folder to write to: the data files with the same names, or a folder with ``traces.jsonl`` per split.
        to: ``samples`` or ``verifiers``.
        force: Replace existing files.

    Raises:
        UsageError: The folder has no forest or was changed, or a file exists or cannot be written.
    """
    refuse_remote(forest)
    refuse_remote(output)
    if Path(os.path.realpath(output)).is_relative_to(os.path.realpath(forest)):
        raise UsageError(f"{output}: is inside the input folder; choose another folder with --output")
    if not is_output(Path(forest)):
        raise UsageError(f"{forest}: not a result of chatsquash convert; use its output folder")
    with closing(Folder(Path(forest))) as folder:
        result = ResultFolder(folder)
        options = as_options(result.options)
        if options.samples != "forest":
            raise UsageError(f"{forest}: the output was not written with --samples forest")
        names = sorted(name for name in result.record_files if name.startswith(f"{FOLDER}/"))
        _refuse_changed(OutputSource(folder, Path(forest)), names)
        plan = (
            _traces(folder, names) if to == "verifiers" else _samples(folder, names, replace(options, samples="reply"))
        )
        return _publish(StagedFiles(Path(output), force=force), plan)


def _refuse_changed(forest: OutputSource, names: list[str]) -> None:
    """Raise ``UsageError`` for a changed file, since its samples could be other ones without being damaged."""
    for entry in manifest(forest)["outputs"]:
        problem = next(differences(forest, entry), None) if entry["path"] in names else None
        if problem:
            raise UsageError(f"{problem}; the file was changed since it was written, so convert again")


class _FlatteningPlan(NamedTuple):
    """The files that are written, and the function that writes them and returns the number of samples."""

    names: list[str]
    write: Callable[[_Files], int]


def _publish(staging: StagedFiles, plan: _FlatteningPlan) -> Flattening:
    try:
        staging.begin()
        if not staging.force:
            refuse_existing(staging.place, plan.names)
        out = _Files(staging)
        count = plan.write(out)
        out.close()
        staging.put(plan.names)
    except OSError as problem:
        raise UsageError(f"{staging.place}: cannot be written ({problem.strerror})") from None
    finally:
        with platform.uninterrupted():
            staging.discard()
    return Flattening(len(plan.names), count)


def _samples(folder: Folder, names: list[str], options: Options) -> _FlatteningPlan:
    def write(out: _Files) -> int:
        count, create = 0, opener(out, options, fields(options))
        for name in names:
            file = create(name)
            for row in places.rows(folder, name):
                file.add(row.data, {}, {})
                count += 1
            file.finish()
        return count

    return _FlatteningPlan(names, write)


def _traces(folder: Folder, names: list[str]) -> _FlatteningPlan:
    """Write the traces of each split to a separate folder, as verifiers does for a run."""
    targets = {name: f"{name.removeprefix(f'{FOLDER}/').partition('-')[0]}/traces.jsonl" for name in names}

    def write(out: _Files) -> int:
        count = 0
        for name, target in targets.items():
            lines = ((f"{row.file}:{row.number}", row.data) for row in places.forest_rows(folder, name))
            for trace in traces(lines, name):
                out.write(target, trace + b"\n")
                count += 1
        return count

    return _FlatteningPlan(list(dict.fromkeys(targets.values())), write)


class _Files:
    """Writes staged files."""

    def __init__(self, staging: StagedFiles) -> None:
        self._staging = staging
        self._files: dict[str, BinaryIO] = {}

    def write(self, name: str, data: bytes | bytearray, lines: int | None = None) -> None:
        """Append to a file."""
        del lines
        if name not in self._files:
            self._files[name] = self._staging.open(name)
        self._files[name].write(data)

    def close(self) -> None:
        """Close all files."""
        for file in self._files.values():
            file.close()
