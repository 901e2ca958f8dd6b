"""``chatsquash sources``: what agents keep on this machine."""

from __future__ import annotations

import click

from chatsquash.cli.exits import tolerate_closed_pipe


@click.command(epilog="Example: chatsquash sources")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def sources(*, as_json: bool) -> None:
    """List the sessions that agents keep on this machine, with the command that converts them.

    Looks only at names, sizes and times. The one file that it opens is the settings of Claude Code, which say when
    Claude Code deletes sessions.
    """
    from chatsquash.inspect import agents

    with tolerate_closed_pipe():
        click.echo(agents.as_json() if as_json else agents.as_text())
