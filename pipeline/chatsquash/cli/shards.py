"""``chatsquash shards``: divide session logs for several machines."""

from __future__ import annotations

from typing import Any

import click

from chatsquash.cli.click_options import argument, option, options, shorthands
from chatsquash.cli.command import Command
from chatsquash.cli.conversion import DECIDING, TAKING, build_options, output_option, single_file
from chatsquash.cli.exits import tolerate_closed_pipe


@click.command(cls=Command, epilog="Example: chatsquash shards logs --shards 8 --output out")
@argument("logs", nargs=-1, required=True)
@output_option
@option("--shards", "-n", "count", type=click.IntRange(min=1), required=True, metavar="N", help="Number of shards.")
@shorthands
@options(*DECIDING)
@single_file
@options(*TAKING, "strict", "force", "replace")
def shards(logs: tuple[str, ...], *, count: int, **values: Any) -> None:
    """Divide session logs into shards that several machines convert with these options.

    LOGS and the output folder must have the same paths on all machines. Afterwards, run chatsquash convert --shard K/N
    for each K from 1 to N, and then chatsquash merge.
    """
    from chatsquash.conversion.shards.divide import divide

    listing = divide(logs, values["output"], build_options(values, makes_key=False), count)
    with tolerate_closed_pipe():
        click.echo(listing.as_text(), err=True)
