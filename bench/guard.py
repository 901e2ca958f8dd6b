"""Count the instructions of small conversions, so that no change slows every run unnoticed: ``make bench-guard``.

Instructions hardly vary between runs and machines, unlike seconds. They are counted by ``perf stat`` if the machine has
the counters, otherwise by ``valgrind``. ``guard.json`` contains the recorded counts by counter and version of Python,
which decide the number of instructions. A count may exceed the recorded one by 3 %; ``--record`` only lowers counts.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from bench.commands import HERE
from bench.generate import PROFILES, generate

RECORD = HERE / "guard.json"
SESSIONS = {"tiny": 300, "standard": 8, "claude_code": 2}
"""The number of sessions by profile: few, because counting takes about 30 times as long as running."""
LIMIT = 1.03
_PERF = ("perf", "stat", "-x,", "-e", "instructions:u")
_VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
_COUNT = {"perf": re.compile(r"(?m)^(\d+),[^,]*,instructions"), "valgrind": re.compile(r"I\s+refs:\s+([\d,]+)")}
Counter = Callable[[list[str], dict[str, str]], int]


def counter() -> tuple[str, Counter] | None:
    """Return the name of a counter of this machine and the function that counts; ``None`` if there is none."""
    for command in (_PERF, _VALGRIND):
        name = command[0]

        def count(run: list[str], environment: dict[str, str], command: tuple[str, ...] = command) -> int:
            done = subprocess.run([*command, *run], env=environment, capture_output=True, text=True, check=False)
            match = _COUNT[command[0]].search(done.stderr)
            if not match:
                raise RuntimeError(done.stderr[-1000:])
            return int(match[1].replace(",", ""))

        if shutil.which(name):
            try:
                count([sys.executable, "-c", ""], dict(os.environ))
            except RuntimeError:
                continue
            return name, count
    return None


def measure(count: Counter) -> dict[str, int]:
    """Return the instructions of converting each profile, in millions."""
    counts = {}
    with tempfile.TemporaryDirectory(prefix="guard-") as folder:
        root = Path(folder)
        (root / "key").write_text("0" * 64)
        environment = {
            "HOME": folder,
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "PYTHONHASHSEED": "0",  # the order of sets decides the work
            "PYTHONPYCACHEPREFIX": f"{folder}/bytecode",
            "CHATSQUASH_ANONYMIZE_KEY_FILE": f"{folder}/key",
        }
        for name, sessions in SESSIONS.items():
            logs = generate(name, replace(PROFILES[name], sessions=sessions), root)
            run = [sys.executable, "-m", "chatsquash", "convert", str(logs), "--workers", "1", "--quiet", "--output"]
            subprocess.run([*run, f"{folder}/first"], env=environment, capture_output=True, check=False)
            counts[name] = round(count([*run, f"{folder}/second"], environment) / 1e6)
            shutil.rmtree(root / "first")
            shutil.rmtree(root / "second")
    return counts


def excess(counts: dict[str, int], recorded: dict[str, int]) -> list[str]:
    """Return a line for each profile whose count is beyond the limit."""
    return [
        f"{name}: {counts[name]:,} million instructions, {counts[name] / most - 1:+.1%} of the recorded {most:,}"
        for name, most in recorded.items()
        if counts[name] > most * LIMIT
    ]


@click.command()
@click.option("--record", is_flag=True, help="Record counts that are lower than the recorded ones.")
@click.option("--force", is_flag=True, help="With --record: also record higher counts.")
def main(*, record: bool, force: bool) -> None:
    """Fail if converting small logs takes more instructions than recorded."""
    found = counter()
    if found is None:
        print("bench-guard: skipped, since this machine has neither perf counters nor valgrind")
        return
    tool, count = found
    key = f"{tool}, Python {platform.python_version()}, {platform.machine()}"
    records: dict[str, dict[str, int]] = json.loads(RECORD.read_text())
    recorded = records.get(key, {})
    if not recorded and not record:
        print(f"bench-guard: skipped, since no counts are recorded for {key}")
        return
    counts = measure(count)
    print(*(f"{name}: {each:,} million instructions" for name, each in counts.items()), sep="\n")
    if record:
        records[key] = {name: each if force else min(each, recorded.get(name, each)) for name, each in counts.items()}
        RECORD.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n")
    elif lines := excess(counts, recorded):
        sys.exit("\n".join(["bench-guard: more instructions than recorded in bench/guard.json", *lines]))


if __name__ == "__main__":
    main()
