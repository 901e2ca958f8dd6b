"""opencode's and Kilo's sessions: databases of two generations, older trees of files, and exports."""

from __future__ import annotations

import re
from glob import escape
from typing import Any

from chatsquash.core.model import Conversation, Json, Origin
from chatsquash.core.outcome import EACH
from chatsquash.formats.agents.opencode import newer
from chatsquash.formats.agents.opencode.session import SessionReader
from chatsquash.formats.base import expect_object
from chatsquash.formats.database_rows import key, order, parse_cell, readable, roots, row_label
from chatsquash.formats.evidence import Unread, entries, moment
from chatsquash.formats.retention import never
from chatsquash.formats.values import Object, at, is_plain_name, string

NAME = "opencode"
HAS_TOOLS = False
MEMBERS = ("info", "projectID")
LOCATIONS = (
    "<data>/opencode/storage/session/*/*.json",
    "<data>/opencode/opencode*.db",
    "${OPENCODE_DB:-}",
    "<data>/kilo/kilo.db",
)
RETENTION = never("OpenCode", "opencode-ai 1.18.34 and @kilocode/cli 7.7.9 on npm")

_ID = "ses_"


def fits(values: list[Json]) -> str | None:
    """Check for sessions with ids that begin with ``ses_``, and messages of either version."""
    if len(values) == 1 and is_session(values[0]):
        return "an id that begins with ses_ next to projectID"
    if values and all(map(_is_export, values)):
        return "info.id that begins with ses_, and messages"
    return None


def _is_export(value: Json) -> bool:
    messages = at(value, "messages")
    is_named = string(at(value, "info"), "id").startswith(_ID)
    return is_named and isinstance(messages, list) and all(map(_is_message, messages))


def _is_message(value: Json) -> bool:
    is_older = isinstance(at(value, "parts"), list) and at(value, "info", "role") in ("user", "assistant")
    return is_older or (isinstance(value, dict) and value.get("type") in newer.TYPES)


def conversations(values: list[Json], lines: list[int] | None = None, meta: Json = None) -> list[Conversation]:
    """Return the conversation at the end of each session, then those before compactions, then undone parts.

    Neither the system prompt nor the tools are stored, except additions to the prompt by clients.
    """
    reader = SessionReader(Unread())
    for place, number, value in entries(values, lines):
        session = as_export(value, meta, reader.unread) if is_session(value) else value
        reader.add(session, f"entry {place}", number)
    return reader.conversations()


# Databases


_SESSION = ("id", "parent_id", "time_created")
_OLDER = {"message": ("id", "session_id", "time_created"), "part": ("id", "message_id")}
_NEWER = "session_message"
_MARKS = {
    "session": (*_SESSION, "directory"),
    "session_v2": (*_SESSION, "directory"),
    "message": (*_OLDER["message"], "data"),
    "part": (*_OLDER["part"], "data"),
    _NEWER: ("id", "session_id", "type", "data"),
}
"""The columns that identify each table."""
SESSIONS = ("session", "session_v2")
"""The tables with sessions."""
_EXPORT_NAMES = {"parent_id": "parentID", "project_id": "projectID"}
_JSON = ("revert",)
"""The JSON columns of a session that are read."""
_LATER = 10 * 10**9
"""The minimum time in nanoseconds from the last change of older rows to newer rows that are not only copies."""

Rows = dict[str, list[Object]]


def tables(columns: dict[str, list[str]]) -> dict[str, tuple[str, ...]] | None:
    """Check for sessions with a directory, and messages with ``data`` and either parts or types."""
    fitting = [name for name, marks in _MARKS.items() if {*marks} <= {*columns.get(name, [])}]
    has_older = {*_OLDER} <= {*fitting}
    if not any(name in fitting for name in SESSIONS) or not (has_older or _NEWER in fitting):
        return None
    indexed: dict[str, tuple[str, ...]] = {name: _SESSION for name in SESSIONS if name in fitting}
    indexed |= _OLDER if has_older else {}
    if _NEWER in fitting:
        ordering = [name for name in ("seq", "time_created") if name in columns[_NEWER]][:1]
        indexed[_NEWER] = ("id", "session_id", *ordering)
    return indexed


def families(index: dict[str, list[tuple[Any, ...]]]) -> list[dict[str, list[int]]]:
    """Group each session with the sessions that its calls started, by time; drop messages without a session."""
    sessions = [(name, row) for name in SESSIONS for row in index.get(name, [])]
    sessions.sort(key=lambda each: (order(each[1][3]), order(each[1][1])))
    parents: dict[object, object] = {}
    for _, (_, own, parent, _) in sessions:
        parents.setdefault(key(own), key(parent))
    above = _with_forks(roots(parents), index)
    families_by_root: dict[object, dict[str, list[int]]] = {}
    for _, (_, own, *_) in sessions:
        if (name := key(own)) in above:
            families_by_root.setdefault(above[name], {table: [] for table in index})
    for table, (rowid, own, *_) in sessions:
        _put(families_by_root, above.get(key(own)), table, rowid)
    holders: dict[object, object] = {}
    for rowid, own, session, _ in _in_order(index.get("message", []), 3, 1):
        holders.setdefault(key(own), above.get(key(session)))
        _put(families_by_root, above.get(key(session)), "message", rowid)
    for rowid, _, message in _in_order(index.get("part", []), 1):
        _put(families_by_root, holders.get(key(message)), "part", rowid)
    for rowid, _, session, *_ in _in_order(index.get(_NEWER, []), -1, 1):
        _put(families_by_root, above.get(key(session)), _NEWER, rowid)
    return [family for family in families_by_root.values() if any(family.get(name) for name in SESSIONS)]


def _with_forks(above: dict[object, object], index: dict[str, list[tuple[Any, ...]]]) -> dict[object, object]:
    """Return the roots of sessions; the root of a fork is its parent's, whose first message has the same time."""
    # In the same family, messages that a fork shares with its parent are detected based on content and time.
    first: dict[object, object] = {}
    for _, _, session, time in index.get("message", []):
        name = key(session)
        if name in above and (name not in first or order(time) < order(first[name])):
            first[name] = time
    by_time: dict[object, object] = {}
    parent_roots: dict[object, object] = {}
    for name, root in above.items():
        if name in first and name == root and first[name] is not None:
            parent_roots[root] = by_time.setdefault(first[name], root)
    return {name: parent_roots.get(root, root) for name, root in above.items()}


def _in_order(rows: list[tuple[Any, ...]], *columns: int) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: [order(row[column]) for column in columns])


def _put(families_by_root: dict[object, dict[str, list[int]]], family: object, table: str, rowid: int) -> None:
    if family in families_by_root:
        families_by_root[family][table].append(rowid)


def from_rows(rows: Rows) -> list[Json]:
    """Return the sessions of a family in the form of exports; raise ``TurnError`` for rows that are not valid JSON.

    If a session is in the tables of both generations, the export contains the count of unused rows.
    """
    parts = _by(rows.get("part", []), "message_id")
    older, newer = (_by(rows.get(table, []), "session_id") for table in ("message", _NEWER))
    headers = {table: {key(row.get("id")): row for row in rows.get(table, [])} for table in SESSIONS}
    exports: list[Json] = []
    for name in {**headers["session"], **headers["session_v2"]}:
        old, new = older.get(name, []), newer.get(name, [])
        is_new = _is_ahead(old, [part for row in old for part in parts.get(key(row.get("id")), [])], new)
        header = next(headers[table][name] for table in SESSIONS[:: -1 if is_new else 1] if name in headers[table])
        messages = list(map(_entry, new)) if is_new else [_message(row, parts) for row in old]
        unread_rows = old if is_new else new
        others = {"left": {"message" if is_new else _NEWER: len(unread_rows)}} if unread_rows else {}
        exports.append({"info": _header(header), "messages": messages, **others})
    return exports


def _by(rows: list[Object], column: str) -> dict[object, list[Object]]:
    """Group rows by a column."""
    groups: dict[object, list[Object]] = {}
    for row in rows:
        groups.setdefault(key(row.get(column)), []).append(row)
    return groups


def _is_ahead(old: list[Object], parts: list[Object], new: list[Object]) -> bool:
    """Return whether the newer rows of a session continue the older rows."""
    # Some releases of version 1 also wrote newer rows, but only for later messages.  Version 2 copied the older rows,
    # which do not change afterwards.
    new_messages = [row for row in new if row.get("type") in ("user", "assistant")]
    if not old or not new_messages:
        return not old
    changed = max(_time(row, "time_updated", "time_created") for row in (*old, *parts))
    return max(_time(row, "time_created") for row in new_messages) > changed + _LATER


def _time(row: Object, *columns: str) -> int:
    """Return the first time in these columns, or 0."""
    times = (moment(row.get(column)) for column in columns)
    return next((each.at for each in times if each), 0)


def _header(row: Object) -> Object:
    """Return the header of a session in the form of exports."""
    place = row_label(row, "session")
    header: Object = {}
    for column, value in row.items():
        if value is not None and not column.startswith("time_"):
            read = parse_cell(row, column, place) if column in _JSON else readable(value)
            header[_EXPORT_NAMES.get(column, column)] = read
    return {**header, "time": {"created": row.get("time_created"), "updated": row.get("time_updated")}}


def _message(row: Object, parts: dict[object, list[Object]]) -> Object:
    name = row.get("id")
    parts_of = [{**_data(part, "part"), "id": readable(part.get("id"))} for part in parts.get(key(name), [])]
    return {"info": {**_data(row, "message"), "id": readable(name)}, "parts": parts_of}


def _entry(row: Object) -> Object:
    return {**_data(row, _NEWER), "id": readable(row.get("id")), "type": readable(row.get("type"))}


def _data(row: Object, table: str) -> Object:
    place = row_label(row, table)
    return expect_object(parse_cell(row, "data", place), f"{place}: data is")


# The tree of files


_SESSION_FILE = re.compile(r"(ses_[0-9A-Za-z]{1,100})\.json")
_PART_FILE = re.compile(r"(?:.*/)?storage/(?:message/ses_[^/]+/msg_|part/msg_[^/]+/prt_)[^/]+\.json", re.DOTALL)


def is_session(value: Json) -> bool:
    """Return whether a value comes from a session file."""
    is_named = string(value, "id").startswith("ses_") and isinstance(at(value, "time"), dict)
    return is_named and isinstance(value["id"], str) and isinstance(value.get("projectID"), str)


def companions(name: str) -> str | None:
    """Return globs for the messages of a session, whose folder has the session's id, and for their parts."""
    match = _SESSION_FILE.fullmatch(name)
    return f"../../message/{match[1]}/msg_*.json{EACH}../../part/{EACH}/prt_*.json" if match else None


def home(path: str, origin: Origin) -> str | None:
    """Return a glob for the file of the session that started a sub-agent, which is in the same folder."""
    folder, _, name = path.rpartition("/")
    is_known = _SESSION_FILE.fullmatch(name) and is_plain_name(origin.parent)
    return f"{escape(folder)}/{origin.parent}.json" if is_known else None


def owner(path: str) -> str | None:
    """Return the session folder that a message or part file belongs to."""
    path = path.replace("\\", "/")
    return f"{path[: path.rindex('storage/')]}storage/session" if _PART_FILE.fullmatch(path) else None


def as_export(session: Object, companion_files: Json, unread: Unread) -> Object:
    """Convert a session file to the form of exports; ``companion_files`` are its messages and parts in any order."""
    messages, parts = list[Object](), dict[str, list[Object]]()
    for value in companion_files if isinstance(companion_files, list) else []:
        if isinstance(value, dict) and isinstance(value.get("role"), str):
            messages.append(value)
        elif isinstance(value, dict) and isinstance(value.get("messageID"), str):
            parts.setdefault(value["messageID"], []).append(value)
        else:
            unread.count("companion file that cannot be read")
    messages.sort(key=lambda each: (order(_created(each)), order(string(each, "id"))))
    for each in parts.values():
        each.sort(key=lambda part: string(part, "id").encode("utf-8", "surrogatepass"))
    messages_with_parts = [{"info": each, "parts": parts.pop(string(each, "id"), [])} for each in messages]
    for unused_parts in parts.values():
        for _ in unused_parts:
            unread.count("part of a missing message")
    return {"info": session, "messages": messages_with_parts}


def _created(message: Object) -> Json:
    value = at(message, "time", "created")
    return value if isinstance(value, int | float | str) else None
