"""The commit: all staged files take their places, and what a killed run left half done is finished by the next.

The plan is on the disk before the first file moves, and goes after the last.  While it is there, ``run.json`` is not,
or the files do not have the hashes that it names: a mixture of two runs is never taken for a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from pipeline import platform
from pipeline.model import OURS

RUN = "run.json"
STAGING = f"{OURS}/staging"
PLAN = f"{OURS}/commit.json"
STATE = f"{OURS}/state.json"


class Plan(Struct):
    """What a commit has to do."""

    files: dict[str, int]
    """Names below OUT and sizes, in the order in which they take their places; ``run.json`` is the last."""
    gone: list[str]
    """What an earlier run wrote and this one did not."""
    memory: bytes
    """What the run wants to know the next time."""


class State(Struct):
    """The folder as the last commit left it."""

    files: dict[str, tuple[int, int]]
    """Of every file its size and when it was last changed, in nanoseconds since the epoch."""
    memory: bytes


Record = Callable[[Iterable[str]], None]
"""Told which files are ours."""


def prepare(out: Path, plan: Plan, record: Record) -> None:
    """Make sure that all staged files and the plan are on the disk: from here on the commit will be finished."""
    for name in plan.files:
        platform.sync(out / STAGING / name)
    for folder in _folders(out / STAGING, plan.files):
        platform.sync(folder)
    record({*plan.files, *plan.gone})
    replace(out / PLAN, msgspec.json.encode(plan))
    platform.sync(out / OURS)


def pending(out: Path) -> Plan | None:
    """The plan of a commit that was not finished; raises ``ValueError`` for one that is damaged."""
    try:
        return msgspec.json.decode((out / PLAN).read_bytes(), type=Plan)
    except FileNotFoundError:
        return None


def can_be_finished(out: Path, plan: Plan) -> bool:
    """Whether each file of a plan is still staged, or stands in its place already."""
    return all(_size(out / STAGING / name) == size or _size(out / name) == size for name, size in plan.files.items())


def finish(out: Path, plan: Plan, record: Record) -> None:
    """Put the files of a plan in their places, those that are not there yet; ``record`` is told what is ours then.

    The old ``run.json`` goes first and the new one comes when all else is on the disk.
    """
    if (out / STAGING / RUN).exists():
        (out / RUN).unlink(missing_ok=True)
    for name in plan.gone:
        (out / name).unlink(missing_ok=True)
    for name in plan.files:
        if name != RUN:
            _settle(out, name)
    for folder in _folders(out, [*plan.files, *plan.gone]):
        platform.sync(folder)
    if RUN in plan.files:
        _settle(out, RUN)
        platform.sync(out)
    if plan.gone:
        record(plan.files)
    stats = {name: (out / name).stat() for name in plan.files}
    files = {name: (stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}
    # Not flushed: what a crash leaves of it is told by looking at it, and costs no more than a full run.
    beside = out / f"{STATE}.new"
    beside.write_bytes(msgspec.json.encode(State(files, plan.memory)))
    beside.replace(out / STATE)
    for folder in _folders(out / STAGING, plan.files):
        with suppress(OSError):
            folder.rmdir()  # they are empty by now
    (out / PLAN).unlink()
    platform.sync(out / OURS)


def remembered(out: Path) -> tuple[bytes, bool]:
    """What the last run wanted to know, and whether all its files stand as it left them; nothing if that is unknown."""
    try:
        state = msgspec.json.decode((out / STATE).read_bytes(), type=State)
    except (OSError, ValueError):
        return b"", False
    try:
        stats = ((out / name).lstat() for name in state.files)
        same = [(stat.st_size, stat.st_mtime_ns) for stat in stats] == list(state.files.values())
    except OSError:
        same = False
    return state.memory, same


def replace(path: Path, data: bytes) -> None:
    """Write a file that is ours alone, so that it is there whole or as it was."""
    beside = path.with_name(f"{path.name}.new")
    try:
        beside.write_bytes(data)
        platform.sync(beside)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _settle(out: Path, name: str) -> None:
    staged = out / STAGING / name
    if staged.exists():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        staged.replace(out / name)


def _folders(root: Path, names: Iterable[str]) -> list[Path]:
    """The folders that hold these names, the deepest first."""
    inside = {folder for name in names for folder in PurePosixPath(name).parents}
    found = (root / folder for folder in sorted(inside, key=lambda folder: (-len(folder.parts), folder)))
    return [folder for folder in found if folder.is_dir()]


def _size(path: Path) -> int | None:
    try:
        return path.lstat().st_size
    except OSError:
        return None
