"""Copilot chat sessions of VS Code: an object with requests, or a log of operations that build one."""

from __future__ import annotations

from msgspec.structs import replace

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.base import TurnError, expect_list, expect_object
from chatsquash.formats.calls import assistant_message, spell_call, tool_message
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, moment
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.retention import never
from chatsquash.formats.threads import load_eras, text, with_unread
from chatsquash.formats.values import Object, as_list, at, count, kind, members, objects, string

NAME = "vscode_chat"
HAS_TOOLS = False
MEMBERS = ("requests", "kind")
LOCATIONS = (
    "<config>/Code/User/workspaceStorage/*/chatSessions/*.json*",
    "<config>/Code/User/globalStorage/emptyWindowChatSessions/*.json*",
)
RETENTION = never("VS Code", "microsoft/vscode at 047238f9", "sessions that its list no longer shows stay on the disk")

_SESSION = ("version", "sessionId", "creationDate", "lastMessageDate", "requests", "requesterUsername")
_REQUEST = ("requestId", "message", "response", "result", "modelId", "timestamp", "isCanceled", "responseId")
_ROUND = ("id", "response", "toolCalls", "thinking", "toolInputRetry")
_LONGEST_PATH = 100
_FURTHEST = 1_000_000
"""The maximum list index in an operation."""


def fits(values: list[Json]) -> str | None:
    """Check for requests with a message and a response, or for an operation log that begins with a session."""
    if is_log(values):
        state = at(values[0], "v")
        return "an operation log of requests" if isinstance(at(state, "requests"), list) else None
    value = values[0] if len(values) == 1 else None
    requests = objects(at(value, "requests"))
    known = bool(requests) and all(isinstance(at(each, "message"), dict) and "response" in each for each in requests)
    return "requests[].message and response" if known else None


def is_log(values: list[Json]) -> bool:
    """Return whether the lines are operations, of which the first sets the state."""
    return bool(values) and at(values[0], "kind") == 0 and isinstance(at(values[0], "v"), dict)


def conversations(values: list[Json]) -> list[Conversation]:
    """Return the conversation at the end, then the conversations before each summary.

    Neither the system prompt nor the tools are stored.
    """
    value = _replay(values) if is_log(values) else values[0] if values else None
    requests = expect_list(at(value, "requests"), "requests is")
    unread = Unread()
    unread.count_members("session", value, *_SESSION)
    eras: list[list[LoggedTurn]] = [[]]
    for number, request in enumerate(requests):
        _add_request(request, f"requests[{number}]", eras, unread)
    replied = [era for era in eras if any(each.evidence.is_sampled for each in era)] or eras[-1:]
    return with_unread(load_eras(openai_chat, replied, session_id=text(at(value, "sessionId"))), unread)


def _add_request(request: Json, where: str, eras: list[list[LoggedTurn]], unread: Unread) -> None:
    """Add the turns of a request and its response."""
    expect_object(request, f"{where} is")
    unread.count_members("request", request, *_REQUEST)
    metadata = members(at(request, "result", "metadata"))
    time = moment(request.get("timestamp"))
    eras[-1].append(LoggedTurn(where, {"role": "user", "content": _prompt(request, metadata)}, Evidence(1, time)))
    rounds = objects(metadata.get("toolCallRounds"))
    summaries = {string(each, "toolCallRoundId"): string(each, "text") for each in objects(metadata.get("summaries"))}
    results = members(metadata.get("toolCallResults"))
    known = Evidence(1, time, True, text(metadata.get("resolvedModel")) or text(request.get("modelId")))
    for number, each in enumerate(rounds):
        unread.count_members("round", each, *_ROUND)
        turn = _round(each)
        is_last = number == len(rounds) - 1  # the only round whose token counts are logged
        tokens = (count(metadata.get("promptTokens")), count(metadata.get("outputTokens"))) if is_last else (None, None)
        if turn is None:
            continue
        words = replace(known, prompt_tokens=tokens[0], completion_tokens=tokens[1])
        eras[-1].append(LoggedTurn(where, turn, words))
        for call in turn.get("tool_calls", []):
            name = string(call, "id")
            if name in results:
                eras[-1].append(LoggedTurn(where, tool_message(name, _result_text(results[name])), Evidence(1)))
        if summary := summaries.get(string(each, "id")):
            eras.append([LoggedTurn(where, {"role": "user", "content": summary}, Evidence(1))])
    if not rounds and (displayed := _displayed_text(request, unread)):
        eras[-1].append(LoggedTurn(where, {"role": "assistant", "content": displayed}, known))


def _prompt(request: Object, metadata: Object) -> Json:
    """Return the prompt as rendered for the model, or else the user's text."""
    rendered = [words for part in objects(metadata.get("renderedUserMessage")) if (words := text(part.get("text")))]
    message = request.get("message")
    return "\n".join(rendered) or (message if isinstance(message, str) else string(message, "text"))


def _round(value: Object) -> Object | None:
    """Convert a round to a reply with text, thoughts and calls."""
    names = ("id", "name", "arguments")
    calls = [spell_call(*map(call.get, names)) for call in objects(value.get("toolCalls"))]
    thinking = at(value, "thinking", "text")
    thoughts = "".join(part for part in as_list(thinking) if isinstance(part, str))
    words = text(value.get("response"))
    if not (calls or thoughts or words):
        return None
    return assistant_message(words, calls, thoughts)


def _result_text(result: Json) -> str:
    """Return the text of a result, which may be a tree of rendered nodes."""
    texts, waiting = list[str](), [result]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            texts.append(each)
        elif isinstance(each, list):
            waiting += reversed(each)
        elif isinstance(each, dict):
            inner = [each[name] for name in ("content", "value", "node", "children", "text") if name in each]
            # Binary data is not part of the text.
            if string(each, "mimeType") and "data" in each:
                texts.append(f"[{each['mimeType']}]")
            waiting += reversed(inner)
    return "".join(texts)


def _displayed_text(request: Object, unread: Unread) -> str:
    """Return the displayed response of a request without rounds."""
    words = list[str]()
    for part in as_list(request.get("response")):
        part_kind = string(part, "kind")
        value = at(part, "value")
        text_on_screen = value if isinstance(value, str) else string(value, "value")
        if part_kind in ("", "markdownContent") and (text_on_screen or string(at(part, "content"), "value")):
            words.append(text_on_screen or string(at(part, "content"), "value"))
        else:
            unread.count(f"response of kind {part_kind or 'none'}")
    return "".join(words)


# Operations


def _replay(operations: list[Json]) -> Json:
    """Return the state after all operations; raise ``TurnError`` for an operation that cannot be applied."""
    state: Json = at(operations[0], "v")
    for number, line in enumerate(operations[1:], 2):
        place = f"entry {number}"
        path = at(line, "k")
        if at(line, "kind") == 0:
            state = at(line, "v")
            continue
        if not isinstance(path, list) or not path or len(path) > _LONGEST_PATH:
            raise TurnError(f"{place}: path is {kind(path)}, expected a list of names")
        holder = state
        for step in path[:-1]:
            holder = _inside(holder, step)
        _apply(holder, path[-1], line, place)
    return state


def _inside(holder: Json, step: Json) -> Json:
    if isinstance(holder, dict) and isinstance(step, str):
        return holder.get(step)
    if isinstance(holder, list) and type(step) is int and 0 <= step < len(holder):
        return holder[step]
    return None


def _apply(holder: Json, last: Json, line: Json, place: str) -> None:
    """Set, append or delete the value at the end of a path."""
    operation, value = at(line, "kind"), at(line, "v")
    if operation == 2:
        target = _inside(holder, last)
        if target is None and isinstance(holder, dict) and isinstance(last, str):
            target = holder[last] = []
        if not isinstance(target, list):
            raise TurnError(f"{place} adds to a value that is not a list")
        start = at(line, "i")
        # An append may first truncate the list.
        if type(start) is int and 0 <= start <= len(target):
            del target[start:]
        target.extend(value if isinstance(value, list) else [])
        return
    if isinstance(holder, dict) and isinstance(last, str):
        if operation == 3:
            holder.pop(last, None)
        else:
            holder[last] = value
    elif isinstance(holder, list) and type(last) is int and 0 <= last <= min(len(holder), _FURTHEST):
        _at_place(holder, last, value, is_deleted=operation == 3)
    else:
        raise TurnError(f"{place} changes a value that does not exist")


def _at_place(holder: list[Json], last: int, value: Json, *, is_deleted: bool) -> None:
    if is_deleted:
        # Deleting an element leaves a hole, as in JavaScript.
        holder[last : last + 1] = [None] if last < len(holder) else []
    elif last == len(holder):
        holder.append(value)
    else:
        holder[last] = value
