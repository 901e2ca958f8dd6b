"""Where the CPU time of a run goes, by phase: the samples of ``sample.py``, each counted for a phase and a function."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from bench.commands import FINISHED, HERE, Bench
from bench.generate import PROFILES, generate, profile

_SHARE = 0.2  # of the logs that are there ten times
PHASES = {
    "start": "loading modules",
    "read": "from bytes to entries",
    "judge": "from entries to records",
    "check": "what is wrong with records",
    "write": "the output folder",
    "run": "sessions, journal, reports and all else",
}
_ROOMS = {
    "sources": "read",
    "reading": "read",
    "formats": "read",
    "trees": "judge",
    "session": "judge",
    "records": "judge",
    "redaction": "judge",
    "checks": "check",
    "templates": "check",
    "session/stages/checking.py": "check",
    "session/record_measures.py": "check",
    "dataset": "write",
    "dataset/reports": "run",
    "pages": "run",
    "results": "run",
    "archive": "run",
    "provenance": "run",
    "recipe": "run",
    "inspect": "run",
    "conversion": "run",
    "hub": "run",
    "cli": "run",
    "view": "run",
}
"""The phase of a module by its folder, or by itself; one that is in none helps others, and counts for its caller."""

Place = tuple[str, str]
"""A module, as a path in the package, and a function."""
Violation = dict[str, Counter[Place]]
"""By phase, the seconds of each function."""


def phase_of(module: str) -> str | None:
    """The phase of a module; ``None`` for one that helps others."""
    parents = (module.rsplit("/", count)[0] for count in range(module.count("/") + 1))
    return next((_ROOMS[each] for each in parents if each in _ROOMS), None)


def where(stack: Sequence[Place]) -> tuple[str, Place]:
    """The phase of a stack, innermost first, and the innermost function; what loads modules is a phase of its own."""
    if any(not module for module, _ in stack) or not stack:
        return "start", ("", "")
    phases = (phase_of(module) for module, _ in stack)
    return next((phase for phase in phases if phase), "run"), stack[0]


def by_phase(samples: Sequence[tuple[Sequence[Place], float]]) -> Violation:
    """The samples, added up."""
    found: Violation = {phase: Counter() for phase in PHASES}
    for stack, seconds in samples:
        phase, place = where([(module, function) for module, function in stack])
        found[phase][place] += seconds
    return found


def table(found: Violation, shown: int) -> str:
    """The phases with their shares, and the functions in which most of each is spent."""
    whole = sum(sum(functions.values()) for functions in found.values()) or 1.0
    lines = []
    for phase, what in PHASES.items():
        seconds = sum(found[phase].values())
        lines.append(f"{phase:6} {seconds / whole:6.1%} {seconds:8.3f} s  {what}")
        for (module, function), part in found[phase].most_common(shown if phase != "start" else 0):
            lines.append(f"       {part / whole:6.1%} {part:8.3f} s      {module}: {function}")
    return "\n".join([*lines, f"       {1:6.1%} {whole:8.3f} s"])


@click.command()
@click.argument("name", metavar="PROFILE", type=click.Choice(list(PROFILES)), default="standard")
@click.option("--logs", type=click.Path(path_type=Path, exists=True), help="Other logs than those of the profile.")
@click.option("--functions", "shown", type=click.IntRange(min=0), default=5, help="How many of each phase are shown.")
@click.argument("given", nargs=-1)
def main(name: str, given: tuple[str, ...], logs: Path | None, shown: int) -> None:
    """Tell where the CPU time of a profile goes, in one process; options of the run may stand behind ``--``."""
    data = HERE / ".data"
    folder = logs or generate(name, profile(name, quick=False, share=_SHARE), data)
    with tempfile.TemporaryDirectory() as out:
        command = Bench(Path(out), [], 1, quick=False).convert(folder, "--workers", "1", "--quiet", *given)
        sampled = [sys.executable, str(HERE / "sample.py"), f"{out}/samples", *command[1:]]
        code = subprocess.run(sampled, env=Bench(Path(out), [], 1, quick=False).environment(), check=False).returncode
        if code not in FINISHED:
            sys.exit(code)
        print(table(by_phase(json.loads(Path(out, "samples").read_text())), shown))


if __name__ == "__main__":
    main()
