"""``chatsquash archive status``: sessions that agents delete soon, and those archived."""

from __future__ import annotations

import shutil
import time

import click

from chatsquash.cli.archive._common import key_option, print_problems, secret
from chatsquash.cli.click_options import option
from chatsquash.cli.command import Command
from chatsquash.cli.exits import tolerate_closed_pipe


@click.command(cls=Command, epilog="Example: chatsquash archive status --to ~/archive")
@option("--to", "store", metavar="STORE", help="Also count the files that this archive contains unchanged.")
@option("--machine", metavar="NAME", help="Name of this machine in the archive (default: USER@HOST).")
@key_option
@option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def status(*, store: str | None, machine: str | None, key_file: str | None, as_json: bool) -> None:
    """List the agents on this machine: their sessions, when they delete them, and how many are archived.

    The periods are read from the settings of the agents. Sessions in databases are not counted.
    """
    from chatsquash.archive import status as statuses
    from chatsquash.archive.copying import this_machine
    from chatsquash.archive.restoring import snapshot_problems
    from chatsquash.core.text import printable_json
    from chatsquash.storage.archive.files import ArchivedFiles, archived_files
    from chatsquash.storage.archive.repository import open_archive

    is_archived = None
    archived = ArchivedFiles()
    if store is not None:
        archive = open_archive(store, secret(key_file))
        archive.update_index()
        archived = archived_files(archive)
        is_archived = statuses.lookup(archived, machine or this_machine())
    elif machine is not None:
        raise click.UsageError("--machine: requires --to, the archive")
    rows = statuses.read_status(time.time(), is_archived)
    with tolerate_closed_pipe():
        if as_json:
            click.echo(printable_json(statuses.as_dicts(rows), indent=True))
        else:
            click.echo("\n".join(statuses.as_lines(rows, shutil.get_terminal_size().columns)))
    print_problems(snapshot_problems(archived))
