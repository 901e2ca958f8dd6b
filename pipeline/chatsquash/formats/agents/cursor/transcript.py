"""Transcripts of Cursor's agents: what was said and called, without the results of calls."""

from __future__ import annotations

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.agents.cursor.messages import reply, thought
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import function_call, tool_message
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, load_conversation, moment
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.values import Object, as_list, at, compact, string

_ROLES = ("system", "user", "assistant")
_ENDS = "turn_ended"
_OTHERS = ("type", "uuid", "sessionId", "id")
"""Members of lines of other agents."""
_LINE = ("role", "message", "timestamp", "model")
_REDACTED = "[REDACTED]"
"""What stands in place of reasoning, at the end of a text or alone."""


def is_one(values: list[Json]) -> bool:
    """Whether all lines are bare messages or marks of a turn's end."""
    said = 0
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
        said += 1
    return said > 0


def conversations(placed: list[tuple[int, int, Object]], unread: Unread) -> list[Conversation]:
    """Return the conversation of the lines."""
    turns = [each for place, line, value in placed for each in _read(f"entry {place}", line, value, unread)]
    conversation = load_conversation(openai_chat, turns)
    return [conversation] if conversation.messages else []


def _read(place: str, line: int, value: Object, unread: Unread) -> list[LoggedTurn]:
    role, message = value.get("role"), value.get("message")
    if role is None and isinstance(value.get("type"), str):
        unread.one(f"line of the type {value['type']}")
        return []
    if role not in _ROLES or not isinstance(message, dict):
        raise TurnError(f"{place} has the role {compact(role)[:40]} and a message that is none")
    unread.rest("line", value, *_LINE)
    unread.rest("line.message", message, "role", "content")
    known = Evidence(line, moment(value.get("timestamp")))
    if role == "assistant":
        known = known._replace(is_sampled=True, model=string(value, "model") or None)
    content = message.get("content")
    if not isinstance(content, str | list):
        raise TurnError(f"{place} has a content that is neither a text nor a list")
    turns = _turns(role, content, known.model or "")
    if not turns:
        unread.one("reply of which nothing is kept")
    return [LoggedTurn(place, turn, known) for turn in turns]


def _turns(role: Json, content: Json, model: str) -> list[Object]:
    if role != "assistant":
        return _other_turns(role, content)
    shown, thoughts, calls = list[Json](), list[Json](), list[Json]()
    for part in as_list(content):
        match part:
            case str(text) | {"type": "text", "text": str(text)}:
                said, is_redacted = _without_redaction(text)
                thoughts += [thought("", "", _REDACTED, model)] if is_redacted else []
                shown += [{"type": "text", "text": said}] if said else []
            case {"type": "tool_use", "name": name, **more}:
                calls.append(function_call(more.get("id"), name, more.get("input")))
            case {"type": "thinking", "thinking": str(text), **more}:
                thoughts.append(thought(text, string(more, "signature"), "", model))
            case {"type": "redacted-reasoning" | "redacted_thinking", "data": str(data)}:
                thoughts.append(thought("", "", data, model))
            case _:
                shown.append(part)
    is_bare = not shown and not calls and all(each.get("data") == _REDACTED for each in thoughts)
    if is_bare and thoughts:
        return []
    return [reply(shown, thoughts, calls)]


def _without_redaction(text: str) -> tuple[str, bool]:
    """Return a text without the mark of withheld reasoning, and whether it had one."""
    said = text.rstrip()
    if said == _REDACTED or said.endswith(f"\n{_REDACTED}"):
        return said.removesuffix(_REDACTED).rstrip("\n"), True
    return text, False


def _other_turns(role: Json, content: Json) -> list[Object]:
    """Return the turns of a prompt, and of results, which only few versions have."""
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    answers = [part for part in content if at(part, "type") == "tool_result"]
    others = [part for part in content if at(part, "type") != "tool_result"]
    results = [_answer(part) for part in answers]
    return [*results, {"role": role, "content": others}] if others or not results else results


def _answer(part: Object) -> Object:
    failed = "failed" if part.get("is_error") is True else ""
    content = part.get("content")
    return tool_message(part.get("tool_use_id"), "" if content is None else content, failed)
