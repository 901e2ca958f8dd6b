"""The overview that a command prints: headlines, a table of counts, and the next step.

Commands print it as text; notebooks show it as HTML. Unprintable characters are escaped.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from html import escape as html_escape
from typing import NamedTuple

from chatsquash.core.model import Severity
from chatsquash.core.text import escape

WIDTH = 80
"""The maximum number of columns, unless the terminal has fewer."""
_HTML_COLOURS = {"error": "#d1242f", "warning": "#bf8700", "info": "#8c959f", None: "transparent"}

Paint = Callable[[str, Severity | None], str]
"""A function that colors text by severity."""


class Headline(NamedTuple):
    """A line above or below the table."""

    parts: tuple[str, ...]
    """The parts of the line, which is broken between parts if possible and otherwise between words."""
    severity: Severity | None = None

    def __str__(self) -> str:
        """Return the line without breaks."""
        return escape(" ".join(self.parts))


class Row(NamedTuple):
    """A row of the table: a label, a total, and its parts."""

    label: str
    total: int | None
    parts: tuple[str, ...] = ()
    severity: Severity | None = None
    brief: str | None = None
    """A short form of ``parts`` that is printed unless all details are requested."""


class Overview(NamedTuple):
    """The lines of an overview."""

    headlines: tuple[Headline, ...]
    rows: tuple[Row, ...] = ()
    next_step: Headline | None = None

    def as_text(self, width: int = WIDTH, *, verbose: bool = False, paint: Paint | None = None) -> str:
        """Return the overview as text.

        Args:
            width: The columns of the terminal.
            verbose: Whether to print all parts of every row.
            paint: A function that colors text by severity.
        """
        colour = paint or (lambda text, _: text)
        blocks = [
            [line for each in self.headlines for line in _headline(each, width, colour)],
            [*_table(self.rows, width, colour, verbose=verbose)],
            [*_headline(self.next_step, width, colour)] if self.next_step else [],
        ]
        return "\n\n".join("\n".join(lines) for lines in blocks if lines)

    def as_html(self) -> str:
        """Return the overview as an HTML fragment."""
        above = "<br>".join(_html(each) for each in self.headlines)
        rows = "".join(map(_html_row, self.rows))
        below = f"<p>{_html(self.next_step)}</p>" if self.next_step else ""
        return f"<div><p>{above}</p><table>{rows}</table>{below}</div>"


# A single name has no count, because its count would equal the total of the row.
def count_parts(counts: Iterable[tuple[str, int]]) -> tuple[str, ...]:
    """Return names with their counts as the parts of a row, without counts of 0."""
    positive = [(name, count) for name, count in counts if count]
    return comma_separated(f"{count:,} {name}" if len(positive) > 1 else name for name, count in positive)


def comma_separated(parts: Iterable[str]) -> tuple[str, ...]:
    """Return the parts with a comma after each except the last."""
    all_parts = [*parts]
    return (*(f"{part}," for part in all_parts[:-1]), *all_parts[-1:])


def _headline(line: Headline, width: int, paint: Paint) -> Iterator[str]:
    return (paint(each, line.severity) for each in _fill(line.parts, width))


def _table(rows: Iterable[Row], width: int, paint: Paint, *, verbose: bool) -> Iterator[str]:
    rows = [*rows]
    counts = ["" if row.total is None else f"{row.total:,}" for row in rows]
    wide, most = (max(map(len, texts), default=0) for texts in ([row.label for row in rows], counts))
    for row, count in zip(rows, counts, strict=True):
        parts = row.parts if verbose or row.brief is None else (row.brief,)
        lines = _fill(parts, width - wide - most - 4) or [""]
        head = paint(f"{row.label:<{wide}}  {count:>{most}}", row.severity)
        yield f"{head}  {lines[0]}".rstrip()
        yield from (f"{'':{wide + most + 4}}{line}" for line in lines[1:])


def _fill(parts: Iterable[str], width: int) -> list[str]:
    """Fill lines of at most ``width`` characters, broken between parts if possible, otherwise between words."""
    lines: list[str] = []
    for part in map(escape, parts):
        if lines and len(lines[-1]) + 1 + len(part) <= width:
            lines[-1] += f" {part}"
        else:
            lines += textwrap.wrap(part, width, break_long_words=False, break_on_hyphens=False)
    return lines


def _html(line: Headline) -> str:
    return html_escape(str(line))


def _html_row(row: Row) -> str:
    mark = f"text-align:left;border-left:4px solid {_HTML_COLOURS[row.severity]}"
    count = "" if row.total is None else f"{row.total:,}"
    parts = html_escape(escape(" ".join(row.parts)))
    align_left = "text-align:left"
    return f'<tr><th style="{mark}">{row.label}</th><td>{count}</td><td style="{align_left}">{parts}</td></tr>'
