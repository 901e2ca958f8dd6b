"""The tables of the pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

from bench import options
from bench.commands import BASE, OTHER
from bench.generate import CONTENT, COPIES
from bench.goals import (
    COSTS,
    MB,
    ROWS,
    NotMeasuredError,
    Results,
    elapsed_ratio,
    gain,
    middle,
    peak,
    verdict,
)


def summary(results: Results) -> str:
    """Every promise whose logs were timed."""
    lines = [["", "at least", "aim", "measured", ""]]
    for row in ROWS:
        if row.profile not in results["times"]:
            continue
        size = f"{results['sizes'][row.profile]['bytes'] / 1e9:.1f} GB"
        what = row.what.format(size=size, base=results["base"])
        promised = ["" if number is None else row.unit.text.format(number) for number in (row.at_least, row.aim)]
        try:
            value = row.value(results)
        except NotMeasuredError as why:
            lines.append([what, *promised, "", f"not measured: {why}"])
        else:
            lines.append([what, *promised, row.unit.text.format(value), verdict(row, value)])
    return markdown(lines)


def ratios(results: Results) -> str:
    """Return the CPU seconds of one worker, of the older version and of the naive script; empty without the former."""
    base = results["base"]
    lines = [["logs", f"{base}, CPU", "now, CPU", f"vs {base}", "naive vs now"]]
    for name, times in results["times"].items():
        if "one" in times and "one" + BASE in times:
            now = middle(times["one"], "cpu")
            naive = f"{middle(times['naive'], 'cpu') / now:.2f}x" if "naive" in times else ""
            shown = [f"{middle(times['one' + BASE], 'cpu'):.3f}", f"{now:.3f}", f"{gain(results, name, 'one'):.2f}x"]
            lines.append([name, *shown, naive])
    return markdown(lines) if len(lines) > 1 else ""


def expectations(results: Results) -> str:
    """Return the speed and memory of one worker for each kind of logs."""
    lines = [["logs", "content", "MB", "MB per CPU second", "sessions per CPU second", "peak MB"]]
    for name, variants in results["times"].items():
        if "one" in variants and name not in COPIES:
            size, cpu = results["sizes"][name], middle(variants["one"], "cpu")
            amounts = size["bytes"] / MB, size["bytes"] / MB / cpu, size["sessions"] / cpu, peak(results, name, "one")
            lines.append([name, CONTENT[name], *map(_short, amounts)])
    return markdown(lines)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def growth(results: Results) -> str:
    """Return the time and memory of larger runs and of expensive options, relative to the default."""
    names = [name for name, variants in results["times"].items() if "by_id" in variants]
    lines = [["", *(cell for name in names for cell in (name, "peak MB"))]]
    rows = {"one": "default", **{key: f"`{words}`" for key, words in COSTS.items()}}
    lines += [[text, *_cells(results, names, partial(_cost, key=key))] for key, text in rows.items()]
    lines.append(["2 workers, elapsed time", *_cells(results, names, _elapsed)])
    if "standard10" in results["times"]:
        lines.append(["10 times the sessions, per MB", *_cells(results, names, _tenfold)])
        lines.append(["the same, 2 workers, elapsed time", *_cells(results, names, partial(_elapsed, copies="10"))])
    return markdown(lines) if names else ""


def _cells(results: Results, names: list[str], cost: Callable[[Results, str], tuple[str, str]]) -> list[str]:
    return [cell for name in names for cell in cost(results, name)]


def _cost(results: Results, name: str, key: str) -> tuple[str, str]:
    times = results["times"][name]
    ratio = middle(times[key], "cpu") / middle(times["one"], "cpu")
    return f"{ratio:.2f}x", f"{peak(results, name, key):.0f}"


def _elapsed(results: Results, name: str, copies: str = "") -> tuple[str, str]:
    name += copies
    if "two" not in results["times"].get(name, {}):
        return "", ""
    try:
        ratio = f"{1 / elapsed_ratio(results, name, 'one', 'two'):.2f}x"
    except NotMeasuredError:
        ratio = "not measured"
    return ratio, f"{peak(results, name, 'two'):.0f}"


def _tenfold(results: Results, name: str) -> tuple[str, str]:
    larger = f"{name}10"
    if larger not in results["times"]:
        return "", ""
    times, sizes = results["times"][larger], results["sizes"]
    ratio = middle(times["one"], "cpu") / middle(times["tenth"], "cpu") * sizes[name]["bytes"] / sizes[larger]["bytes"]
    return f"{ratio:.2f}x", f"{peak(results, larger, 'one'):.0f}"


def costs(results: Results) -> str:
    """Return the CPU seconds of each option."""
    base, times = results["base"], results["options"]
    lines = [["", "options", f"{base}, CPU", "now, CPU", f"{base}, more than none", "now, more than none", ""]]
    dearer = options.dearer(times)
    for name, words in options.ROWS.items():
        both = [options.cost(times, name, BASE), options.cost(times, name)]
        whole, more = ([getattr(each, what) if each else None for each in both] for what in ("whole", "more"))
        shown = ["" if value is None else f"{value:.3f}" for value in whole]
        shown += ["" if value is None or name == options.PLAIN else f"{value:+.3f}" for value in more]
        told = f"`{words}`" if words else ""
        lines.append([name, told, *shown, "**dearer**" if name in dearer else ""])
    return markdown(lines)


def peers(results: Results) -> str:
    """Return the speed of other converters on the logs that they read, and ours on the same logs."""
    rows = results["peers"]
    names = list(dict.fromkeys(row["logs"] for row in rows))
    lines = [["MB per CPU second", *names, "peak MB", "not measured"]]
    speeds = [results["sizes"][name]["bytes"] / MB / middle(results["times"][name]["one"], "cpu") for name in names]
    most = max(peak(results, name, "one") for name in names)
    lines.append(["chatsquash", *(f"{speed:,.0f}" for speed in speeds), f"{most:.0f}", ""])
    for peer in dict.fromkeys(row["peer"] for row in rows):
        lines += [_peer([row for row in rows if row["peer"] == peer], names)]
    return markdown(lines)


def _peer(rows: list[dict[str, Any]], names: list[str]) -> list[str]:
    timed = {row["logs"]: row for row in rows if row.get("runs")}
    speeds = {name: row["bytes"] / MB / middle(row["runs"], "cpu") for name, row in timed.items()}
    peaks = [run["peak"] / MB for row in timed.values() for run in row["runs"]]
    cells = [f"{speeds[name]:,.0f}" if name in speeds else "" for name in names]
    label = f"{rows[0]['peer']} {rows[0]['version']}".strip()
    return [label, *cells, f"{max(peaks):.0f}" if peaks else "", _reasons(rows)]


def _reasons(rows: list[dict[str, Any]]) -> str:
    """Return why logs were not timed, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        if "why" in row:
            by_reason.setdefault(row["why"], []).append(row["logs"])
    return "; ".join(f"{', '.join(names)}: {why}" for why, names in by_reason.items())


def division(results: Results) -> str:
    """Return the speed-up by dividing logs, and the CPU time of all parts, relative to one part."""
    one = results["division"][0]
    speedups = [f"{one.slowest / each.slowest:.1f}x" for each in results["division"]]
    costs = [f"{each.cpu / one.cpu:.2f}x" for each in results["division"]]
    head = ["cores", *(str(each.cores) for each in results["division"])]
    return markdown([head, ["speed-up", *speedups], ["CPU time of all", *costs]])


def beside(results: Results) -> str:
    """Return the times of this version relative to those of the other command: medians over the rounds."""
    lines = [["logs", "run", "seconds", "CPU seconds", "seconds, this / other", "CPU, this / other"]]
    for name, variants in results["times"].items():
        for variant, runs in variants.items():
            if other := variants.get(variant + OTHER):
                pairs = list(zip(runs, other, strict=True))
                shares = [median(ours[what] / theirs[what] for ours, theirs in pairs) for what in ("seconds", "cpu")]
                took = [f"{middle(runs, what):.3f}" for what in ("seconds", "cpu")]
                lines.append([name, _RUNS[variant], *took, *(f"{share:.3f}" for share in shares)])
    return markdown(lines)


_RUNS = {
    "one": "1 worker",
    "two": "2 workers",
    "chat": "1 worker, chat",
    "halves": "1 worker per half",
    **{key: f"1 worker, `{words}`" for key, words in COSTS.items()},
    "tiny": "1 worker, tiny",
    "tenth": "1 worker, standard",
    "tenth_two": "2 workers, standard",
    "session": "chatsquash",
    "help": "chatsquash --help",
}


def markdown(lines: list[list[str]]) -> str:
    """Cells as a table, its columns aligned; the first line is the head."""
    lines = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    return "\n".join([rows[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *rows[1:]])
