"""``chatsquash redact``: datasets with placeholders."""

from __future__ import annotations

from typing import Any

import click

from chatsquash.cli import exits, privacy
from chatsquash.cli.click_options import argument, option, options
from chatsquash.cli.command import Command
from chatsquash.cli.exits import tolerate_closed_pipe


@click.command(cls=Command, epilog="Example: chatsquash redact data.jsonl --output clean --redact secrets")
@argument("inputs", nargs=-1, required=True, metavar="IN...")
@option(
    "--output",
    "-o",
    required=True,
    metavar="OUT",
    help="Write to this folder; or to a file, if IN is one and OUT has its suffix.",
)
@privacy.replacing
@options("write_known")
@option("--force", is_flag=True, help="Replace files that exist.")
@option("--quiet", "-q", is_flag=True, help="Print neither progress nor summary.")
def redact(inputs: tuple[str, ...], *, output: str, force: bool, quiet: bool, **given: Any) -> int:
    """Copy datasets, JSONL or Parquet, with placeholders for what is private.

    IN are files, folders or globs. Records keep their shape, their order and their files. Leaves out a record that it
    cannot search, says so, and exits with 3.
    """
    from chatsquash.conversion.progress import Bar
    from chatsquash.dataset import findings_text as report
    from chatsquash.results.redact.redact import Watch
    from chatsquash.results.redact.redact import redact as run

    wanted = privacy.private_of(given)
    with Bar(quiet=quiet) as bar:
        shown = report.Some(click.echo)
        watch = Watch(shown.say, bar.observe)
        done = run(inputs, output, wanted, watch, force=force)
        shown.finish()
    if not quiet:
        with tolerate_closed_pipe():
            click.echo("\n".join(done.lines()), err=True)
    return 0 if done.complete else exits.LEFT_OUT
