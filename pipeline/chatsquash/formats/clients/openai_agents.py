"""Sessions of the OpenAI Agents SDK: databases whose rows are OpenAI Responses items."""

from __future__ import annotations

from typing import Any

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.base import load_objects
from chatsquash.formats.database_rows import key, order, parse_cell, readable, row_label
from chatsquash.formats.evidence import Evidence, LoggedTurn, moment
from chatsquash.formats.providers import openai_responses
from chatsquash.formats.threads import ThreadEntry, load_paths, text
from chatsquash.formats.values import Object, as_list, at, compact, objects

NAME = "openai_agents"
HAS_TOOLS = False
MEMBERS = ("agent_session",)
SESSIONS = ("agent_sessions",)

_MESSAGES, _BRANCHES = "agent_messages", "message_structure"
_PLACE = ("message_id", "branch_id", "sequence_number")
_MAIN = "main"
_OTHER_ROLES = ("user", "system", "developer")


def fits(values: list[Json]) -> str | None:
    """Check for the objects that ``from_rows`` returns."""
    fitting = values and all(isinstance(at(each, "items"), list) and "agent_session" in each for each in values)
    return "agent_session and items" if fitting else None


def conversations(values: list[Json]) -> list[Conversation]:
    """Return the main branch of each session, then its other branches; instructions and tools are not stored."""
    return [each for branches in load_objects(values, _conversations) for each in branches]


def _conversations(value: Json) -> list[Conversation]:
    rows = objects(at(value, "items"))
    turns = [_turn(row, f"item {number}") for number, row in enumerate(rows, 1)]
    steps = [ThreadEntry((turn,), turn.evidence.is_sampled) for turn in turns]
    # Ids may be any JSON value, so they are compared as JSON.
    places = {compact(row.get("id")): place for place, row in enumerate(rows)}
    # Databases without branches contain a single conversation.
    branches = as_list(at(value, "branches")) or [[row.get("id") for row in rows]]
    paths = [
        [place for each in as_list(branch) if (place := places.get(compact(each))) is not None] for branch in branches
    ]
    return load_paths(openai_responses, steps, paths, {"session_id": text(at(value, "agent_session"))})


def _turn(row: Object, place: str) -> LoggedTurn:
    item = row.get("item")
    is_sampled = at(item, "role") not in _OTHER_ROLES and not str(at(item, "type")).endswith("_output")
    return LoggedTurn(place, item, Evidence(time=moment(row.get("created_at")), is_sampled=is_sampled))


def tables(columns: dict[str, list[str]]) -> dict[str, tuple[str, ...]] | None:
    """Check for sessions and messages; databases of advanced sessions also have branches."""
    sessions, messages = {*columns.get(SESSIONS[0], [])}, {*columns.get(_MESSAGES, [])}
    if not ({"session_id", "created_at"} <= sessions and {"id", "session_id", "message_data"} <= messages):
        return None
    indexes: dict[str, tuple[str, ...]] = {SESSIONS[0]: ("created_at", "session_id"), _MESSAGES: ("id", "session_id")}
    has_branches = {"session_id", *_PLACE} <= {*columns.get(_BRANCHES, [])}
    return indexes | ({_BRANCHES: ("sequence_number", "session_id")} if has_branches else {})


def families(index: dict[str, list[tuple[Any, ...]]]) -> list[dict[str, list[int]]]:
    """Group the messages of each session; drop messages without a session."""
    sessions = sorted(index[SESSIONS[0]], key=lambda row: (order(row[1]), order(row[2])))
    known = {
        key(name): {SESSIONS[0]: [rowid], _MESSAGES: list[int](), _BRANCHES: list[int]()} for rowid, _, name in sessions
    }
    for table in (_MESSAGES, _BRANCHES):
        for rowid, _, name in sorted(index.get(table, []), key=lambda row: order(row[1])):
            if family := known.get(key(name)):
                family[table].append(rowid)
    return [{table: rowids for table, rowids in family.items() if table in index} for family in known.values()]


def from_rows(rows: dict[str, list[Object]]) -> list[Json]:
    """Return a session with its items and the item ids of each branch; raise ``TurnError`` for invalid JSON."""
    items = [
        {
            "id": row.get("id"),
            "created_at": _utc(row.get("created_at")),
            "item": parse_cell(row, "message_data", row_label(row, "message")),
        }
        for row in rows.get(_MESSAGES, [])
    ]
    branches = dict[str, list[Json]]({_MAIN: []})
    for row in rows.get(_BRANCHES, []):
        branches.setdefault(str(readable(row.get("branch_id"))), []).append(row.get("message_id"))
    content: Object = {"items": items, "branches": [each for each in branches.values() if each]}
    return [{"agent_session": readable(row.get("session_id")), **content} for row in rows.get(SESSIONS[0], [])]


def _utc(time: Json) -> Json:
    """Mark a time as UTC."""
    # SQLite's times are in UTC, but have no zone.
    return f"{time}Z" if isinstance(time, str) else None
