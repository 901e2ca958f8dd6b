"""``chatsquash translate``: translate conversations from one format to another."""

from __future__ import annotations

import sys
from typing import Any

import click

from chatsquash.cli import exits, privacy
from chatsquash.cli.click_options import KnownName, argument, option
from chatsquash.cli.command import Command
from chatsquash.cli.exits import tolerate_closed_pipe
from chatsquash.cli.printing import print_overview


def _formats() -> tuple[str, ...]:
    from chatsquash.translate import conversations  # which few commands need

    return conversations.known_formats()


def _written_formats() -> tuple[str, ...]:
    from chatsquash.translate import conversations

    return conversations.writable_formats()


@click.command(cls=Command, epilog="Example: chatsquash translate chat.json --to anthropic --output chats")
@argument("inputs", nargs=-1, required=True, metavar="IN...")
@option("--to", required=True, type=KnownName(_formats, _written_formats), metavar="FORMAT", help="Write this format.")
@option(
    "--from",
    "from_format",
    type=KnownName(_formats),
    metavar="FORMAT",
    help="Read all inputs in this format.  [default: detected]",
)
@option(
    "--output",
    "-o",
    required=True,
    metavar="OUT",
    help="Folder for the output, or one file if it ends in .jsonl; - is standard output.",
)
@option("--all-branches", is_flag=True, help="Also write branches that another branch continues.")
@option("--jsonl", is_flag=True, help="Write one file with one conversation per line.")
@option("--lossless", is_flag=True, help="Fail instead of losing content.")
@option("--sendable", is_flag=True, help="Adapt conversations so that the service accepts them.")
@option(
    "--foreign-reasoning",
    type=click.Choice(["drop", "text"]),
    help="With --sendable: drop reasoning that the service did not sign, or write it as text.  [default: drop]",
)
@option("--anonymize/--no-anonymize", default=False, help="Replace e-mail addresses with pseudonyms.")
@privacy.replacing_options
@option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of processes.  [default: one per core]",
)
@option("--force", is_flag=True, help="Replace existing files.")
@option("--quiet", "-q", is_flag=True, help="Do not print progress, losses or a summary.")
def translate(inputs: tuple[str, ...], *, to: str, workers: int | None, quiet: bool, **values: Any) -> int:
    """Translate conversations (histories, records, sessions) from one format to another.

    IN are files, folders or globs, or - for standard input. Unreadable input, and content that the format cannot
    express, is skipped and reported. Exits with 3 if a line or a file could not be read.
    """
    from chatsquash.conversion.progress import Bar
    from chatsquash.core.platform import collect_less, cores
    from chatsquash.translate.files import Translation, write_all

    private = privacy.privacy_options(values)
    translation = Translation(to, workers=workers or cores(), private=private, **values)
    stdin, stdout = (getattr(stream, "buffer", None) for stream in (sys.stdin, sys.stdout))  # they may be closed
    collect_less()
    with Bar(quiet=quiet) as bar:
        done = write_all(inputs, translation, stdin, stdout, bar.observe)
    if not quiet:
        with tolerate_closed_pipe():
            for line in done.lines():
                click.echo(line, err=True)
        print_overview(done.overview())
    return 0 if done.complete else exits.INCOMPLETE
