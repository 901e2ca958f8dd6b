"""``chatsquash report``: a page about a result."""

from __future__ import annotations

import click

from chatsquash.cli.click_options import argument
from chatsquash.cli.command import Command
from chatsquash.cli.conversion import write_report


@click.command(cls=Command, epilog="Example: chatsquash report out")
@argument("output", metavar="OUT")
def report(output: str) -> None:
    """Write OUT/report.html: figures, charts, findings and the sessions most worth a look, in one file.

    The page loads nothing from elsewhere and needs no server. Only its owner can read it, and push does not upload it.
    It also shows the contents of the logs in run.json, if they still exist. Needs the extra report.
    """
    write_report(output)
