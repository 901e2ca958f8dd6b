"""``chatsquash archive prune``: remove old snapshots and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from chatsquash.cli.archive._common import Duration, key_option, print_report, secret
from chatsquash.cli.click_options import argument, option
from chatsquash.cli.command import Command
from chatsquash.cli.exits import tolerate_closed_pipe

if TYPE_CHECKING:
    from chatsquash.archive.pruning import PruneReport


@click.command(cls=Command, epilog="Example: chatsquash archive prune ~/archive --older 365d")
@argument("store")
@option("--older", type=Duration(), required=True, metavar="PERIOD", help="Age from which to remove, as in 90d or 1y.")
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
    report = pruning.prune(archive, older, 0 if at_once else pruning.WAITING)
    if as_json:
        print_report(report, as_json=True)
    else:
        with tolerate_closed_pipe():
            click.echo(_as_text(report), err=True)


def _as_text(report: PruneReport) -> str:
    from chatsquash.core.text import format_size, pluralize

    parts = pluralize(report.snapshots, "snapshot"), pluralize(report.files, "file"), pluralize(report.packs, "pack")
    removed = f"{parts[0]}, {parts[1]} and {parts[2]} removed ({format_size(report.freed_bytes)})"
    waiting = f"; {format_size(report.waiting_bytes)} more will be removed by a prune tomorrow"
    return removed + (waiting if report.waiting_bytes else "")
