"""``chatsquash verify``: compare an output folder with its run.json."""

from __future__ import annotations

import click

from chatsquash.cli import exits
from chatsquash.cli.click_options import argument, option
from chatsquash.cli.command import Command, is_typed


@click.command(cls=Command, epilog="Example: chatsquash verify out --logs")
@argument("output", metavar="OUT")
@argument("log_paths", nargs=-1, metavar="[LOGS]...")
@option("--logs", is_flag=True, help="Also compare the logs with their hashes.")
@option("--anonymize-key-file", "key_file", metavar="FILE", help="With LOGS: file with the key of the run.")
@option("--json", "as_json", is_flag=True, help="Print counts and differences as JSON.")
def verify(output: str, log_paths: tuple[str, ...], *, logs: bool, key_file: str | None, as_json: bool) -> int:
    """Compare an output folder, or its URL, with its run.json: the hash of every file, counts and sums.

    Prints each difference, and exits with 3 if there is one. If the run replaced the paths of logs, --logs requires
    the same LOGS as convert.
    """
    from chatsquash.core.text import escape, pluralize, printable_json
    from chatsquash.dataset.store import place_of
    from chatsquash.results.verify import KnownLogs
    from chatsquash.results.verify import verify as run

    if log_paths and not logs:
        raise click.UsageError("LOGS has no effect without --logs; add it")
    if not log_paths and is_typed("key_file"):
        raise click.UsageError("--anonymize-key-file has no effect without LOGS; add them")
    known = KnownLogs(log_paths, _key(key_file)) if log_paths else None
    done = run(place_of(output), logs=logs, known=known)
    if as_json:
        click.echo(printable_json({"files": done.files, "logs": done.logs, "problems": done.problems}, indent=True))
        return exits.INCOMPLETE if done.problems else 0
    for problem in done.problems:
        click.echo(escape(problem))
    counts = [pluralize(done.files, "file"), *([pluralize(done.logs, "log")] if logs else [])]
    click.echo(f"{', '.join(counts)} compared, {pluralize(len(done.problems), 'difference')}", err=True)
    return exits.INCOMPLETE if done.problems else 0


def _key(file: str | None) -> bytes:
    from chatsquash.redaction.pseudonyms import load_key  # only needed for logs with replaced paths

    return load_key(file)
