"""goose's sessions: one object with a conversation, lines behind one with the metadata, or a database of both."""

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
from chatsquash.formats.values import Object, as_list, at, compact, count, kind, objects, string, without

NAME = "goose"
HAS_TOOLS = False
MEMBERS = ("working_dir", "content")
LOCATIONS = (
    "${GOOSE_PATH_ROOT:-<data>/goose}/**/sessions.db",
    "${GOOSE_PATH_ROOT:-<data>/goose}/**/sessions/*.jsonl",
)

_TURNS = ("conversation", "messages")
_BESIDE = (*_TURNS, "message_count", "description")
_CALLS = ("toolRequest", "frontendToolRequest")
_TAGS = (*_CALLS, "toolResponse", "redactedThinking", "toolConfirmationRequest", "systemNotification")
_SESSION = (*_TURNS, "message_count", "id", "created_at", "updated_at", "session_type", "parent_session_id")
_MODEL = ("model_config", "model_config_json", "input_tokens", "output_tokens")
_MESSAGE = ("id", "role", "created", "content", "metadata")
_METADATA = ("agentVisible", "userVisible", "usage")

_Line = tuple[int, int, Object]
"""The place of an object in the file, its line, and the object."""


def fits(values: list[Json]) -> str | None:
    """Check for sessions with a working directory, or for messages with camel-case tags or visibility flags."""
    first = values[0] if values else None
    if isinstance(first, dict) and "working_dir" in first and any(name in first for name in _BESIDE):
        return "working_dir and " + next(name for name in _BESIDE if name in first)
    if values and all(isinstance(each, dict) and isinstance(each.get("content"), list) for each in values):
        count = sum(map(_has_tags, values))
        return f"metadata.agentVisible or content such as toolRequest in {count} lines" if count else None
    return None


def _has_tags(message: Object) -> bool:
    tagged = any(block.get("type") in _TAGS for block in objects(message["content"]))
    return tagged or isinstance(at(message, "metadata", "agentVisible"), bool)


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return what the model sees of each session, then what it saw of it before each compaction.

    Neither the system prompt nor the tools are kept in it.
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
    used = last._replace(evidence=_with_session_usage(last.evidence, header))
    whole = [*earlier, used]
    own = id_text(header.get("id")) or lines[0][0]
    names = [f"{own}.{number}" for number in range(1, len(whole) + 1)] if earlier else [""]
    *others, first = [_conversation(each, header, names[: number + 1]) for number, each in enumerate(whole)]
    return [with_origin(first, unread=unread.counts_for(0)), *others]


def is_visible(message: Json) -> bool:
    """Whether the model currently sees a message."""
    return at(message, "metadata", "agentVisible") is not False


def is_for_model(message: Json) -> bool:
    """Whether goose wrote a message for the model alone: a summary, or its answer to one."""
    return at(message, "metadata", "userVisible") is False


def eras(turns: list[LoggedTurn]) -> list[list[LoggedTurn]]:
    """Return the messages before the first compaction, those after it, and so on, each from its summary on.

    A compaction hides all messages that were there, and adds a summary in the user's name with an answer to it.  What
    stands for a single call and its result is in the user's name, too, and has no answer.
    """
    spans: list[list[LoggedTurn]] = [[]]
    hides = True
    for place, each in enumerate(turns):
        hides_all = hides and is_visible(each.turn)
        behind = turns[place + 1].turn if place + 1 < len(turns) else None
        is_answered = is_for_model(behind) and at(behind, "role") == "assistant"  # by goose itself
        if _is_summary(turns, place) and (hides_all or is_answered):
            spans.append([])
        hides = hides and not is_visible(each.turn)
        spans[-1].append(each)
    return spans


def before_compaction(era: list[LoggedTurn]) -> list[LoggedTurn]:
    """Return what the model saw before a compaction; summaries of single calls stay beside them."""
    first = next((place for place, each in enumerate(era) if not is_for_model(each.turn)), len(era))
    return [*era[:first], *(each for each in era[first:] if not is_for_model(each.turn))]


def _is_summary(turns: list[LoggedTurn], place: int) -> bool:
    """Whether a message is a summary; of several in a row that goose wrote, only the first is."""
    message = turns[place].turn
    begins = place > 0 and not is_for_model(turns[place - 1].turn)
    return begins and is_for_model(message) and at(message, "role") == "user"


def _load(read: list[LoggedTurn], unread: Unread) -> LoggedMessages:
    turns = [each._replace(turn=turn) for each in read if (turn := _turn(each.turn, each.place, unread))]
    loaded = load_turns(anthropic, turns)
    return loaded._replace(messages=list(map(_with_signatures, loaded.messages)))


def _conversation(loaded: LoggedMessages, header: Object, names: list[str]) -> Conversation:
    """Return a conversation that continues from a summary of the previous one; ``names``: the ids up to it."""
    *before, name = names
    known: Object = {"session_id": id_text(header.get("id")), "id": name}
    if before:
        known |= {"kind": "compacted", "parent": before[-1]}
    elif header.get("session_type") == "sub_agent":
        known |= {"kind": "subagent", "parent": string(header, "parent_session_id") or None}
    times = span(header.get("created_at"), header.get("updated_at"))
    return Conversation(loaded.messages, [], origin=origin(loaded, session_times=times, **known))


def _model(header: Object) -> str | None:
    """Return the model that the session is set to."""
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
    used = at(message, "metadata", "usage")
    tokens = count(at(used, "inputTokens")), count(at(used, "outputTokens"))
    return Evidence(line, moment(message.get("created")), True, model, *tokens)


def _with_session_usage(evidence: list[Evidence], header: Object) -> list[Evidence]:
    """Apply the tokens of the session to its last reply, if that has none."""
    places = [place for place, each in enumerate(evidence) if each.is_sampled]
    if not places or evidence[places[-1]].prompt_tokens is not None:
        return evidence
    last = places[-1]
    sent, said = (count(header.get(name)) for name in ("input_tokens", "output_tokens"))
    used = evidence[last]._replace(prompt_tokens=sent, completion_tokens=said)
    return [*evidence[:last], used, *evidence[last + 1 :]]


def _messages_of(session: Object, place: int) -> list[tuple[str, Json]]:
    """Return the messages in the object of a session; empty if they are lines of their own."""
    name = next((name for name in _TURNS if session.get(name) is not None), "")
    messages = expect_list(session.get(name, []), f"entry {place} has a {name} that is")
    return [(f"{name}[{number}]", message) for number, message in enumerate(messages)]


def _turn(message: Json, place: str, unread: Unread) -> Object | None:
    """Return a message as Anthropic's, without its id and time; ``None`` if only the user sees its contents."""
    if not isinstance(message, dict):
        raise TurnError(f"{place} is no object")
    content = message.get("content")
    if not isinstance(content, str | list):
        raise TurnError(f"{place} has a content that is {kind(content)}, not a list")
    unread.count_members("message", message, *_MESSAGE)
    unread.count_members("message.metadata", message.get("metadata"), *_METADATA)
    blocks = list[Json]()
    for item in as_list(content):
        of = string(item, "type")
        if of in SHOWN:
            unread.count(member_path("message.content", str(of)))
        else:
            blocks.append(block(item))
    return {"role": message.get("role"), "content": blocks} if blocks or not content else None


def _with_signatures(message: Message) -> Message:
    """Move the signatures of calls to where those of Gemini are."""
    made = chat.turn(message)
    if made is None or made.role != "assistant":
        return message
    return {**message, chat.PRIVATE: replace(made, blocks=tuple(map(_signed_call, made.blocks)))}  # type: ignore[misc]


def _signed_call(block: Block) -> Block:
    own = block.native.get(anthropic.PROVIDER, {}) if type(block) is Call else {}
    if type(block) is not Call or not isinstance(own.get("thoughtSignature"), str):
        return block
    left = {name: value for name, value in own.items() if name != "thoughtSignature"}
    signed = {"google": {"thoughtSignature": own["thoughtSignature"]}}
    return replace(block, native={**signed, **({anthropic.PROVIDER: left} if left else {})})


SHOWN = ("systemNotification", "actionRequired", "toolConfirmationRequest", "conversationCompacted")
"""What goose shows the user, and no model."""


def block(item: Json) -> Json:
    """Return a part of a message as a block; a part unknown to Anthropic stays as it is."""
    match item:
        case {"type": "toolRequest" | "frontendToolRequest", "toolCall": dict(wrapped), **rest}:
            called = wrapped.get("value", wrapped)
            # A call that could not be parsed has neither a name nor arguments; its result needs it all the same.
            if not isinstance(called, dict) or "name" not in called:
                return {**rest, "type": "tool_use"}
            call = {"type": "tool_use", "id": item.get("id"), "name": called["name"]}
            arguments = {"input": called["arguments"]} if called.get("arguments") is not None else {}
            return {**call, **arguments, **without(rest, "id")}
        case {"type": "toolResponse", "toolResult": result}:
            return {"type": "tool_result", "tool_use_id": item.get("id"), **_output(result)}
        case {"type": "redactedThinking", **rest}:
            return {**rest, "type": "redacted_thinking"}
        case {"type": "image" | "resource" | "resource_link" | "text"}:
            return _content(item)
    return item


def _output(result: Json) -> Object:
    """Return the content of a result without parts for the user alone."""
    if isinstance(result, dict) and ("error" in result or result.get("status") == "error"):
        error = result.get("error")
        return {"content": error if isinstance(error, str) else compact(error), "is_error": True}
    value = result.get("value", result) if isinstance(result, dict) else result
    failed = {"is_error": True} if at(value, "isError") is True else {}
    content = value.get("content") if isinstance(value, dict) else value
    if not content and at(value, "structuredContent") is not None:
        content = value["structuredContent"]
    if isinstance(content, list):
        audiences = (at(part, "annotations", "audience") for part in content)
        is_seen = (not isinstance(audience, list) or "assistant" in audience for audience in audiences)
        content = list(map(_content, compress(content, is_seen)))
    return {"content": content, **failed}


def _content(part: Json) -> Json:
    """Return a content of the Model Context Protocol as a block, without its audience."""
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
    """Check for sessions, and messages that name theirs and have ``content_json``."""
    sessions, messages = columns.get("sessions", []), columns.get("messages", [])
    if not ({*_SESSION_COLUMNS} <= {*sessions} and {*_MESSAGE_COLUMNS, "content_json"} <= {*messages}):
        return None
    return {"sessions": (*_SESSION_COLUMNS, *([_PARENT] if _PARENT in sessions else [])), "messages": _MESSAGE_COLUMNS}


def families(index: dict[str, list[tuple[Any, ...]]]) -> list[dict[str, list[int]]]:
    """Group each session with those that it started, by time; a message without a session is dropped."""
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
    """Return the sessions of a family as exports; raise ``TurnError`` for an invalid message."""
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
    if isinstance(role, str) and role.encode("utf-8", "surrogateescape") != role.encode("utf-8", "replace"):
        raise TurnError(f"{place} has a role that is no UTF-8")
    message = {"role": role, "created": row.get("created_timestamp")}
    message |= {"tokens": row["tokens"]} if row.get("tokens") is not None else {}
    for member, column in (("content", "content_json"), ("metadata", "metadata_json")):
        if row.get(column) is not None:
            message[member] = parse_cell(row, column, place)
    return {"id": string(row, "message_id") or None, **message}
