"""``chatsquash list``: the sessions of an output folder or of logs, one per line."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from chatsquash.cli.click_options import argument, option, options
from chatsquash.cli.command import Command, refuse_idle
from chatsquash.cli.exits import tolerate_closed_pipe

_COLUMNS = ("id", "day", "agent", "model", "replies", "tokens", "outcome", "prompt")
_NUMBERS = ("replies", "tokens")
_NARROW = {"model": 9, "outcome": 9, "agent": 8}
"""The columns that are shortened on narrow terminals, in this order, with their smallest widths."""
_PROMPT = 16
"""Other columns are shortened until the prompt has this many characters."""


@click.command(cls=Command, epilog="Example: chatsquash list out --where 'exit = 0' --sort -tokens")
@argument("arguments", nargs=-1, required=True, metavar="OUT|LOGS...")
@option("--where", metavar="SQL", help="Only list sessions that meet this condition (see explain columns).")
@option("--sort", metavar="COLUMN", help="Sort by a column of the list or the session table; -COLUMN: descending.")
@options("reading", "conversations", "anonymize", "redact", "max_line", "max_expanded", "max_memory")
@option("--json", "as_json", is_flag=True, help="Print one JSON object per session.")
def list(  # noqa: A001 - the name of the command
    arguments: tuple[str, ...], *, where: str | None, sort: str | None, as_json: bool, **reading: Any
) -> None:
    """List the sessions of an output folder, or of session logs: one per line, with the beginning of its id.

    The outcome is the reward, the exit code of the last test or build, or how the last reply ended; for a session
    without a record, the reason. LOGS are read as convert reads them; nothing is written.
    """
    from chatsquash.conversion.session_list import list_sessions
    from chatsquash.core.options import Options
    from chatsquash.core.text import printable_json
    from chatsquash.dataset.option_rules import refuse_invalid_values
    from chatsquash.results.output import is_output

    converting = Options(**reading)
    refuse_invalid_values(converting)
    if len(arguments) == 1 and is_output(Path(arguments[0])):
        refuse_idle(reading, "on an output folder because its logs were already read")
    sessions = list_sessions(arguments, converting, where=where, sort=sort)
    with tolerate_closed_pipe():
        if as_json:
            for each in sessions:
                click.echo(printable_json(each))
        else:
            click.echo("\n".join(as_lines(sessions, shutil.get_terminal_size().columns)))


def as_lines(sessions: Sequence[dict[str, Any]], width: int) -> Sequence[str]:
    """Return the table as lines, one per session, shortened to the width of the terminal."""
    rows = [_COLUMNS, *(tuple(_cell(each[name], name) for name in _COLUMNS) for each in sessions)]
    widths = {name: max(map(_width, column)) for name, column in zip(_COLUMNS, zip(*rows, strict=True), strict=True)}
    rest = width - sum(widths.values()) + widths["prompt"] - len(_COLUMNS) + 1
    for name, least in _NARROW.items():
        cut = min(max(0, _PROMPT - rest), max(0, widths[name] - least))
        widths[name] -= cut
        rest += cut
    widths["prompt"] = max(rest, len("prompt"))
    return [" ".join(map(_fit, row, widths.values(), _COLUMNS)).rstrip() for row in rows]


def _cell(value: Any, name: str) -> str:
    from chatsquash.core.text import escape, printable

    if value is None:
        return "-"
    return _short(value) if name in _NUMBERS else escape(printable(value))


def _short(number: int) -> str:
    """Format a number in at most five characters, such as 12k."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size * 10:
            return f"{number // size}{unit}"
    return str(number)


def _fit(cell: str, width: int, name: str) -> str:
    """Shorten or pad a cell to exactly ``width`` terminal columns."""
    if _width(cell) > width:
        columns, end = 0, 0
        while end < len(cell) and columns + _width(cell[end]) < width:
            columns += _width(cell[end])
            end += 1
        cell = f"{cell[:end]}…"
    fill = " " * (width - _width(cell))
    return fill + cell if name in _NUMBERS else cell + fill


def _width(text: str) -> int:
    """Return the number of terminal columns that a text takes."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
