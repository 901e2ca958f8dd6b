"""Output folders that the base left: of a killed run, of a complete one, and with some of its shards.

Journals and shards are bound to the state of the code that wrote them. The base that leaves these folders differs from
the base that is compared by a comment, so that both sides of the comparison meet the folders of another state.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from tests.same_bytes.cases import LOGS, Case
from tests.same_bytes.run import Side, prepared

_CONVERT = ("convert", *LOGS, "-o", "out", "--workers")
_JOURNALED = 100_000
"""Bytes in the journals from which on a run is killed."""


def make(base: Side, root: Path, cache: Path, folder: Path) -> None:
    """Write all states into a folder."""
    case = Case("state", (), {name: f"inputs/{name}" for name in LOGS})
    makers = {"killed": _kill, "complete": _complete, "shards": _shard}
    for name, maker in makers.items():
        work = prepared(case, root / "state", cache)
        maker(base, work)
        shutil.copytree(work / "out", folder / name / "out", symlinks=True)
        shutil.rmtree(work)


def other_code(package: Path, folder: Path) -> None:
    """Copy a version of the package and add a comment."""
    shutil.copytree(package, folder, dirs_exist_ok=True)
    with (folder / "chatsquash" / "__init__.py").open("a", encoding="utf-8") as module:
        module.write("\n# another state of the code\n")


def _complete(base: Side, folder: Path) -> None:
    _run(base, folder, *_CONVERT, "1")


def _shard(base: Side, folder: Path) -> None:
    _run(base, folder, "shards", *LOGS, "--shards", "2", "-o", "out")
    _run(base, folder, "convert", "--shard", "1/2", "-o", "out", "--workers", "1")


def _run(base: Side, folder: Path, *arguments: str) -> None:
    subprocess.run(base.command(*arguments), cwd=folder, env=base.environment(folder), capture_output=True, check=False)


def _kill(base: Side, folder: Path) -> None:
    """Start a run of two workers and kill all of it once the journals contain some sessions."""
    process = subprocess.Popen(
        base.command(*_CONVERT, "2"),
        cwd=folder,
        env=base.environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while process.poll() is None and _journaled(folder) < _JOURNALED:
            time.sleep(0.002)
    finally:
        ended = process.poll() is not None
        if not ended:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if ended or (folder / "out" / "run.json").exists():
        raise RuntimeError("the run ended before it was killed")


def _journaled(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("out/.chatsquash/journal/*"))
