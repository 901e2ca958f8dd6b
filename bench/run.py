"""Time complete processes of chatsquash and of other converters: ``make bench``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click

from bench import options, page, peers, scaling, shapes, table
from bench.agents import FILES
from bench.base import NoBaseError, build
from bench.bodies import BODIES
from bench.commands import CHATSQUASH, FINISHED, HERE, Bench, Commands, Fresh, Run, in_turns, measured
from bench.documents import DOCUMENTS
from bench.generate import COPIES, PROFILES, generate, profile
from bench.goals import COSTS, WITH_OPTIONS
from bench.records import are_right

DATA = HERE / ".data"
DOCS = HERE.parent / "docs" / "performance.md"
GOALS = HERE / "goals.md"
LARGE = 4.5e9  # bytes of a set that has to stay in the page cache
EVERYTHING = 18e9  # bytes of all sets
BESIDE = {"standard10": "standard", **dict.fromkeys(BODIES, "chat"), **dict.fromkeys(DOCUMENTS, "tiny")}
"""Logs that are timed together with others, and those others."""

PARTS = {
    "options": (options.LOGS,),
    "peers": ("claude_code", "codex", "pi"),
    "division": ("standard10",),
    "lengths": ("long",),
    "shapes": (),
}
"""The measurements in addition to the profiles, with the logs that each needs."""
ON_PAGE = [name for name in PROFILES if name not in {"spaced", "worst", "chat", "long10", "one"}]
PARTS_ON_PAGE = ["peers", "division", "lengths"]
VARIANTS_ON_PAGE = {"one", "two", "tenth", *COSTS}
"""Profiles, measurements and runs for the page for users; all others are for the page of goals."""
_ROUNDS = 3
_STARTED = time.monotonic()


@click.command()
@click.option("--profile", "names", multiple=True, type=click.Choice(list(PROFILES)), help="Only these logs.")
@click.option("--part", "parts", multiple=True, type=click.Choice(list(PARTS)), help="Only this measurement.")
@click.option("--logs", type=click.Path(path_type=Path, exists=True), help="Only these logs of yours; writes no page.")
@click.option("--rounds", type=click.IntRange(min=1), help="How often everything is timed.  [default: 3]")
@click.option("--base", "revision", default="", help="Compare with this revision of git; writes the page of goals.")
@click.option("--beside", metavar="COMMAND", help="Another chatsquash command, timed in the same rounds.")
@click.option("--quick", is_flag=True, help="Fewer logs, for development; writes no page without --docs.")
@click.option("--docs", type=click.Path(path_type=Path), help="Write the page here.")
def main(  # noqa: PLR0913, PLR0917 - options
    names: tuple[str, ...],
    parts: tuple[str, ...],
    logs: Path | None,
    rounds: int | None,
    revision: str,
    beside: str | None,
    docs: Path | None,
    *,
    quick: bool,
) -> None:
    """Time chatsquash and other converters and write docs/performance.md; with --base, write bench/goals.md."""
    data = DATA / "quick" if quick else DATA
    data.mkdir(parents=True, exist_ok=True)
    if logs:
        print("", page.excerpt(_own(Bench(data, ["own"], rounds or _ROUNDS, quick), logs)), sep="\n")
        return
    is_all = not (names or parts)
    for_users = is_all and not revision
    facts = {**_facts(), "rounds": rounds or _ROUNDS, "quick": quick, "base": revision or "base"}
    with tempfile.TemporaryDirectory() as folder:
        command, facts["no_base"] = _base(revision, Path(folder))
        bench = Bench(data, _names(names, parts, for_users=for_users), facts["rounds"], quick, command, beside)
        measurements = PARTS_ON_PAGE if for_users else list(PARTS if is_all else parts)
        results = facts | _measured(bench, facts["share"], measurements, VARIANTS_ON_PAGE if for_users else None)
    (DATA / "results.json").write_text(json.dumps(results, indent=1))
    shown = [page.page(results, "performance.svg")] if for_users else [page.excerpt(results), page.internal(results)]
    print(*shown, table.beside(results) if beside else "", sep="\n\n")
    if docs or (is_all and not quick and not beside):
        page.write(results, docs or (DOCS if for_users else GOALS), for_users=for_users)


def _names(names: tuple[str, ...], parts: tuple[str, ...], *, for_users: bool) -> list[str]:
    """Return the profiles to time, with those that the measurements need."""
    if for_users:
        return ON_PAGE
    if not (names or parts):
        return list(PROFILES)
    return list(dict.fromkeys([*names, *(name for part in parts for name in PARTS[part])]))


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


def _measured(bench: Bench, share: float, parts: list[str], variants: set[str] | None) -> dict[str, Any]:
    """Return all times, those of the profiles first; without ``variants``, of all runs of a profile."""
    logs = _logs(bench, share)
    _say("comparing records")
    right = [are_right(bench, name, logs) for name in bench.names]
    if not all(right):
        sys.exit("records differ; nothing was timed")
    print(f"{len(bench.names)} profiles: the same records as naive.py, or as of the same sessions in OpenAI's form")
    sizes = {name: _size(folder, _sessions(bench, name)) for name, folder in logs.items()}
    times = {name: _timed(bench, name, group, variants) for name, group in _groups(bench, logs)}
    few = min(3, bench.rounds)
    timed: dict[str, Callable[[], object]] = {
        "options": lambda: options.timed(bench, logs[options.LOGS], few),
        "peers": lambda: peers.timed(bench, {name: logs[name] for name in PARTS["peers"]}, few),
        "division": lambda: scaling.divided(bench, logs["standard10"], few),
        "lengths": lambda: scaling.lengths(bench, bench.rounds),
        "shapes": lambda: shapes.timed(bench, few),
    }
    found: dict[str, Any] = {"sizes": sizes, "times": times}
    if "one" in logs:
        found["modules"] = _modules(bench, logs["one"])
    for part in parts:
        _say(f"timing {part}")
        found[part] = timed[part]()
    return found


# The logs


def _logs(bench: Bench, share: float) -> dict[str, Path]:
    """Return the folder of each profile, and of those that are timed with it."""
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


def _size(folder: Path, sessions: int) -> dict[str, int]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {"bytes": sum(path.stat().st_size for path in files), "sessions": sessions or len(files)}


def _sessions(bench: Bench, name: str) -> int:
    """Return the number of sessions in the only file of a profile; 0 for profiles with a file per session."""
    return profile(name, quick=bench.quick).sessions if PROFILES[name].document else 0


def _own(bench: Bench, logs: Path) -> dict[str, Any]:
    """Return the times of the logs of a user."""
    convert = partial(bench.convert, logs, "--quiet")
    with Fresh(bench.out):
        code = subprocess.run(convert(), env=bench.environment(), check=False).returncode
        if code not in FINISHED:
            sys.exit(code)
        sessions: int = json.loads((bench.out / "ours" / "run.json").read_bytes())["counts"]["sessions"]["seen"]
    variants = {"one": [convert("--workers", "1")], "two": [convert("--workers", "2")]}
    variants |= {key: [convert("--workers", "1", *words.split())] for key, words in COSTS.items()}
    times = {"own": in_turns(bench, variants, bench.rounds)}
    return {**_facts(), "base": "", "sizes": {"own": _size(logs, sessions)}, "times": times}


def _modules(bench: Bench, logs: Path) -> int:
    """Return the number of imported modules at the end of a run."""
    script = (
        "import sys, atexit; sys.argv = sys.argv[1:]; atexit.register(lambda: print(len(sys.modules)));"
        "exec(compile(open(sys.argv[0]).read(), sys.argv[0], 'exec'))"
    )
    with Fresh(bench.out):
        command = [sys.executable, "-c", script, *bench.convert(logs, "--quiet", "--workers", "1")]
        done = subprocess.run(command, env=bench.environment(), capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


# The times


def _groups(bench: Bench, logs: dict[str, Path]) -> Iterator[tuple[str, dict[str, Commands]]]:
    """Yield the runs of each profile, which are timed in turns."""
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
        elif name in COPIES:
            yield name, _repeated(bench, name, logs, {"one": one, "two": two, "wc": read})
        else:
            yield (
                name,
                {"one": one, "naive": [bench.naive(folder)], "wc": read} | _optional(bench, name, logs),
            )


def _optional(bench: Bench, name: str, logs: dict[str, Path]) -> dict[str, Commands]:
    """Return the runs with two workers and with options, of some profiles."""
    if name not in WITH_OPTIONS:
        return {}
    convert = partial(bench.convert, logs[name], "--workers")
    return {"two": [convert("2")]} | {key: [convert("1", *words.split())] for key, words in COSTS.items()}


def _repeated(bench: Bench, name: str, logs: dict[str, Path], variants: dict[str, Commands]) -> dict[str, Commands]:
    """Return the runs over logs that are there ten times, each half of them in a separate folder."""
    variants["halves"] = [bench.convert(logs[name] / half, "--workers", "1", to=half) for half in ("a", "b")]
    if name == "standard10":
        variants["tenth"] = [bench.convert(logs["standard"], "--workers", "1")]
        variants["tenth_two"] = [bench.convert(logs["standard"], "--workers", "2")]
    return variants


def _timed(
    bench: Bench, name: str, variants: dict[str, Commands], shown: set[str] | None = None
) -> dict[str, list[Run]]:
    """Time every variant in turn, round by round; a run before them fills the page cache."""
    _say(f"timing {name}")
    if "wc" in variants:
        measured(bench, variants["wc"])
    variants = {key: commands for key, commands in variants.items() if shown is None or key in shown}
    compared = () if name in COPIES else ("one", "session")
    return in_turns(bench, bench.with_versions(variants, compared), bench.rounds * (3 if name == "one" else 1))


def _say(what: str) -> None:
    print(f"{time.monotonic() - _STARTED:5.0f} s: {what} ...", flush=True)


if __name__ == "__main__":
    main()
