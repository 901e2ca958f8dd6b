"""What a request to Anthropic holds: the system prompt, turns, tools."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from msgspec.structs import replace

from chatsquash.core import chat
from chatsquash.core.blocks import Block, Call, Result, Text, Turn
from chatsquash.core.model import Json, Tool
from chatsquash.formats.base import LoadedTurn, Tools, TurnError, with_private
from chatsquash.formats.calls import State, native, results_first
from chatsquash.formats.definition_cache import once_per_definition
from chatsquash.formats.definitions import function_tool
from chatsquash.formats.providers.anthropic.blocks import PROVIDER, block_of, blocks_of, said_in
from chatsquash.formats.values import Object, as_list, compact, kind, string
from chatsquash.formats.writing import are_instructions

START = State()

_ROLES = ("user", "assistant", "system")
_FUNCTION = {"name": "name", "description": "description", "input_schema": "parameters", "strict": "strict"}
"""The members of a tool, and their names in a function."""


def system(value: Json) -> list[Turn]:
    """One turn, of the blocks of the prompt, unless some are marked as instructions; none for an empty one."""
    if value is None or value in ("", []):
        return []
    if not isinstance(value, str | list):
        raise TurnError(f"is {kind(value)}, not text or a list of blocks")
    runs = groupby(as_list(value), are_instructions)
    return [Turn("system", blocks_of(list(run)), marked) for marked, run in runs]


def load(turn: Json, state: State) -> LoadedTurn:
    """One turn for each; a user's results are a turn of their own, before what else he says."""
    if not isinstance(turn, dict):
        raise TurnError("is not an object")
    role, content = _role(turn), turn.get("content")
    if "content" not in turn:
        raise TurnError("has no content")
    if turn.get("tool_calls"):
        raise TurnError("has tool_calls, which turns of Anthropic have not")
    if content is not None and not isinstance(content, (str, list)):
        raise TurnError(f"has a content that is {kind(content)}, not text or a list of blocks")
    if role == "assistant":
        loaded = said(content, state)
    elif role == "user" and isinstance(content, list) and any(map(_is_result, content)):
        loaded = _answers(content, state)
    else:
        loaded = LoadedTurn([Turn(role, blocks_of(content))], state)
    if len(turn) == 2:  # its role and its content
        return loaded
    first, *others = loaded.turns
    return LoadedTurn([replace(first, native=native(PROVIDER, turn, "role", "content")), *others], loaded.state)


def _role(turn: Object) -> str:
    role = turn.get("role")
    if role in _ROLES:
        return str(role)
    if role is None or role == "":
        raise TurnError("has no role")
    raise TurnError(f"has the role {compact(role)[:40]}, which is not one of Anthropic's")


def said(content: Json, state: State) -> LoadedTurn:
    """What the assistant says, thinks and calls."""
    if not isinstance(content, list):
        return LoadedTurn([Turn("assistant", blocks_of(content))], state.evolve(open=()))
    turn = _said(content, state.call)
    return LoadedTurn([turn], state.after_calls(turn.blocks))


def _said(content: list[Json], number: int) -> Turn:
    found = list[Block]()
    for each in content:
        blocks = block_of(each, number)
        found += blocks
        number += blocks != () and type(blocks[0]) is Call and blocks[0].made_up
    return Turn("assistant", tuple(found))


# Results


def _is_result(block: Json) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _answers(content: list[Json], state: State) -> LoadedTurn:
    """Results and what stands behind or between them; what stands before them follows the first of them."""
    if all(map(_is_result, content)):  # as most are
        ids, state = _answered_ids(content, state)
        return LoadedTurn([Turn("tool", tuple(map(_result, content, ids)))], state)
    ordered = results_first(content, _is_result)
    ids, state = _answered_ids([block for block in ordered if _is_result(block)], state)
    turns = list[Turn]()
    for are_results, group in groupby(ordered, key=_is_result):
        if are_results:
            turns.append(Turn("tool", tuple(_result(block, next(ids)) for block in group)))
        else:
            turns.append(Turn("user", blocks_of(list(group))))
    return LoadedTurn(turns, state)


def _answered_ids(results: list[Object], state: State) -> tuple[Iterator[str], State]:
    """The ids that results answer; those without one answer calls that none of the others does."""
    logged = [string(block, "tool_use_id") for block in results]
    state = state.without(set(logged)) if state.open else state
    if all(logged):  # as most are
        return iter(logged), state
    ids = []
    for block, own in zip(results, logged, strict=True):
        answered, state = state.answer(own, block.get("name"))
        ids.append(answered)
    return iter(ids), state


def _result(block: Object, answered: str) -> Result:
    if len(block) == 3 and type(text := block.get("content")) is str and text and block.get("tool_use_id") == answered:
        return Result(answered, content=(Text(text),))  # as most are
    failed, name, said = block.get("is_error"), block.get("name"), said_in(block.get("content"))
    read = ["type", "content", "tool_use_id", *(["name"] if isinstance(name, str) else [])]
    return Result(
        answered,
        string(block, "name"),
        said.content,
        said.json,
        outcome="failed" if failed is True else "success",
        made_up=not string(block, "tool_use_id"),
        native=native(PROVIDER, block, *read, *(["is_error"] if isinstance(failed, bool) else [])),
    )


# Tools


def tools(value: Json) -> Tools:
    """Definitions with a schema, and those of Anthropic's own tools that the client runs; all others are hosted."""
    functions, hosted = list[Tool](), list[Json]()
    for tool in as_list(value):
        made = function_tool(tool) if _is_openai(tool) else _function(tool) if _is_function(tool) else None
        (hosted if made is None else functions).append(tool if made is None else made)
    return Tools(functions, hosted)


def _is_openai(tool: Json) -> bool:
    """Whether a definition has its schema where OpenAI has it, as clients write for gateways that translate it."""
    return isinstance(tool, dict) and "input_schema" not in tool and isinstance(tool.get("parameters"), dict)


def _is_function(tool: Json) -> bool:
    if not isinstance(tool, dict):
        return False
    of = tool.get("type")
    ours = of in (None, "custom") or (isinstance(of, str) and of.startswith(chat.CLIENT_TOOLS))
    return "input_schema" in tool or (ours and string(tool, "name") != "")


@once_per_definition
def _function(tool: Object) -> Tool:
    function = {ours: tool[theirs] for theirs, ours in _FUNCTION.items() if tool.get(theirs) is not None}
    usual = ["type"] if tool.get("type") == "custom" else []
    return with_private({"type": "function", "function": function}, native(PROVIDER, tool, *_FUNCTION, *usual))
