"""Outputs of chatsquash among logs: they are named, and never read as logs."""

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
"""A member that is among the first of ``run.json``."""
_LEVELS = 2
"""Folders above a file of an output, at most."""


class _File(msgspec.Struct):
    path: str


class _Manifest(msgspec.Struct):
    outputs: list[_File]


def is_output(folder: Path) -> bool:
    """Whether a run wrote to a folder, or its files were copied there."""
    return (folder / OURS).is_dir() or _has_manifest(folder)


def output_of(path: Path) -> Path | None:
    """The output that a file or a folder is part of, as its ``run.json`` says; ``None`` if there is none."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - a link is a name of its own
    for above in absolute.parents[:_LEVELS]:
        if _has_manifest(above):
            name = absolute.relative_to(above).as_posix()
            if name == RUN or any(each == name or each.startswith(f"{name}/") for each in _files(above)):
                return Path(path).parents[len(absolute.relative_to(above).parts) - 1]
    return None


def output_error(given: str, output: Path | None = None) -> UsageError:
    """The error for an argument that is an output of chatsquash, or in one."""
    which = f"is in {output}, an output of chatsquash" if output else "is an output of chatsquash"
    hint = "name the logs that it was made from; chatsquash stats, check and translate read its records"
    return UsageError(f"{given}: {which}, not logs: {hint}, and merge joins it with others")


def output_not_read(folder: str) -> Finding:
    """What is reported about an output below the logs."""
    fact = reading.file_not_read("earlier output", 1)
    return Finding(fact.code, fact.severity, Path(folder).name, folder, None, None, fact.text)


def _has_manifest(folder: Path) -> bool:
    try:
        with raw(folder / RUN) as file:
            return _MARK in file.read(_HEAD)
    except OSError:
        return False


def _files(output: Path) -> list[str]:
    """The files that a run wrote."""
    try:
        with raw(output / RUN) as file:
            return [each.path for each in msgspec.json.decode(file.readall(), type=_Manifest).outputs]
    except (OSError, ValueError, RecursionError):
        return []
