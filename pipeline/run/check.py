"""The record checks on datasets that exist already."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from typing import Any

from pipeline import codec
from pipeline.checks import examine, log
from pipeline.checks.registry import View, json_type
from pipeline.checks.tags import is_inlined, outlined
from pipeline.model import Conversation, Finding, Found, Json
from pipeline.read.datasets import rows
from pipeline.read.records import NotARecordError, Record, parsed, record
from pipeline.read.textual import of_text
from pipeline.stages.select import flatten

_SESSION = "session_id"
"""The column that names a record's session, as ``--metadata`` writes it."""
Also = Callable[[Record], Iterator[Found]]
"""What else to look for in a record."""


def check(path: str, also: Also | None = None) -> Iterator[Finding]:
    """What is wrong with the records of a dataset; native and inlined calls are told apart record by record.

    A folder stands for the record files in it, or in its ``data`` folder.  Raises ``UsageError`` for a file that
    cannot be read.
    """
    for row in rows(path, _SESSION):
        data = row.data.removeprefix(BOM_UTF8)
        session: str | None = None
        for severity, text, at, code in _row(data, also):
            session = session or _session(data) or row.session
            yield Finding(code, severity, session, str(row.file), row.number, at, text)


def _session(data: bytes) -> str | None:
    """The session id of a row, where it has one."""
    try:
        value = parsed(data)
    except NotARecordError:
        return None
    named = value.get(_SESSION) if isinstance(value, dict) else None
    return named if isinstance(named, str) else None


def _row(data: bytes, also: Also | None) -> Iterator[Found]:
    try:
        value = parsed(data)
        held = record(value)
    except NotARecordError as problem:
        yield log.bad_record(str(problem))
        return
    native = of_text(held.messages) or held
    for found in _record(native):
        yield found._replace(at=native.place(found.at))
    for found in also(held) if also else ():
        yield found._replace(at=held.place(found.at))
    _, rounded = codec.encode(value)
    if rounded:
        yield log.number_changed(rounded, len(rounded))


def _record(held: Record) -> Iterator[Found]:
    messages, tools = held.messages, defined(held.tools)
    if held.tools is not None and not isinstance(held.tools, list):
        yield log.wrong_type("tools", json_type(held.tools), 1)
    yield from examine(View(Conversation(messages, tools)), "tools", "record")
    if is_inlined(messages):
        yield from examine(View(Conversation(messages, tools)), "inlined")
        messages = outlined(messages)
    yield from examine(View(Conversation(messages, tools)), "native")


def defined(tools: Json) -> list[Any]:
    """The flattened definitions."""
    return list(map(flatten, tools if isinstance(tools, list) else []))
