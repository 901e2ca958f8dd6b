"""What was measured, as tables."""

from __future__ import annotations

from statistics import median

from bench import options
from bench.commands import BASE, OTHER
from bench.generate import PROFILES
from bench.goals import (
    MB,
    OPTIONS,
    ROWS,
    WITH_OPTIONS,
    NotMeasuredError,
    Results,
    gain,
    middle,
    peak,
    seconds,
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
        promised = [row.unit.text.format(number) for number in (row.at_least, row.aim)]
        try:
            value = row.value(results)
        except NotMeasuredError as why:
            lines.append([what, *promised, "", f"not measured: {why}"])
        else:
            lines.append([what, *promised, row.unit.text.format(value), verdict(row, value)])
    return markdown(lines)


def ratios(results: Results) -> str:
    """CPU seconds of one worker beside those of the older version and of the naive script; empty without the former."""
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
    lines = [["logs", "sessions", "MB", "MB per CPU second", "sessions per CPU second", "peak MB"]]
    for name, variants in results["times"].items():
        if "one" not in variants:
            continue
        size, cpu = results["sizes"][name], middle(variants["one"], "cpu")
        sessions = PROFILES[name].sessions * PROFILES[name].repeats if PROFILES[name].document else size["sessions"]
        speeds = [f"{size['bytes'] / MB / cpu:,.0f}", f"{sessions / cpu:,.0f}"]
        lines.append(
            [name, f"{sessions:,}", f"{size['bytes'] / MB:,.0f}", *speeds, f"{peak(results, name, 'one'):.0f}"]
        )
    return markdown(lines)


def option_costs(results: Results) -> str:
    """Return the CPU time of the options whose cost is limited, relative to that of the default; empty if untimed."""
    lines = [["option", *WITH_OPTIONS]]
    for key, (words, _, _) in OPTIONS.items():
        times = [results["times"].get(name, {}) for name in WITH_OPTIONS]
        if all(key in each for each in times):
            ratios = [middle(each[key], "cpu") / middle(each["one"], "cpu") for each in times]
            lines.append([f"`{words}`", *(f"{ratio:.2f}x" for ratio in ratios)])
    return markdown(lines) if len(lines) > 1 else ""


def details(results: Results) -> str:
    """The variants of this version that were timed, each on its own logs, without ``wc``."""
    lines = [["logs", "MB", "run", "seconds", "MB/s", "CPU seconds", "peak MB"]]
    for name, variants in results["times"].items():
        for variant, runs in variants.items():
            if variant not in _RUNS or variant in (*_LOGS_OF, "wc"):
                continue
            size = results["sizes"][name]
            took = seconds(results, name, variant)
            speed = "" if variant == "help" else f"{size['bytes'] / MB / took:,.0f}"
            cpu, most = f"{middle(runs, 'cpu'):.3f}", f"{peak(results, name, variant):.1f}"
            lines.append([name, f"{size['bytes'] / MB:.1f}", _RUNS[variant], f"{took:.3f}", speed, cpu, most])
    return markdown(lines)


def costs(results: Results) -> str:
    """What each option costs, in CPU seconds."""
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
    """What other converters take, on the logs that they read."""
    lines = [["converter", "version", "logs", "CPU seconds", "MB per CPU second", "chatsquash", "not timed because"]]
    for row in results["peers"]:
        runs, shown = row.get("runs"), ["", "", ""]
        if runs:
            speed = row["bytes"] / MB / middle(runs, "cpu")
            ours = results["sizes"][row["logs"]]["bytes"] / MB / middle(results["times"][row["logs"]]["one"], "cpu")
            shown = [f"{middle(runs, 'cpu'):.3f}", f"{speed:,.0f}", f"{ours:,.0f}"]
        lines.append([row["peer"], row["version"], row["logs"], *shown, row.get("why", "")])
    return markdown(lines)


def division(results: Results) -> str:
    """What the largest of so many parts takes."""
    whole = results["division"][0].slowest
    lines = [
        [f"{each.cores}", f"{each.slowest:.3f}", f"{whole / each.slowest:.2f}x", f"{each.cpu:.3f}"]
        for each in results["division"]
    ]
    return markdown([["cores", "CPU seconds of the slowest", "speed-up", "CPU seconds of all"], *lines])


def beside(results: Results) -> str:
    """What this version takes, as a share of what the other command takes: the median over the rounds."""
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
    **{key: f"1 worker, `{words}`" for key, (words, _, _) in OPTIONS.items()},
    "tiny": "1 worker, tiny",
    "tenth": "1 worker, standard",
    "tenth_two": "2 workers, standard",
    "session": "chatsquash",
    "help": "chatsquash --help",
    "naive": "naive",
    "wc": "wc",
}


_LOGS_OF = {"tenth": "standard", "tenth_two": "standard", "chat": "chat", "tiny": "tiny"}
"""The logs of variants that are timed on others than their profile's."""


def markdown(lines: list[list[str]]) -> str:
    """Cells as a table, its columns aligned; the first line is the head."""
    lines = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    return "\n".join([rows[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *rows[1:]])
