"""Short ways to write the entries of a session, as the reader would give them, and to say what was found."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from chatsquash.core.edits import difference
from chatsquash.core.model import Conversation, Entry, Response, SkippedLine, StageResult, Violation
from chatsquash.core.options import Options
from chatsquash.reading.bounds import Bounds
from chatsquash.reading.deltas import Effort
from chatsquash.reading.entries import EntryReader
from chatsquash.reading.evidence import Shape
from chatsquash.session.select import select
from chatsquash.session.session import Session
from chatsquash.sources.lines import lines


class Cleaned(NamedTuple):
    """How many messages of an entry each rule changed or took out."""

    info_messages: int = 0
    system_prompts: int = 0
    empty_assistants: int = 0


def entry(*messages: Any, reply: Any = None, tools: Any = (), **fields: Any) -> Entry:
    """An entry on its own; ``stream`` gives it its line and its edits."""
    fields = {"line": 0, "at": None, "session_id": "s1", **fields}
    reply = reply if isinstance(reply, Response) else Response(reply, int(reply is not None))
    return Entry(messages=list(messages), edits=(), tools=list(tools), reply=reply, **fields)


def stream(*entries: Entry) -> Iterator[Entry]:
    """The entries as edits of one another, from line 1; what is the same object in two of them counts as kept."""
    before: list[Any] = []
    for line, each in enumerate(entries, 1):
        yield replace(each, line=line, edits=difference(before, each.messages))
        before = each.messages


def entries(data: bytes, shape: Shape | None = None, effort: Effort | None = None) -> Iterator[Entry | SkippedLine]:
    """The entries of a log whose lines have a shape, and its lines that are none."""
    return EntryReader(shape or Shape(), {}, Bounds.of(Options()), effort=effort).entries(lines(io.BytesIO(data)))


def taken(items: Iterable[Entry | SkippedLine]) -> tuple[list[Entry], Session]:
    """The entries that are left of a stream, and what its lines come to."""
    held = list(items)
    return [each for each in held if isinstance(each, Entry)], select(iter(held), trace_roles=False)


def staged(made: StageResult) -> tuple[Conversation, list[Violation]]:
    """What a stage makes of a conversation, and what it found, as a list."""
    conversation, found = made
    return conversation, list(found)


def noted(session: Session) -> list[tuple[int | None, str, str]]:
    """What was found of a session: line, code and severity, in order."""
    return [(line, found.code, found.severity) for line, found in session.notes]


def facts(found: Iterable[Violation]) -> list[tuple[str, str]]:
    """What a stage found: code and severity, in order."""
    return [(each.code, each.severity) for each in found]


def texts(found: Session | Iterable[Violation], code: str) -> list[str]:
    """What the findings of a code say."""
    listed = [each for _, each in found.notes] if isinstance(found, Session) else found
    return [each.text for each in listed if each.code == code]
