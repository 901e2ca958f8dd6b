"""``chatsquash report``: write an HTML report about a result."""

from __future__ import annotations

import click

from chatsquash.cli.click_options import argument
from chatsquash.cli.command import Command
from chatsquash.cli.conversion import write_report


@click.command(cls=Command, epilog="Example: chatsquash report out")
@argument("output", metavar="OUT")
def report(output: str) -> None:
    """Write OUT/report.html: figures, charts, findings and the sessions most worth a look, in one file.

    The report loads no other resources and needs no server. Only its owner can read the file, and push does not upload
    it. If the logs in run.json still exist, it also shows text from them. Requires the extra report.
    """
    write_report(output)
