"""Crush's database: the rows of its two tables, each session as Crush prints it."""

from __future__ import annotations

from typing import Any

from chatsquash.core.model import Json
from chatsquash.formats.agents.opencode.rows import key, named, order, parsed, readable, roots
from chatsquash.formats.values import Object

_SESSION = ("id", "parent_session_id", "created_at")
_MESSAGE = ("id", "session_id", "created_at")


def tables(held: dict[str, list[str]]) -> dict[str, tuple[str, ...]] | None:
    """The database has sessions that count their messages, and messages with ``parts``."""
    sessions, messages = {*held.get("sessions", [])}, {*held.get("messages", [])}
    is_one = {*_SESSION, "message_count"} <= sessions and {*_MESSAGE, "role", "parts"} <= messages
    return {"sessions": _SESSION, "messages": _MESSAGE} if is_one else None


def families(index: dict[str, list[tuple[Any, ...]]]) -> list[dict[str, list[int]]]:
    """Each session with those that its calls began, by their times; messages of one second are in their order."""
    sessions = sorted(index["sessions"], key=lambda row: (order(row[3]), order(row[1])))
    parents: dict[object, object] = {}
    for _, own, parent, _ in sessions:
        parents.setdefault(key(own), key(parent))
    above = roots(parents)
    found: dict[object, dict[str, list[int]]] = {}
    for rowid, own, _, _ in sessions:
        if key(own) in above:
            family = found.setdefault(above[key(own)], {"sessions": [], "messages": []})
            family["sessions"].append(rowid)
    for rowid, _, session, _ in sorted(index["messages"], key=lambda row: (order(row[3]), row[0])):
        if (root := above.get(key(session))) in found:
            found[root]["messages"].append(rowid)
    return list(found.values())


def from_rows(rows: dict[str, list[Object]]) -> list[Json]:
    """The sessions of a family as Crush prints them; raises ``TurnError`` for a message whose parts are no JSON."""
    found: dict[object, Object] = {}
    for row in rows.get("sessions", []):
        left = {name: readable(value) for name, value in row.items() if name not in ("id", "created_at", "updated_at")}
        times = {"created": row.get("created_at"), "modified": row.get("updated_at")}
        meta = {"uuid": str(readable(row.get("id"))), **left, **times}
        found.setdefault(key(row.get("id")), {"meta": meta, "messages": []})
    for row in rows.get("messages", []):
        if (session := found.get(key(row.get("session_id")))) is not None:
            session["messages"].append(_message(row))
    return list(found.values())


def _message(row: Object) -> Object:
    place = named(row, "message")
    names = ("id", "role", "model", "provider", "is_summary_message")
    told = {name: readable(row[name]) for name in names if row.get(name) is not None}
    return {**told, "created": row.get("created_at"), "parts": parsed(row, "parts", place)}
