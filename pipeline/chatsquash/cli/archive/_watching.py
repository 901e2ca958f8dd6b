"""Repeated copies, for ``chatsquash archive --watch``."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import NoReturn

import click

from chatsquash.archive.copying import CopyReport, copy
from chatsquash.cli.archive._common import report_lines
from chatsquash.cli.exits import tolerate_closed_pipe
from chatsquash.core.errors import ChatsquashError
from chatsquash.core.text import escape
from chatsquash.storage.archive.repository import Archive


def watch_sources(archive: Archive, machine: str, names: tuple[str, ...], pause: int) -> NoReturn:
    """Copy until the process is stopped; only changes and new problems are printed."""
    before = list[str]()
    while True:
        lines, is_news = _copy_once(archive, machine, names)
        if is_news or lines[1:] != before:
            with tolerate_closed_pipe():
                click.echo("\n".join(lines), err=True)
        before = lines[1:]
        time.sleep(pause)


def _copy_once(archive: Archive, machine: str, names: tuple[str, ...]) -> tuple[list[str], bool]:
    """Copy once; return the lines of the report, and whether anything was copied. An error ends only this copy."""
    when = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
    try:
        report = copy(archive, machine, names)
    except (ChatsquashError, OSError) as problem:
        reason = str(problem) if isinstance(problem, ChatsquashError) else problem.strerror or type(problem).__name__
        return [when, escape(reason)], False
    first, *problems = report_lines(report)
    return [f"{when} {first}", *problems], _has_news(report)


def _has_news(report: CopyReport) -> bool:
    return report.changed > 0
