"""Times chatsquash as whole processes, beside an older version and a naive converter, and writes what came of it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from bench import options, page, peers, scaling, shapes, table
from bench.agents import FILES
from bench.base import NoBaseError, build
from bench.bodies import BODIES
from bench.commands import CHATSQUASH, HERE, Bench, Commands, Run, in_turns, measured
from bench.documents import DOCUMENTS
from bench.generate import PROFILES, generate, profile
from bench.goals import OPTIONS, WITH_OPTIONS
from bench.records import are_right

DATA = HERE / ".data"
DOCS = HERE.parent / "docs" / "performance.md"
GOALS = HERE / "goals.md"
LARGE = 4.5e9  # bytes of a set that has to stay in the page cache
EVERYTHING = 18e9  # bytes of all sets
BESIDE = {"standard10": "standard", **dict.fromkeys(BODIES, "chat"), **dict.fromkeys(DOCUMENTS, "tiny")}
"""Logs that are timed beside others, and those others."""

PARTS = {
    "options": (options.LOGS,),
    "peers": ("standard", "claude_code", "codex"),
    "division": ("standard10",),
    "lengths": ("long",),
    "shapes": (),
}
"""What is timed beside the profiles, and the logs that have to be there for it."""
_STARTED = time.monotonic()


@click.command()
@click.option("--profile", "names", multiple=True, type=click.Choice(list(PROFILES)), help="Only these logs.")
@click.option("--part", "parts", multiple=True, type=click.Choice(list(PARTS)), help="Only this beside the logs.")
@click.option("--rounds", type=click.IntRange(min=1), help="How often everything is timed.  [default: 5]")
@click.option("--base", "revision", default="", help="A revision of git, timed in the same rounds.")
@click.option("--beside", metavar="COMMAND", help="Another chatsquash command, timed in the same rounds.")
@click.option("--quick", is_flag=True, help="Less of everything, 3 rounds; for development.")
@click.option("--docs", type=click.Path(path_type=Path), help="Where to write the page.  [default: docs/, if all ran]")
def main(  # noqa: PLR0913, PLR0917 - options
    names: tuple[str, ...],
    parts: tuple[str, ...],
    rounds: int | None,
    revision: str,
    beside: str | None,
    docs: Path | None,
    *,
    quick: bool,
) -> None:
    """Time chatsquash against an older version, a naive converter and reading alone."""
    data = DATA / "quick" if quick else DATA
    data.mkdir(parents=True, exist_ok=True)
    is_all = not (names or parts)
    needed = [name for part in parts for name in PARTS[part]]
    chosen = list(PROFILES) if is_all else list(dict.fromkeys([*names, *needed]))
    facts = {**_facts(), "rounds": rounds or (3 if quick else 5), "quick": quick, "base": revision or "base"}
    with tempfile.TemporaryDirectory() as folder:
        command, facts["no_base"] = _base(revision, Path(folder))
        bench = Bench(data, chosen, facts["rounds"], quick, command, beside)
        results = facts | _measured(bench, facts["share"], list(PARTS) if is_all else list(parts))
    (DATA / "results.json").write_text(json.dumps(results, indent=1))
    print(page.internal(results), page.page(results, ""), sep="\n\n")
    if beside:
        print("", table.beside(results), sep="\n")
    if docs or (is_all and not quick and not beside):
        page.write(results, docs or DOCS, docs.with_name("goals.md") if docs else GOALS)


def _base(revision: str, folder: Path) -> tuple[str | None, str | None]:
    """The command of a revision, or why there is none."""
    if not revision:
        return None, "no revision was named"
    try:
        return build(revision, folder), None
    except NoBaseError as error:
        print(f"not timed: {error}")
        return None, str(error)


def _facts() -> dict[str, Any]:
    return {"machine": page.machine(), "load": os.getloadavg()[0], "share": _share()}


def _measured(bench: Bench, share: float, parts: list[str]) -> dict[str, Any]:
    """All that is timed, the profiles first."""
    logs = _logs(bench, share)
    _say("comparing records")
    right = [are_right(bench, name, logs) for name in bench.names]
    if not all(right):
        sys.exit("records differ; nothing was timed")
    print(f"{len(bench.names)} profiles: the same records as naive.py, or as of the same sessions in OpenAI's form")
    sizes = {name: _size(folder) for name, folder in logs.items()}
    times = {name: _timed(bench, name, variants) for name, variants in _groups(bench, logs)}
    few = min(3, bench.rounds)
    timed: dict[str, Callable[[], object]] = {
        "options": lambda: options.timed(bench, logs[options.LOGS], few),
        "peers": lambda: peers.timed(bench, {name: logs[name] for name in PARTS["peers"]}, few),
        "division": lambda: scaling.divided(bench, logs["standard10"], few),
        "lengths": lambda: scaling.lengths(bench, bench.rounds),
        "shapes": lambda: shapes.timed(bench, few),
    }
    found: dict[str, Any] = {"sizes": sizes, "times": times}
    for part in parts:
        _say(f"timing {part}")
        found[part] = timed[part]()
    return found


# The logs


def _logs(bench: Bench, share: float) -> dict[str, Path]:
    """The folder of each profile, and of those that some are timed beside."""
    needed = {*bench.names, *(BESIDE[name] for name in bench.names if name in BESIDE)}
    made = {
        name: generate(name, profile(name, quick=bench.quick, share=share), bench.data)
        for name in PROFILES
        if name in needed
    }
    os.sync()
    return made


def _share() -> float:
    """How much of the large sets this machine has room for."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    made = sum(path.stat().st_size for path in DATA.rglob("*.jsonl") if path.is_file())
    disk = shutil.disk_usage(DATA).free + made
    return round(min(1, memory / 3 / LARGE, disk / 1.3 / EVERYTHING), 1) or 0.1


def _size(folder: Path) -> dict[str, int]:
    files = list(folder.rglob("*.json*"))
    return {"bytes": sum(path.stat().st_size for path in files), "sessions": len(files)}


# The times


def _groups(bench: Bench, logs: dict[str, Path]) -> Iterator[tuple[str, dict[str, Commands]]]:
    """What is timed in turns."""
    for name in bench.names:
        folder = logs[name]
        one = [bench.convert(folder, "--workers", "1")]
        two = [bench.convert(folder, "--workers", "2")]
        read = [[str(shutil.which("find")), str(folder), "-name", "*.json*", "-exec", "wc", "-l", "{}", "+"]]
        if name == "one":
            yield name, {"help": [[CHATSQUASH, "--help"]], "session": [bench.convert(folder)]}
        elif name in BODIES:
            yield name, {"one": one, "chat": [bench.convert(logs[BESIDE[name]], "--workers", "1")], "wc": read}
        elif name in DOCUMENTS:
            yield name, {"one": one, "tiny": [bench.convert(logs[BESIDE[name]], "--workers", "1")], "wc": read}
        elif name in FILES:
            yield name, {"one": one, "naive": [bench.naive(folder, "naive_files.py")], "wc": read}
        elif name.startswith("giant"):
            yield name, {"one": one, "wc": read}
        elif PROFILES[name].repeats > 1:
            yield name, _repeated(bench, name, logs, {"one": one, "two": two, "wc": read})
        else:
            yield (
                name,
                {"one": one, "naive": [bench.naive(folder)], "wc": read, "two": two} | _optional(bench, name, logs),
            )


def _optional(bench: Bench, name: str, logs: dict[str, Path]) -> dict[str, Commands]:
    """Return the runs with the options whose cost is limited."""
    chosen = OPTIONS.items() if name in WITH_OPTIONS else ()
    return {key: [bench.convert(logs[name], "--workers", "1", *words.split())] for key, (words, _, _) in chosen}


def _repeated(bench: Bench, name: str, logs: dict[str, Path], variants: dict[str, Commands]) -> dict[str, Commands]:
    """What is timed of logs that are there ten times, each half of them in a folder of its own."""
    variants["halves"] = [bench.convert(logs[name] / half, "--workers", "1", to=half) for half in ("a", "b")]
    if name == "standard10":
        variants["tenth"] = [bench.convert(logs["standard"], "--workers", "1")]
        variants["tenth_two"] = [bench.convert(logs["standard"], "--workers", "2")]
    return variants


def _timed(bench: Bench, name: str, variants: dict[str, Commands]) -> dict[str, list[Run]]:
    """Every variant in turn, round by round; a run before them fills the page cache."""
    _say(f"timing {name}")
    if "wc" in variants:
        measured(bench, variants["wc"])
    compared = () if PROFILES[name].repeats > 1 else ("one", "session")
    return in_turns(bench, bench.with_versions(variants, compared), bench.rounds * (3 if name == "one" else 1))


def _say(what: str) -> None:
    print(f"{time.monotonic() - _STARTED:5.0f} s: {what} ...", flush=True)


if __name__ == "__main__":
    main()
