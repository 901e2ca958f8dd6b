"""chatsquash beside other converters, on the same logs: what each loses and takes; writes docs/comparison.md.

``python -m bench.comparison`` installs them below ``bench/.data``, each in an environment of its own.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import click

from bench import known, page
from bench.commands import HERE, Bench, Fresh, in_turns
from bench.converters import ALBICILLA, CONVERTERS, LOGS, WHOLE, Converter, installed
from bench.generate import PROFILES, generate
from bench.goals import MB
from bench.peers import is_complete
from bench.table import markdown

DATA = HERE / ".data"
DOCS, README = HERE.parent / "docs" / "comparison.md", HERE.parent / "README.md"
SIZES = {"plain": ("standard", 140), "claude_code": ("claude_code", 60), "codex": ("codex", 60)}
"""The profile of each kind of logs, and how many sessions of it are converted."""
KINDS = {"plain": "a gateway's JSONL", "claude_code": "Claude Code", "codex": "Codex"}
_IN_README = ("plain", "claude_code")
_REGION = re.compile(r"(<!-- generated: (\S+) -->\n).*?(^<!-- /generated -->)", re.DOTALL | re.MULTILINE)

_NAMES: dict[str, Callable[[Path], str]] = {
    "plain": lambda path: path.name,
    "claude_code": lambda path: f"7f6c0c1e-1f6e-4c43-9d8e-{_number(path):012x}.jsonl",
    "codex": lambda path: f"rollout-2026-01-05T08-00-00-019ec9c0-0000-7000-8000-{_number(path):012x}.jsonl",
}
"""How a generated file is called where it lies: some converters look at the names of files."""

PARTS = ("losses", "speed")

Row = dict[str, Any]


@click.command()
@click.option("--rounds", type=click.IntRange(min=2), default=3, show_default=True, help="How often each is timed.")
@click.option("--albicilla", default=ALBICILLA, show_default=True, help="The repository of albicilla, or a clone.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(LOGS)), help="Only these logs.")
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), help="Only this.")
@click.option("--quick", is_flag=True, help="A tenth of the logs, and no page; for development.")
def main(rounds: int, albicilla: str, kinds: tuple[str, ...], parts: tuple[str, ...], *, quick: bool) -> None:
    """Compare chatsquash with other converters; what is not measured now stays as it was measured last."""
    DATA.mkdir(parents=True, exist_ok=True)
    found = {each.name: installed(each, DATA / "peers", albicilla) for each in CONVERTERS}
    programs = {name: where for name, (where, version) in found.items() if version}
    bench = Bench(DATA, [], rounds, quick)
    kept = DATA / ("comparison-quick.json" if quick else "comparison.json")
    results: Row = json.loads(kept.read_text()) if (kinds or parts) and kept.exists() else {"losses": {}, "speed": {}}
    results |= {"versions": {name: version for name, (_, version) in found.items()}, "machine": page.machine()}
    for kind in kinds or LOGS:
        for part in parts or PARTS:
            results[part][kind] = _MEASURED[part](bench, kind, programs)
        kept.write_text(json.dumps(results, indent=1))
    regions = shown(results)
    print(*regions.values(), sep="\n\n")
    if not quick:
        for target in (DOCS, README):
            write(target, regions)


def write(target: Path, regions: dict[str, str]) -> None:
    """Write the regions of a page anew, as far as they are here."""

    def region(match: re.Match[str]) -> str:
        made = regions.get(match[2])
        return match[0] if made is None else f"{match[1]}\n{made}\n\n{match[3]}"

    target.write_text(_REGION.sub(region, target.read_text(encoding="utf-8")), encoding="utf-8")


# What is lost


def _losses(bench: Bench, kind: str, programs: dict[str, Path]) -> list[Row]:
    """What each converter kept of the session whose truth is known, alone and beside a file with a cut line."""
    print(f"what is lost of {kind} ...", flush=True)
    home = bench.data / "known" / kind
    shutil.rmtree(home, ignore_errors=True)
    _put(home, known.KNOWN[kind](cut=False))
    readers = [each for each in (*CONVERTERS, WHOLE) if kind in each.reads]
    rows = [
        {"kind": kind, "name": each.name, "whole": _kept(bench, each, kind, home, programs)}
        for each in sorted(readers, key=lambda each: each.name)
        if _program(each) in programs
    ]
    _put(home, known.KNOWN[kind](cut=True))
    by_name = {each.name: each for each in readers}
    return [row | {"cut": _kept(bench, by_name[row["name"]], kind, home, programs)} for row in rows]


def _program(converter: Converter) -> str:
    return converter.package or "chatsquash"


def _put(home: Path, files: known.Files) -> None:
    for name, lines in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join(lines) + b"\n")


def _kept(bench: Bench, converter: Converter, kind: str, home: Path, programs: dict[str, Path]) -> Row:
    """The words of its records, and how it ended."""
    with Fresh(bench.out):
        command = converter.command(programs[_program(converter)], kind, home, bench.out)
        done = subprocess.run(command, env=bench.environment(), capture_output=True, text=True, check=False)
        records = [sorted(set(re.findall(r"\b[A-Z]+-[A-Z]\b", record))) for record in converter.written(bench.out)]
    told = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return {"code": done.returncode, "told": told[-1] if told else "", "records": records}


# What it takes


def _speed(bench: Bench, kind: str, programs: dict[str, Path]) -> list[Row]:
    """What each converter takes, in turns, on logs without lines that are cut."""
    home = _home(bench, kind)
    paths = list(home.rglob("*.jsonl"))
    size = sum(path.stat().st_size for path in paths)
    readers = [each for each in CONVERTERS if kind in each.reads and each.name in programs]
    rows, commands = [], {}
    for each in readers:
        print(f"{kind}: {each.name} ...", flush=True)
        tried = _tried(bench, each, kind, home, programs)
        rows.append({"kind": kind, "name": each.name, "bytes": size, "sessions": len(paths), **tried})
        if not tried["code"]:
            commands[each.name] = [each.command(programs[_program(each)], kind, home, bench.out)]
    runs = in_turns(bench, commands, bench.rounds, long=400)
    return [row | {"runs": runs.get(row["name"], [])} for row in rows]


def _home(bench: Bench, kind: str) -> Path:
    """A home folder with generated logs, but for lines that are cut: a converter may end at the first of them."""
    name, sessions = SIZES[kind]
    sessions = max(2, sessions // 10) if bench.quick else sessions
    logs = generate(name, replace(PROFILES[name], sessions=sessions), bench.data / "compared-logs")
    home = bench.data / "compared-homes" / kind
    shutil.rmtree(home, ignore_errors=True)
    for path in sorted(logs.rglob("*.jsonl")):
        copy = home / LOGS[kind] / path.parent.relative_to(logs) / _NAMES[kind](path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as lines, copy.open("wb") as file:
            file.writelines(filter(is_complete, lines))
    return home


def _number(path: Path) -> int:
    """That of a generated session."""
    return int(path.stem.split("-")[1])


def _tried(bench: Bench, converter: Converter, kind: str, home: Path, programs: dict[str, Path]) -> Row:
    """How it ends, and how many of its records have messages; this fills the page cache, too."""
    with Fresh(bench.out):
        command = converter.command(programs[_program(converter)], kind, home, bench.out)
        done = subprocess.run(command, env=bench.environment(), capture_output=True, text=True, check=False)
        records = sum(len(record) > len("[]") for record in converter.written(bench.out)) if not done.returncode else 0
    told = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return {"code": done.returncode, "told": told[-1] if told else "", "records": records}


_MEASURED = {"losses": _losses, "speed": _speed}


# The tables


def shown(results: Row) -> dict[str, str]:
    """The regions of the pages."""
    losses, speed = ([row for kind in LOGS for row in results[part].get(kind, ())] for part in ("losses", "speed"))
    return {
        "versions": _versions(results),
        "losses": _lost(losses),
        "cut": _cut(losses),
        "speed": _times(speed),
        "comparison": _summary(losses),
    }


def _versions(results: Row) -> str:
    versions = [f"- {name}: {version or 'could not be installed'}" for name, version in results["versions"].items()]
    return "\n".join([*versions, *(f"- {name}: {value}" for name, value in results["machine"].items())])


_LOST = {
    "before compaction": ((known.BEFORE,), ("reply",)),
    "after": ((known.AFTER,), ("reply",)),
    "abandoned branch": ((known.LEFT,), ("reply",)),
    "sub-agent": ((known.SUB,), ("reply",)),
    "reasoning": ((known.BEFORE, known.SUB, known.AFTER), ("thought",)),
    "calls and results": ((known.BEFORE, known.SUB, known.AFTER), ("call", "result")),
}
"""What is counted, by the head of its column: of which parts of the session, and which words."""


def _lost(rows: list[Row]) -> str:
    lines = [["logs", "converter", *_LOST, "joined in one record"]]
    for row in rows:
        records = [set(words) for words in row["whole"]["records"]]
        kept = set().union(*records)
        there = known.PARTS[row["kind"]]
        cells = [_share(kept, [part for part in parts if part in there], words) for parts, words in _LOST.values()]
        joined = dict.fromkeys(name for words in records for name in known.apart(words))
        lines.append([KINDS[row["kind"]], row["name"], *cells, ", ".join(joined) or "-"])
    return markdown(_grouped(lines))


def _grouped(lines: list[list[str]]) -> list[list[str]]:
    """Return a line per result: the second cell has the names of all converters with the same other cells."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for logs, name, *cells in lines:
        groups.setdefault((logs, *cells), []).append(name)
    return [[logs, "; ".join(names), *cells] for (logs, *cells), names in groups.items()]


def _share(kept: set[str], parts: Iterable[str], members: Iterable[str]) -> str:
    words = known.facts(parts, members)
    return f"{len(kept & set(words))}/{len(words)}" if words else "none"


def _cut(rows: list[Row]) -> str:
    lines = [["logs", "converter", "replies of the file", "exit code", "records of the other file"]]
    for row in rows:
        if row["name"] == WHOLE.name:
            continue
        records = [set(words) for words in row["cut"]["records"]]
        kept = set().union(*records)
        cut = set(known.facts([known.CUT], ["prompt", "reply"]))
        others = sum(not words & cut for words in records)
        told = f"{row['cut']['code']}" + (
            f": `{row['cut']['told'].partition(':')[0][:80]}`" if row["cut"]["code"] not in {0, 3} else ""
        )
        cells = [_share(kept, [known.CUT], ["reply"]), told, f"{others}/{len(row['whole']['records'])}"]
        lines.append([KINDS[row["kind"]], row["name"], *cells])
    return markdown(_grouped(lines))


def _times(rows: list[Row]) -> str:
    lines = [["logs", "converter", "MB", "records", "seconds", "CPU seconds", "peak MB", "other load"]]
    for row in rows:
        amount = [f"{row['bytes'] / MB:.0f}", f"{row['records']}"]
        cells = _taken(row) if row["runs"] else [f"ends with {row['code']}: `{row['told'][:80]}`", *[""] * 3]
        lines.append([KINDS[row["kind"]], row["name"], *amount, *cells])
    return markdown(lines)


def _taken(row: Row) -> list[str]:
    runs = row["runs"]
    seconds, cpu, peak, others = (
        median(run[what] or 0 for run in runs) for what in ("seconds", "cpu", "peak", "others")
    )
    return [f"{seconds:.1f}", f"{cpu:.1f}", f"{peak / MB:,.0f}", f"{others:.1f}"]


def _summary(losses: list[Row]) -> str:
    """The table of the README: what is kept of a gateway's log and of a file of Claude Code."""
    lines = [["logs", "converter", "replies kept", "reasoning kept", "joins branches"]]
    for row in losses:
        if row["kind"] not in _IN_README or row["name"] == "chatsquash":
            continue
        kept = set().union(*map(set, row["whole"]["records"]))
        parts = known.PARTS[row["kind"]]
        shares = [_share(kept, parts, ["reply"]), _share(kept, parts, ["thought"])]
        joined = any(known.apart(set(words)) for words in row["whole"]["records"])
        lines.append([KINDS[row["kind"]], row["name"], *shares, "yes" if joined else "no"])
    return markdown(lines)


if __name__ == "__main__":
    main()
