"""``chatsquash formats``: the formats and the envelopes that are known, as tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import click

from chatsquash import formats as exchange_formats
from chatsquash.core import plugins
from chatsquash.core.text import align_columns, printable_json
from chatsquash.formats import documents
from chatsquash.formats.base import Format
from chatsquash.reading.envelopes import envelopes
from chatsquash.translate import conversations


class FormatRow(NamedTuple):
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
    package: str | None
    """The package and version that provides it, if that is not chatsquash."""


def exchanges() -> Iterator[FormatRow]:
    """The formats of requests and responses."""
    return map(_describe, exchange_formats.names())


def document_formats() -> Iterator[FormatRow]:
    """The formats of documents, which hold whole conversations."""
    return map(_describe, documents.names())


def _describe(name: str) -> FormatRow:
    form = conversations.named(name)
    streams = isinstance(form, Format)
    what = " ".join(form.doc.strip().partition("\n\n")[0].split()).removesuffix(".")
    package = plugins.versions().get(name)
    return FormatRow(name, name in conversations.writable(), streams, documents.has_tools(name), what, package)


def envelope_rows() -> Iterator[tuple[str, str, str]]:
    """Of each envelope: its name, what it looks like, and what a session is in it."""
    for envelope in envelopes():
        yield envelope.NAME, envelope.WHAT.replace("`", ""), "id" if envelope.MIXES else "file"


def tables_text() -> str:
    """All tables for a terminal."""
    columns = ("reads", "writes", "streams", "tool definitions", "what it is")
    parts = (
        [("exchange", *columns), *map(_cells, exchanges())],
        [("document", *columns), *map(_cells, document_formats())],
        [("envelope", "a line", "a session is"), *envelope_rows()],
    )
    return "\n\n".join("\n".join(line.rstrip() for line in align_columns(rows)) for rows in parts)


def tables_json() -> dict[str, list[dict[str, object]]]:
    """All tables for programs."""
    envelope_table = [{"name": name, "line": what, "session": session} for name, what, session in envelope_rows()]
    return {
        "exchanges": [_without_markup(known)._asdict() for known in exchanges()],
        "documents": [_without_markup(known)._asdict() for known in document_formats()],
        "envelopes": envelope_table,
    }


def _cells(known: FormatRow) -> tuple[str, ...]:
    facts = ("yes" if fact else "-" for fact in (True, known.writes, known.streams, known.tools))
    what = re.split("[:;]", _without_markup(known).what)[0]
    return (known.name, *facts, f"{what} ({known.package})" if known.package else what)


def _without_markup(known: FormatRow) -> FormatRow:
    """The same without the marks of docstrings."""
    return known._replace(what=known.what.replace("``", ""))


@click.command(epilog="Example: chatsquash formats")
@click.option("--json", "as_json", is_flag=True, help="Print the tables as JSON.")
def formats(*, as_json: bool) -> None:
    """List the formats, documents and envelopes that chatsquash reads and writes."""
    click.echo(printable_json(tables_json(), indent=True) if as_json else tables_text())
