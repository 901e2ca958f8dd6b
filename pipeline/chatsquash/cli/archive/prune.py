"""``chatsquash archive prune``: remove what is older than a period."""

from __future__ import annotations

import click

from chatsquash.cli.archive._common import Period, key_option, print_report, secret
from chatsquash.cli.click_options import argument, option
from chatsquash.cli.command import Command


@click.command(cls=Command, epilog="Example: chatsquash archive prune ~/archive --older 365d")
@argument("store")
@option("--older", type=Period(), required=True, metavar="PERIOD", help="Age from which to remove, as in 90d or 1y.")
@option("--at-once", is_flag=True, help="Free the space now; no other run may use the archive meanwhile.")
@key_option
@option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def prune(store: str, *, older: int, at_once: bool, key_file: str | None, as_json: bool) -> None:
    """Remove snapshots older than a period, and files that their owners deleted before it.

    Files that still exist always stay. Space is freed by the first prune a day later, because another machine may be
    writing to the archive.
    """
    from chatsquash.archive import pruning
    from chatsquash.storage.archive.repository import open_archive

    archive = open_archive(store, secret(key_file))
    print_report(pruning.prune(archive, older, 0 if at_once else pruning.WAITING), as_json=as_json)
