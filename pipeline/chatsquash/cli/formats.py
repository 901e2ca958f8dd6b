"""``chatsquash formats``: the supported formats, documents and envelopes, as tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import click

from chatsquash import formats as exchange_formats
from chatsquash.core.registry import plugin_versions
from chatsquash.core.text import align_columns, printable_json
from chatsquash.formats import documents
from chatsquash.formats.base import Format
from chatsquash.reading.envelopes import envelopes
from chatsquash.translate import conversations


class FormatRow(NamedTuple):
    """A row of the table of formats."""

    name: str
    writes: bool
    """Whether chatsquash writes the format; it reads all of them."""
    streams: bool
    """Whether streamed responses are supported."""
    tools: bool
    """Whether the format contains tool definitions."""
    what: str
    """A description: the first sentence of the format's module."""
    package: str | None
    """The package and version that provides the format, if it is not chatsquash."""


def exchanges() -> Iterator[FormatRow]:
    """Yield the formats of requests and responses."""
    return map(_describe, exchange_formats.names())


def document_formats() -> Iterator[FormatRow]:
    """Yield the formats of documents, which contain complete conversations."""
    return map(_describe, documents.names())


def _describe(name: str) -> FormatRow:
    form = conversations.named_format(name)
    streams = isinstance(form, Format)
    what = " ".join(form.doc.strip().partition("\n\n")[0].split()).removesuffix(".")
    package = plugin_versions().get(name)
    return FormatRow(name, name in conversations.writable_formats(), streams, documents.has_tools(name), what, package)


def envelope_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the name of each envelope, a description of its lines, and whether a session is an id or a file."""
    for envelope in envelopes():
        yield envelope.NAME, envelope.WHAT.replace("`", ""), "id" if envelope.MIXES else "file"


def tables_text() -> str:
    """Return all tables as text."""
    columns = ("reads", "writes", "streams", "tool definitions", "description")
    parts = (
        [("exchange", *columns), *map(_cells, exchanges())],
        [("document", *columns), *map(_cells, document_formats())],
        [("envelope", "a line", "a session is"), *envelope_rows()],
    )
    return "\n\n".join("\n".join(line.rstrip() for line in align_columns(rows)) for rows in parts)


def tables_json() -> dict[str, list[dict[str, object]]]:
    """Return all tables as JSON values."""
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
    """Remove docstring markup from the description."""
    return known._replace(what=known.what.replace("``", ""))


@click.command(epilog="Example: chatsquash formats")
@click.option("--json", "as_json", is_flag=True, help="Print the tables as JSON.")
def formats(*, as_json: bool) -> None:
    """List the formats, documents and envelopes that chatsquash reads and writes."""
    click.echo(printable_json(tables_json(), indent=True) if as_json else tables_text())
