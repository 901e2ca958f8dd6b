"""What a request to the Interactions API contains: steps, or the contents of one, and tools."""

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
"""As many open steps as are copied for each that comes."""


class State(NamedTuple):
    """What the next step needs to know."""

    side: str = ""
    """Whose steps are open."""
    open: tuple[Item, ...] = ()
    """The nearest steps that are not a turn yet."""
    calls: Calls = gemini.START
    """What the turns before them leave."""
    before: tuple[tuple[Item, ...], ...] = ()
    """The open steps before those, by runs."""


START = State()


def load(turn: Json, state: State) -> LoadedTurn:
    """A step stays open until one of another side comes, since thoughts, texts and calls are steps of their own."""
    side = steps.side(turn)
    if side == state.side and not _begins(turn, state):
        return LoadedTurn([], _add(state, Item(turn)))
    closed, calls = _close(state)
    return LoadedTurn(closed, State(side, (Item(turn),), calls))


def _begins(step: Json, state: State) -> bool:
    """Whether a step begins another turn of its side; contents without a step around them are one turn."""
    return state.side == "user" and "user_input" in (string(step, "type"), string(state.open[-1].value, "type"))


def _add(state: State, step: Item) -> State:
    if len(state.open) < _RUN:
        return state._replace(open=(*state.open, step))
    return state._replace(open=(step,), before=append_run(state.before, state.open))


def close(state: State) -> list[Turn]:
    """The steps after the last one of another side are a turn, too."""
    return _close(state)[0]


def _close(state: State) -> tuple[list[Turn], Calls]:
    if not state.open:
        return [], state.calls
    parts, errors = list[Json](), list[Block]()
    for step in chain(*state.before, state.open):
        parts += steps.parts(step.value)
        errors += steps.errors(step.value)
    loaded = gemini.load({"role": "model" if state.side == "model" else "user", "parts": parts}, state.calls)
    if not errors:
        return loaded.turns, loaded.state
    *before, last = loaded.turns or [Turn("assistant", ())]
    return [*before, replace(last, blocks=(*last.blocks, *errors))], loaded.state


def tools(value: Json) -> Tools:
    """The functions; all other tools are Google's."""
    declared = [tool for tool in as_list(value) if string(tool, "type") == "function"]
    hosted = [tool for tool in as_list(value) if string(tool, "type") != "function"]
    functions = gemini.tools([{"functionDeclarations": [_declaration(tool) for tool in declared]}]).functions
    return Tools(functions, hosted)


def _declaration(tool: Object) -> Object:
    return {name: value for name, value in tool.items() if name != "type"}


def turn_tools(turn: Json) -> Tools:
    """The functions that a search for tools found."""
    return tools(at(turn, "result") if string(turn, "type") == "tool_search_result" else None)
