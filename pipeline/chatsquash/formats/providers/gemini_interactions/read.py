"""Load the steps and the tools of requests to the Interactions API."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from chatsquash.core.blocks import Block, Turn
from chatsquash.core.model import Json
from chatsquash.formats.base import LoadedTurn, Tools
from chatsquash.formats.calls import State as Calls
from chatsquash.formats.providers import gemini
from chatsquash.formats.providers.gemini_interactions import steps
from chatsquash.formats.providers.openai_responses.read import Item
from chatsquash.formats.unanswered_calls import append_run
from chatsquash.formats.values import Object, as_list, at, string

_RUN = 50
"""The maximum number of open steps in a run; a run is copied for each step, so longer runs would be slow."""


class State(NamedTuple):
    """The state between two steps."""

    side: str = ""
    """The author of the open steps."""
    open: tuple[Item, ...] = ()
    """The latest steps that are not part of a turn yet."""
    calls: Calls = gemini.START
    """The calls of the turns before the open steps."""
    before: tuple[tuple[Item, ...], ...] = ()
    """Earlier open steps, in runs."""


START = State()


def load(turn: Json, state: State) -> LoadedTurn:
    """Load a step; steps stay open until a step of another author follows."""
    # Thoughts, text and calls of a turn are separate steps.
    side = steps.side(turn)
    if side == state.side and not _begins(turn, state):
        return LoadedTurn([], _add(state, Item(turn)))
    closed, calls = _close(state)
    return LoadedTurn(closed, State(side, (Item(turn),), calls))


def _begins(step: Json, state: State) -> bool:
    """Return whether a step begins another turn of the same author; content outside of steps forms one turn."""
    return state.side == "user" and "user_input" in (string(step, "type"), string(state.open[-1].value, "type"))


def _add(state: State, step: Item) -> State:
    if len(state.open) < _RUN:
        return state._replace(open=(*state.open, step))
    return state._replace(open=(step,), before=append_run(state.before, state.open))


def close(state: State) -> list[Turn]:
    """Return the open steps as turns."""
    return _close(state)[0]


def _close(state: State) -> tuple[list[Turn], Calls]:
    if not state.open:
        return [], state.calls
    parts, errors = list[Json](), list[Block]()
    for step in chain(*state.before, state.open):
        parts += steps.parts(step.value)
        errors += steps.errors(step.value)
    loaded_turn = gemini.load({"role": "model" if state.side == "model" else "user", "parts": parts}, state.calls)
    # Errors are not part of the turn that ``gemini.load`` receives, because its parts have no equivalent.
    if not errors:
        return loaded_turn.turns, loaded_turn.state
    *before, last = loaded_turn.turns or [Turn("assistant", ())]
    return [*before, replace(last, blocks=(*last.blocks, *errors))], loaded_turn.state


def tools(value: Json) -> Tools:
    """Load function declarations; all other tools are hosted by Google."""
    declared = [tool for tool in as_list(value) if string(tool, "type") == "function"]
    hosted = [tool for tool in as_list(value) if string(tool, "type") != "function"]
    functions = gemini.tools([{"functionDeclarations": [_declaration(tool) for tool in declared]}]).functions
    return Tools(functions, hosted)


def _declaration(tool: Object) -> Object:
    return {name: value for name, value in tool.items() if name != "type"}


def turn_tools(turn: Json) -> Tools:
    """Load the functions in the result of a tool search."""
    return tools(at(turn, "result") if string(turn, "type") == "tool_search_result" else None)
