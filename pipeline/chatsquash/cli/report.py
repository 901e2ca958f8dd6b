"""``chatsquash report``: a page about a result."""

from __future__ import annotations

import click

from chatsquash.cli.click_options import argument
from chatsquash.cli.command import Command
from chatsquash.cli.exits import tolerate_closed_pipe


def write_report(output: str, *, quiet: bool = False) -> None:
    """Write the page of a result, and say where it is."""
    from chatsquash.conversion.progress import Bar
    from chatsquash.core.text import escaped
    from chatsquash.pages.report.report import report as run

    with Bar(quiet=quiet) as bar:
        page = run(output, bar.observe)
    if not quiet:
        with tolerate_closed_pipe():
            click.echo(f"report: {escaped(str(page))}", err=True)


@click.command(
    cls=Command,
    epilog="Example: chatsquash report out",
)
@argument("output", metavar="OUT")
def report(output: str) -> None:
    """Write OUT/report.html: figures, charts, findings and the sessions most worth a look, in one file.

    The page loads nothing and needs no server. Only its owner can read it, and push does not send it. It also shows
    what the logs hold that run.json names, where they are still there. Needs the extra report.
    """
    write_report(output)
