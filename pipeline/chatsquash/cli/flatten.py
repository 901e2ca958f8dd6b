"""``chatsquash flatten``: the samples of a forest, one row per sample."""

from __future__ import annotations

import click

from chatsquash.cli.click_options import argument, option
from chatsquash.cli.command import Command


@click.command(cls=Command, epilog="Example: chatsquash flatten forest --output samples")
@argument("forest", metavar="FOREST")
@option("--output", "-o", required=True, metavar="OUT", help="Folder for the data files.")
@option(
    "--to",
    type=click.Choice(["samples", "verifiers"]),
    default="samples",
    show_default=True,
    help="Write samples or traces of verifiers.",
)
@option("--force", is_flag=True, help="Replace existing files.")
@option("--quiet", "-q", is_flag=True, help="Do not print a summary.")
def flatten(forest: str, *, output: str, to: str, force: bool, quiet: bool) -> int:
    """Write the samples of an output of convert --samples forest with one row per sample.

    OUT/data has the files that convert --samples reply would have written, byte for byte.
    """
    from chatsquash.conversion.flatten import flatten as run
    from chatsquash.core.text import pluralize

    done = run(forest, output, to=to, force=force)
    if not quiet:
        what = "trace" if to == "verifiers" else "sample"
        click.echo(f"{pluralize(done.samples, what)} in {pluralize(done.files, 'file')}", err=True)
    return 0
