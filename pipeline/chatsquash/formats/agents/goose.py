"""goose's sessions: one object with a conversation, lines behind one with the metadata, or a database of both."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from chatsquash import chat, jsonio
from chatsquash.formats import anthropic
from chatsquash.formats.base import TurnError, with_private, without_private
from chatsquash.formats.bodies import replayed
from chatsquash.formats.values import Object, at, compact, kind, listed, objects, string, without
from chatsquash.model import Conversation, Json, Message
from chatsquash.options import Options

NAME = "goose"
HOLDS_TOOLS = False

_TURNS = ("conversation", "messages")
_BESIDE = (*_TURNS, "message_count", "description")
_CALLS = ("toolRequest", "frontendToolRequest")
_TAGS = (*_CALLS, "toolResponse", "redactedThinking", "toolConfirmationRequest", "systemNotification")
_SHOWN = ("systemNotification", "actionRequired", "toolConfirmationRequest", "conversationCompacted")
"""What goose shows the user, and no model."""
DEFAULTS = Options()
_STRUCTURE = b"[{,:"
_PARSED = 64
"""Bytes of memory that a list, an object or a value takes once it is parsed, beside those that it is spelled with."""


def fits(found: list[Json]) -> str | None:
    """A session has a working directory beside what it is about; messages have tags in camel case, or flags."""
    first = found[0] if found else None
    if isinstance(first, dict) and "working_dir" in first and any(name in first for name in _BESIDE):
        return "working_dir and " + next(name for name in _BESIDE if name in first)
    if found and all(isinstance(each, dict) and isinstance(each.get("content"), list) for each in found):
        count = sum(map(_has_tags, found))
        return f"metadata.agentVisible or content such as toolRequest in {count} lines" if count else None
    return None


def _has_tags(message: Object) -> bool:
    tagged = any(block.get("type") in _TAGS for block in objects(message["content"]))
    return tagged or isinstance(at(message, "metadata", "agentVisible"), bool)


def conversations(found: list[Json]) -> list[Conversation]:
    """What the model saw of each session: neither the system prompt nor the tools are kept in it."""
    sessions: list[list[tuple[int, Json]]] = []
    for place, line in enumerate(found, 1):
        if not isinstance(line, dict):
            raise TurnError(f"entry {place} is no object")
        if "working_dir" in line or not sessions:
            sessions.append([])
        sessions[-1].append((place, line))
    return [conversation for lines in sessions if (conversation := _session(lines)).messages]


def _session(lines: list[tuple[int, Json]]) -> Conversation:
    turns: list[tuple[str, Json]] = []
    for place, line in lines:
        turns += _held(line, place) if "working_dir" in line else [(f"entry {place}", line)]
    told = [(place, turn) for place, message in turns if _is_seen(message) and (turn := _turn(message, place))]
    return Conversation([_signed(message) for message in replayed(anthropic, told)], [])


def _held(session: Object, place: int) -> list[tuple[str, Json]]:
    """The messages in the object of a session; none where they are lines of their own."""
    name = next((name for name in _TURNS if session.get(name) is not None), "")
    held = session.get(name, [])
    if not isinstance(held, list):
        raise TurnError(f"entry {place} has a {name} that is {kind(held)}, not a list")
    return [(f"{name}[{number}]", message) for number, message in enumerate(held)]


def _is_seen(message: Json) -> bool:
    """Whether the agent sees a message: what a compaction replaced is only the user's."""
    return at(message, "metadata", "agentVisible") is not False


def _turn(message: Json, place: str) -> Object | None:
    """A message as Anthropic would have it, without its id and time; ``None`` if only the user sees what is in it."""
    if not isinstance(message, dict):
        raise TurnError(f"{place} is no object")
    content = message.get("content")
    if not isinstance(content, str | list):
        raise TurnError(f"{place} has a content that is {kind(content)}, not a list")
    blocks = [_block(item) for item in listed(content) if not (isinstance(item, dict) and item.get("type") in _SHOWN)]
    return {"role": message.get("role"), "content": blocks} if blocks or not content else None


def _block(item: Json) -> Json:
    """A part of a message as a block; one that Anthropic has nothing like stays as it is."""
    match item:
        case {"type": "toolRequest" | "frontendToolRequest", "toolCall": dict(wrapped), **rest}:
            called = wrapped.get("value", wrapped)
            # A call that could not be parsed has neither a name nor arguments.
            if not isinstance(called, dict) or "name" not in called:
                return item
            more = without(rest, "id")
            return {"type": "tool_use", "id": item.get("id"), "name": called["name"], **_input(called), **more}
        case {"type": "toolResponse", "toolResult": result}:
            return {"type": "tool_result", "tool_use_id": item.get("id"), **_output(result)}
        case {"type": "redactedThinking", **rest}:
            return {**rest, "type": "redacted_thinking"}
        case {"type": "image" | "resource" | "resource_link" | "text"}:
            return _content(item)
    return item


def _input(called: Object) -> Object:
    return {"input": called["arguments"]} if called.get("arguments") is not None else {}


def _output(result: Json) -> Object:
    """A result's content, of which the model sees what is not for the user alone."""
    if isinstance(result, dict) and ("error" in result or result.get("status") == "error"):
        error = result.get("error")
        return {"content": error if isinstance(error, str) else compact(error), "is_error": True}
    value = result.get("value", result) if isinstance(result, dict) else result
    failed = {"is_error": True} if at(value, "isError") is True else {}
    content = value.get("content") if isinstance(value, dict) else value
    if not content and at(value, "structuredContent") is not None:
        content = value["structuredContent"]
    seen = [_content(part) for part in content if _is_for_model(part)] if isinstance(content, list) else content
    return {"content": seen, **failed}


def _is_for_model(part: Json) -> bool:
    audience = at(part, "annotations", "audience")
    return not isinstance(audience, list) or "assistant" in audience


def _content(part: Json) -> Json:
    """A content of the Model Context Protocol as a block; marks of who it is for say nothing to the model."""
    match part:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "image", "data": str(data), "mimeType": str(mime)}:
            return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}
        case {"type": "resource", "resource": {"text": str(text)}}:
            return {"type": "text", "text": text}
    return part


def _signed(message: Message) -> Message:
    """A message whose calls have their signatures where those of Gemini stand."""
    if not chat.calls(message):
        return message
    return {**message, "tool_calls": [_signed_call(call) for call in chat.calls(message)]}


def _signed_call(call: Object) -> Object:
    held = chat.private(call)
    block = held.get("block")
    if not isinstance(block, dict) or not isinstance(block.get("thoughtSignature"), str):
        return call
    plain: Any = without_private(call)
    left = {"block": without(block, "thoughtSignature"), "signature": block["thoughtSignature"]}
    return dict(with_private(plain, {**held, **left}))


# The database


def from_database(data: bytes, options: Options = DEFAULTS) -> list[Json] | None:
    """The sessions in the bytes of a ``sessions.db``, each as its export; ``None`` for a database of anybody else's.

    Raises ``TurnError`` for one that is broken, and ``BeyondBoundsError`` for one that takes more memory or time to
    read than the options allow.
    """
    sessions: list[Object] = []
    by_id: dict[object, list[Json]] = {}
    name, columns = "", list[str]()
    for what, *held in _read(data, None, options):
        if what == "table":
            name, columns = held
            continue
        for cells in held[0]:
            row = {column: _cell(cell) for column, cell in zip(columns, cells, strict=True)}
            if name == "sessions":
                header = {name: value for name, value in row.items() if isinstance(value, str | int | float)}
                sessions.append({"working_dir": "", **header, "conversation": []})
                by_id.setdefault(_id(row["id"]), sessions[-1]["conversation"])
            elif (told := by_id.get(_id(row["session_id"]))) is not None:
                told.append(_message(row))
    return sessions if name else None


def holds_sessions(data: bytes, options: Options = DEFAULTS) -> bool:
    """Whether a database has sessions of goose, told by its first rows; raises as ``from_database``."""
    tables = [what for what, *_ in _read(data, 1, options)]
    return tables[:2] == ["table", "rows"]


def _read(data: bytes, rows: int | None, options: Options) -> Iterator[list[Any]]:
    """The tables that hold sessions, as ``chatsquash.confine.tables`` tells them; nothing where they are not there."""
    from chatsquash.confine.process import BeyondBoundsError, Confined, EndedError, OutOfMemoryError, OutOfTimeError

    asked = {"tables": {"sessions": ["created_at", "id"], "messages": ["id", "session_id"]}, "rows": rows}
    memory, seconds = options.max_memory, options.max_database_time
    try:
        with closing(Confined("chatsquash.confine.tables", memory, seconds)) as process:
            left = memory
            process.begin(jsonio.dumps(asked) + b"\n", data)
            for frame in process.answers(memory):
                left -= len(frame) + _PARSED * sum(map(frame.count, _STRUCTURE))
                if left < 0:
                    raise OutOfMemoryError  # noqa: TRY301 - as if that process had told it
                told = jsonio.loads(frame)
                if told[0] == "none":
                    return
                if told[0] == "broken":
                    raise TurnError(f"is no database of goose ({told[1]})")
                yield told
    except OutOfTimeError:
        text = f"its tables take more than {seconds} s to read (--max-database-time allows more)"
        raise BeyondBoundsError(text) from None
    except OutOfMemoryError:
        text = f"its tables take more than {memory:,} bytes of memory to read (--max-memory allows more)"
        raise BeyondBoundsError(text) from None
    except EndedError as problem:
        raise BeyondBoundsError(f"reading its tables failed: {problem}") from None


def _id(value: Json) -> object:
    """What tells sessions apart: numbers are as their digits, and what is missing is like nothing else."""
    return object() if value is None else str(value)


def _cell(value: Json) -> Json:
    """What stood in a column: what came as an object is bytes."""
    return b64decode(value["base64"]) if isinstance(value, dict) else value


def _message(row: Object) -> Object:
    place = f"message {row.get('id')} of session {row.get('session_id')}"
    role = row.get("role")
    if isinstance(role, str) and _bytes(role) != role.encode("utf-8", "replace"):
        raise TurnError(f"{place} has a role that is no UTF-8")
    message = {"role": role, "created": row.get("created_timestamp")}
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
