"""Continue's sessions: messages with what was shown beside them, calls and their results in the assistant's items."""

from __future__ import annotations

from chatsquash.chat import PRIVATE, Private
from chatsquash.formats import openai_chat
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Evidence, Logged, Unread, origin, told
from chatsquash.formats.threads import counted, text
from chatsquash.formats.values import Object, at, compact, count, kind, listed, members, objects, string
from chatsquash.model import Conversation, Json, Tool

NAME = "continue_dev"
HOLDS_TOOLS = True
"""Only the tools that were called are kept."""
MEMBERS = ("history",)
KEPT = ("${CONTINUE_GLOBAL_DIR:-~/.continue}/sessions/*-*.json",)

_SESSION = ("sessionId", "title", "workspaceDirectory", "history", "mode", "chatModelTitle", "usage")
_ITEM = (
    *("message", "contextItems", "promptLogs", "toolCallStates", "toolCallState", "reasoning", "conversationSummary"),
    *("editorState", "modifiers", "appliedRules", "isGatheringContext"),
)
_FAILED = ("errored", "canceled")


def fits(found: list[Json]) -> str | None:
    """A session has a working directory and a history of items that each hold a message."""
    value = found[0] if len(found) == 1 else None
    items = objects(at(value, "history"))
    fitting = isinstance(at(value, "sessionId"), str) and bool(items) and all("message" in each for each in items)
    return "sessionId beside history[].message" if fitting else None


def conversations(found: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """The history, with what was shown beside a message before it; a summary stands for what is before it.

    The system prompt is that of the first prompt that was logged.
    """
    del lines
    value = found[0] if found else None
    unread = Unread()
    unread.rest("session", value, *_SESSION)
    items = at(value, "history")
    if not isinstance(items, list):
        raise TurnError(f"the history is {kind(items)}, not a list")
    model = text(at(value, "chatModelTitle"))
    turns, tools = list[Logged](), dict[str, Tool]()
    thoughts: Object = {}
    for number, item in enumerate(items):
        where = f"history[{number}]"
        if not isinstance(item, dict) or not isinstance(item.get("message"), dict):
            raise TurnError(f"{where} has no message")
        unread.rest("item", item, *_ITEM)
        turns += _turns(where, item, model, thoughts, unread)
        for defined in (members(state.get("tool")) for state in _states(item)):
            if name := text(at(defined, "function", "name")):
                tools.setdefault(name, {key: defined[key] for key in ("type", "function") if key in defined})
    if not turns:
        return []
    held = told(openai_chat, turns)
    session: Object = {"session_id": text(at(value, "sessionId"))}
    defined_tools = list(openai_chat.tools(list(tools.values())).functions)
    return counted([Conversation(held.messages, defined_tools, origin=origin(held, **session))], unread)


def _states(item: Object) -> list[Object]:
    """The calls of an item; earlier versions knew one."""
    return objects(item.get("toolCallStates")) or objects(listed(item.get("toolCallState")))


def _turns(where: str, item: Object, model: str | None, thoughts: Object, unread: Unread) -> list[Logged]:
    message = item["message"]
    role = string(message, "role")
    if role == "thinking":
        said = text(message.get("content"))
        if message.get("redactedThinking"):
            unread.one("message.redactedThinking")
        thoughts["reasoning_content"] = said or thoughts.get("reasoning_content")
        return []
    evidence = Evidence(1)
    if role == "assistant":
        return _assistant(where, item, model, thoughts)
    unread.rest(f"message {role}", message, "role", "content", "toolCallId", "id")
    content = _content(message.get("content"))
    if role == "tool":
        turn: Object = {"role": "tool", "tool_call_id": message.get("toolCallId"), "content": content}
        return [Logged(where, turn, evidence)]
    if role not in ("user", "system"):
        raise TurnError(f"{where} has the role {compact(message.get('role'))[:40]}")
    if role == "user" and (shown := _shown(item)):
        content = [{"type": "text", "text": each} for each in shown] + (
            content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
        )
    return [Logged(where, {"role": role, "content": content}, evidence)]


def _shown(item: Object) -> list[str]:
    """What stood before the user's text."""
    return [said for each in objects(item.get("contextItems")) if (said := text(each.get("content")))]


def _assistant(where: str, item: Object, model: str | None, thoughts: Object) -> list[Logged]:
    """What the assistant said, and the results of its calls."""
    message = item["message"]
    log = next(iter(objects(item.get("promptLogs"))), {})
    named = text(log.get("modelTitle")) or model
    used = message.get("usage")
    tokens = count(at(used, "promptTokens")), count(at(used, "completionTokens"))
    states = _states(item)
    calls = list(map(_call, objects(message.get("toolCalls")) or [at(each, "toolCall") for each in states]))
    thought = text(at(item, "reasoning", "text")) or thoughts.pop("reasoning_content", None)
    thoughts.clear()
    turn: Object = {"role": "assistant", "content": _content(message.get("content")) or (None if calls else "")}
    turn |= {"tool_calls": calls} if calls else {}
    turn |= {"reasoning_content": thought} if thought else {}
    results = [_result(state, output) for state in states if (output := state.get("output")) is not None]
    said = Logged(where, turn, Evidence(1, None, True, named, *tokens))
    return [said, *(Logged(where, result, Evidence(1)) for result in results)]


def _call(call: Json) -> Object:
    function = at(call, "function")
    return {"id": at(call, "id"), "type": "function", "function": function if isinstance(function, dict) else {}}


def _result(state: Object, output: Json) -> Object:
    said = "\n\n".join(string(each, "content") for each in objects(output))
    failed: Object = {PRIVATE: Private({"outcome": "failed"})} if state.get("status") in _FAILED else {}
    return {"role": "tool", "tool_call_id": state.get("toolCallId"), "content": said, **failed}


def _content(content: Json) -> Json:
    """A text, or parts as OpenAI has them."""
    if not isinstance(content, list):
        return content
    return [_part(part) for part in content]


def _part(part: Json) -> Json:
    shown = at(part, "imageUrl") if at(part, "type") == "imageUrl" else None
    return {"type": "image_url", "image_url": shown} if shown else part
