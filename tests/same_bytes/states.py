"""The output folder of a run of the base that was killed, and the base that leaves such folders.

Journals and shards are bound to the state of the code that wrote them. The base that leaves folders differs from the
base that is compared by a comment, so that both sides of the comparison meet the folders of another state.
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


def make(earlier: Side, root: Path, cache: Path, folder: Path) -> None:
    """Kill a run and keep its output folder."""
    case = Case("state", (), {name: f"inputs/{name}" for name in LOGS})
    work = prepared(case, root / "state", cache)
    _kill(earlier, work)
    shutil.copytree(work / "out", folder / "killed" / "out", symlinks=True)
    shutil.rmtree(work)


def other_code(package: Path, folder: Path) -> None:
    """Copy a version of the package and add a comment."""
    shutil.copytree(package, folder, dirs_exist_ok=True)
    with (folder / "chatsquash" / "__init__.py").open("a", encoding="utf-8") as module:
        module.write("\n# another state of the code\n")


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
