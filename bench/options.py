"""What each option of a run costs, beside the same run without it, in this version and in an older one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.commands import BASE, CHATSQUASH, Bench, Command, Commands, Run, in_turns

LOGS = "real"
PLAIN = "none"
NOISE = 0.03
"""The share of a plain run that two runs of the same differ by."""

ROWS: dict[str, str] = {
    "none": "",
    "no checks": "--no-integrity-analysis",
    "no reports on tools": "--no-tool-report",
    "no anonymisation": "--no-anonymize",
    "secrets replaced": "--redact secrets",
    "paths, IPs and phones, too": "--redact secrets,paths,ips,phones",
    "no cleaning": "--no-cleanup-goose",
    "lines that cannot be read": "--keep-rejected",
    "what became of replies": "--trace-replies",
    "arguments of calls": "--check-arguments",
    "one file": "--group-by none",
    "a file for each scenario": "--group-by scenario",
    "the main conversation": "--conversations main",
    "all conversations": "--conversations all",
    "what was taken out": "--restore all",
    "complete": "--complete",
    "what to train on": "--loss weight",
    "tools that are called": "--tools used",
    "calls as text": "--json-tool-calls",
    "reasoning as text": "--reasoning inline",
    "no system messages": "--system drop",
    "messages of one role": "--merge-consecutive",
    "one call in a message": "--split-parallel",
    "text or calls": "--split-text-and-calls",
    "short ids": "--tool-ids short9",
    "sessions by id": "--sessions-by id",
    "sessions by chain": "--sessions-by chain",
    "few turns only": "--min-turns 5",
    "without errors": "--drop unanswered-call",
    "no duplicates": "--drop-duplicates",
    "but for ids and keys": "--duplicates ids",
    "no beginnings": "--duplicates prefix",
    "none that are near": "--duplicates near",
    "preset hf": "--preset hf",
    "hf in Parquet": "--preset hf --format parquet",
    "preset mistral": "--preset mistral",
    "preset openai": "--preset openai",
    "preset sharegpt": "--preset sharegpt",
    "preset text": "--preset text",
    "a dataset": "--format jsonl",
    "gzip": "--format jsonl.gz",
    "Zstandard": "--format jsonl.zst",
    "Parquet": "--format parquet",
    "small shards": "--format jsonl --shard-size 1MB",
    "metadata": "--format jsonl --metadata",
    "a split by prompt": "--split train=0.9,validation=0.1",
    "a split by session": "--split train=0.9,validation=0.1 --split-by session",
    "a split by day": "--split train=0.9,validation=0.1 --split-by day",
    "a split by cluster": "--split train=0.9,validation=0.1 --split-by cluster",
}
"""By what they ask for, the first of them for nothing."""


_LONG = 300  # seconds
_NOWHERE = "/nowhere/at/all"


class Cost(NamedTuple):
    """CPU seconds of a run with an option, and how many of these it takes more than one without."""

    whole: float
    more: float


def timed(bench: Bench, logs: Path, rounds: int) -> dict[str, list[Run]]:
    """What a run with each option takes, in both versions if there are two and both know the option."""
    variants: dict[str, Commands] = {}
    for name, words in ROWS.items():
        command = bench.convert(logs, "--workers", "1", *words.split())
        for version, program in (("", CHATSQUASH), (BASE, bench.base)):
            if program and _knows(program, words.split()):
                variants[name + version] = [[program, *command[1:]]]
            elif program == CHATSQUASH:
                sys.exit(f"{words}: no options of this version")
    return in_turns(bench, variants, rounds, _LONG)


def _knows(program: str, words: Command) -> bool:
    """Whether a version has these options, with these values: it looks at them before it looks for logs."""
    done = subprocess.run([program, "convert", _NOWHERE, *words], capture_output=True, text=True, check=False)
    return _NOWHERE in done.stderr


def cost(times: dict[str, list[Run]], name: str, version: str = "") -> Cost | None:
    """What an option costs a version; ``None`` for one that the version does not have."""
    runs = times.get(name + version)
    if runs is None:
        return None
    pairs = zip(runs, times[PLAIN + version], strict=True)
    return Cost(median(run["cpu"] for run in runs), median(with_["cpu"] - plain["cpu"] for with_, plain in pairs))


def dearer(times: dict[str, list[Run]]) -> list[str]:
    """The options that cost this version more than the older one, by more than two runs of the same differ."""
    noise = NOISE * median(run["cpu"] for run in times[PLAIN])
    found = []
    for name in ROWS:
        ours, theirs = cost(times, name), cost(times, name, BASE)
        if ours and theirs and ours.more > theirs.more + noise:
            found.append(name)
    return found
