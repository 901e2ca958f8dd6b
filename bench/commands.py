"""The commands that are timed, whose versions they run, and what one of them takes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
CHATSQUASH = str(Path(sys.executable).with_name("chatsquash"))
_LEAST = 2  # rounds
FINISHED = {0, 3}  # 3: some lines could not be read, as is meant

BASE, OTHER = " base", " beside"
"""Suffixes of variants that another version ran: an older revision, or a command that was named."""

Command = list[str]
Commands = list[Command]
"""Commands that run side by side."""
Run = dict[str, Any]
"""What ``measure.py`` prints."""


class Bench(NamedTuple):
    """One run of the benchmark."""

    data: Path
    names: list[str]
    rounds: int
    quick: bool
    base: str | None = None
    """The chatsquash command of an older version."""
    other: str | None = None
    """Another chatsquash command, which is timed in the same rounds."""

    @property
    def out(self) -> Path:
        """The folder that every run writes to."""
        return self.data / "out"

    def environment(self) -> dict[str, str]:
        """The environment, with no option of ours in it but the key, and bytecode kept as an install keeps it."""
        key = self.data / "key"
        key.write_text("a key for timing only, of no use to anyone")
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("CHATSQUASH_") and name != "PYTHONDONTWRITEBYTECODE"
        }
        return {**kept, "CHATSQUASH_ANONYMIZE_KEY_FILE": str(key)}

    def convert(self, logs: Path, *options: str, to: str = "ours") -> Command:
        """Our command."""
        return [CHATSQUASH, "convert", str(logs), "--output", str(self.out / to), *options]

    def naive(self, logs: Path, script: str = "naive.py") -> Command:
        """That of a script that does without all else."""
        return [sys.executable, str(HERE / script), str(logs), str(self.out / "naive.jsonl")]

    def with_versions(self, variants: dict[str, Commands], compared: Iterable[str]) -> dict[str, Commands]:
        """Variants, and behind each the same of the command beside; behind those compared also of other versions."""
        all_: dict[str, Commands] = {}
        for name, commands in variants.items():
            all_[name] = commands
            if commands[0][0] != CHATSQUASH:
                continue
            if name in compared and self.base:
                all_[name + BASE] = [_run_by(self.base, command) for command in commands]
            if self.other:
                all_[name + OTHER] = [_run_by(self.other, command) for command in commands]
        return all_


def _run_by(program: str, command: Command) -> Command:
    return [program, *command[1:]]


def measured(bench: Bench, commands: Commands, cores: Iterable[int] = ()) -> Run:
    """What commands take that run side by side, each on the core that it is given; what they write is removed."""
    with Fresh(bench.out):
        return taken(bench, commands, cores)


def taken(bench: Bench, commands: Commands, cores: Iterable[int] = ()) -> Run:
    """The same, of commands that find the output folder as it is, and leave what they write."""
    launcher = [sys.executable, "-IS", str(HERE / "measure.py"), json.dumps(commands), json.dumps(list(cores))]
    done = subprocess.run(launcher, env=bench.environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    took: Run = json.loads(done.stdout)
    if not set(took["codes"]) <= FINISHED:
        sys.exit(f"{commands}: exit codes {took['codes']}\n{done.stderr}")
    return took


def in_turns(bench: Bench, variants: dict[str, Commands], rounds: int, long: float = 90) -> dict[str, list[Run]]:
    """What every variant takes, round by round, in one order and the other, so that none is always the first.

    No round begins after ``long`` seconds, but two are there at least where more are asked for.
    """
    taken: dict[str, list[Run]] = {variant: [] for variant in variants}
    ends = time.monotonic() + long
    for number in range(rounds):
        if number >= _LEAST and time.monotonic() > ends:
            break
        for variant in list(variants)[:: -1 if number % 2 else 1]:
            taken[variant].append(measured(bench, variants[variant]))
    return taken


class Fresh:
    """An output folder that is there, and empty, for one run only."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        shutil.rmtree(self._path, ignore_errors=True)
        self._path.mkdir()

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._path)
