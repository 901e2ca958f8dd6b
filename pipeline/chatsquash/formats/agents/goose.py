"""goose's sessions: an object with a conversation, a metadata line followed by messages, or a database."""

from __future__ import annotations

from functools import partial
from itertools import compress
from typing import Any

from msgspec.structs import replace

from chatsquash.core import chat, jsonio
from chatsquash.core.blocks import Block, Call
from chatsquash.core.model import Conversation, Json, Message
from chatsquash.formats.base import TurnError, expect_list
from chatsquash.formats.database_rows import id_text, key, order, parse_cell
from chatsquash.formats.evidence import (
    Evidence,
    LoggedMessages,
    LoggedTurn,
    Unread,
    entries,
    load_turns,
    member_path,
    moment,
    origin,
    span,
    with_origin,
)
from chatsquash.formats.providers import anthropic
from chatsquash.formats.retention import never
from chatsquash.formats.values import Object, as_list, at, compact, count, kind, objects, string, without

NAME = "goose"
HAS_TOOLS = False
MEMBERS = ("working_dir", "content")
LOCATIONS = (
    "${GOOSE_PATH_ROOT:-<data>/goose}/**/sessions.db",
    "${GOOSE_PATH_ROOT:-<data>/goose}/**/sessions/*.jsonl",
)
RETENTION = never("goose", "aaif-goose/goose, issue 10961 of 2026-08-05")

_TURNS = ("conversation", "messages")
_SESSION_MEMBERS = (*_TURNS, "message_count", "description")
_CALLS = ("toolRequest", "frontendToolRequest")
_TAGS = (*_CALLS, "toolResponse", "redactedThinking", "toolConfirmationRequest", "systemNotification")
_SESSION = (*_TURNS, "message_count", "id", "created_at", "updated_at", "session_type", "parent_session_id")
_MODEL = ("model_config", "model_config_json", "input_tokens", "output_tokens")
_MESSAGE = ("id", "role", "created", "content", "metadata")
_METADATA = ("agentVisible", "userVisible", "usage")

_Line = tuple[int, int, Object]
"""The place of an object in the file, its line number, and the object itself."""


def fits(values: list[Json]) -> str | None:
    """Check for sessions with a working directory, or for messages with camel-case tags or visibility flags."""
    first = values[0] if values else None
    if isinstance(first, dict) and "working_dir" in first and any(name in first for name in _SESSION_MEMBERS):
        return "working_dir and " + next(name for name in _SESSION_MEMBERS if name in first)
    if values and all(isinstance(each, dict) and isinstance(each.get("content"), list) for each in values):
        count = sum(map(_has_tags, values))
        return f"metadata.agentVisible or content such as toolRequest in {count} lines" if count else None
    return None


def _has_tags(message: Object) -> bool:
    tagged = any(block.get("type") in _TAGS for block in objects(message["content"]))
    return tagged or isinstance(at(message, "metadata", "agentVisible"), bool)


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the conversation at the end of each session, then the conversations before each compaction.

    Neither the system prompt nor the tools are stored.
    """
    sessions: list[list[_Line]] = []
    for place, number, line in entries(values, lines):
        if "working_dir" in line or not sessions:
            sessions.append([])
        sessions[-1].append((place, number, line))
    converted = [conversation for lines in sessions for conversation in _session(lines)]
    return [conversation for conversation in converted if conversation.messages]


def _session(lines: list[_Line]) -> list[Conversation]:
    unread = Unread()
    header = lines[0][2] if "working_dir" in lines[0][2] else {}
    unread.count_members("session", header, *_SESSION, *_MODEL)
    model, read = _model(header), list[LoggedTurn]()
    for place, number, line in lines:
        messages = _messages_of(line, place) if "working_dir" in line else [(f"entry {place}", line)]
        read += [LoggedTurn(where, message, _evidence(message, number, model)) for where, message in messages]
    *before, now = eras(read)
    seen = [each for each in now if is_visible(each.turn)]
    for _ in range(len(now) - len(seen)):
        unread.count("message that the agent does not see")
    last = _load(seen, unread)
    earlier = [_load(before_compaction(era), unread) for era in before if any(each.evidence.is_sampled for each in era)]
    with_usage = last._replace(evidence=_with_session_usage(last.evidence, header))
    views = [*earlier, with_usage]
    own = id_text(header.get("id")) or lines[0][0]
    names = [f"{own}.{number}" for number in range(1, len(views) + 1)] if earlier else [""]
    *others, first = [_conversation(each, header, names[: number + 1]) for number, each in enumerate(views)]
    return [with_origin(first, unread=unread.counts_for(0)), *others]


def is_visible(message: Json) -> bool:
    """Return whether the model currently sees a message."""
    return at(message, "metadata", "agentVisible") is not False


def is_for_model(message: Json) -> bool:
    """Return whether goose wrote a message only for the model: a summary, or the answer to a summary."""
    return at(message, "metadata", "userVisible") is False


def eras(turns: list[LoggedTurn]) -> list[list[LoggedTurn]]:
    """Split the messages at compactions; each part after the first begins with a summary.

    A compaction hides all earlier messages, and adds a summary as a user message, with an answer.  The replacement of a
    single call and its result is also a user message, but has no answer.
    """
    spans: list[list[LoggedTurn]] = [[]]
    hides = True
    for place, each in enumerate(turns):
        hides_all = hides and is_visible(each.turn)
        next_turn = turns[place + 1].turn if place + 1 < len(turns) else None
        is_answered = is_for_model(next_turn) and at(next_turn, "role") == "assistant"  # by goose itself
        if _is_summary(turns, place) and (hides_all or is_answered):
            spans.append([])
        hides = hides and not is_visible(each.turn)
        spans[-1].append(each)
    return spans


def before_compaction(era: list[LoggedTurn]) -> list[LoggedTurn]:
    """Return the messages that the model saw before a compaction, without later summaries of single calls."""
    first = next((place for place, each in enumerate(era) if not is_for_model(each.turn)), len(era))
    return [*era[:first], *(each for each in era[first:] if not is_for_model(each.turn))]


def _is_summary(turns: list[LoggedTurn], place: int) -> bool:
    """Return whether a message is a summary; only the first of consecutive goose messages is."""
    message = turns[place].turn
    is_first = place > 0 and not is_for_model(turns[place - 1].turn)
    return is_first and is_for_model(message) and at(message, "role") == "user"


def _load(read: list[LoggedTurn], unread: Unread) -> LoggedMessages:
    turns = [replace(each, turn=turn) for each in read if (turn := _turn(each.turn, each.place, unread))]
    logged_messages = load_turns(anthropic, turns)
    return logged_messages._replace(messages=list(map(_with_signatures, logged_messages.messages)))


def _conversation(logged_messages: LoggedMessages, header: Object, names: list[str]) -> Conversation:
    """Build a conversation that starts with a summary of the previous one; ``names`` ends with its id."""
    *before, name = names
    known: Object = {"session_id": id_text(header.get("id")), "id": name}
    if before:
        known |= {"kind": "compacted", "parent": before[-1]}
    elif header.get("session_type") == "sub_agent":
        known |= {"kind": "subagent", "parent": string(header, "parent_session_id") or None}
    times = span(header.get("created_at"), header.get("updated_at"))
    return Conversation(logged_messages.messages, [], origin=origin(logged_messages, session_times=times, **known))


def _model(header: Object) -> str | None:
    """Return the configured model of a session, or ``None``."""
    config = header.get("model_config") or header.get("model_config_json")
    try:
        config = jsonio.loads(config.encode()) if isinstance(config, str) else config
    except (ValueError, RecursionError):
        return None
    return string(config, "model_name") or None


def _evidence(message: Json, line: int, model: str | None) -> Evidence:
    if not isinstance(message, dict):
        return Evidence(line)
    if message.get("role") != "assistant" or is_for_model(message):
        return Evidence(line, moment(message.get("created")))
    usage = at(message, "metadata", "usage")
    tokens = count(at(usage, "inputTokens")), count(at(usage, "outputTokens"))
    return Evidence(line, moment(message.get("created")), True, model, *tokens)


def _with_session_usage(evidence: list[Evidence], header: Object) -> list[Evidence]:
    """Assign the token counts of the session to its last reply, unless the reply has its own."""
    places = [place for place, each in enumerate(evidence) if each.is_sampled]
    if not places or evidence[places[-1]].prompt_tokens is not None:
        return evidence
    last = places[-1]
    prompt_tokens, completion_tokens = (count(header.get(name)) for name in ("input_tokens", "output_tokens"))
    last_evidence = replace(evidence[last], prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)
    return [*evidence[:last], last_evidence, *evidence[last + 1 :]]


def _messages_of(session: Object, place: int) -> list[tuple[str, Json]]:
    """Return the messages in a session object, or an empty list if they are on separate lines."""
    name = next((name for name in _TURNS if session.get(name) is not None), "")
    messages = expect_list(session.get(name, []), f"entry {place}: {name} is")
    return [(f"{name}[{number}]", message) for number, message in enumerate(messages)]


def _turn(message: Json, place: str, unread: Unread) -> Object | None:
    """Convert a message to Anthropic's form, without its id and time; ``None`` if it is only displayed to the user."""
    if not isinstance(message, dict):
        raise TurnError(f"{place} is not an object")
    content = message.get("content")
    if not isinstance(content, str | list):
        raise TurnError(f"{place}: content is {kind(content)}, expected a list")
    unread.count_members("message", message, *_MESSAGE)
    unread.count_members("message.metadata", message.get("metadata"), *_METADATA)
    blocks = list[Json]()
    for item in as_list(content):
        item_type = string(item, "type")
        if item_type in DISPLAY_ONLY:
            unread.count(member_path("message.content", str(item_type)))
        else:
            blocks.append(block(item))
    return {"role": message.get("role"), "content": blocks} if blocks or not content else None


def _with_signatures(message: Message) -> Message:
    """Move the signatures of calls to the members that Gemini uses."""
    turn = chat.turn(message)
    if turn is None or turn.role != "assistant":
        return message
    return {**message, chat.PRIVATE: replace(turn, blocks=tuple(map(_signed_call, turn.blocks)))}  # type: ignore[misc]


def _signed_call(block: Block) -> Block:
    own = block.native.get(anthropic.PROVIDER, {}) if type(block) is Call else {}
    if type(block) is not Call or not isinstance(own.get("thoughtSignature"), str):
        return block
    anthropic_members = {name: value for name, value in own.items() if name != "thoughtSignature"}
    google_members = {"google": {"thoughtSignature": own["thoughtSignature"]}}
    return replace(
        block, native={**google_members, **({anthropic.PROVIDER: anthropic_members} if anthropic_members else {})}
    )


DISPLAY_ONLY = ("systemNotification", "actionRequired", "toolConfirmationRequest", "conversationCompacted")
"""The content types that are displayed to the user but not sent to the model."""


def block(item: Json) -> Json:
    """Convert a part of a message to a block; unknown parts are returned unchanged."""
    match item:
        case {"type": "toolRequest" | "frontendToolRequest", "toolCall": dict(tool_call), **rest}:
            call_value = tool_call.get("value", tool_call)
            # A call that could not be parsed has neither a name nor arguments, but its result still refers to it.
            if not isinstance(call_value, dict) or "name" not in call_value:
                return {**rest, "type": "tool_use"}
            call = {"type": "tool_use", "id": item.get("id"), "name": call_value["name"]}
            arguments = {"input": call_value["arguments"]} if call_value.get("arguments") is not None else {}
            return {**call, **arguments, **without(rest, "id")}
        case {"type": "toolResponse", "toolResult": result}:
            return {"type": "tool_result", "tool_use_id": item.get("id"), **_output(result)}
        case {"type": "redactedThinking", **rest}:
            return {**rest, "type": "redacted_thinking"}
        case {"type": "image" | "resource" | "resource_link" | "text"}:
            return _content(item)
    return item


def _output(result: Json) -> Object:
    """Return the content of a result without the parts that are only for the user."""
    if isinstance(result, dict) and ("error" in result or result.get("status") == "error"):
        error = result.get("error")
        return {"content": error if isinstance(error, str) else compact(error), "is_error": True}
    value = result.get("value", result) if isinstance(result, dict) else result
    failed = {"is_error": True} if at(value, "isError") is True else {}
    content = value.get("content") if isinstance(value, dict) else value
    if not content and at(value, "structuredContent") is not None:
        content = value["structuredContent"]
    if isinstance(content, list):  # MCP parts may have only the user as their audience
        audiences = (at(part, "annotations", "audience") for part in content)
        is_seen = (not isinstance(audience, list) or "assistant" in audience for audience in audiences)
        content = list(map(_content, compress(content, is_seen)))
    return {"content": content, **failed}


def _content(part: Json) -> Json:
    """Convert MCP content to a block, without its audience."""
    match part:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "image", "data": str(data), "mimeType": str(mime)}:
            return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}
        case {"type": "resource", "resource": {"text": str(text)}}:
            return {"type": "text", "text": text}
    return part


_SESSION_COLUMNS, _MESSAGE_COLUMNS = ("created_at", "id"), ("id", "session_id")
_PARENT = "parent_session_id"
_order = partial(order, errors="surrogateescape")


def tables(columns: dict[str, list[str]]) -> dict[str, tuple[str, ...]] | None:
    """Check for sessions, and messages with a session id and ``content_json``."""
    sessions, messages = columns.get("sessions", []), columns.get("messages", [])
    if not ({*_SESSION_COLUMNS} <= {*sessions} and {*_MESSAGE_COLUMNS, "content_json"} <= {*messages}):
        return None
    return {"sessions": (*_SESSION_COLUMNS, *([_PARENT] if _PARENT in sessions else [])), "messages": _MESSAGE_COLUMNS}


def families(index: dict[str, list[tuple[Any, ...]]]) -> list[dict[str, list[int]]]:
    """Group each session with the sessions that it started, in order of time; drop messages without a session."""
    families_by_root: dict[object, dict[str, list[int]]] = {}
    roots: dict[object, object] = {}
    sessions = sorted(index["sessions"], key=lambda row: (_order(row[1]), _order(row[2])))
    known = {key(row[2]) for row in sessions}
    for rowid, _, own, *parent in sessions:
        above = key(parent[0]) if parent and parent[0] is not None else None
        root = roots.get(above, above) if above in known and above != key(own) else key(own)
        roots.setdefault(key(own), root)
        families_by_root.setdefault(root, {"sessions": [], "messages": []})["sessions"].append(rowid)
    for rowid, _, session in sorted(index["messages"], key=lambda row: _order(row[1])):
        if (root := roots.get(key(session))) in families_by_root:
            families_by_root[root]["messages"].append(rowid)
    return [each for each in families_by_root.values() if each["sessions"]]


def from_rows(rows: dict[str, list[Object]]) -> list[Json]:
    """Return the sessions of a family in the form of exports; raise ``TurnError`` for invalid messages."""
    sessions: list[Object] = []
    by_id: dict[object, list[Json]] = {}
    for row in rows.get("sessions", []):
        header = {name: value for name, value in row.items() if isinstance(value, str | int | float)}
        sessions.append({"working_dir": "", **header, "conversation": []})
        by_id.setdefault(key(row.get("id")), sessions[-1]["conversation"])
    for row in rows.get("messages", []):
        if (messages := by_id.get(key(row.get("session_id")))) is not None:
            messages.append(_message(row))
    return list(sessions)


def _message(row: Object) -> Object:
    place = f"message {row.get('id')} of session {row.get('session_id')}"
    role = row.get("role")
    # SQLite does not check the encoding of text.
    if isinstance(role, str) and role.encode("utf-8", "surrogateescape") != role.encode("utf-8", "replace"):
        raise TurnError(f"{place}: role is not valid UTF-8")
    message = {"role": role, "created": row.get("created_timestamp")}
    message |= {"tokens": row["tokens"]} if row.get("tokens") is not None else {}
    for member, column in (("content", "content_json"), ("metadata", "metadata_json")):
        if row.get(column) is not None:
            message[member] = parse_cell(row, column, place)
    return {"id": string(row, "message_id") or None, **message}
