"""Times chatsquash as whole processes, beside a naive converter and ``wc -l``, and writes what came of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import click
import orjson

from bench import table
from bench.bodies import BODIES
from bench.generate import PROFILES, generate, profile

HERE = Path(__file__).parent
DATA = HERE / ".data"
DOCS = HERE.parent / "docs" / "performance.md"
CHATSQUASH = str(Path(sys.executable).with_name("chatsquash"))
FINISHED = {0, 3}  # 3: some lines could not be read, as is meant
LARGE = 4.5e9  # bytes of a set that has to stay in the page cache
EVERYTHING = 16e9  # bytes of all sets
SIMPLE = ["--no-cleanup-goose", "--no-anonymize", "--single-file", "--on-invalid", "keep", "--workers", "1", "--quiet"]
"""The options with which the records are those of ``naive.py``."""
BESIDE = {"standard10": "standard", **dict.fromkeys(BODIES, "chat")}
"""Logs that are timed beside others, and those others."""

DATASETS = {
    "parquet": ["--format", "parquet", "--no-drop-duplicates"],
    "hf": ["--preset", "hf", "--no-drop-duplicates"],
    "hf_parquet": ["--preset", "hf", "--format", "parquet", "--no-drop-duplicates"],
}
"""Dataset folders; every session is there ten times, and all are written."""

Commands = list[list[str]]
"""Commands that run side by side."""


class Bench(NamedTuple):
    """One run of the benchmark."""

    data: Path
    names: list[str]
    rounds: int
    quick: bool
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

    def convert(self, logs: Path, *options: str, to: str = "ours") -> list[str]:
        """Our command."""
        return [CHATSQUASH, "convert", str(logs), "--output", str(self.out / to), *options]

    def with_other(self, variants: dict[str, Commands]) -> dict[str, Commands]:
        """Variants, and behind each of ours the same of the other command, where one is named."""
        if not self.other:
            return variants
        both: dict[str, Commands] = {}
        for name, commands in variants.items():
            both[name] = commands
            if commands[0][0] == CHATSQUASH:
                both[f"{name}{table.OTHER}"] = [[self.other, *command[1:]] for command in commands]
        return both

    def naive(self, logs: Path) -> list[str]:
        """The other one's."""
        return [sys.executable, str(HERE / "naive.py"), str(logs), str(self.out / "naive.jsonl")]


@click.command()
@click.option("--profile", "names", multiple=True, type=click.Choice(list(PROFILES)), help="Only these logs.")
@click.option("--rounds", type=click.IntRange(min=1), help="How often everything is timed.  [default: 5]")
@click.option("--beside", metavar="COMMAND", help="Another chatsquash command, timed in the same rounds.")
@click.option("--quick", is_flag=True, help="Less of everything, 3 rounds; for development.")
@click.option("--docs", type=click.Path(path_type=Path), help="Where to write the page.  [default: docs/, if all ran]")
def main(names: tuple[str, ...], rounds: int | None, docs: Path | None, beside: str | None, *, quick: bool) -> None:
    """Time chatsquash against a naive converter and against reading alone."""
    data = DATA / "quick" if quick else DATA
    data.mkdir(parents=True, exist_ok=True)
    bench = Bench(data, list(names or PROFILES), rounds or (3 if quick else 5), quick, beside)
    facts = table.machine()
    logs = _logs(bench, share := _share())
    same = [
        _says_the_same(bench, name, logs) if name in BODIES else _same(bench, name, logs[name]) for name in bench.names
    ]
    if not all(same):
        sys.exit("records differ; nothing was timed")
    print(f"all {len(bench.names)} profiles: the same records as naive.py, or as of the same sessions in OpenAI's form")
    sizes = {name: _size(folder) for name, folder in logs.items()}
    times = {name: _timed(bench, name, bench.with_other(groups)) for name, groups in _groups(bench, logs)}
    results = {"machine": facts, "rounds": bench.rounds, "quick": quick, "share": share, "sizes": sizes, "times": times}
    (DATA / "results.json").write_text(json.dumps(results, indent=1))
    print(table.summary(results), table.details(results), sep="\n\n")
    if beside:
        print("", table.beside(results), sep="\n")
    page = docs or (None if names or quick or beside else DOCS)
    if page:
        page.write_text(table.page(results))


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
    made = sum(path.stat().st_size for path in DATA.rglob("*.jsonl"))
    disk = shutil.disk_usage(DATA).free + made
    return round(min(1, memory / 3 / LARGE, disk / 1.3 / EVERYTHING), 1) or 0.1


def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.jsonl"))


def _size(folder: Path) -> dict[str, int]:
    files = _files(folder)
    return {"bytes": sum(path.stat().st_size for path in files), "sessions": len(files)}


# The records


def _same(bench: Bench, name: str, logs: Path) -> bool:
    """Whether both converters write the same bytes; prints where they do not."""
    with _Fresh(bench.out):
        _run(bench, name, bench.naive(logs), bench.convert(logs, *SIMPLE))
        with (
            (bench.out / "naive.jsonl").open("rb") as theirs,
            (bench.out / "ours/conversations.jsonl").open("rb") as ours,
        ):
            return _agree(name, logs, zip_longest(theirs, ours, fillvalue=b""))


def _says_the_same(bench: Bench, name: str, logs: dict[str, Path]) -> bool:
    """Whether the records are those of the same sessions in OpenAI's form; prints where they are not."""
    chat = BESIDE[name]
    with _Fresh(bench.out):
        _run(bench, name, *(bench.convert(logs[each], *SIMPLE, to=each) for each in (chat, name)))
        with (
            (bench.out / chat / "conversations.jsonl").open("rb") as theirs,
            (bench.out / name / "conversations.jsonl").open("rb") as ours,
        ):
            pairs = zip_longest(theirs, ours, fillvalue=b"null")
            return _agree(name, logs[name], ((_said(a), _said(b)) for a, b in pairs))


def _said(record: bytes) -> bytes:
    """A record without what a format may name otherwise: ids are numbered, keys are sorted, results have no name."""
    said = orjson.loads(record)
    ids: dict[str, str] = {}
    for message in said["messages"] if said else ():
        for call in message.get("tool_calls", ()):
            call["id"] = ids.setdefault(call["id"], f"call_{len(ids)}")
        if message["role"] == "tool":
            message["tool_call_id"] = ids.get(message["tool_call_id"])
            message.pop("name", None)
    return orjson.dumps(said, option=orjson.OPT_SORT_KEYS)


def _run(bench: Bench, name: str, *commands: list[str]) -> None:
    for command in commands:
        code = subprocess.run(command, env=bench.environment(), check=False).returncode
        if code not in FINISHED:
            sys.exit(f"{name}: exit code {code} of {' '.join(command)}")


def _agree(name: str, logs: Path, pairs: Iterator[tuple[bytes, bytes]]) -> bool:
    """Whether the records of both are equal; prints where they are not."""
    differing = list(_differences(logs, pairs))
    for line in differing[:5]:
        print(f"{name}: {line}")
    if differing:
        print(f"{name}: {len(differing)} records differ")
    return not differing


def _differences(logs: Path, pairs: Iterator[tuple[bytes, bytes]]) -> Iterator[str]:
    for path, (theirs, ours) in zip_longest(_files(logs), pairs, fillvalue=(b"", b"")):
        if theirs != ours:
            at = next(
                (i for i, (a, b) in enumerate(zip(theirs, ours, strict=False)) if a != b), min(len(theirs), len(ours))
            )
            near = slice(max(0, at - 60), at + 60)
            yield f"{path}: at byte {at}\n  expected   {theirs[near]!r}\n  chatsquash {ours[near]!r}"


# The times


def _groups(bench: Bench, logs: dict[str, Path]) -> Iterator[tuple[str, dict[str, Commands]]]:
    """What is timed in turns."""
    for name in bench.names:
        folder = logs[name]
        one = [bench.convert(folder, "--workers", "1")]
        two = [bench.convert(folder, "--workers", "2")]
        read = [[str(shutil.which("find")), str(folder), "-name", "*.jsonl", "-exec", "wc", "-l", "{}", "+"]]
        if name == "small":
            yield name, {"help": [[CHATSQUASH, "--help"]], "session": [bench.convert(folder)]}
        elif name in BODIES:
            yield name, {"one": one, "chat": [bench.convert(logs[BESIDE[name]], "--workers", "1")], "wc": read}
        elif name.startswith("giant"):
            yield name, {"one": one, "wc": read}
        elif PROFILES[name].repeats > 1:
            halves = [bench.convert(folder / half, "--workers", "1", to=half) for half in ("a", "b")]
            variants = {"one": one, "two": two, "halves": halves, "wc": read}
            if name == "standard10":
                for variant, options in DATASETS.items():
                    variants[variant] = [bench.convert(folder, "--workers", "1", *options)]
                variants["tenth"] = [bench.convert(logs["standard"], "--workers", "1")]
                variants["tenth_two"] = [bench.convert(logs["standard"], "--workers", "2")]
            yield name, variants
        else:
            yield name, {"one": one, "naive": [bench.naive(folder)], "wc": read, "two": two}


def _timed(bench: Bench, name: str, variants: dict[str, Commands]) -> dict[str, list[dict[str, Any]]]:
    """Every variant in turn, round by round; the first round only fills the page cache."""
    print(f"timing {name} ...", flush=True)
    if "wc" in variants:
        _measure(bench, variants["wc"])
    taken: dict[str, list[dict[str, Any]]] = {variant: [] for variant in variants}
    for _ in range(bench.rounds * (3 if name == "small" else 1)):
        for variant, commands in variants.items():
            taken[variant].append(_measure(bench, commands))
    return taken


def _measure(bench: Bench, commands: Commands) -> dict[str, Any]:
    with _Fresh(bench.out):
        launcher = [sys.executable, "-IS", str(HERE / "measure.py"), json.dumps(commands)]
        done = subprocess.run(launcher, env=bench.environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    took: dict[str, Any] = json.loads(done.stdout)
    if not set(took["codes"]) <= FINISHED:
        sys.exit(f"{commands}: exit codes {took['codes']}\n{done.stderr}")
    return took


class _Fresh:
    """An output folder that is there, and empty, for one run only."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        shutil.rmtree(self._path, ignore_errors=True)
        self._path.mkdir()

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._path)


if __name__ == "__main__":
    main()
