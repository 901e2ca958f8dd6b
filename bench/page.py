"""The page for readers: what was measured, on what, of which logs."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path

from bench import options, scaling, shapes, svg, table
from bench.agents import FILES
from bench.bodies import BODIES
from bench.commands import BASE
from bench.generate import PROFILES
from bench.goals import Results, middle

_HOW = """Times are medians of {rounds} rounds (fewer for long runs); peaks are maxima. CPU seconds are user and system
time of all processes of a run, from the start of the program to its end. Logs are in the page cache. 1 MB is a million
bytes."""
_HEAD = """# Performance

How long a conversion takes, how much memory it needs, and how both grow with the logs. The numbers are from complete
runs of `chatsquash convert` with default options, over generated logs with the contents and sizes of real ones. `make
bench` measures them again on your machine and writes this page.
"""
_EXPECT = """
CPU time depends on what is new in a log rather than on its size. Every request of a gateway's log repeats the
conversation so far; repeated bytes are compared, not parsed, so long sessions are read at several hundred MB per
second. What remains is a cost per session and per new message: checks, the search for secrets, and writing the record.
Agents' files repeat nothing, so each of their bytes is parsed.

One worker, default options:
"""
_COSTS = """
CPU time relative to the same run without the option:
"""
_MEASURED = """
The logs come from fixed seeds. Before anything is timed, the records are compared byte for byte with those of
`bench/naive.py`, the shortest equivalent program: one process that parses every line with orjson, without checks,
cleaning or pseudonyms. It is *naive* in the table of all runs.

"""
_GOALS = (
    """# Internal goals

`make bench` writes this page: how the present revision compares with {base} and with goals that were set earlier.

"""
    + _HOW
    + """ *wc* is `wc -l` over the same files, the cost of reading. Ratios are the median over the rounds.
"""
)
_LOGS = {
    "standard": "sessions of about 27 requests",
    "long": "sessions of 250 requests",
    "real": "standard in the style of Goose, with its system prompt, e-mail addresses, and failed and empty results",
    "tiny": "sessions of 2 requests",
    "spaced": "standard, with the spaces and escapes of `json.dumps`",
    "hostile": "standard, with a clock in the system prompt, `cache_control`, tools before messages, and different "
    "ids and key order in the history",
    "worst": "standard, with random key order (also in tools) and new ids in every request",
    "chat": "fewer sessions of standard",
    **dict.fromkeys(BODIES, "chat, in the bodies of that format"),
    **dict.fromkeys(FILES, "sessions of about 260 requests, in the files of that agent"),
    "array": "the sessions of tiny in one file, as a JSON array of entries",
    "litellm": "the sessions of tiny in one file, as rows of LiteLLM's proxy",
    "langfuse": "the sessions of tiny in one file, as an export of Langfuse",
    "giant": "one session of 1,000 requests, the last of 2 MB",
    "giant_rewritten": "giant, written like worst",
    "standard10": "standard, ten times",
    "long10": "long, ten times",
    "one": "one session of 2 requests",
    "small": "tiny, but all sessions have the same tools",
    "code": "sessions of 4 requests with parts of source files",
    "code_growing": "sessions of about 27 requests with parts of source files",
}
_DIVISION = """
The logs are divided into as many folders as there are cores. The folders are converted one after the other, each by
a process pinned to one core. The speed-up is that of cores that share nothing: it reflects how evenly the work is
divided and the cost of starting processes, but not the effects of shared memory and disk or of joining outputs.
"""
_OPTIONS = """These are runs of one worker over *{logs}*. An option is *dearer* if it costs more CPU seconds than at
{base}, by more than {noise:.0%} of a run without options. Two runs of the same may differ by that much.
"""
_LENGTHS = """
One session grows from {least:,} to {most:,} requests. Each request adds only its last line, but the log repeats
the history and is up to {times:,.0f} times as large. CPU seconds, without those of `wc`, grow linearly with the
added text: a straight line explains {shares}.
"""


def lengths(results: Results) -> str:
    """What is said of the cost of long sessions."""
    of = results["lengths"]
    shares = f"{scaling.line(*scaling.beyond_reading(of, 'one')).explains:.1%} of the variation"
    times = max(each.size / each.added for each in of)
    return _LENGTHS.strip().format(least=of[0].requests, most=of[-1].requests, times=times, shares=shares)


def drawn(results: Results) -> str:
    """The cost of long sessions as a chart."""
    xs, ys = scaling.beyond_reading(results["lengths"])
    line = scaling.line(xs, ys)
    ends = [(0, max(0, line.at(0))), (max(xs), line.at(max(xs)))]
    series = [svg.Series("chatsquash, beyond wc", list(zip(xs, ys, strict=True)), ends)]
    for name, variant in ((results["base"], "one" + BASE), ("chatsquash", "one"), ("wc", "wc")):
        if all(variant in each.runs for each in results["lengths"]):
            cpu = [middle(each.runs[variant], "cpu") for each in results["lengths"]]
            series.append(svg.Series(name, sorted(zip(xs, cpu, strict=True))))
    return svg.chart("CPU seconds of one growing session", "MB added to the session", "CPU seconds", series)


_SECTIONS = (
    ("times", "What to expect", table.expectations),
    ("times", "Cost of options", table.option_costs),
    ("division", "Several cores", table.division),
    ("lengths", "Long sessions", lengths),
)
_PEERS = (("peers", "Other converters", table.peers),)
_INTERNAL = (
    ("times", "CPU time", table.ratios),
    ("options", "Options", table.costs),
    ("shapes", "Hard shapes", shapes.shown),
)
_SHAPES = """How many times the CPU seconds each doubling of input and output takes, beyond what every run takes: 2 is
linear.
*Many options* are `{many}`.
"""
_TEXTS = {
    "What to expect": _EXPECT,
    "Cost of options": _COSTS,
    "Several cores": _DIVISION,
    "Options": _OPTIONS,
    "Hard shapes": _SHAPES,
}
"""The introductions of sections, by title."""


def sections(results: Results, chosen: Iterable[tuple[str, str, Callable[[Results], str]]], drawing: str = "") -> str:
    """The sections of what was measured, each with a heading."""
    parts = []
    for key, title, shown in chosen:
        if results.get(key) and (text := shown(results)):
            known = {"logs": options.LOGS, "noise": options.NOISE, "many": " ".join(shapes.MANY)}
            intro = _TEXTS.get(title, "").format(base=results["base"], **known)
            parts += [f"## {title}", intro.strip(), text.strip()]
    if drawing and results.get("lengths"):
        parts.append(f"![CPU seconds by added text]({drawing})")
    return "\n\n".join(part for part in parts if part)


def write(results: Results, target: Path, goals: Path) -> None:
    """Write the page for readers with the chart beside it, and the page of internal goals."""
    drawing = target.with_suffix(".svg")
    if results.get("lengths"):
        drawing.write_text(drawn(results))
    target.write_text(page(results, drawing.name))
    goals.write_text(internal(results))


def page(results: Results, drawing: str) -> str:
    """The page for readers; ``drawing`` is the path of the chart."""
    logs = _describe(name for name in PROFILES if name in results["times"])
    how = (_MEASURED + _HOW).format(rounds=results["rounds"])
    parts = [_HEAD, sections(results, _SECTIONS, drawing), sections(results, _PEERS)]
    parts += ["## How it is measured", how, _machine(results)]
    parts += ["## All runs", table.details(results), "The logs:", logs + _reduced(results)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _describe(names: Iterable[str]) -> str:
    """Describe each set of logs on a line; sets with the same description share it."""
    shared: dict[str, list[str]] = {}
    for name in names:
        shared.setdefault(_LOGS[name], []).append(name)
    return "\n".join(f"- {', '.join(alike)}: {words}" for words, alike in shared.items())


def internal(results: Results) -> str:
    """The page of internal goals."""
    head = _GOALS.format(rounds=results["rounds"], base=results["base"])
    parts = [head, table.summary(results), sections(results, _INTERNAL), "## Machine", _machine(results)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _machine(results: Results) -> str:
    return "\n".join(f"- {name}: {value}" for name, value in results["machine"].items())


def _reduced(results: Results) -> str:
    if results["share"] == 1:
        return ""
    return f"\nThe sets of ten times are {results['share']} of that, because memory or disk is too small.\n"


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
