"""Outputs of chatsquash in log folders, which are reported but never read as logs."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from chatsquash.checks import reading
from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS, Finding
from chatsquash.sources.open import raw
from chatsquash.storage.commit import RUN

_HEAD = 1 << 10
_MARK = b'"chatsquash_version"'
"""A key near the beginning of ``run.json``."""
_LEVELS = 2
"""The maximum depth of a file under its output folder."""


class _File(msgspec.Struct):
    path: str


class _Manifest(msgspec.Struct):
    outputs: list[_File]


def is_output(folder: Path) -> bool:
    """Return whether a folder is the output of a run, or a copy of one."""
    return (folder / OURS).is_dir() or _has_manifest(folder)


def output_of(path: Path) -> Path | None:
    """Return the output folder that lists a file or folder in its ``run.json``, or ``None``."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - links are not resolved
    for above in absolute.parents[:_LEVELS]:
        if _has_manifest(above):
            name = absolute.relative_to(above).as_posix()
            if name == RUN or any(each == name or each.startswith(f"{name}/") for each in _files(above)):
                return Path(path).parents[len(absolute.relative_to(above).parts) - 1]
    return None


def output_error(argument: str, output: Path | None = None) -> UsageError:
    """Return the error for an argument that is, or is inside, an output of chatsquash."""
    which = f"is in {output}, a chatsquash output" if output else "is a chatsquash output"
    hint = "pass the logs that it was made from; chatsquash stats, check and translate read its records"
    return UsageError(f"{argument}: {which}, not logs: {hint}, and merge joins it with other results")


def output_not_read(folder: str) -> Finding:
    """Return the finding for an output inside a log folder."""
    fact = reading.file_not_read("earlier output", 1)
    return Finding(fact.code, fact.severity, Path(folder).name, folder, None, None, fact.text)


def _has_manifest(folder: Path) -> bool:
    try:
        with raw(folder / RUN) as file:
            return _MARK in file.read(_HEAD)
    except OSError:
        return False


def _files(output: Path) -> list[str]:
    """Return the files listed in an output's manifest."""
    try:
        with raw(output / RUN) as file:
            return [each.path for each in msgspec.json.decode(file.readall(), type=_Manifest).outputs]
    except (OSError, ValueError, RecursionError):
        return []
