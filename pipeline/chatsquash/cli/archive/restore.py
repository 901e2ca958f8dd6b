"""``chatsquash archive restore``: write files of an archive to a folder."""

from __future__ import annotations

import click

from chatsquash.cli.archive._common import key_option, print_report, secret, time_option
from chatsquash.cli.click_options import argument, option
from chatsquash.cli.command import Command


@click.command(cls=Command, epilog="Example: chatsquash archive restore ~/archive '*.jsonl' --output restored")
@argument("store")
@argument("patterns", nargs=-1)
@option("--output", "-o", required=True, metavar="DIR", help="Folder for the files.")
@time_option
@option("--force", is_flag=True, help="Replace existing files.")
@key_option
@option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def restore(  # noqa: PLR0913 - one parameter per option
    store: str,
    patterns: tuple[str, ...],
    *,
    output: str,
    at: int | None,
    force: bool,
    key_file: str | None,
    as_json: bool,
) -> None:
    """Write the files that match PATTERNS, or all, to a folder, in the version of the last copy.

    Files are named MACHINE/PATH, as archive ls lists them. Each chunk is compared with its hash.
    """
    from pathlib import Path

    from chatsquash.archive.restoring import restore as run
    from chatsquash.storage.archive.repository import open_archive

    archive = open_archive(store, secret(key_file))
    print_report(run(archive, Path(output), patterns, until=at, force=force), as_json=as_json)
