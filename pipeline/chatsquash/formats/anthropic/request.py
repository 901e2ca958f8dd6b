"""What a request to Anthropic holds: the system prompt, turns, tools."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import cast

from chatsquash import chat, reasoning
from chatsquash.formats.anthropic.blocks import sorted_out
from chatsquash.formats.base import LoadedTurn, Tools, TurnError, with_private
from chatsquash.formats.calls import Remembering, State, assistant, results_first
from chatsquash.formats.values import Object, compact, kind, listed, string, without
from chatsquash.model import Json, Message, Tool

START = State()

_ROLES = ("user", "assistant", "system")
_CLIENT_TOOLS = ("bash_", "text_editor_", "computer_", "memory_")
"""Tools that Anthropic defines and the client runs, so that their calls are ordinary ones."""
_FUNCTION = {"name": "name", "description": "description", "input_schema": "parameters", "strict": "strict"}
"""The members of a tool, and their names in a function."""


def system(value: Json) -> list[Message]:
    """One message, whose parts are the blocks; none for an empty prompt."""
    if value is None or value in ("", []):
        return []
    if not isinstance(value, str | list):
        raise TurnError(f"is {kind(value)}, not text or a list of blocks")
    return [_told("system", value, {"from": "system"})]


def load(turn: Json, state: State) -> LoadedTurn:
    """One message per turn; a user's results are messages of their own, before what else the turn says."""
    if not isinstance(turn, dict):
        raise TurnError("is no object")
    role, content = _role(turn), turn.get("content")
    if "content" not in turn:
        raise TurnError("has no content")
    if turn.get("tool_calls"):
        raise TurnError("has tool_calls, which turns of Anthropic have not")
    if not isinstance(content, str | list | None):
        raise TurnError(f"has a content that is {kind(content)}, not text or a list of blocks")
    if role == "assistant":
        loaded = said(content, state)
    elif role == "user" and isinstance(content, list) and any(map(_is_result, content)):
        loaded = _answers(content, state)
    else:
        loaded = LoadedTurn([_told(role, content, {})], state)
    if len(turn) == 2:  # its role and its content
        return loaded
    first, *others = loaded.messages
    first = with_private(first, {**chat.private(first), "turn": without(turn, "role", "content")})
    return LoadedTurn([first, *others], loaded.state)


def _role(turn: Object) -> str:
    role = turn.get("role")
    if role is None or role == "":
        raise TurnError("has no role")
    if role not in _ROLES:
        raise TurnError(f"has the role {compact(role)[:40]}, which is none of Anthropic's")
    return str(role)


def _told(role: str, content: Json, extra: Object) -> Message:
    """A message without calls."""
    if not isinstance(content, list):
        return with_private({"role": role, "content": content}, extra)
    found = sorted_out(enumerate(content))
    return with_private({"role": role, "content": found.content()}, {**found.private(), **extra})


def said(content: Json, state: State) -> LoadedTurn:
    """What the assistant says, thinks and calls."""
    if not isinstance(content, list):
        return LoadedTurn([assistant(content, "", [])], state.but(open=()))
    message = _remembered(content, state.call)
    return LoadedTurn([message], state.called(message.get("tool_calls", [])))


def _said(blocks: list[Json], number: int) -> Message:
    found = sorted_out(enumerate(blocks), first_call=number)
    message = assistant(found.content(), reasoning.joined(found.thinking), found.calls)
    return with_private(message, found.private())


_remembered = Remembering(_said)


# Results


def _is_result(block: Json) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _answers(blocks: list[Json], state: State) -> LoadedTurn:
    """Results and what stands behind or between them; what stands before them follows the first of them."""
    ordered = results_first(list(enumerate(blocks)), lambda pair: _is_result(pair[1]))
    ids, state = _answered([block for _, block in ordered if _is_result(block)], state)
    messages: list[Message] = []
    for are_results, group in groupby(ordered, key=lambda pair: _is_result(pair[1])):
        if are_results:
            messages += [_result(block, next(ids)) for _, block in group]
        else:
            found = sorted_out(group)
            told: Message = {"role": "user", "content": found.content()}
            messages.append(with_private(told, {**found.private(), "same_turn": True}))
    return LoadedTurn(messages, state)


def _answered(results: list[Object], state: State) -> tuple[Iterator[str], State]:
    """The ids that results answer; those without one answer calls that none of the others does."""
    logged = [string(block, "tool_use_id") for block in results]
    state = state.but(open=tuple(call for call in state.open if call[0] not in logged))
    ids = []
    for block, own in zip(results, logged, strict=True):
        answered, state = state.answer(own, block.get("name"))
        ids.append(answered)
    return iter(ids), state


def _result(block: Object, call_id: str) -> Message:
    logged, failed, name = block.get("tool_use_id"), block.get("is_error"), string(block, "name")
    taken = ["type", "content", *(["name"] if name else [])]
    taken += [key for key, of in (("tool_use_id", str), ("is_error", bool)) if isinstance(block.get(key), of)]
    extra = {"is_error": failed is True, "synthetic_id": logged != call_id, "block": without(block, *taken)}
    content, more = _output(block.get("content"))
    message: Message = {"role": "tool", "tool_call_id": call_id, "content": content}
    if name:
        message["name"] = name
    return with_private(message, {**more, **extra})


def _output(content: Json) -> tuple[Json, Object]:
    """A result's content, and what is private of it; what has neither text nor other parts is JSON."""
    if content is None or isinstance(content, str):
        return content or "", {}
    if isinstance(content, list) and all(isinstance(b, dict) and isinstance(b.get("type"), str) for b in content):
        found = sorted_out(enumerate(content))
        if found.parts or not content:
            return found.content(), found.private()
    return compact(content), {"json": True}


# Tools


def tools(value: Json) -> Tools:
    """Definitions with a schema, and those of Anthropic's own tools that the client runs; all others are hosted."""
    functions = [_function(tool) for tool in listed(value) if _is_function(tool)]
    return Tools(functions, [tool for tool in listed(value) if not _is_function(tool)])


def _is_function(tool: Json) -> bool:
    if not isinstance(tool, dict):
        return False
    of = tool.get("type")
    ours = of in (None, "custom") or (isinstance(of, str) and of.startswith(_CLIENT_TOOLS))
    return "input_schema" in tool or (ours and string(tool, "name") != "")


def _function(tool: Object) -> Tool:
    function = {ours: tool[theirs] for theirs, ours in _FUNCTION.items() if tool.get(theirs) is not None}
    return with_private(cast("Message", {"type": "function", "function": function}), without(tool, *_FUNCTION))
