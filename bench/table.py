"""What was measured, as tables."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench.bodies import BODIES
from bench.generate import PROFILES

Results = dict[str, Any]

OTHER = " beside"
"""What stands behind the name of a variant that another chatsquash command ran."""

_MB = 1_000_000
_HEAD = """# Performance

Written by `make bench`, which makes its logs from fixed seeds, holds the records of chatsquash to those of the naive
converter byte for byte (those of other formats to what the same sessions give in OpenAI's form), and then times whole
processes in turns. Times are the median of {rounds} rounds, peaks their maximum. chatsquash runs with everything on
that is on by default. *naive* is `bench/naive.py`: one process, every line parsed with orjson, nothing checked, cleaned
or anonymised. *wc* is `wc -l` over the same files: what reading costs. All logs are in the page cache. 1 MB is a
million bytes.
"""
_LOGS = {
    "standard": "sessions of some 27 requests",
    "long": "sessions of 250 requests",
    "real": "standard, as Goose would have it: its system prompt, an e-mail address in one message of ten, a tenth of "
    "the results failed and some empty, information in the user's name in one session of twelve",
    "tiny": "sessions of 2 requests",
    "spaced": "standard, as `json.dumps` spaces and escapes it",
    "hostile": "standard, with a clock in the system prompt, `cache_control` on the last message, tools before "
    "messages in half of the lines, and a history whose ids and order of keys are not those of the responses",
    "worst": "standard, with keys in random order (tools' too) and new ids in every request",
    "chat": "standard, fewer of them",
    **dict.fromkeys(BODIES, "chat, in the bodies of that format"),
    "giant": "one session of 1,000 requests, the last of 2 MB",
    "giant_rewritten": "the same, written as worst",
    "standard10": "standard, ten times",
    "long10": "long, ten times",
    "small": "one session of 2 requests",
}


class Unit(NamedTuple):
    """How a number is shown, and which is better."""

    text: str
    more: bool


TIMES = Unit("{:.2f}x", more=True)
SHARE = Unit("{:.2f}", more=True)
COST = Unit("{:.2f}x", more=False)
MEMORY = Unit("{:.0f} MB", more=False)
SECONDS = Unit("{:.3f} s", more=False)
GROWTH = Unit("{:+.0f} %", more=False)


class Row(NamedTuple):
    """A promise."""

    what: str
    profile: str
    unit: Unit
    at_least: float
    aim: float
    value: Callable[[Results], float]


def seconds(results: Results, name: str, variant: str) -> float:
    """The median time of a variant."""
    return _median(results["times"][name][variant], "seconds")


def _median(runs: list[dict[str, Any]], what: str) -> float:
    return float(median(run[what] for run in runs))


def peak(results: Results, name: str, *variants: str) -> float:
    """The largest process in any round, in MB."""
    return float(max(run["peak"] for variant in variants for run in results["times"][name][variant])) / _MB


def _ratio(name: str, slow: str, fast: str) -> Callable[[Results], float]:
    return lambda results: seconds(results, name, slow) / seconds(results, name, fast)


def _speed_beside_chat(name: str) -> Callable[[Results], float]:
    def share(results: Results) -> float:
        larger: float = results["sizes"][name]["bytes"] / results["sizes"]["chat"]["bytes"]
        return larger * seconds(results, name, "chat") / seconds(results, name, "one")

    return share


def _peak(name: str, *variants: str) -> Callable[[Results], float]:
    return lambda results: peak(results, name, *variants)


def _seconds(variant: str) -> Callable[[Results], float]:
    return lambda results: seconds(results, "small", variant)


def _more_memory(results: Results) -> float:
    pairs = (("one", "tenth"), ("two", "tenth_two"))
    return max(
        100 * (peak(results, "standard10", all_) / peak(results, "standard10", some) - 1) for all_, some in pairs
    )


def _more_time(results: Results) -> float:
    grown = results["sizes"]["standard10"]["bytes"] / results["sizes"]["standard"]["bytes"]
    return 100 * (seconds(results, "standard10", "one") / seconds(results, "standard10", "tenth") / grown - 1)


ROWS = [
    *(
        Row(f"one worker, {name}, vs naive", name, TIMES, at_least, aim, _ratio(name, "naive", "one"))
        for name, at_least, aim in (
            ("standard", 4, 5.5),
            ("long", 8, 12),
            ("spaced", 3.2, 4.5),
            ("hostile", 1.4, 2.2),
            ("worst", 0.9, 1.2),
            ("tiny", 0.5, 0.8),
        )
    ),
    *(
        Row(f"one worker, {name}, MB/s vs the same of OpenAI", name, SHARE, 0.5, 0.8, _speed_beside_chat(name))
        for name in BODIES
    ),
    *(
        Row(
            f"two workers vs one, {{size}} of {name}, as a share of what two independent processes gain",
            f"{name}10",
            SHARE,
            0.85,
            0.95,
            _ratio(f"{name}10", "halves", "two"),
        )
        for name in ("standard", "long")
    ),
    *(
        Row(
            f"one worker, {{size}} of standard, {what}, vs plain",
            "standard10",
            COST,
            1.3,
            1.1,
            _ratio("standard10", v, "one"),
        )
        for v, what in (("parquet", "`--format parquet`"), ("hf", "`--preset hf`"))
    ),
    Row("two workers vs one, standard", "standard", TIMES, 1.3, 1.5, _ratio("standard", "one", "two")),
    Row(
        "two workers, {size} of long, as a share of the speed of wc",
        "long10",
        SHARE,
        1 / 3,
        1 / 2,
        _ratio("long10", "wc", "two"),
    ),
    Row("peak memory of any process, standard", "standard", MEMORY, 80, 40, _peak("standard", "one", "two")),
    Row("peak memory, one session of 1 GB, growing", "giant", MEMORY, 100, 60, _peak("giant", "one")),
    Row(
        "peak memory, one session of 1 GB, rewritten in every request",
        "giant_rewritten",
        MEMORY,
        100,
        60,
        _peak("giant_rewritten", "one"),
    ),
    Row("peak memory at 10 times the sessions", "standard10", GROWTH, 10, 0, _more_memory),
    Row("seconds per MB at 10 times the sessions", "standard10", GROWTH, 10, 0, _more_time),
    Row("`chatsquash --help`", "small", SECONDS, 0.12, 0.08, _seconds("help")),
    Row("converting one session of 50 KB, whole process", "small", SECONDS, 0.3, 0.15, _seconds("session")),
]


def summary(results: Results) -> str:
    """Every promise whose logs were timed."""
    lines = [["", "at least", "aim", "measured", ""]]
    for row in ROWS:
        if row.profile in results["times"]:
            value = row.value(results)
            shown = [row.unit.text.format(number) for number in (row.at_least, row.aim, value)]
            size = f"{results['sizes'][row.profile]['bytes'] / 1e9:.1f} GB"
            lines.append([row.what.format(size=size), *shown, _verdict(row, value)])
    return _markdown(lines)


def _verdict(row: Row, value: float) -> str:
    sign = 1 if row.unit.more else -1
    if sign * value >= sign * row.aim:
        return "aim"
    return "met" if sign * value >= sign * row.at_least else "**missed**"


def details(results: Results) -> str:
    """Every variant that was timed."""
    lines = [["logs", "MB", "sessions", "run", "seconds", "MB/s", "CPU seconds", "peak MB"]]
    for name, variants in results["times"].items():
        for variant, runs in variants.items():
            same = variant.removesuffix(OTHER)
            size = results["sizes"][_LOGS_OF.get(same, name)]
            took = seconds(results, name, variant)
            cpu = _median(runs, "cpu")
            amount = [f"{size['bytes'] / _MB:.1f}", f"{size['sessions']:,}"]
            speed = "" if same == "help" else f"{size['bytes'] / _MB / took:,.0f}"
            lines.append(
                [
                    name,
                    *amount,
                    _RUNS[same] + variant[len(same) :],
                    f"{took:.3f}",
                    speed,
                    f"{cpu:.3f}",
                    f"{peak(results, name, variant):.1f}",
                ]
            )
    return _markdown(lines)


def beside(results: Results) -> str:
    """What this version takes, as a share of what the other command takes: the median over the rounds."""
    lines = [["logs", "run", "seconds", "CPU seconds", "seconds, this / other", "CPU, this / other"]]
    for name, variants in results["times"].items():
        for variant, runs in variants.items():
            if other := variants.get(variant + OTHER):
                pairs = list(zip(runs, other, strict=True))
                shares = [median(ours[what] / theirs[what] for ours, theirs in pairs) for what in ("seconds", "cpu")]
                took = [f"{_median(runs, what):.3f}" for what in ("seconds", "cpu")]
                lines.append([name, _RUNS[variant], *took, *(f"{share:.3f}" for share in shares)])
    return _markdown(lines)


_RUNS = {
    "one": "chatsquash, 1 worker",
    "two": "chatsquash, 2 workers",
    "chat": "chatsquash, 1 worker, chat",
    "halves": "chatsquash, 1 worker on each half",
    "parquet": "chatsquash, 1 worker, Parquet",
    "hf": "chatsquash, 1 worker, hf",
    "hf_parquet": "chatsquash, 1 worker, hf as Parquet",
    "tenth": "chatsquash, 1 worker, standard",
    "tenth_two": "chatsquash, 2 workers, standard",
    "session": "chatsquash",
    "help": "chatsquash --help",
    "naive": "naive",
    "wc": "wc",
}


_LOGS_OF = {"tenth": "standard", "tenth_two": "standard", "chat": "chat"}
"""The logs of variants that are timed on others than their profile's."""


def _markdown(lines: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    return "\n".join([rows[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *rows[1:]])


def page(results: Results) -> str:
    """The page for readers."""
    facts = "\n".join(f"- {name}: {value}" for name, value in results["machine"].items())
    logs = "\n".join(f"- {name}: {_LOGS[name]}" for name in PROFILES if name in results["times"])
    less = (
        ""
        if results["share"] == 1
        else f"\nThe sets of ten times are {results['share']} of that, for want of memory or disk.\n"
    )
    parts = [_HEAD.format(rounds=results["rounds"]), summary(results), "## Machine", facts]
    return (
        "\n\n".join([*(part.strip() for part in parts), "## All runs", details(results), "The logs:", logs + less])
        + "\n"
    )


def machine() -> dict[str, str]:
    """What it ran on."""
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"this machine is busy (load {load:.1f}); the numbers will be rough")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    names = ("chatsquash", "orjson", "msgspec", "click")
    return {
        "CPU": f"{_cpu()}, {os.cpu_count()} cores",
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": ", ".join(f"{name} {version(name)}" for name in names),
        "load at the start": f"{load:.1f}",
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
