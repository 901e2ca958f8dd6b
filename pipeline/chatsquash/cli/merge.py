"""``chatsquash merge``: the dataset of all shards."""

from __future__ import annotations

from typing import Any

import click

from chatsquash.cli import exits
from chatsquash.cli.click_options import argument, option
from chatsquash.cli.command import Command
from chatsquash.cli.command_line import is_typed
from chatsquash.cli.conversion import print_summary, run_output, watch_of


@click.command(cls=Command, epilog="Example: chatsquash merge out")
@argument("output", metavar="OUT")
@option(
    "--anonymize-key-file",
    "key_file",
    metavar="FILE",
    help="File with the key of the shards, if they replaced paths.",
)
@run_output
def merge(output: str, *, key_file: str | None, **given: Any) -> int:
    """Write the dataset of all shards of an output folder: the same as one run on one machine writes.

    Exits as convert does.
    """
    from chatsquash.conversion.shards.merge import merge as run
    from chatsquash.core.platform import collect_less
    from chatsquash.dataset.store import place_of
    from chatsquash.redaction.pseudonyms import load_key

    collect_less()
    exits.refuse_unknown(given["fail_on"])
    key = load_key(key_file) if key_file else None
    with watch_of(given) as watch:
        summary = run(place_of(output), watch.observer, key=key, is_named=is_typed("key_file"))
    return print_summary(summary, given)
