"""Colours of what ``inspect`` prints on a terminal, as NO_COLOR says."""

from __future__ import annotations

import os
import re

import click

_SEVERITIES = {"ERROR": "red", "WARNING": "yellow", "INFO": "blue"}
_OUTCOMES = {"selected": "green", "superseded": "bright_black", "cut": "yellow", "cleaned": "bright_black"}
_FINDING = re.compile(r"(ERROR|WARNING|INFO)(\t.*)")
_SESSION = ": session "
_ENTRY = re.compile(r"(\d+ .*?)(selected|superseded|cut|cleaned|bad-line|bad-entry)(?=[ ]|$)")


def wanted() -> bool | None:
    """Whether colours are shown: never where NO_COLOR is set, else where the output is a terminal."""
    return False if os.environ.get("NO_COLOR") else None


def painted(line: str) -> str:
    """A line of ``inspect`` with its colours."""
    if found := _FINDING.fullmatch(line):
        return click.style(found[1], fg=_SEVERITIES[found[1]]) + found[2]
    if _SESSION in line:
        return click.style(line, bold=True)
    if found := _ENTRY.match(line):
        return found[1] + click.style(found[2], fg=_OUTCOMES.get(found[2], "red")) + line[found.end() :]
    return line
