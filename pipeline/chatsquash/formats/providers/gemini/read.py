"""Load the system instruction and the turns of requests to Gemini."""

from __future__ import annotations

from itertools import groupby

from msgspec.structs import replace

from chatsquash.core.blocks import FORM, Block, Call, HostedCall, HostedResult, Native, Result, Turn
from chatsquash.core.model import Json
from chatsquash.formats.base import LoadedTurn, TurnError
from chatsquash.formats.calls import FEW, State, native, results_first
from chatsquash.formats.providers.gemini.blocks import PROVIDER, WAS_SYSTEM, blocks_of, camel
from chatsquash.formats.values import Object, as_list, compact, without
from chatsquash.formats.writing import are_instructions

START = State()
HOSTED = "hosted_{}"
"""The id of a hosted call that was logged without an id, with its number in the turn."""

_SYSTEM_ROLES = ("system", "user", "", None)
"""Roles that are ignored in a system instruction, which requires none."""
_USER_ROLES = ("user", "function", "tool", "")


def system(value: Json) -> list[Turn]:
    """Load the system instruction, which is an object with parts or a string; may raise ``TurnError``."""
    if value is None:
        return []
    turn = value if isinstance(value, dict) and "parts" in value else {"parts": value}
    content, role = open_turn(turn), turn.get("role")
    is_usual = role in _SYSTEM_ROLES
    form = native(FORM, {PROVIDER: {"role": role}}) if is_usual and role else Native()
    more = {**native(PROVIDER, turn, "parts", *(["role"] if is_usual else [])), **form}
    turns = list[Turn]()
    for instructions, run in groupby(content, _are_instructions):
        parts = [without(camel(part), "partMetadata") if instructions else part for part in run]
        turns.append(Turn("system", tuple(blocks_of(parts, "system")), instructions))
    first, *others = turns or [Turn("system")]
    return [each for each in (replace(first, native=more), *others) if each.blocks or each.native.keys() - {FORM}]


def _are_instructions(part: Json) -> bool:
    return are_instructions(camel(part).get("partMetadata"))


def load(turn: Json, state: State) -> LoadedTurn:
    """Load a turn; turns with roles other than the model's become one turn per run of results or of other parts."""
    if not isinstance(turn, dict):
        raise TurnError("not an object")
    parts = open_turn(turn)
    role = "" if turn.get("role") is None else turn["role"]
    # The role may be missing, but only the model makes calls.
    if role == "model" or (not role and any("functionCall" in camel(part) for part in parts)):
        turns = [assistant_turn(parts, state.call)]
        state = state.after_calls(turns[0].blocks, by_assistant=True)
    elif role not in (*_USER_ROLES, "system"):
        raise TurnError(f"unknown role {compact(role)[:40]}; expected one of user, model")
    elif (prompt := _marked_prompt(parts)) or role == "system":
        turns, state = [Turn("system", tuple(blocks_of(prompt or parts, "system")))], state.evolve(by_assistant=False)
    else:
        turns, state = _results_first(parts, state)
    if len(turn) > 2 and (more := native(PROVIDER, turn, "role", "parts")):
        turns[0] = replace(turns[0], native=more)
    return LoadedTurn(turns, state)


def open_turn(turn: Object) -> list[Json]:
    """Return the parts of a turn; may raise ``TurnError``."""
    parts = turn.get("parts")
    if parts is None and any(value is not None for key, value in turn.items() if key != "role"):
        raise TurnError("no parts")
    if not isinstance(parts, list | dict | str | None):
        raise TurnError("parts is not a list")
    return as_list(parts)


# The model


def assistant_turn(parts: list[Json], number: int) -> Turn:
    """Load the parts of a model turn.

    Args:
        parts: the parts as logged
        number: the number of the first call without an id
    """
    blocks = blocks_of(parts, "assistant")
    hosted = 0
    for place, block in enumerate(blocks):
        if type(block) is Call:
            if block.made_up:
                blocks[place] = replace(block, id=f"call_{number}")
                number += 1
        elif isinstance(block, HostedCall | HostedResult):
            hosted += type(block) is HostedCall
            # A result without an id belongs to the call before it.
            blocks[place] = block if block.id else replace(block, id=HOSTED.format(hosted))
    return Turn("assistant", tuple(blocks))


# Others


def _marked_prompt(parts: list[Json]) -> list[Json]:
    """Return the parts of a system prompt among the turns, without their tags; empty if the turn is not marked."""
    if not parts or not isinstance(parts[0], dict) or len(parts[0]) == 1:  # the usual case
        return []
    known = [camel(part) for part in parts]
    if any(part.pop("partMetadata", None) != WAS_SYSTEM for part in known):
        return []
    for part in known:
        if isinstance(part.get("text"), str):
            part["text"] = part["text"].removeprefix("<system>").removesuffix("</system>")
    return list(known)


def _results_first(parts: list[Json], state: State) -> tuple[list[Turn], State]:
    """Load results and other parts; parts before the first run of results are moved after it."""
    blocks = blocks_of(parts, "user")
    if not any(type(block) is Result for block in blocks):
        return [Turn("user", tuple(blocks))], state.evolve(by_assistant=False)
    are_all = all(type(block) is Result for block in blocks)
    sorted_blocks = blocks if are_all else results_first(blocks, _is_result)
    ids, state = match_calls([(block.id, block.name) for block in sorted_blocks if type(block) is Result], state)
    if are_all:  # the usual case
        return [Turn("tool", tuple(map(_with_call_id, blocks, ids)))], state
    remaining_ids = iter(ids)
    turns = list[Turn]()
    for are_results, run in groupby(sorted_blocks, _is_result):
        if are_results:
            turns.append(Turn("tool", tuple(_with_call_id(block, next(remaining_ids)) for block in run)))
        else:
            turns.append(Turn("user", tuple(run)))
    return turns, state


def _is_result(block: Block) -> bool:
    return type(block) is Result


def _with_call_id(block: Block, call_id: str) -> Block:
    return replace(block, id=call_id) if type(block) is Result and block.id != call_id else block


def match_calls(links: list[tuple[str, str]], state: State) -> tuple[list[str], State]:
    """Match results with open calls: first results with an id, then those with the name of a call, then the rest.

    Args:
        links: the id and the tool name of each result
        state: the state before the results

    Returns:
        the ids of the calls, in the order of the results, and the next state
    """
    if (known := _in_order(links, state)) is not None:
        return known
    places: dict[int, str] = {}
    state = state.searchable()
    for rank in range(3):
        for place, (logged_id, name) in enumerate(links):
            is_next = logged_id or rank == 2 or (rank == 1 and state.is_open(1, name))
            if place not in places and is_next:
                places[place], state = state.answer(logged_id, name)
    state = state.evolve(by_assistant=False) if state.by_assistant else state
    return [places[place] for place in range(len(links))], state


def _in_order(links: list[tuple[str, str]], state: State) -> tuple[list[str], State] | None:
    """Match results with the first open calls if each fits the call at its own place; otherwise return ``None``.

    All of them must have an id, or all must have only a name; then no result has a better match.
    """
    calls = state.open
    if not isinstance(calls, tuple) or state.before or not 0 < len(links) <= len(calls) <= FEW:
        return None
    member = 0 if links[0][0] else 1
    for link, call in zip(links, calls, strict=False):
        if not link[member] or link[member] != call[member] or (member == 1 and link[0]):
            return None
    count = len(links)
    return [call[0] for call in calls[:count]], State(state.call, state.orphan, calls[count:])
