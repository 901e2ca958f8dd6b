"""What runs over 1 TB and 100 TB cost, by the model of ``cluster.py``; writes the tables of docs/scaling.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from statistics import median
from typing import NamedTuple

import click

from bench.cluster import ASSUMED, MB, MEASURED, TB, Given, Took, simulate
from bench.commands import HERE
from bench.compared import Compared, compare
from bench.kept import Kept, keep, kept
from bench.rates import Rates, Step, measure
from bench.table import markdown

DOCS = HERE.parent / "docs" / "scaling.md"
SHAPE = "standard"
SIZES = {"1 TB": TB, "100 TB": 100 * TB}
FLEETS = {"1 TB": (1, 4, 16), "100 TB": (16, 64, 256)}
FILES = {"wait": 0.001, "page": 0.3, "requests": 1e9, "fetch": 1000.0}
"""A file system that all machines see: a file opens in 1 ms, its size is known after 0.3 ms, a core reads 1 GB/s."""
MORE = 8.0
"""Shards at a time for each core, where logs are waited for."""
TYPICAL = {"1 TB": 4, "100 TB": 64}
"""The machines with which shapes and assumptions are compared."""
BUSY = 0.3
"""Cores that other programs may use during a run that is reported."""
SHAPES = ("standard", "long", "tiny", "chat", "claude_code", "codex", "giant")
"""The shapes of logs in the tables; those not listed behave like one of these."""
NOTICEABLE = 0.2
"""The smallest change of the hours that is listed."""
SEEDS = (1, 2, 3)
_REGION = re.compile(r"(<!-- generated: (\S+) -->\n).*?(^<!-- /generated -->)", re.DOTALL | re.MULTILINE)


class Swing(NamedTuple):
    """The hours of a run in which one assumption is half of what it was, or twice that."""

    what: str
    half: float
    double: float

    @property
    def width(self) -> float:
        """How far the one is from the other."""
        return abs(self.half - self.double)


def given(rates: Rates, shape: str = SHAPE) -> Given:
    """What the model is given of logs of a shape: what was measured, the assumptions else."""
    rate = rates.shapes[shape]
    return Given(
        core=rate.speed(rates.start) / MB,
        log=rate.size / rate.logs / MB,
        records=rate.records / rate.size,
        start=rates.start,
        divide=rates.divide.cpu,
        join=rates.join.cpu,
        copy=rates.copy / MB,
    )


def middle(of: Given, size: float, machines: int) -> Took:
    """The run of median length among those that differ by chance."""
    took = sorted((simulate(of, size, machines, seed) for seed in SEEDS), key=lambda each: each.hours)
    return took[len(took) // 2]


def swings(of: Given, size: float, machines: int) -> list[Swing]:
    """Each assumption halved and doubled, those first that move the result most."""
    found = []
    for name in asdict(of):
        half, double = (
            simulate(replace(of, **{name: getattr(of, name) * times}), size, machines, SEEDS[0]).hours
            for times in (0.5, 2.0)
        )
        found.append(Swing(name, half, double))
    return sorted(found, key=lambda each: -each.width)


# The tables


def regions(known: Kept, sizes: Sequence[str] = tuple(SIZES)) -> dict[str, str]:
    """The regions of the page that are made of what was measured, and of runs over these sizes."""
    found = {
        "machine": "\n".join(f"- {name}: {value}" for name, value in known.rates.machine.items()),
        "rates": _rates(known.rates),
        "compared": _compared(known.compared),
        "memory": _memory(known.rates),
        "assumptions": _assumptions(given(known.rates)),
    }
    for size in sizes:
        found[f"hours-{_named(size)}"] = _hours(known.rates, size)
        found[f"swings-{_named(size)}"] = _swings(known.rates, size)
    if len(sizes) == len(SIZES):
        found["shapes"] = _shapes(known.rates)
    return found


def _named(size: str) -> str:
    return size.replace(" ", "-")


def _rates(rates: Rates) -> str:
    lines = [["step", "measured"]]
    lines += [
        ["start of a process", f"{rates.start:.3f} CPU s"],
        ["reading from the page cache (`wc`)", f"{rates.cached / MB:,.0f} MB/s"],
        ["reading from disk, one thread", f"{rates.disk / MB:,.0f} MB/s"],
        ["copying (`copy_file_range`, to disk)", f"{rates.copy / MB:,.0f} MB/s"],
        ["`chatsquash shards`, per log", _step(rates.divide)],
        ["`chatsquash merge`, per log", _step(rates.join)],
    ]
    shapes = [["logs", "MB per log", "MB/s per core", "records / logs"]]
    for name in SHAPES:
        rate = rates.shapes[name]
        mean = rate.size / rate.logs / MB
        speed = rate.speed(rates.start) / MB
        shapes.append([name, f"{mean:,.3g}", f"{speed:,.0f}", f"{rate.records / rate.size:.1%}"])
    return f"{markdown(lines)}\n\n{markdown(shapes)}"


def _step(step: Step) -> str:
    return f"{step.cpu * 1e6:.0f} µs, {step.memory:,.0f} bytes of memory"


def _compared(found: Sequence[Compared]) -> str:
    errors = sorted(each.error for each in found if each.others <= BUSY)
    runs = f"{len(errors)} runs with {' and '.join(sorted({str(each.nodes) for each in found}))} nodes"
    logs = ", ".join(dict.fromkeys(f"*{each.logs}*" for each in found))
    return f"{runs}, of {logs}: errors from {errors[0]:+.0%} to {errors[-1]:+.0%}, median {median(errors):+.0%}."


def _memory(rates: Rates) -> str:
    """Of the two steps that one machine makes alone."""
    lines = [["", "logs", "`chatsquash shards`", "`chatsquash merge`"]]
    for name, size in SIZES.items():
        logs = size / MB / given(rates).log
        lines.append(
            [name, f"{logs:,.0f}", *(f"{logs * each.memory / 1e9:.1f} GB" for each in (rates.divide, rates.join))]
        )
    return markdown(lines)


def _assumptions(of: Given) -> str:
    lines = [["assumption", "value", "source"]]
    for each in fields(of):
        if each.metadata["source"] not in {MEASURED, ASSUMED}:
            value = f"{getattr(of, each.name):.4g} {each.metadata['unit']}".rstrip()
            lines.append([each.metadata["what"], value, each.metadata["source"]])
    return markdown(lines)


def _hours(rates: Rates, size: str) -> str:
    """Of the shape as it stands, with more shards at a time, and of files."""
    of = given(rates)
    others = {"8 per core": replace(of, slots=MORE), "files": replace(of, **FILES)}
    head = ["machines", "hours", "listing", "converting", "merging", "machine hours"]
    lines = [head + [cell for name in others for cell in (f"{name}: hours", "machine hours")]]
    for machines in FLEETS[size]:
        took = middle(of, SIZES[size], machines)
        row = [str(machines), *(f"{each:.2f}" for each in (took.hours, took.listing, took.converting, took.merging))]
        row.append(f"{took.machines:,.1f}")
        for other in others.values():
            found = middle(other, SIZES[size], machines)
            row += [f"{found.hours:.2f}", f"{found.machines:,.1f}"]
        lines.append(row)
    return markdown(lines)


def _shapes(rates: Rates) -> str:
    lines = [["logs", *(cell for size in SIZES for cell in (f"{size}: hours", "machine hours"))]]
    for name in SHAPES:
        took = [simulate(given(rates, name), SIZES[size], TYPICAL[size], SEEDS[0]) for size in SIZES]
        lines.append([name, *(cell for each in took for cell in (f"{each.hours:.2f}", f"{each.machines:,.1f}"))])
    return markdown(lines)


def _swings(rates: Rates, size: str) -> str:
    of = given(rates)
    whole = simulate(of, SIZES[size], TYPICAL[size], SEEDS[0]).hours
    told = {each.name: each.metadata["what"] for each in fields(of)}
    effects = [each for each in swings(of, SIZES[size], TYPICAL[size]) if each.width >= NOTICEABLE * whole]
    return "\n".join(
        f"- {told[each.what]}: {each.half / whole - 1:+.0%}, {each.double / whole - 1:+.0%}" for each in effects
    )


# The page


def placed(page: str, made: dict[str, str]) -> str:
    """A page with these regions made anew, and all others as they are."""
    return _REGION.sub(
        lambda found: f"{found[1]}\n{made[found[2]]}\n\n{found[3]}" if found[2] in made else found[0], page
    )


def shown(page: str) -> dict[str, str]:
    """The regions of a page as they stand there."""
    return {found[2]: found[0] for found in _REGION.finditer(page)}


@click.command()
@click.option("--measure", "measures", is_flag=True, help="Measure the rates of this machine first.")
@click.option("--compare", "compares", is_flag=True, help="Make the runs that the model is held to first.")
@click.option(
    "--rounds", default=5, show_default=True, type=click.IntRange(min=1), help="How often a rate is measured."
)
def main(rounds: int, *, measures: bool, compares: bool) -> None:
    """Simulate runs over 1 TB and 100 TB, and write docs/scaling.md."""
    known = kept()
    data = HERE / ".data"
    data.mkdir(exist_ok=True)
    if measures:
        keep(known := replace(known, rates=measure(data, rounds)))
    if compares:
        keep(known := replace(known, compared=compare(data, known.rates)))
    page = DOCS.read_text()
    made = regions(known)
    missing = set(made) ^ set(shown(page))
    assert not missing, f"{DOCS} and the code differ in the regions {sorted(missing)}"
    DOCS.write_text(placed(page, made))


if __name__ == "__main__":
    main()
