"""Load the system prompt, the turns and the tools of requests to Anthropic."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from msgspec.structs import replace

from chatsquash.core import chat
from chatsquash.core.blocks import Block, Call, Result, Text, Turn
from chatsquash.core.model import Json, Tool
from chatsquash.formats.base import LoadedTurn, Tools, TurnError, with_private
from chatsquash.formats.calls import State, native, results_first
from chatsquash.formats.definitions import function_tool, once_per_definition
from chatsquash.formats.providers.anthropic.blocks import PROVIDER, block_of, blocks_of, result_content
from chatsquash.formats.values import Object, as_list, compact, kind, string
from chatsquash.formats.writing import are_instructions

START = State()

_ROLES = ("user", "assistant", "system")
_FUNCTION = {"name": "name", "description": "description", "input_schema": "parameters", "strict": "strict"}
"""The members of a tool and their names in an OpenAI function."""


def system(value: Json) -> list[Turn]:
    """Load a system prompt as turns: one, or several if only some blocks are marked as instructions; none if empty."""
    if value is None or value in ("", []):
        return []
    if not isinstance(value, str | list):
        raise TurnError(f"expected a string or a list of blocks, not {kind(value)}")
    runs = groupby(as_list(value), are_instructions)
    return [Turn("system", blocks_of(list(run)), instructions) for instructions, run in runs]


def load(turn: Json, state: State) -> LoadedTurn:
    """Load a turn; the results in a user turn become a separate turn before its other content."""
    if not isinstance(turn, dict):
        raise TurnError("not an object")
    role, content = _role(turn), turn.get("content")
    if "content" not in turn:
        raise TurnError("no content")
    if turn.get("tool_calls"):
        raise TurnError("tool_calls is not supported by Anthropic")
    if content is not None and not isinstance(content, (str, list)):
        raise TurnError(f"content is {kind(content)}, expected a string or a list of blocks")
    if role == "assistant":
        loaded_turn = load_assistant(content, state)
    elif role == "user" and isinstance(content, list) and any(map(_is_result, content)):
        loaded_turn = _load_results(content, state)
    else:
        loaded_turn = LoadedTurn([Turn(role, blocks_of(content))], state)
    if len(turn) == 2:  # only role and content
        return loaded_turn
    first, *others = loaded_turn.turns
    return LoadedTurn([replace(first, native=native(PROVIDER, turn, "role", "content")), *others], loaded_turn.state)


def _role(turn: Object) -> str:
    role = turn.get("role")
    if role in _ROLES:
        return str(role)
    if role is None or role == "":
        raise TurnError("no role")
    raise TurnError(f"unknown role {compact(role)[:40]}; expected one of {', '.join(_ROLES)}")


def load_assistant(content: Json, state: State) -> LoadedTurn:
    """Load the content of an assistant turn: text, reasoning and calls."""
    if not isinstance(content, list):
        return LoadedTurn([Turn("assistant", blocks_of(content))], state.evolve(open=()))
    turn = _assistant_turn(content, state.call)
    return LoadedTurn([turn], state.after_calls(turn.blocks))


def _assistant_turn(content: list[Json], number: int) -> Turn:
    turn_blocks = list[Block]()
    for each in content:
        blocks = block_of(each, number)
        turn_blocks += blocks
        number += blocks != () and type(blocks[0]) is Call and blocks[0].made_up
    return Turn("assistant", tuple(turn_blocks))


# Results


def _is_result(block: Json) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _load_results(content: list[Json], state: State) -> LoadedTurn:
    """Load results and other content; content before the first run of results is moved after it."""
    if all(map(_is_result, content)):  # the usual case
        ids, state = _call_ids(content, state)
        return LoadedTurn([Turn("tool", tuple(map(_result, content, ids)))], state)
    blocks = results_first(content, _is_result)
    ids, state = _call_ids([block for block in blocks if _is_result(block)], state)
    turns = list[Turn]()
    for are_results, group in groupby(blocks, key=_is_result):
        if are_results:
            turns.append(Turn("tool", tuple(_result(block, next(ids)) for block in group)))
        else:
            turns.append(Turn("user", blocks_of(list(group))))
    return LoadedTurn(turns, state)


def _call_ids(results: list[Object], state: State) -> tuple[Iterator[str], State]:
    """Return the ids of the calls that results answer, and the next state."""
    logged_ids = [string(block, "tool_use_id") for block in results]
    # Calls with a result of this turn are removed first, so results without an id answer only the remaining calls.
    state = state.without(set(logged_ids)) if state.open else state
    if all(logged_ids):  # the usual case
        return iter(logged_ids), state
    ids = []
    for block, logged_id in zip(results, logged_ids, strict=True):
        call_id, state = state.answer(logged_id, block.get("name"))
        ids.append(call_id)
    return iter(ids), state


def _result(block: Object, call_id: str) -> Result:
    if len(block) == 3 and type(text := block.get("content")) is str and text and block.get("tool_use_id") == call_id:
        return Result(call_id, content=(Text(text),))  # the usual case
    failed, name, content = block.get("is_error"), block.get("name"), result_content(block.get("content"))
    read = ["type", "content", "tool_use_id", *(["name"] if isinstance(name, str) else [])]
    return Result(
        call_id,
        string(block, "name"),
        content.content,
        content.json,
        outcome="failed" if failed is True else "success",
        made_up=not string(block, "tool_use_id"),
        native=native(PROVIDER, block, *read, *(["is_error"] if isinstance(failed, bool) else [])),
    )


# Tools


def tools(value: Json) -> Tools:
    """Load definitions with a schema, and those of Anthropic's client tools; all other tools are hosted."""
    functions, hosted = list[Tool](), list[Json]()
    for tool in as_list(value):
        converted = function_tool(tool) if _is_openai(tool) else _function(tool) if _is_function(tool) else None
        (hosted if converted is None else functions).append(tool if converted is None else converted)
    return Tools(functions, hosted)


def _is_openai(tool: Json) -> bool:
    """Return whether a definition has OpenAI's members."""
    # Clients send such definitions to gateways that translate them.
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
