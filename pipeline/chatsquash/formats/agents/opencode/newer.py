"""Version 2 messages: one per model reply, with calls and their results as parts of the content."""

from __future__ import annotations

import base64

from chatsquash.core.model import Json
from chatsquash.core.times import Moment
from chatsquash.formats.agents.opencode import turns
from chatsquash.formats.agents.opencode.turns import EXECUTED, OPTIONS, CallResult, ModelTurn, SessionMessage, text
from chatsquash.formats.base import TurnError, expect_object
from chatsquash.formats.evidence import Evidence, Unread, moment
from chatsquash.formats.values import Object, at, compact, kind, members, objects, string

COMPACTION = "compaction"
TYPES = (
    *("user", "synthetic", "system", "skill", "shell", "assistant", COMPACTION),
    *("agent-switched", "model-switched", "location-switched", "idle"),
)
_BASE = ("id", "type", "time")
_READ = {
    "user": ("text", "files"),
    "synthetic": ("text", "sessionID"),
    "skill": ("text",),
    "system": ("text",),
    "shell": ("command", "output", "callID"),
    "assistant": ("content", "model", "tokens", "finish"),
    COMPACTION: ("status", "summary", "recent"),
}
_STATE = ("status", "input", "content", "error", "result")
_PART = {
    "text": ("type", "id", "text", "state", "native"),
    "reasoning": ("type", "id", "text", "time", "state", "native", "providerMetadata"),
    "tool": ("type", "id", "name", "executed", "provider", "state", "native", "providerState", "time"),
}
_PROVIDERS = {
    "signature": "anthropic",
    "redactedData": "anthropic",
    "thoughtSignature": "google",
    "reasoningEncryptedContent": "openai",
    "itemId": "openai",
}
"""The providers by provider-specific member."""
_TEXTS = ("text/plain", "application/x-directory")


def is_boundary(item: SessionMessage) -> bool:
    """Return whether a message replaces all earlier messages; false for encrypted summaries by the provider."""
    value = item.value
    is_done = value.get("type") == COMPACTION and value.get("status") in (None, "completed")
    return is_done and not value.get("providerContext")


def convert(item: SessionMessage, unread: Unread) -> list[ModelTurn]:
    """Convert a message to the turns that the model sees."""
    message_type = item.value.get("type")
    if not isinstance(message_type, str):
        raise TurnError(f"{item.place}: type is {kind(message_type)}, expected a string")
    if message_type not in _READ or (message_type == COMPACTION and not is_boundary(item)):
        unread.count(f"message of type {message_type}")
        return []
    unread.count_members(f"message.{message_type}", item.value, *_BASE, *_READ[message_type])
    if message_type == "assistant":
        return _reply_turns(item, unread)
    content = _request_parts(item, message_type, unread)
    role = "system" if message_type == "system" else "user"
    turn = {"role": role, "content": content}
    return [ModelTurn(turn, Evidence(item.line, _time(item)))] if content else []


def _time(item: SessionMessage) -> Moment | None:
    return moment(at(item.value, "time", "created"))


def _request_parts(item: SessionMessage, message_type: str, unread: Unread) -> list[Json]:
    """Return the content of a message that is not a reply."""
    value = item.value
    if message_type == "shell":
        output = at(value, "output", "output") if isinstance(value.get("output"), dict) else value.get("output")
        return [text(f"Shell command: {string(value, 'command')}\n\n{output if isinstance(output, str) else ''}")]
    if message_type == COMPACTION:
        parts = [string(value, name) for name in ("summary", "recent")]
        return [text("\n\n".join(filter(None, parts)))] if any(parts) else []
    words = [text(value["text"])] if string(value, "text") else []
    return [*words, *_files(value, unread)] if message_type == "user" else words


def _files(value: Object, unread: Unread) -> list[Json]:
    """Return the text and images that the user attached; other files are not sent."""
    content = list[Json]()
    for file in objects(value.get("files")):
        mime, data, name = (string(file, member) for member in ("mime", "data", "name"))
        place = {"data": data} if data else {"url": file.get("uri")}
        if mime.startswith("image/"):
            content.append({"type": "file", "mediaType": mime, **place, **({"filename": name} if name else {})})
        elif mime in _TEXTS and (words := _decode(data)):
            content.append(text(f"Attached file: {name}\n\n{words}" if name else words))
        else:
            unread.count("message.user.files")
    return content


def _decode(data: str) -> str:
    try:
        return base64.b64decode(data, validate=True).decode("utf-8", "replace")
    except ValueError:
        return ""


# Replies


def _reply_turns(item: SessionMessage, unread: Unread) -> list[ModelTurn]:
    content, answers, calls_by_session = list[Json](), list[tuple[Object, Object, bool]](), dict[str, str]()
    provider = string(item.value.get("model"), "providerID")
    for place, part in enumerate(_content(item)):
        where, part_type = f"{item.place}, content {place}", part.get("type")
        if not isinstance(part_type, str) or part_type not in _PART:
            unread.count(f"content of type {part_type if isinstance(part_type, str) else kind(part_type)}")
            continue
        unread.count_members(f"content.{part_type}", part, *_PART[part_type])
        if part_type != "tool":
            content.append({"type": part_type, "text": member_text(part, where), **_options(part, provider)})
            continue
        unread.count_members("content.tool.state", part.get("state"), *_STATE)
        call, answer = _call_and_result(part, where, provider)
        content.append(call)
        result = {"type": "tool-result", "toolCallId": call["toolCallId"], "toolName": call["toolName"]}
        if answer and call.get(EXECUTED):
            content.append({**result, "output": answer.output})
        elif answer:
            answers.append(turns.result_parts(result, answer))
        if child := turns.subagent_session(part["state"]):
            calls_by_session[child] = call["toolCallId"]
    known = _evidence(item)
    return turns.reply(content, known, calls_by_session, answers, 0)


def _content(item: SessionMessage) -> list[Object]:
    content = item.value.get("content")
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise TurnError(f"{item.place}: content is not a list of objects")
    return content


def member_text(part: Object, where: str) -> str:
    """Return the text of a part, which may be empty; raise ``TurnError`` if it is not a string."""
    value = part.get("text")
    if not isinstance(value, str):
        raise TurnError(f"{where}: text is {kind(value)}, expected a string")
    return value


def _options(part: Object, provider: str) -> Object:
    """Return the provider-specific metadata of a part, by provider."""
    metadata = part.get("providerMetadata") or at(part, "provider", "metadata")
    if isinstance(metadata, dict) and metadata:
        return {OPTIONS: {key: value for key, value in metadata.items() if isinstance(value, dict)}}
    names = ("native", "providerState") if part.get("type") == "tool" else ("native", "state")
    state = next((members(part.get(name)) for name in names if members(part.get(name))), {})
    whose = next((who for name, who in _PROVIDERS.items() if name in state), provider)
    return {OPTIONS: {whose: state}} if state and whose else {}


def _call_and_result(part: Object, where: str, provider: str) -> tuple[Object, CallResult | None]:
    state = expect_object(part.get("state"), f"{where}: state is")
    is_hosted = part.get("executed") is True or at(part, "provider", "executed") is True
    call = {
        "type": "tool-call",
        "toolCallId": turns.member(part, "id", where),
        "toolName": turns.member(part, "name", where),
        "input": state.get("input"),
        **({EXECUTED: True} if is_hosted else {}),
        **_options(part, provider),
    }
    return call, _answer(state)


def _answer(state: Object) -> CallResult | None:
    """Return the result of a call, or ``None`` if the call is not finished."""
    content = objects(state.get("content"))
    words = "\n".join(string(each, "text") for each in content if each.get("type") == "text")
    files = [
        turns.file_part("file-url", string(each, "mime"), each.get("uri"), string(each, "name"))
        for each in content
        if each.get("type") == "file"
    ]
    match state.get("status"):
        case "completed":
            result_text = words if content else _value(state.get("result"))
            return CallResult(turns.texts_and_files(result_text, files))
        case "error":
            error = state.get("error")
            message = string(error, "message") or _value(error)
            return CallResult(turns.error_output("\n".join(filter(None, [words, message]))))
    return None


def _value(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else compact(value)


def _evidence(item: SessionMessage) -> Evidence:
    value = item.value
    prompt, completion = turns.tokens(value.get("tokens"), is_split=True)
    model = string(value.get("model"), "id") or None
    is_complete = not value.get("error") and at(value, "time", "completed") is not None
    reason = turns.finish_reason(string(value, "finish"), is_complete=is_complete)
    return Evidence(item.line, _time(item), True, model, prompt, completion, reason)
