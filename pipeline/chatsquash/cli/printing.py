"""Overviews on standard error, fitted to the terminal, with colours if it supports them."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

import click

from chatsquash.cli.exits import tolerate_closed_pipe
from chatsquash.core.overview import WIDTH, Overview
from chatsquash.core.text import escape

if TYPE_CHECKING:
    from chatsquash.core.model import Severity

_OPTION_START = re.compile(" (?=--)")
_NO_BREAK = "\x1f"
"""A placeholder for spaces at which lines must not be wrapped."""
_STYLES: dict[Severity, dict[str, Any]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow"},
    "info": {"dim": True},
}


def print_overview(overview: Overview, *, verbose: bool = False) -> None:
    """Print an overview; with ``verbose``, all details."""
    paint = _paint if _shows_colours() else None
    with tolerate_closed_pipe():
        click.echo(overview.as_text(_width(), verbose=verbose, paint=paint), err=True)


def print_options(*lines: str) -> None:
    """Print lines with options, wrapped so that each option stays together with its value."""
    with tolerate_closed_pipe():
        for line in lines:
            text = " ".join(part.replace(" ", _NO_BREAK) for part in _OPTION_START.split(line))
            output_lines = textwrap.wrap(
                text, _width(), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )
            click.echo("\n".join(output_lines).replace(_NO_BREAK, " "), err=True)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines on standard output; on a terminal, they are wrapped to its width."""
    width = _columns(sys.stdout)
    for line in lines:
        click.echo(_wrap(escape(line), width) if width else escape(line))


def print_notes(lines: Iterable[str]) -> None:
    """Print lines on standard error, wrapped like an overview."""
    with tolerate_closed_pipe():
        for line in lines:
            click.echo(_wrap(escape(line), _width()), err=True)


def _wrap(line: str, width: int) -> str:
    parts = textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(parts)


def _paint(text: str, severity: Severity | None) -> str:
    return click.style(text, **_STYLES[severity]) if severity else text


def _shows_colours() -> bool:
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return bool(sys.stderr) and sys.stderr.isatty() and not is_plain


def _width() -> int:
    return min(WIDTH, _columns(sys.stderr) or WIDTH)


def _columns(stream: TextIO) -> int:
    """Return the width of a terminal; 0 if it is unknown or the stream is not a terminal."""
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (AttributeError, OSError, ValueError):
        return 0
