"""The pages with the results: docs/performance.md for users and bench/goals.md."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path

from bench import options, scaling, shapes, svg, table
from bench.generate import CONTENT, PROFILES
from bench.goals import Results, middle

_HEAD = """# Performance

Speed and memory of `chatsquash convert` with default options and one worker, on generated logs that imitate real
ones. CPU seconds are the user and system time of the complete process. Logs are in the page cache. 1 MB is a million
bytes. Times are medians of {rounds} rounds (fewer for long runs), peaks are maxima.
"""
_EXPECT = """
- A gateway's log repeats the conversation in each request. Repeated bytes are compared, not parsed, so CPU time depends
  on the text that is new in each request, not on the size of the log.
- Each session has a fixed cost for checks, reports and the record. It dominates if sessions are small.
- Agents' files repeat nothing, so every byte is parsed.
- Every new text is searched for secrets, which takes longer for source code.
- Memory depends on the largest session, not on the number of sessions.
"""
_GROWTH = """
CPU time relative to the default; elapsed time relative to one worker:
"""
_DIVISION = """
The next table shows how evenly work is divided. The logs of *standard10* are split into a folder per core, and the
folders are converted one after the other. Speed-up is the CPU time of one folder with all logs, divided by that of the
slowest folder; it does not include the effects of shared memory and disks.
"""
_PEERS = """
On the same files. The [comparison](comparison.md) shows what each converter loses.
"""
_OWN = """## Your logs

In a clone of the repository, this command prints the first two tables for your logs:

```sh
make bench LOGS=my-logs
```

With an installed package, compare the `user` and `sys` times of these:

```sh
time chatsquash convert my-logs --workers 1 --output out-one
time chatsquash convert my-logs --output out-all
```

`make profile PROFILE='--logs my-logs'` shows the functions that take the most time. `make bench` without `LOGS`
measures this page again on your machine and compares the records with those of a simple converter first.

## Machine
"""
_HOW = """Times are medians of {rounds} rounds (fewer for long runs); peaks are maxima. CPU seconds are user and system
time of all processes of a run. Logs are in the page cache. 1 MB is a million bytes."""
_GOALS = (
    """# Internal goals

`make bench BASE={base}` writes this page: how the present revision compares with {base} and with goals that were set
earlier.

"""
    + _HOW
    + """ *wc* is `wc -l` over the same files, the cost of reading. Ratios are the median over the rounds.
"""
)
_OPTIONS = """These are runs of one worker over *{logs}*. An option is *dearer* if it costs more CPU seconds than at
{base}, by more than {noise:.0%} of a run without options. Two runs of the same may differ by that much.
"""
_LENGTHS = """
One session grows from {least:,} to {most:,} requests, so that its log becomes up to {times:,.0f} times as large as its
text. CPU time grows with the text:

![CPU seconds by added text]({drawing})
"""


def lengths(results: Results) -> str:
    """Introduce the chart of the cost of long sessions."""
    of = results["lengths"]
    times = max(each.size / each.added for each in of)
    return _LENGTHS.strip().format(
        least=of[0].requests, most=of[-1].requests, times=times, drawing=results.get("drawing", "")
    )


def drawn(results: Results) -> str:
    """The cost of long sessions as a chart."""
    xs, ys = scaling.beyond_reading(results["lengths"])
    line = scaling.line(xs, ys)
    ends = [(0, max(0, line.at(0))), (max(xs), line.at(max(xs)))]
    series = [svg.Series("chatsquash, beyond wc", list(zip(xs, ys, strict=True)), ends)]
    for name, variant in (("chatsquash", "one"), ("wc", "wc")):
        cpu = [middle(each.runs[variant], "cpu") for each in results["lengths"]]
        series.append(svg.Series(name, sorted(zip(xs, cpu, strict=True))))
    return svg.chart("CPU seconds of one growing session", "MB added to the session", "CPU seconds", series)


_SECTIONS = (
    ("times", "What to expect", table.expectations),
    ("times", "How it scales", table.growth),
    ("division", "Several cores", table.division),
    ("lengths", "Long sessions", lengths),
    ("peers", "Other converters", table.peers),
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
_TEXTS = {
    "How it scales": _GROWTH,
    "Several cores": _DIVISION,
    "Other converters": _PEERS,
    "Options": _OPTIONS,
    "Hard shapes": _SHAPES,
}
"""The introductions of sections, by title."""
_NOTES = {"What to expect": _EXPECT}
"""The texts after the tables of sections, by title."""


def sections(results: Results, chosen: Iterable[tuple[str, str, Callable[[Results], str]]]) -> str:
    """Return the sections whose numbers were measured."""
    parts = []
    for key, title, shown in chosen:
        if results.get(key) and (text := shown(results)):
            known = {"logs": options.LOGS, "noise": options.NOISE, "many": " ".join(shapes.MANY)}
            intro = _TEXTS.get(title, "").format(base=results["base"], **known)
            parts += [f"## {title}", intro.strip(), text.strip(), _NOTES.get(title, "").strip()]
    return "\n\n".join(part for part in parts if part)


def write(results: Results, target: Path, *, for_users: bool) -> None:
    """Write the page for users with the chart next to it, or the page of internal goals."""
    if not for_users:
        target.write_text(internal(results))
        return
    drawing = target.with_suffix(".svg")
    drawing.write_text(drawn(results))
    target.write_text(page(results, drawing.name))


def page(results: Results, drawing: str) -> str:
    """Return the page for users; ``drawing`` is the path of the chart."""
    head = _HEAD.format(rounds=results["rounds"])
    parts = [head, sections(results | {"drawing": drawing}, _SECTIONS), _OWN, _machine(results)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _machine(results: Results) -> str:
    lines = [f"- {name}: {value}" for name, value in results["machine"].items()]
    if results["share"] != 1:
        lines.append(f"- sets of ten times: {results['share']} of that, because memory or disk is too small")
    return "\n".join(lines)


def excerpt(results: Results) -> str:
    """Return the sections of a run over some logs only."""
    return sections(results, _SECTIONS)


def internal(results: Results) -> str:
    """Return the page of internal goals."""
    head = _GOALS.format(rounds=results["rounds"], base=results["base"])
    logs = "\n".join(f"- {name}: {CONTENT[name]}" for name in PROFILES)
    parts = [head, table.summary(results), sections(results, _INTERNAL), "## Logs", logs]
    parts += ["## Machine", _machine(results)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def machine() -> dict[str, str]:
    """Describe the machine and the packages."""
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
