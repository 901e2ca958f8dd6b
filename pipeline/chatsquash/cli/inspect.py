"""``chatsquash inspect``: show session logs entry by entry."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import click

from chatsquash.cli import exits
from chatsquash.cli.click_options import argument, option, options
from chatsquash.cli.command import Command

if TYPE_CHECKING:
    from chatsquash.core.model import Finding

_SEVERITIES = {"ERROR": "red", "WARNING": "yellow", "INFO": "blue"}
_OUTCOMES = {"selected": "green", "superseded": "bright_black", "cut": "yellow", "cleaned": "bright_black"}
_FINDING = re.compile(r"(ERROR|WARNING|INFO)(\t.*)")
_SESSION = ": session "
_ENTRY = re.compile(r"(\d+ .*?)(selected|superseded|cut|cleaned|bad-line|bad-entry)(?=[ ]|$)")


@click.command(cls=Command, epilog="Example: chatsquash inspect logs/session.jsonl")
@argument("logs", nargs=-1, required=True, metavar="LOG... [ID]")
@options("cleaning", "reading", "bounds")
@option("--verbose", "-v", is_flag=True, help="Print the beginning of each message.")
@option(
    "--definitions",
    is_flag=True,
    help="Only print tool definitions and system prompts, for --tools-file and --system-file.",
)
@option("--json", "as_json", is_flag=True, help="Print one JSON object per session.")
def inspect(logs: tuple[str, ...], *, verbose: bool, definitions: bool, as_json: bool, **values: Any) -> int:
    """Show session logs (folders, files, globs or URLs) entry by entry, to see why a session was converted as it was.

    With the id of a session, or its beginning, only that session is shown.

    Exits with 3 if a log, an archive or a member of an archive cannot be read completely.
    """
    from chatsquash.core.options import Options
    from chatsquash.core.text import printable_json
    from chatsquash.dataset.option_rules import refuse_invalid_values
    from chatsquash.inspect import inspect as run
    from chatsquash.results.show import with_session

    logs, session = with_session(logs)
    reading = Options(anonymize=False, **values)
    refuse_invalid_values(reading)
    flags = {"--definitions": definitions, "--json": as_json, "--verbose": verbose}
    first, *others = [flag for flag, is_set in flags.items() if is_set] or [""]
    if others:
        raise click.UsageError(f"{others[0]} has no effect with {first}; use only one of them")
    unread: list[Finding] = []
    if definitions:
        from chatsquash.inspect.inspect import definitions as list_definitions

        for text in list_definitions(logs, reading, unread, session):
            click.echo(f"{text}\n".encode(), nl=False)  # TOML is UTF-8, whatever the encoding of the terminal
    elif as_json:
        for inspected in run.inspect_as_json(logs, reading, unread, session):
            click.echo(printable_json(inspected))
    else:
        for line in run.inspect(logs, reading, verbose=verbose, unread=unread, session=session):
            click.echo(colour_line(line), color=uses_colour())
    return exits.INCOMPLETE if unread else 0


def uses_colour() -> bool | None:
    """Return ``False`` if ``NO_COLOR`` is set, else ``None``: click then uses colours on terminals."""
    return False if os.environ.get("NO_COLOR") else None


def colour_line(line: str) -> str:
    """Colour a line of ``inspect``."""
    if match := _FINDING.fullmatch(line):
        return click.style(match[1], fg=_SEVERITIES[match[1]]) + match[2]
    if _SESSION in line:
        return click.style(line, bold=True)
    if match := _ENTRY.match(line):
        return match[1] + click.style(match[2], fg=_OUTCOMES.get(match[2], "red")) + line[match.end() :]
    return line
