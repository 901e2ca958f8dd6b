"""Version 1 messages: a message may contain several model replies, with results as parts."""

from __future__ import annotations

from chatsquash.core.model import Json
from chatsquash.formats.agents.opencode import turns
from chatsquash.formats.agents.opencode.turns import EXECUTED, OPTIONS, CallResult, ModelTurn, SessionMessage, text
from chatsquash.formats.base import TurnError, expect_list, expect_object
from chatsquash.formats.evidence import Evidence, Unread, moment
from chatsquash.formats.values import Object, at, members, objects, string

COMPACTION = "compaction"
_BASE = ("id", "sessionID", "messageID", "type", "time")
_READ = {
    "text": ("text", "synthetic", "metadata"),
    "reasoning": ("text", "metadata"),
    "file": ("mime", "filename", "url"),
    "tool": ("callID", "tool", "state", "metadata"),
    "step-start": (),
    "step-finish": ("reason", "tokens"),
    COMPACTION: ("auto", "tail_start_id"),
    "subtask": (),
}
"""The members that are read, by part type."""
_OF_PARTS = {of: (*_BASE, *names) for of, names in _READ.items()}
_NAMES = {of: f"part.{of}" for of in _READ}
_STATE = ("status", "input", "raw", "output", "error", "attachments", "time")
_MESSAGE = ("id", "sessionID", "role", "time", "parentID", "system", "modelID", "tokens", "finish")
_OF_REPLIES = ("step-start", "step-finish", "text", "reasoning")
"""The types of parts that only replies have."""
_OWN = (EXECUTED, "codeMode")
"""The members of call metadata that are not provider-specific."""
_TEXT_FILES = ("text/plain", "application/x-directory")
"""The media types of files whose text is a separate part of the message."""
_ABORTED = "MessageAbortedError"
_INTERRUPTED = "[Tool execution was interrupted]"
_REPLACEMENTS = {COMPACTION: "What did we do so far?", "subtask": "The following tool was executed by the user"}
"""The text that opencode sends for parts without text, by part type."""


def info(item: SessionMessage) -> Object:
    """Return the metadata of a message."""
    return members(item.value.get("info"))


def parts(item: SessionMessage) -> list[Object]:
    """Return the parts of a message; raise ``TurnError`` if they are invalid."""
    message_parts = item.value.get("parts")
    if not isinstance(message_parts, list):
        message_parts = expect_list(message_parts, f"{item.place}: parts is")
    for place, part in enumerate(message_parts):
        if type(part) is not dict or type(part.get("type")) is not str:
            raise TurnError(f"{item.place}, part {place} has no type")
    return message_parts


def convert(item: SessionMessage, unread: Unread) -> list[ModelTurn]:
    """Convert a message to the turns that the model sees."""
    header = info(item)
    role = header.get("role")
    if role not in ("user", "assistant"):
        raise TurnError(f"{item.place}: unknown role; expected user or assistant")
    message_parts = parts(item)
    error = members(header.get("error"))
    if role == "assistant" and error and not _is_kept(error, message_parts):
        unread.count(f"reply with the error {string(error, 'name')}")
        return []
    _count(item, message_parts, unread)
    return (_request_turns if role == "user" else _reply_turns)(item, message_parts, unread)


def is_failed(item: SessionMessage) -> bool:
    """Return whether opencode excludes a reply from later requests."""
    error = members(info(item).get("error"))
    return bool(error) and not _is_kept(error, parts(item))


def _is_kept(error: Object, message_parts: list[Object]) -> bool:
    """Return whether a reply with an error is still sent: it had content, and the user aborted it."""
    has_content = any(part["type"] not in ("step-start", "reasoning") for part in message_parts)
    return string(error, "name") == _ABORTED and has_content


def _count(item: SessionMessage, message_parts: list[Object], unread: Unread) -> None:
    header = info(item)
    is_reply = header["role"] == "assistant"
    unread.count_members("message", header, *_MESSAGE, *(("summary",) if is_reply else ()))
    unread.count_members("entry", item.value, "info", "parts")
    for part in message_parts:
        part_type = part["type"]
        if part_type not in _READ:
            unread.count(f"part of type {part_type}")
            continue
        unread.count_members(_NAMES[part_type], part, *_OF_PARTS[part_type])
        if part_type == "tool":
            unread.count_members("part.tool.state", part.get("state"), *_STATE)


# Prompts


def _request_turns(item: SessionMessage, message_parts: list[Object], unread: Unread) -> list[ModelTurn]:
    content: list[Json] = []
    for part in message_parts:
        match part:
            case {"type": "text", "text": str(words)} if words and part.get("ignored") is not True:
                content.append(text(words))
            case {"type": "file"} if part.get("mime") in _TEXT_FILES:
                unread.count("file whose text is a separate part")
            case {"type": "file"}:
                file = turns.file_part("file", string(part, "mime"), part.get("url"), string(part, "filename"))
                content.append(file)
            case {"type": str(part_type)} if part_type in _REPLACEMENTS:
                content.append(text(_REPLACEMENTS[part_type]))
    system = string(info(item), "system")
    turn = {"role": "user", "content": content}
    known = Evidence(item.line, moment(at(info(item), "time", "created")))
    return [ModelTurn(turn, known, system=system)] if content else []


# Replies


def _reply_turns(item: SessionMessage, message_parts: list[Object], unread: Unread) -> list[ModelTurn]:
    steps = _steps(message_parts)
    replies: list[ModelTurn] = []
    for number, step in enumerate(steps, 1):
        replies += _step(item, step, unread, is_last=number == len(steps))
    return replies


def _steps(message_parts: list[Object]) -> list[list[Object]]:
    """Split parts into the model's replies."""
    steps: list[list[Object]] = [[]]
    for part in message_parts:
        if part["type"] == "step-start" and steps[-1]:
            steps.append([])
        steps[-1].append(part)
    return steps


def _step(item: SessionMessage, step: list[Object], unread: Unread, *, is_last: bool) -> list[ModelTurn]:
    content: list[Json] = []
    answers: list[tuple[Object, Object, bool]] = []
    calls_by_session: dict[str, str] = {}
    cleared_at = 0
    for part in step:
        of = part["type"]
        if of in ("text", "reasoning"):
            if isinstance(words := part.get("text"), str):
                content.append({"type": of, "text": words, **_options(part)})
        elif of == "tool":
            if at(part, "metadata", "codeMode", "parentCallID") is not None:
                # The model made only the outer call.
                unread.count("call within another call")
            else:
                call, answer = _call_and_result(part, f"{item.place}, part {string(part, 'id')}", unread)
                content.append(call)
                result = {"toolCallId": call["toolCallId"], "toolName": call["toolName"], "type": "tool-result"}
                result_part = turns.result_parts(result, answer)
                # The results of hosted calls belong to the reply; other results follow it.
                if call.get(EXECUTED):
                    content.append(result_part[0])
                else:
                    answers.append(result_part)
                    cleared_at = max(cleared_at, answer.cleared_at)
                if child := turns.subagent_session(part.get("state")):
                    calls_by_session[child] = call["toolCallId"]
    known = _evidence(item, step, is_last=is_last)
    return turns.reply(content, known, calls_by_session, answers, cleared_at)


def _options(part: Object) -> Object:
    """Return the provider-specific metadata of a part."""
    metadata = part.get("metadata")
    if not metadata or not isinstance(metadata, dict):
        return {}
    options = {key: value for key, value in metadata.items() if isinstance(value, dict) and key not in _OWN and value}
    return {OPTIONS: options} if options else {}


def _call_and_result(part: Object, where: str, unread: Unread) -> tuple[Object, CallResult]:
    state = expect_object(part.get("state"), f"{where}: state is")
    arguments, raw = state.get("input"), string(state, "raw")
    call = {
        "type": "tool-call",
        "toolCallId": turns.member(part, "callID", where),
        "toolName": turns.member(part, "tool", where),
        "input": raw if raw and not arguments else arguments,
        **({EXECUTED: True} if at(part, "metadata", EXECUTED) is True else {}),
        **_options(part),
    }
    return call, _answer(part["tool"], state, unread)


def _answer(tool: str, state: Object, unread: Unread) -> CallResult:
    """Return the result of a call."""
    match state:
        case {"status": "completed"}:
            output = string(state, "output")
            files = [
                turns.file_part("file-url", string(each, "mime"), each.get("url"), string(each, "filename"))
                for each in objects(state.get("attachments"))
            ]
            cleared = moment(at(state, "time", "compacted"))
            # The results of the tool ``invalid`` are error messages about other calls.
            result = turns.error_output(output) if tool == "invalid" else turns.texts_and_files(output, files)
            return CallResult(result, cleared.at if cleared else 0)
        case {"status": "error"}:
            metadata = state.get("metadata")
            partial_output = at(metadata, "output") if at(metadata, "interrupted") is True else None
            result = turns.error_output(partial_output if isinstance(partial_output, str) else string(state, "error"))
            return CallResult(result)
        case {"status": "pending" | "running"}:
            pass
        case _:
            unread.count("part.tool.state.status")
    # opencode sends this placeholder for unfinished calls.
    return CallResult(turns.error_output(_INTERRUPTED), is_made_up=True)


def _evidence(item: SessionMessage, step: list[Object], *, is_last: bool) -> Evidence:
    """Return the evidence for a reply."""
    header = info(item)
    started = next(filter(None, map(_start, step)), None) or at(header, "time", "created")
    known = Evidence(item.line, moment(started))
    if header.get("summary") is True or not _is_sampled(header, step):
        return known
    end: Object = next((part for part in reversed(step) if part["type"] == "step-finish"), {})
    reason = string(end, "reason")
    reason = reason or (string(header, "finish") if is_last else "")
    is_complete = not is_last or not (header.get("error") or at(header, "time", "completed") is None)
    # The usage of a message is the usage of its last reply.
    usage = end.get("tokens", header.get("tokens") if is_last else None)
    model = string(header, "modelID") or None
    return Evidence(
        known.line, known.time, True, model, *turns.tokens(usage), turns.finish_reason(reason, is_complete=is_complete)
    )


def _start(part: Object) -> Json:
    """Return the time at which a part began."""
    time = part.get("time")
    if type(time) is dict and time.get("start"):
        return time["start"]
    return at(part, "state", "time", "start") if "state" in part else None


def _is_sampled(header: Object, step: list[Object]) -> bool:
    """Return whether a model produced a reply."""
    # Calls from the user's commands have neither steps nor tokens.
    if any(part["type"] in _OF_REPLIES for part in step):
        return True
    usage = turns.tokens(header.get("tokens"))
    return bool(usage.prompt or usage.completion)
