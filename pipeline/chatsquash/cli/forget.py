"""``chatsquash forget``: remove sessions from a finished result."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from chatsquash.cli.click_options import argument, option
from chatsquash.cli.command import Command
from chatsquash.cli.printing import print_lines, print_notes

if TYPE_CHECKING:
    from chatsquash.conversion.forget.forget import ForgetOutcome
    from chatsquash.conversion.forget.selection import Match


@click.command(cls=Command, epilog="Example: chatsquash forget out monday --dry-run")
@argument("output", metavar="OUT")
@argument("sessions", nargs=-1, required=True, metavar="SESSION|PATTERN...")
@option("--dry-run", is_flag=True, help="Only list the sessions that would be removed.")
@option("--yes", "-y", is_flag=True, help="Remove them without asking.")
def forget(output: str, sessions: tuple[str, ...], *, dry_run: bool, yes: bool) -> int:
    """Remove sessions from an output folder: from its data, pairs, images, traces, reports, counts and card.

    SESSION is the id of a session or the path of its log, PATTERN a glob for both. Lists the sessions and asks first.
    reports/forgotten.jsonl keeps a receipt of each, without its name; convert refuses to write them there again. The
    logs are not changed.
    """
    from chatsquash.conversion.forget.forget import ForgetRequest
    from chatsquash.conversion.forget.forget import forget as run

    if dry_run and yes:
        raise click.UsageError("--yes has no effect with --dry-run, which removes nothing; use only one of them")
    if not (dry_run or yes or (sys.stdin and sys.stdin.isatty())):
        raise click.UsageError("forget requires confirmation, but there is no terminal; add --yes or --dry-run")

    def show(matches: Sequence[Match]) -> None:
        print_lines(map(str, matches))

    def agree() -> bool:
        return yes or click.confirm("Remove these sessions?", err=True)

    done = run(output, ForgetRequest(sessions, dry_run, show, agree))
    print_notes(_lines(done, output, dry_run=dry_run))
    return 0 if done.is_confirmed or dry_run else 1


def _lines(done: ForgetOutcome, output: str, *, dry_run: bool) -> Iterator[str]:
    """Yield the lines of the summary."""
    from chatsquash.core.text import pluralize

    if not done.matches:
        yield f"nothing to remove: {output} has had no such session since {done.forgotten_at}"
        return
    if not done.is_confirmed:
        yield "nothing was removed" + (" (--dry-run)" if dry_run else "")
        return
    records = pluralize(sum(each.records for each in done.matches), "record")
    removed, rest = pluralize(len(done.matches), "session"), pluralize(done.remaining, "session")
    yield f"{removed} with {records} removed from {output}, {rest} left"
    yield "the logs still contain them: delete them, or use --exclude in later runs"
    if done.duplicates:
        count = pluralize(done.duplicates, "session")
        yield f"{count} had the same record and remain without one; convert again to write it"
    if done.pages:
        yield f"also deleted, because it is out of date: {', '.join(done.pages)}"
    if done.foreign_files:
        names = ", ".join(done.foreign_files[:_MOST]) + (" and others" if len(done.foreign_files) > _MOST else "")
        yield f"not searched, because chatsquash did not write them: {names}"


_MOST = 5
"""The number of files named in the summary."""
