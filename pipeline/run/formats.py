"""The formats and the envelopes that are read, as a table."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.formats import formats
from pipeline.read.envelopes import ENVELOPES


def format_rows() -> Iterator[tuple[str, str, str, str]]:
    """Of each format: its name, the members of a request that hold its turns and its system prompt, and its title."""
    for name, form in formats().items():
        title = (form.__doc__ or "").partition(":")[0].partition(".")[0].strip().replace("`", "")
        yield name, form.TURNS, ", ".join(form.SYSTEM) or "-", title


def envelope_rows() -> Iterator[tuple[str, str, str]]:
    """Of each envelope: its name, what it looks like, and what a session is in it."""
    for envelope in ENVELOPES:
        yield envelope.name, envelope.what.replace("`", ""), "id" if envelope.mixes else "file"


def as_text() -> str:
    """Both tables for a terminal."""
    parts = (
        _table(("format", "turns", "system prompt", "reads"), list(format_rows())),
        _table(("envelope", "a line", "a session is"), list(envelope_rows())),
    )
    return "\n\n".join(parts)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(line.rstrip() for line in shown)
