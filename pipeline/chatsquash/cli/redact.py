"""``chatsquash redact``: copy datasets with placeholders for private data."""

from __future__ import annotations

from typing import Any

import click

from chatsquash.cli import exits, privacy
from chatsquash.cli.click_options import argument, option, options
from chatsquash.cli.command import Command
from chatsquash.cli.printing import print_overview


@click.command(cls=Command, epilog="Example: chatsquash redact data.jsonl --output clean --redact secrets")
@argument("inputs", nargs=-1, required=True, metavar="IN...")
@option(
    "--output",
    "-o",
    required=True,
    metavar="OUT",
    help="Folder for the copies; or a file, if IN is one file with the same suffix.",
)
@privacy.replacing_options
@options("write_known")
@option("--force", is_flag=True, help="Replace existing files.")
@option("--quiet", "-q", is_flag=True, help="Do not print progress or a summary.")
def redact(inputs: tuple[str, ...], *, output: str, force: bool, quiet: bool, **values: Any) -> int:
    """Copy datasets (JSONL or Parquet), replacing secrets and personal data with placeholders.

    IN are files, folders or globs. Records keep their shape, order and files. Records that cannot be searched are
    skipped and reported, and the exit code is 3.
    """
    from chatsquash.conversion.progress import Bar
    from chatsquash.dataset import findings_text as report
    from chatsquash.results.redact.redact import Watch
    from chatsquash.results.redact.redact import redact as run

    private = privacy.privacy_options(values)
    with Bar(quiet=quiet) as bar:
        printer = report.FirstFindings(click.echo)
        watch = Watch(printer.show, bar.observe)
        done = run(inputs, output, private, watch, force=force)
        printer.finish()
    if not quiet:
        print_overview(done.overview())
    return 0 if done.complete else exits.INCOMPLETE
