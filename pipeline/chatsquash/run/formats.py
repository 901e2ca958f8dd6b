"""The formats and the envelopes that are known, as tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from chatsquash import formats
from chatsquash.formats import documents
from chatsquash.read.envelopes import envelopes
from chatsquash.translate import conversations


class Known(NamedTuple):
    """A format, and what of it is known."""

    name: str
    writes: bool
    """Whether it is written; all are read."""
    streams: bool
    """Whether responses that came as streams are read."""
    tools: bool
    """Whether it has definitions of tools."""
    what: str
    """What it is: the first sentence of its module."""


def exchanges() -> Iterator[Known]:
    """The formats of requests and responses."""
    return map(_known, formats.names())


def held() -> Iterator[Known]:
    """The formats of documents, which hold whole conversations."""
    return map(_known, documents.names())


def _known(name: str) -> Known:
    form = conversations.module(name)
    streams = hasattr(form, "assemble")
    what = " ".join((form.__doc__ or "").strip().partition("\n\n")[0].split()).removesuffix(".")
    return Known(name, name in conversations.writable(), streams, documents.holds_tools(name), what)


def envelope_rows() -> Iterator[tuple[str, str, str]]:
    """Of each envelope: its name, what it looks like, and what a session is in it."""
    for envelope in envelopes():
        yield envelope.NAME, envelope.WHAT.replace("`", ""), "id" if envelope.MIXES else "file"


def as_text() -> str:
    """All tables for a terminal."""
    columns = ("reads", "writes", "streams", "tool definitions", "what it is")
    parts = (
        _table(("exchange", *columns), list(map(_cells, exchanges()))),
        _table(("document", *columns), list(map(_cells, held()))),
        _table(("envelope", "a line", "a session is"), list(envelope_rows())),
    )
    return "\n\n".join(parts)


def _cells(known: Known) -> tuple[str, ...]:
    facts = ("yes" if fact else "-" for fact in (True, known.writes, known.streams, known.tools))
    return (known.name, *facts, re.split("[:;]", known.what)[0].replace("`", ""))


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(line.rstrip() for line in shown)
