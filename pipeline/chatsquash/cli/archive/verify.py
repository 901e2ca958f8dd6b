"""``chatsquash archive verify``: compare every byte of an archive with its hash."""

from __future__ import annotations

import click

from chatsquash.cli.archive._common import key_option, print_report, secret
from chatsquash.cli.click_options import argument, option
from chatsquash.cli.command import Command


@click.command(cls=Command, epilog="Example: chatsquash archive verify ~/archive")
@argument("store")
@key_option
@option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def verify(store: str, *, key_file: str | None, as_json: bool) -> None:
    """Compare every byte of an archive with its hash, and check that all files are complete.

    The exit code is 3 if anything is missing or damaged; the next copy from this
    machine stores it again if its file still exists.
    """
    from chatsquash.archive.verification import verify as run
    from chatsquash.storage.archive.repository import open_archive

    print_report(run(open_archive(store, secret(key_file))), as_json=as_json)
