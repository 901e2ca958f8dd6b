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

_HOW = """Times are the median of {rounds} rounds (fewer where a round takes long), peaks their maximum.
CPU is the seconds, of user and system, that all processes of a run take. *wc* is `wc -l` over the same files: what
reading costs. All logs are in the page cache. 1 MB is a million bytes."""
_HEAD = (
    """# Performance

How fast chatsquash converts logs of different kinds, how much memory it takes, and how it compares with other
converters and with the shortest program that does the same.

`make bench` writes this page. It generates logs from fixed seeds, checks that the records are byte for byte those of a
naive converter, and then times complete processes in turns, with the default options.

"""
    + _HOW
    + """

*naive* is `bench/naive.py`, one process that parses every line with orjson, and checks, cleans and anonymises nothing
(`bench/naive_files.py` for files of agents). {base} is an earlier revision of chatsquash.
"""
)
_GOALS = (
    """# Internal goals

`make bench` writes this page: how the present revision compares with {base} and with goals that were set earlier.

"""
    + _HOW
    + """ Ratios are the median over the rounds.
"""
)
_LOGS = {
    "standard": "sessions of some 27 requests",
    "long": "sessions of 250 requests",
    "real": "standard, as Goose would have it. It has Goose's system prompt, an e-mail address in one message of ten, "
    "a tenth of the results failed and some empty. One session of twelve has information in the user's name",
    "tiny": "sessions of 2 requests",
    "spaced": "standard, as `json.dumps` spaces and escapes it",
    "hostile": "standard, with a clock in the system prompt and `cache_control` on the last message. Half of the lines "
    "have tools before messages, and the history has other ids and another order of keys than the responses",
    "worst": "standard, with keys in random order (tools' too) and new ids in every request",
    "chat": "standard, fewer of them",
    **dict.fromkeys(BODIES, "chat, in the bodies of that format"),
    **dict.fromkeys(FILES, "sessions of some 260 requests, in the files of that agent"),
    "giant": "one session of 1,000 requests, the last of 2 MB",
    "giant_rewritten": "the same, written as worst",
    "standard10": "standard, ten times",
    "long10": "long, ten times",
    "small": "one session of 2 requests",
}
_DIVISION = """Here the logs lie in as many folders as there are cores. One process of one worker, pinned to one core,
converts each folder, one after the other. The speed-up is what cores would gain that have nothing in common. It shows
how evenly work divides and what each process costs to start. It leaves out what cores share: memory, disk and the
process that joins the output.
"""
_OPTIONS = """These are runs of one worker over *{logs}*. An option is *dearer* if it costs more CPU seconds than at
{base}, by more than {noise:.0%} of a run without options. Two runs of the same may differ by that much.
"""
_LENGTHS = """One session only grows here, from {least:,} to {most:,} requests. What each adds is the last line; the log
repeats it and has up to {times:,.0f} times its size. The CPU seconds count beyond those that `wc` takes to read the
log. A straight line over what a session adds explains {shares}.
"""


def lengths(results: Results) -> str:
    """What is said of the cost of long sessions."""
    of = results["lengths"]
    variants = {"chatsquash": "one", results["base"]: "one" + BASE}
    shares = [
        f"{scaling.line(*scaling.beyond_reading(of, variant)).explains:.1%} of those of {name}"
        for name, variant in variants.items()
        if variant in of[0].runs
    ]
    times = max(each.size / each.added for each in of)
    return _LENGTHS.format(least=of[0].requests, most=of[-1].requests, times=times, shares=" and ".join(shares))


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
    ("peers", "Other converters", table.peers),
    ("division", "Several cores", table.division),
    ("lengths", "Long sessions", lengths),
)
_INTERNAL = (
    ("times", "CPU time", table.ratios),
    ("options", "Options", table.costs),
    ("shapes", "Hard shapes", shapes.shown),
)
_SHAPES = """How many times the CPU seconds each doubling of input and output takes, beyond what every run takes: 2 is
linear.
*Many options* are `{many}`.
"""
_TEXTS = {"options": _OPTIONS, "division": _DIVISION, "shapes": _SHAPES}


def sections(results: Results, chosen: Iterable[tuple[str, str, Callable[[Results], str]]], drawing: str = "") -> str:
    """The sections of what was measured, each with a heading."""
    parts = []
    for key, title, shown in chosen:
        if results.get(key) and (text := shown(results)):
            known = {"logs": options.LOGS, "noise": options.NOISE, "many": " ".join(shapes.MANY)}
            intro = _TEXTS.get(key, "").format(base=results["base"], **known)
            parts += [f"## {title}", intro.strip(), text.strip()]
    if drawing and results.get("lengths"):
        parts.append(f"![CPU seconds over what was added]({drawing})")
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
    logs = "\n".join(f"- {name}: {_LOGS[name]}" for name in PROFILES if name in results["times"])
    head = _HEAD.format(rounds=results["rounds"], base=results["base"])
    parts = [head, sections(results, _SECTIONS, drawing), "## Machine", _machine(results)]
    parts += ["## All runs", table.details(results), "The logs:", logs + _reduced(results)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


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
    return f"\nThe sets of ten times are {results['share']} of that, for want of memory or disk.\n"


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
