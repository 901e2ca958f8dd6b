"""Short ways to write the entries of a session, as the reader would give them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.ledger import Ledger
from msgspec.structs import replace

from chatsquash.edits import difference
from chatsquash.model import Entry, Reply


def ledger() -> Ledger:
    return Ledger("stem")


def entry(*messages: Any, reply: Any = None, tools: Any = (), **fields: Any) -> Entry:
    """An entry on its own; ``stream`` gives it its line and its edits."""
    fields = {"line": 0, "at": None, "session_id": "s1", **fields}
    reply = reply if isinstance(reply, Reply) else Reply(reply, int(reply is not None))
    return Entry(messages=list(messages), edits=(), tools=list(tools), reply=reply, **fields)


def stream(*entries: Entry) -> Iterator[Entry]:
    """The entries as edits of one another, from line 1; what is the same object in two of them counts as kept."""
    before: list[Any] = []
    for line, each in enumerate(entries, 1):
        yield replace(each, line=line, edits=difference(before, each.messages))
        before = each.messages


def facts(book: Ledger) -> list[tuple[int | None, str, str]]:
    """What was noted: line, code and severity, in order."""
    return [(line, found.code, found.severity) for line, found in book.facts]


def texts(book: Ledger, code: str) -> list[str]:
    return [found.text for _, found in book.facts if found.code == code]
