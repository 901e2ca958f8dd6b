"""``chatsquash archive ls``: list the files of an archive."""

from __future__ import annotations

import click

from chatsquash.cli.archive._common import key_option, print_problems, secret, time_option
from chatsquash.cli.click_options import argument, option
from chatsquash.cli.command import Command
from chatsquash.cli.exits import tolerate_closed_pipe


@click.command(cls=Command, epilog="Example: chatsquash archive ls ~/archive")
@argument("store")
@argument("patterns", nargs=-1)
@option("--snapshots", is_flag=True, help="List the snapshots instead: one per run that found changes.")
@time_option
@key_option
@option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def ls(  # noqa: PLR0913 - one parameter per option
    store: str, patterns: tuple[str, ...], *, snapshots: bool, at: int | None, key_file: str | None, as_json: bool
) -> None:
    """List the files that match PATTERNS, or all: size, time of the last change, time of deletion and name."""
    from chatsquash.archive import listing
    from chatsquash.storage.archive.repository import open_archive

    archive = open_archive(store, secret(key_file))
    if snapshots and patterns:
        raise click.UsageError("--snapshots: cannot be combined with PATTERNS, which select files")
    rows, problems = listing.snapshots(archive, at) if snapshots else listing.files(archive, patterns, at)
    with tolerate_closed_pipe():
        click.echo("\n".join(listing.as_json(rows) if as_json else listing.as_text(rows)))
    print_problems(problems)
