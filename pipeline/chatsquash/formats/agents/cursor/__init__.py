"""Cursor's sessions: bubbles in the database of the IDE, messages in the databases of the CLI, and transcripts."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.model import Conversation, Json, Origin
from chatsquash.formats.agents.cursor import composer, store
from chatsquash.formats.agents.cursor.messages import reply, thought
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import function_call, tool_message
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, entries, load_conversation, moment, session_folder
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.retention import unknown
from chatsquash.formats.threads import with_unread
from chatsquash.formats.values import Object, as_list, at, compact, kind, string

NAME = "cursor"
HAS_TOOLS = False
MEMBERS = ("role", "composerId", "latestRootBlobId")
SUFFIXES = (".vscdb", ".db", ".jsonl")
_ROOT = "${CURSOR_CONFIG_DIR:-~/.cursor}"
LOCATIONS = (
    f"{_ROOT}/chats/*/*/store.db",
    f"{_ROOT}/acp-sessions/*/store.db",
    f"{_ROOT}/projects/*/agent-transcripts/**/*.jsonl",
    "<config>/Cursor/User/globalStorage/state.vscdb",
)
RETENTION = unknown("Cursor", "its source is not available")


def fits(values: list[Json]) -> str | None:
    """Check for composers with bubbles, stores with messages, or the lines of a transcript."""
    if values and all(map(composer.is_one, values)):
        return "composerId next to a conversation"
    if values and all(map(store.is_one, values)):
        return "latestRootBlobId next to messages"
    return "lines with only role and message.content" if is_transcript(values) else None


def session(path: str, origin: Origin) -> str | None:
    """Return the name of a store's folder, which is the id of the CLI agent."""
    del origin
    return session_folder(path) if path.rpartition("/")[2] == "store.db" else None


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the conversation at the end of each session, the parts that summaries replaced, and abandoned branches.

    Only the databases of the CLI contain the system prompt; tool definitions are never stored.
    """
    unread = Unread()
    values_with_lines = list(entries(values, lines))
    if values_with_lines and not (composer.is_one(values_with_lines[0][2]) or store.is_one(values_with_lines[0][2])):
        return with_unread(transcript_conversations(values_with_lines, unread), unread)
    converted: list[Conversation] = []
    for place, line, value in values_with_lines:
        form = store if store.is_one(value) else composer
        converted += form.conversations(f"entry {place}", line, value, unread)
    return with_unread(converted, unread)


# Databases


_VALUES, _HEADERS = "cursorDiskKV", "composerHeaders"
_BLOBS, _META = "blobs", "meta"
_COMPOSER, _BUBBLE = "composerData:", "bubbleId:"
_LAYERS = 3
"""The maximum nesting of JSON in JSON strings."""


def tables(columns: dict[str, list[str]]) -> dict[str, tuple[str, ...]] | None:
    """Check for values by key (IDE), or for blobs by id with a metadata table (CLI)."""
    if {"key", "value"} <= {*columns.get(_VALUES, [])}:
        has_headers = {"composerId", "value"} <= {*columns.get(_HEADERS, [])}
        return {_VALUES: ("key",), **({_HEADERS: ("composerId",)} if has_headers else {})}
    if {*columns.get(_BLOBS, [])} == {"id", "data"} and {*columns.get(_META, [])} == {"key", "value"}:
        return {_META: ("key",), _BLOBS: ("id",)}
    return None


def families(index: dict[str, list[tuple[Any, ...]]]) -> list[dict[str, list[int]]]:
    """Group each composer with its bubbles, by id; a store contains only one session."""
    if _BLOBS in index:
        return [{table: [row[0] for row in index.get(table, [])] for table in (_META, _BLOBS)}]
    families_by_id: dict[str, dict[str, list[int]]] = {}
    keyed = sorted((row[1], row[0]) for row in index[_VALUES] if isinstance(row[1], str))
    for key, rowid in keyed:
        if key.startswith(_COMPOSER):
            families_by_id.setdefault(key.removeprefix(_COMPOSER), {_VALUES: [], _HEADERS: []})[_VALUES].append(rowid)
    for rowid, ident in index.get(_HEADERS, []):
        if ident in families_by_id:
            families_by_id[ident][_HEADERS].append(rowid)
    for key, rowid in keyed:
        owner = key.removeprefix(_BUBBLE).rpartition(":")[0] if key.startswith(_BUBBLE) else ""
        if owner in families_by_id:
            families_by_id[owner][_VALUES].append(rowid)
    return list(families_by_id.values())


def from_rows(rows: dict[str, list[Object]]) -> list[Json]:
    """Return a composer with its bubbles, or the content of a store; raise ``TurnError`` for invalid JSON."""
    if _META in rows or _BLOBS in rows:
        return store.from_rows(rows.get(_META, []), rows.get(_BLOBS, []))
    composer_value: Object | None = None
    bubbles: Object = {}
    for row in rows.get(_VALUES, []):
        key = row.get("key")
        if not isinstance(key, str) or row.get("value") is None:
            continue  # the keys of deleted values remain
        value = _object(row["value"], f"{_VALUES} {key}")
        if key.startswith(_COMPOSER):
            composer_value = {"composerId": key.removeprefix(_COMPOSER), **value}
        else:
            bubbles[key.rpartition(":")[2]] = value
    if composer_value is None:
        return []
    header = next(iter(rows.get(_HEADERS, [])), None)
    return [{**composer_value, "bubbles": bubbles, **({"header": _header(header)} if header else {})}]


def _header(row: Object) -> Object:
    header = _object(row["value"], f"{_HEADERS} {row.get('composerId')}") if row.get("value") is not None else {}
    return {**header, "isSubagent": row.get("isSubagent") == 1}


def _object(cell: Json, place: str) -> Object:
    """Return the object in a cell, which may be bytes or repeatedly encoded JSON."""
    value = cell
    for _ in range(_LAYERS):
        if not isinstance(value, str | bytes):
            break
        # Text from SQLite may contain escaped invalid bytes, but decoded JSON strings may contain lone surrogates.
        errors = "surrogateescape" if value is cell else "surrogatepass"
        try:
            value = jsonio.loads(value.encode("utf-8", errors) if isinstance(value, str) else value)
        except (ValueError, RecursionError):
            raise TurnError(f"{place[:200]}: value is not valid JSON") from None
    if not isinstance(value, dict):
        raise TurnError(f"{place[:200]}: value is {compact(value)[:20]}, expected an object")
    return value


# Transcripts


_ROLES = ("system", "user", "assistant")
_ENDS = "turn_ended"
_OTHERS = ("type", "uuid", "sessionId", "id")
"""The members that occur only in lines of other agents."""
_LINE = ("role", "message", "timestamp", "model")
_REDACTED = "[REDACTED]"
"""The placeholder for withheld reasoning, at the end of text or as the complete text."""


def is_transcript(values: list[Json]) -> bool:
    """Return whether all lines are messages without ids, or mark the end of a turn."""
    messages = 0
    for line in values:
        if not isinstance(line, dict):
            return False
        if line.get("type") == _ENDS and "message" not in line:
            continue
        message = line.get("message")
        if line.get("role") not in _ROLES or not isinstance(message, dict) or any(name in line for name in _OTHERS):
            return False
        if not isinstance(message.get("content"), str | list):
            return False
        messages += 1
    return messages > 0


def transcript_conversations(values_with_lines: list[tuple[int, int, Object]], unread: Unread) -> list[Conversation]:
    """Return the conversation in the lines, or an empty list."""
    turns = [each for place, line, value in values_with_lines for each in _read(f"entry {place}", line, value, unread)]
    conversation = load_conversation(openai_chat, turns)
    return [conversation] if conversation.messages else []


def _read(place: str, line: int, value: Object, unread: Unread) -> list[LoggedTurn]:
    role, message = value.get("role"), value.get("message")
    if role is None and isinstance(value.get("type"), str):
        unread.count(f"line of type {value['type']}")
        return []
    if role not in _ROLES or not isinstance(message, dict):
        raise TurnError(f"{place}: invalid message with role {compact(role)[:40]}")
    unread.count_members("line", value, *_LINE)
    unread.count_members("line.message", message, "role", "content")
    known = Evidence(line, moment(value.get("timestamp")))
    if role == "assistant":
        known = replace(known, is_sampled=True, model=string(value, "model") or None)
    content = message.get("content")
    if not isinstance(content, str | list):
        raise TurnError(f"{place}: content is {kind(content)}, expected a string or a list")
    turns = _turns(role, content, known.model or "")
    if not turns:
        unread.count("reply without content")
    return [LoggedTurn(place, turn, known) for turn in turns]


def _turns(role: Json, content: Json, model: str) -> list[Object]:
    if role != "assistant":
        return _other_turns(role, content)
    parts, thoughts, calls = list[Json](), list[Json](), list[Json]()
    for part in as_list(content):
        match part:
            case str(text) | {"type": "text", "text": str(text)}:
                visible_text, is_redacted = _without_redaction(text)
                thoughts += [thought("", "", _REDACTED, model)] if is_redacted else []
                parts += [{"type": "text", "text": visible_text}] if visible_text else []
            case {"type": "tool_use", "name": name, **more}:
                calls.append(function_call(more.get("id"), name, more.get("input")))
            case {"type": "thinking", "thinking": str(text), **more}:
                thoughts.append(thought(text, string(more, "signature"), "", model))
            case {"type": "redacted-reasoning" | "redacted_thinking", "data": str(data)}:
                thoughts.append(thought("", "", data, model))
            case _:
                parts.append(part)
    is_bare = not parts and not calls and all(each.get("data") == _REDACTED for each in thoughts)
    if is_bare and thoughts:
        return []
    return [reply(parts, thoughts, calls)]


def _without_redaction(text: str) -> tuple[str, bool]:
    """Return a text without the placeholder for withheld reasoning, and whether it contained the placeholder."""
    visible_text = text.rstrip()
    if visible_text == _REDACTED or visible_text.endswith(f"\n{_REDACTED}"):
        return visible_text.removesuffix(_REDACTED).rstrip("\n"), True
    return text, False


def _other_turns(role: Json, content: Json) -> list[Object]:
    """Return the turns of results, which only a few versions store, and of a prompt."""
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    answers = [part for part in content if at(part, "type") == "tool_result"]
    others = [part for part in content if at(part, "type") != "tool_result"]
    results = [_transcript_result(part) for part in answers]
    return [*results, {"role": role, "content": others}] if others or not results else results


def _transcript_result(part: Object) -> Object:
    failed = "failed" if part.get("is_error") is True else ""
    content = part.get("content")
    return tool_message(part.get("tool_use_id"), "" if content is None else content, failed)
