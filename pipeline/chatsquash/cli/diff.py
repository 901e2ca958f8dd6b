"""``chatsquash diff``: the sessions in which two results differ."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

from chatsquash.cli import exits
from chatsquash.cli.click_options import argument, option
from chatsquash.cli.command import Command
from chatsquash.cli.printing import print_lines

if TYPE_CHECKING:
    from chatsquash.results.diff.comparison import Comparison, Difference

_SIGNS = {"added": "+", "changed": "~", "removed": "-"}


@click.command(cls=Command, epilog="Example: chatsquash diff out-yesterday out")
@argument("first", metavar="A")
@argument("second", metavar="B")
@option("--limit", type=click.IntRange(0), default=20, metavar="N", help="Sessions to list.  [default: 20]")
@option("--json", "as_json", is_flag=True, help="Print all differences as JSON.")
def diff(first: str, second: str, *, limit: int, as_json: bool) -> int:
    """Compare the output folders A and B: sessions that were added, changed or removed, and why.

    Records are compared by content, whatever the format and the layout of the files. Exits with 3 if sessions differ.
    view B --against A shows records side by side.
    """
    from chatsquash.results.diff.comparison import Comparison

    with Comparison(first, second) as comparison:
        counts = comparison.counts()
        is_different = any(counts[kind] for kind in _SIGNS)
        if as_json:
            _print_json(comparison, counts)
        else:
            print_lines(_lines(comparison, counts, limit))
    return exits.INCOMPLETE if is_different else 0


def _print_json(comparison: Comparison, counts: dict[str, dict[str, int]]) -> None:
    """Print one object; its sessions are printed one per line, since there may be many."""
    from chatsquash.core.text import printable_json

    head = {
        "versions": comparison.versions,
        "options": {name: list(values) for name, values in comparison.options.items()},
        "counts": counts,
    }
    click.echo(printable_json(head).decode()[:-1] + ',"sessions":[', nl=False)
    for number, each in enumerate(comparison.differences()):
        click.echo(("," if number else "") + "\n" + printable_json(each.as_json()).decode(), nl=False)
    click.echo("\n]}")


def _lines(comparison: Comparison, counts: dict[str, dict[str, int]], limit: int) -> Iterator[str]:
    if comparison.versions[0] != comparison.versions[1]:
        yield f"version    {' -> '.join(comparison.versions)}"
    for name, values in comparison.options.items():
        yield f"option     {name}: {' -> '.join(map(_value, values))}"
    for kind in _SIGNS:
        reasons = counts[kind]
        details = ", ".join(f"{reason} {count:,}" for reason, count in reasons.items())
        yield f"{kind:10} {sum(reasons.values()):,}" + (f"  {details}" if details else "")
    yield f"{'unchanged':10} {counts['unchanged']:,}"
    for each in islice(comparison.differences(), limit):
        yield f"{_SIGNS[each.kind]} {each.state.session} ({each.state.log}): {_details(each)}"
    rest = sum(sum(counts[kind].values()) for kind in _SIGNS) - limit
    if rest > 0:
        yield f"... and {rest:,} more (--limit)"


def _value(value: object) -> str:
    from chatsquash.core.text import printable_json, shorten

    return "none" if value is None else shorten(printable_json(value).decode())


def _details(difference: Difference) -> str:
    before, now = difference.before, difference.now
    states = f"{before} -> {now}" if before and now and str(before) != str(now) else str(now or before)
    return f"{difference.reason}, {states}"
