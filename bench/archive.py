"""Measure ``chatsquash archive`` against its parts: ``python -m bench.archive``, with the standard logs.

The size is compared with that of the distinct content: each message, tool and line without these, once, compressed with
zstd -3. CPU is compared with ``sha256sum`` and ``zstd -3``, interleaved; the smallest of the rounds counts.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import zstandard

from bench.generate import generate, profile

ROUNDS = 5
_SECONDS = 2.1
"""A file that changed less than two seconds ago is read again."""


def cpu(command: list[str]) -> float:
    """Return the CPU time of a command in seconds."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def distinct(files: list[Path]) -> bytes:
    """Return each message, tool and rest of a line once."""
    return b"\n".join(dict.fromkeys(part for path in files for line in path.open("rb") for part in _parts(line)))


def _parts(line: bytes) -> Iterator[bytes]:
    try:
        entry = orjson.loads(line)
    except orjson.JSONDecodeError:
        yield line
        return
    for name in ("messages", "tools"):
        yield from map(orjson.dumps, entry["request"].pop(name, ()))
    yield orjson.dumps(entry)


def main() -> None:
    """Print sizes and times."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        logs = generate("standard", profile("standard", quick=False), Path(folder))
        files = sorted(path for path in logs.rglob("*") if path.is_file())
        store = Path(folder, "store")
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        archive = [sys.executable, "-m", "chatsquash", "archive", str(logs), "--to", str(store)]
        names = list(map(str, files))
        commands: dict[str, Callable[[], float]] = {
            "archive, new": lambda: (shutil.rmtree(store, ignore_errors=True), cpu(archive))[1],
            "archive, unchanged": lambda: cpu(archive),
            "sha256sum": lambda: cpu(["sha256sum", *names]),
            "zstd -3": lambda: cpu(["zstd", "-q", "-3", "-T1", "-c", *names]),
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, run in commands.items():
                if name == "archive, unchanged":
                    time.sleep(_SECONDS)
                    cpu(archive)  # notes that nothing was recent
                times[name].append(run())
        _print(files, store, {name: min(each) for name, each in times.items()})


def _print(files: list[Path], store: Path, times: dict[str, float]) -> None:
    content = distinct(files)
    size = sum(path.stat().st_size for path in files)
    stored = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
    least = len(zstandard.ZstdCompressor(level=3).compress(content))
    zipped = sum(len(gzip.compress(path.read_bytes(), 6)) for path in files)
    print(f"logs {size / 1e6:.1f} MB, distinct content {len(content) / 1e6:.1f} MB, with zstd -3 {least / 1e6:.2f} MB")
    print(f"archive {stored / 1e6:.2f} MB: {stored / least:.2f} of that; gzip of each file {zipped / 1e6:.1f} MB")
    for name, seconds in times.items():
        print(f"{name:20} {seconds:.2f} s")
    print(f"unchanged / sha256sum            {times['archive, unchanged'] / times['sha256sum']:.2f} (at most 1.3)")
    parts = times["zstd -3"] + times["sha256sum"]
    print(f"new / (zstd -3 + sha256sum)      {times['archive, new'] / parts:.2f} (at most 1.5)")


if __name__ == "__main__":
    main()
