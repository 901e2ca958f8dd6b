"""Sessions of Crush and of its predecessor opencode: databases, and the output of ``crush session show``."""

from __future__ import annotations

import base64
from itertools import compress
from typing import Any, NamedTuple

from msgspec.structs import replace

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.base import TurnError, expect_list, expect_object
from chatsquash.formats.clients.model_messages.read import read
from chatsquash.formats.database_rows import key, order, parse_cell, readable, roots, row_label
from chatsquash.formats.evidence import Evidence, Unread, conversation, entries, moment, span
from chatsquash.formats.retention import never
from chatsquash.formats.threads import with_unread
from chatsquash.formats.truncation import TRUNCATED
from chatsquash.formats.values import Object, at, kind, members, objects, string

NAME = "crush"
HAS_TOOLS = False
MEMBERS = ("meta",)
IN_PROJECTS = (".crush/crush.db", ".opencode/opencode.db")
LOCATIONS = ("~/.crush/crush.db", "~/*/.crush/crush.db", "~/*/.opencode/opencode.db")
RETENTION = never("Crush", "charmbracelet/crush at 37f36e93")

_ROLES = ("user", "assistant", "system", "tool")
_HEADER = ("uuid", "id", "created", "modified", "parent_session_id", "summary_message_id")
_READ = ("id", "role", "created", "model", "parts", "is_summary_message")
_AGENT = "$$"
"""The separator in a sub-agent's session id, between the message id and the id of the call that started it."""
_TITLE = "title-"
_INCOMPLETE = ("error", "canceled")
"""The finish reasons of incomplete replies."""


def fits(values: list[Json]) -> str | None:
    """Check for sessions with a UUID, and messages that consist of parts."""
    return "meta.uuid, and messages of parts" if values and all(map(_is_session, values)) else None


def _is_session(value: Json) -> bool:
    messages = at(value, "messages")
    if not isinstance(at(value, "meta", "uuid"), str) or not isinstance(messages, list):
        return False
    return all(isinstance(at(each, "parts"), list) and "role" in each for each in messages)


class _CrushMessage(NamedTuple):
    turn: Object
    evidence: Evidence
    is_summary: bool


class _StoredSession(NamedTuple):
    id: str
    meta: Object
    eras: list[list[_CrushMessage]]

    def name(self, number: int) -> str:
        """Return the id of a conversation; the first conversation has the id of the session."""
        return f"{self.id}.{number + 1}" if number else self.id


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the conversation at the end of each session, then the conversations before each compaction.

    Neither the system prompt nor the tools are stored.
    """
    unread, sessions = Unread(), list[_StoredSession]()
    for place, number, value in entries(values, lines):
        sessions.append(_session(value, f"entry {place}", number, unread))
    callers = _callers(sessions)
    converted = [_conversation(session, number, callers) for session in sessions for number in _shown_eras(session)]
    non_empty = [each for each in converted if each.messages]
    return with_unread(non_empty, unread)


def _shown_eras(session: _StoredSession) -> list[int]:
    """Return the number of the last conversation, then the numbers of earlier conversations with a reply."""
    *before, last = range(len(session.eras))
    replied = (any(each.evidence.is_sampled for each in session.eras[number]) for number in before)
    return [last, *compress(before, replied)]


def _callers(sessions: list[_StoredSession]) -> dict[tuple[str, str], str]:
    """Return the ids of the conversations that contain calls, by session and call."""
    callers: dict[tuple[str, str], str] = {}
    for session in sessions:
        for number, era in enumerate(session.eras):
            for part in (part for each in era for part in each.turn["content"] if part["type"] == "tool-call"):
                callers.setdefault((session.id, part["toolCallId"]), session.name(number))
    return callers


def _conversation(session: _StoredSession, number: int, callers: dict[tuple[str, str], str]) -> Conversation:
    messages_of_era = session.eras[number]
    turns = ((turn, messages_of_era[place].evidence) for turn, place in read([each.turn for each in messages_of_era]))
    known: Object = {"id": session.name(number), "session_id": session.id}
    parent, call = string(session.meta, "parent_session_id"), session.id.partition(_AGENT)[2]
    if number:
        known |= {"kind": "compacted", "parent": session.name(number - 1)}
    elif parent and session.id.startswith(_TITLE):
        # Titles are generated in separate sessions.
        known |= {"kind": "side", "parent": parent}
    elif parent:
        known |= {"kind": "subagent", "parent": callers.get((parent, call), parent), "call": call or None}
    if not any(each.evidence.time for each in messages_of_era):
        known |= span(session.meta.get("created"), session.meta.get("modified"))
    return conversation(turns, {}, **known)


def _session(value: Object, place: str, line: int, unread: Unread) -> _StoredSession:
    meta = members(value.get("meta"))
    messages = expect_list(value.get("messages"), f"{place}: messages is")
    unread.count_members("session", meta, *_HEADER)
    unread.count_members("file", value, "meta", "messages")
    eras: list[list[_CrushMessage]] = [[]]
    for number, message in enumerate(messages):
        converted = _read_message(
            message, f"{place}, messages[{number}]", line, string(meta, "summary_message_id"), unread
        )
        if converted and converted.is_summary:
            eras.append([])
        eras[-1] += [converted] if converted else []
    return _StoredSession(string(meta, "uuid") or place, meta, eras)


def _read_message(message: Json, place: str, line: int, summary: str, unread: Unread) -> _CrushMessage | None:
    """Convert a message to a turn; return ``None`` if it has no content for the model."""
    expect_object(message, f"{place} is")
    role, parts = message.get("role"), message.get("parts")
    if role not in _ROLES or not isinstance(parts, list) or len(objects(parts)) < len(parts):
        raise TurnError(f"{place} has an unknown role or no list of parts")
    unread.count_members("message", message, *_READ)
    content, end = list[Json](), Object()
    for number, part in enumerate(parts):
        data = members(part.get("data", part))
        content += read_part(part.get("type"), data, f"{place}, part {number}", unread)
        end = data if part.get("type") == "finish" else end
    is_marked = message.get("is_summary_message") == 1 or (summary != "" and message.get("id") == summary)
    # A canceled or failed compaction replaces nothing.
    is_summary = is_marked and end.get("reason") not in _INCOMPLETE
    known = Evidence(line, moment(message.get("created")))
    if role == "assistant" and not is_marked:
        reason = TRUNCATED if end.get("reason") in _INCOMPLETE else string(end, "reason") or None
        known = replace(known, is_sampled=True, model=string(message, "model") or None, finish_reason=reason)
    speaker = "user" if is_summary else str(role)
    accepted = [part for part in content if part["type"] in _ALLOWED_PARTS[speaker]]
    for _ in range(len(content) - len(accepted)):
        unread.count(f"part not allowed in a message with role {speaker}")
    return _CrushMessage({"role": speaker, "content": accepted}, known, is_summary) if accepted else None


_ALLOWED_PARTS = {
    "user": ("text", "file"),
    "assistant": ("text", "reasoning", "tool-call"),
    "system": ("text",),
    "tool": ("tool-result",),
}
"""The part types that messages may contain, by role."""


_PART = {
    "text": ("text",),
    "reasoning": ("thinking", "signature", "thought_signature", "responses_data", "started_at", "finished_at"),
    "tool_call": ("id", "tool_call_id", "name", "input", "provider_executed", "finished"),
    "tool_result": ("tool_call_id", "name", "content", "data", "mime_type", "is_error"),
    "image_url": ("url", "detail"),
    "binary": ("Path", "MIMEType", "Data"),
    "finish": ("reason", "time"),
    "shell_command": ("command", "output", "exit_code"),
}
"""The members that are read, by part type."""
_LARGEST = 1 << 32


def read_part(part_type: Json, data: Object, place: str, unread: Unread) -> list[Json]:
    """Convert a part to the form of the AI SDK."""
    if not isinstance(part_type, str) or part_type not in _PART:
        unread.count(f"part of type {part_type if isinstance(part_type, str) else kind(part_type)}")
        return []
    unread.count_members(f"part.{part_type}", data, "type", *_PART[part_type])
    if part_type in ("tool_call", "tool_result"):
        return [_tool(part_type, data, place)]
    return _file(data, unread) if part_type == "binary" else _spoken_part(part_type, data)


def _spoken_part(part_type: str, data: Object) -> list[Json]:
    match part_type:
        case "text":
            return _text(string(data, "text").strip())
        case "shell_command":
            return _text(f"$ {string(data, 'command')}\n{string(data, 'output')}\n(exit code {_code(data)})")
        case "reasoning":
            reasoning = {"type": "reasoning", "text": string(data, "thinking"), **_options(data)}
            return [reasoning] if reasoning["text"] or len(reasoning) > 2 else []
        case "image_url":
            return [{"type": "file", "mediaType": "image/*", "url": data.get("url")}]
    return []


def _code(data: Object) -> str:
    """Return the exit code of a command, or "unknown" if it is not a plausible number."""
    code = data.get("exit_code")
    return str(code) if type(code) is int and abs(code) < _LARGEST else "unknown"


def _tool(part_type: str, data: Object, place: str) -> Json:
    """Convert a call or a result."""
    if part_type == "tool_result":
        return {"type": "tool-result", **_call_names(data, place), "output": _output(data)}
    hosted = {"providerExecuted": True} if data.get("provider_executed") is True else {}
    return {"type": "tool-call", **_call_names(data, place), "input": data.get("input"), **hosted}


def _text(value: str) -> list[Json]:
    return [{"type": "text", "text": value}] if value else []


def _call_names(data: Object, place: str) -> Object:
    """Return the id and the tool name of a call; raise ``TurnError`` if either is missing."""
    name, own = data.get("name"), data.get("tool_call_id", data.get("id"))
    if not isinstance(name, str) or not isinstance(own, str) or not own:
        raise TurnError(f"{place} has no call id or no tool name")
    return {"toolCallId": own, "toolName": name}


def _output(data: Object) -> Object:
    output_text, image = string(data, "content"), string(data, "data")
    if data.get("is_error") is True or not image:
        return {"type": "error-text" if data.get("is_error") is True else "text", "value": output_text}
    file = {"type": "file-data", "mediaType": string(data, "mime_type"), "data": image}
    return {"type": "content", "value": [*_text(output_text), file]}


def _options(data: Object) -> Object:
    """Return signatures and encrypted reasoning as provider options of the AI SDK."""
    response = members(data.get("responses_data"))
    options = {
        "anthropic": {"signature": string(data, "signature")},
        "google": {"thoughtSignature": string(data, "thought_signature")},
        "openai": {
            "itemId": string(response, "item_id"),
            "reasoningEncryptedContent": string(response, "encrypted_content"),
        },
    }
    non_empty = {who: {name: value for name, value in each.items() if value} for who, each in options.items()}
    options_with_values = {who: each for who, each in non_empty.items() if each}
    return {"providerOptions": options_with_values} if options_with_values else {}


def _file(data: Object, unread: Unread) -> list[Json]:
    """Convert a file that the user added; printed sessions contain only the size of the file."""
    mime, data_text = string(data, "MIMEType"), string(data, "Data")
    if mime.startswith("text/") and data_text:
        try:
            return _text(base64.b64decode(data_text, validate=True).decode("utf-8", "replace"))
        except ValueError:
            unread.count("part.binary.Data")
            return []
    name = string(data, "Path").replace("\\", "/").rpartition("/")[2]
    file = {"type": "file", "mediaType": mime, "data": data_text, **({"filename": name} if name else {})}
    return [file] if data_text else []


_SESSION = ("id", "parent_session_id", "created_at")
_MESSAGE = ("id", "session_id", "created_at")


def tables(columns: dict[str, list[str]]) -> dict[str, tuple[str, ...]] | None:
    """Check for sessions with message counts, and messages with ``parts``."""
    sessions, messages = {*columns.get("sessions", [])}, {*columns.get("messages", [])}
    is_one = {*_SESSION, "message_count"} <= sessions and {*_MESSAGE, "role", "parts"} <= messages
    return {"sessions": _SESSION, "messages": _MESSAGE} if is_one else None


def families(index: dict[str, list[tuple[Any, ...]]]) -> list[dict[str, list[int]]]:
    """Group each session with the sessions that its calls started, in order of time."""
    sessions = sorted(index["sessions"], key=lambda row: (order(row[3]), order(row[1])))
    parents: dict[object, object] = {}
    for _, own, parent, _ in sessions:
        parents.setdefault(key(own), key(parent))
    above = roots(parents)
    families_by_root: dict[object, dict[str, list[int]]] = {}
    for rowid, own, _, _ in sessions:
        if key(own) in above:
            family = families_by_root.setdefault(above[key(own)], {"sessions": [], "messages": []})
            family["sessions"].append(rowid)
    # Times have a resolution of a second, so messages of the same second are in the order of their rows.
    for rowid, _, session, _ in sorted(index["messages"], key=lambda row: (order(row[3]), row[0])):
        if (root := above.get(key(session))) in families_by_root:
            families_by_root[root]["messages"].append(rowid)
    return list(families_by_root.values())


def from_rows(rows: dict[str, list[Object]]) -> list[Json]:
    """Return the sessions of a family in the form printed by Crush; raise ``TurnError`` for invalid JSON."""
    sessions: dict[object, Object] = {}
    for row in rows.get("sessions", []):
        header = {
            name: readable(value) for name, value in row.items() if name not in ("id", "created_at", "updated_at")
        }
        times = {"created": row.get("created_at"), "modified": row.get("updated_at")}
        meta = {"uuid": str(readable(row.get("id"))), **header, **times}
        sessions.setdefault(key(row.get("id")), {"meta": meta, "messages": []})
    for row in rows.get("messages", []):
        if (session := sessions.get(key(row.get("session_id")))) is not None:
            session["messages"].append(_message(row))
    return list(sessions.values())


def _message(row: Object) -> Object:
    place = row_label(row, "message")
    names = ("id", "role", "model", "provider", "is_summary_message")
    message = {name: readable(row[name]) for name in names if row.get(name) is not None}
    return {**message, "created": row.get("created_at"), "parts": parse_cell(row, "parts", place)}
