"""``chatsquash show``: print one record as a conversation."""

from __future__ import annotations

import sys

import click

from chatsquash.cli.click_options import argument, option
from chatsquash.cli.command import Command


@click.command(cls=Command, epilog="Example: chatsquash show out 1")
@argument("dataset", metavar="OUT")
@argument("which", metavar="N|ID|FILE:ROW")
@option("--unfold", is_flag=True, help="Print long texts in full.")
@option("--json", "as_json", is_flag=True, help="Print the record, its location and its session as JSON.")
def show(dataset: str, which: str, *, unfold: bool, as_json: bool) -> None:
    """Print one record of a dataset as a conversation, by its number, its session's id or its location.

    Long texts, results and reasoning are shortened. Terminals show colors if rich is installed (extra: view).
    """
    from chatsquash.core.text import printable_json
    from chatsquash.records import printing
    from chatsquash.results.show import show as find

    match = find(dataset, which)
    if as_json:
        click.echo(printable_json(match.as_json(), indent=True))
        return
    click.echo(match.title())
    lines = printing.as_lines(match.record, unfold=unfold)
    if not (sys.stdout and sys.stdout.isatty() and printing.has_colours()):
        click.echo(printing.as_text(lines))
    else:
        printing.print_in_colours(lines)
