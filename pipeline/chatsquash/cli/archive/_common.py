"""Shared parts of the subcommands of ``chatsquash archive``: the key, and the printing of reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click
import msgspec

from chatsquash.cli import exits
from chatsquash.cli.click_options import option
from chatsquash.cli.exits import tolerate_closed_pipe

if TYPE_CHECKING:
    from chatsquash.archive.selection import CopyProblem

_Run = TypeVar("_Run", bound="Callable[..., Any]")
_DATE = len("2026-01-31")


def key_option(run: _Run) -> _Run:
    """Add the option for the key of an encrypted archive."""
    text = "File with the key of an encrypted archive; a new archive is encrypted with it."
    return option("--key-file", metavar="FILE", help=text)(run)


def time_option(run: _Run) -> _Run:
    """Add the option for an earlier state of the archive."""
    text = "Use the files as they were at this time, as in 2026-01-31 or 2026-01-31T08:00 (UTC)."
    return option("--at", metavar="TIME", callback=_parse_time, help=text)(run)


def _parse_time(context: click.Context, param: click.Parameter, value: str | None) -> int | None:
    del context, param
    if value is None:
        return None
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a time; write it as in 2026-01-31T08:00") from None
    end_of_day = timedelta(days=1, seconds=-1) if len(value) == _DATE else timedelta()
    return int((parsed.replace(tzinfo=parsed.tzinfo or UTC) + end_of_day).timestamp())


class Duration(click.ParamType):  # type: ignore[type-arg]  # in click 8.2 it takes none
    """A period with a unit, in seconds."""

    name = "period"
    _UNITS: ClassVar = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of seconds."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"([1-9]\d{0,5})([smhdwy])", value)
        if not match:
            self.fail(f"{value!r} is not a period; write a number and a unit, as in 30m, 12h, 90d or 1y", param, ctx)
        return int(match[1]) * self._UNITS[match[2]]


def secret(key_file: str | None) -> bytes | None:
    """Return the key in a file; raise ``UsageError`` if there is none."""
    from chatsquash.storage.archive.keys import read_key

    return read_key(key_file)


def print_report(report: Any, *, as_json: bool) -> None:
    """Print what a command did, and exit with 3 if it had problems."""
    with tolerate_closed_pipe():
        if as_json:
            click.echo(msgspec.json.encode(report).decode())
        else:
            click.echo("\n".join(report_lines(report)), err=True)
    if getattr(report, "problems", None):
        raise click.exceptions.Exit(exits.INCOMPLETE)


def print_problems(problems: Sequence[CopyProblem]) -> None:
    """Print the problems with a table that was printed, and exit with 3 if there are any."""
    if problems:
        click.echo("\n".join(_line(each.path, each.reason) for each in problems), err=True)
        raise click.exceptions.Exit(exits.INCOMPLETE)


def report_lines(report: Any) -> list[str]:
    """Return a report as a line, followed by a line for each problem."""
    values = msgspec.to_builtins(report)
    problems = values.pop("problems", [])
    return [_as_text(values), *(_line(**each) for each in problems)]


def _line(path: str, reason: str) -> str:
    from chatsquash.core.text import escape

    return escape(f"{path}: {reason}")


def _as_text(values: dict[str, Any]) -> str:
    """Return the members of a report on one line, without those that are empty."""
    from chatsquash.core.text import format_size, pluralize

    parts = list[str]()
    for name, value in values.items():
        label = name.replace("_", " ")
        if isinstance(value, dict):
            parts += [f"{count:,} {kind} skipped" for kind, count in value.items()]
        elif not isinstance(value, int) or (not value and name != "files"):
            continue
        elif label.endswith(("size", "bytes")):
            parts.append(f"{format_size(value)} {label.removesuffix('size').removesuffix('bytes')}".strip())
        else:
            parts.append(pluralize(value, label[:-1]) if label.endswith("s") else f"{value:,} {label}")
    return ", ".join(parts)
