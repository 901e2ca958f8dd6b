"""goose's database: the rows of its two tables, each session as its export."""

from __future__ import annotations

from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats.base import TurnError
from chatsquash.formats.values import Object, string

_SESSION, _MESSAGE = ("created_at", "id"), ("id", "session_id")
_PARENT = "parent_session_id"


def tables(held: dict[str, list[str]]) -> dict[str, tuple[str, ...]] | None:
    """Goose's database has sessions, and messages that name theirs and have ``content_json``."""
    sessions, messages = held.get("sessions", []), held.get("messages", [])
    if not ({*_SESSION} <= {*sessions} and {*_MESSAGE, "content_json"} <= {*messages}):
        return None
    return {"sessions": (*_SESSION, *([_PARENT] if _PARENT in sessions else [])), "messages": _MESSAGE}


def families(index: dict[str, list[tuple[Any, ...]]]) -> list[dict[str, list[int]]]:
    """Each session with those that it began, by their times; a message of no session belongs to none."""
    found: dict[object, dict[str, list[int]]] = {}
    roots: dict[object, object] = {}
    sessions = sorted(index["sessions"], key=lambda row: (_order(row[1]), _order(row[2])))
    known = {_id(row[2]) for row in sessions}
    for rowid, _, own, *parent in sessions:
        above = _id(parent[0]) if parent and parent[0] is not None else None
        root = roots.get(above, above) if above in known and above != _id(own) else _id(own)
        roots.setdefault(_id(own), root)
        found.setdefault(root, {"sessions": [], "messages": []})["sessions"].append(rowid)
    for rowid, _, session in sorted(index["messages"], key=lambda row: _order(row[1])):
        if (root := roots.get(_id(session))) in found:
            found[root]["messages"].append(rowid)
    return [each for each in found.values() if each["sessions"]]


def from_rows(rows: dict[str, list[Object]]) -> list[Json]:
    """The sessions of a family, each as its export; raises ``TurnError`` for a message that is none."""
    sessions: list[Object] = []
    by_id: dict[object, list[Json]] = {}
    for row in rows.get("sessions", []):
        header = {name: value for name, value in row.items() if isinstance(value, str | int | float)}
        sessions.append({"working_dir": "", **header, "conversation": []})
        by_id.setdefault(_id(row.get("id")), sessions[-1]["conversation"])
    for row in rows.get("messages", []):
        if (told := by_id.get(_id(row.get("session_id")))) is not None:
            told.append(_message(row))
    return list(sessions)


def _order(value: Json) -> tuple[int, Any]:
    """What sorts values as SQLite does: nothing, then numbers, texts and bytes."""
    if value is None:
        return 0, 0
    if isinstance(value, int | float):
        return 1, value
    return (2, value.encode("utf-8", "surrogateescape")) if isinstance(value, str) else (3, value)


def _id(value: Json) -> object:
    """What tells sessions apart: numbers are as their digits, and what is missing is like nothing else."""
    return object() if value is None else str(value)


def _message(row: Object) -> Object:
    place = f"message {row.get('id')} of session {row.get('session_id')}"
    role = row.get("role")
    if isinstance(role, str) and _bytes(role) != role.encode("utf-8", "replace"):
        raise TurnError(f"{place} has a role that is no UTF-8")
    message = {"role": role, "created": row.get("created_timestamp")}
    message |= {"tokens": row["tokens"]} if row.get("tokens") is not None else {}
    for member, column in (("content", "content_json"), ("metadata", "metadata_json")):
        if (written := row.get(column)) is not None:
            try:
                message[member] = jsonio.loads(_bytes(written))
            except (ValueError, TypeError, RecursionError):
                raise TurnError(f"{place} has a {column} that is no JSON") from None
    return {"id": string(row, "message_id") or None, **message}


def _bytes(written: Json) -> Json:
    """A text as it stands in the database, where it may be no UTF-8."""
    return written.encode("utf-8", "surrogateescape") if isinstance(written, str) else written
