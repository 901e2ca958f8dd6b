"""The Hugging Face Hub's session traces (STS): a header line, then a line for each message."""

from __future__ import annotations

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.base import TurnError, expect_object
from chatsquash.formats.calls import assistant_message, spell_call, tool_message
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, entries, load_conversation, moment
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.threads import text, with_unread
from chatsquash.formats.values import Object, at, compact, objects, string

NAME = "session_trace"
HAS_TOOLS = False
MEMBERS = ("harness",)

_MESSAGE = ("role", "content", "reasoningContent", "toolCalls", "toolCallId", "timestamp", "model")
_FIRST = 20


def fits(values: list[Json]) -> str | None:
    """Check for a header with a harness, without lines that belong to Pi."""
    header = values[0] if values else None
    is_header = (
        at(header, "type") == "session" and bool(string(header, "harness")) and isinstance(at(header, "id"), str)
    )
    is_of_pi = any("parentId" in each for each in objects(values[1:_FIRST]))
    return "a line of type session with harness" if is_header and not is_of_pi else None


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the conversation after each header; the format has no tool definitions."""
    sessions = list[tuple[str, list[LoggedTurn]]]()
    unread = Unread()
    for number, line, value in entries(values, lines):
        place = f"line {line or number}"
        if at(value, "type") == "session":
            sessions.append((string(value, "id"), []))
        elif at(value, "type") != "message":
            unread.count(f"line {compact(at(value, 'type'))[:40]}")
        elif not sessions:
            raise TurnError(f"{place}: message before the session line")
        else:
            message = expect_object(at(value, "message"), f"{place}: message is")
            unread.count_members("message", message, *_MESSAGE)
            sessions[-1][1].append(_turn(message, place, line))
    converted = [load_conversation(openai_chat, turns, session_id=name) for name, turns in sessions if turns]
    return with_unread(converted, unread)


def _turn(message: Object, place: str, line: int) -> LoggedTurn:
    role, content = message.get("role"), message.get("content")
    known = Evidence(line, moment(message.get("timestamp")))
    if role == "assistant":
        calls = [_call(each) for each in objects(message.get("toolCalls"))]
        turn = assistant_message(content, calls, text(message.get("reasoningContent")) or "")
        return LoggedTurn(place, turn, known._replace(is_sampled=True, model=text(message.get("model"))))
    if role == "tool":
        return LoggedTurn(place, tool_message(message.get("toolCallId"), content), known)
    if role not in ("user", "system"):
        raise TurnError(f"{place}: unknown role {compact(role)[:40]}")
    return LoggedTurn(place, {"role": role, "content": content}, known)


def _call(call: Object) -> Object:
    return spell_call(call.get("id"), at(call, "function", "name"), at(call, "function", "arguments"))
