"""``chatsquash sources``: list the sessions of agents on this machine."""

from __future__ import annotations

import click

from chatsquash.cli.exits import tolerate_closed_pipe


@click.command(epilog="Example: chatsquash sources")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def sources(*, as_json: bool) -> None:
    """List the sessions of agents on this machine, with the command that converts them.

    Only names, sizes and times of files are read, and the settings with which agents delete sessions.
    """
    from chatsquash.inspect import agents

    with tolerate_closed_pipe():
        click.echo(agents.as_json() if as_json else agents.as_text())
