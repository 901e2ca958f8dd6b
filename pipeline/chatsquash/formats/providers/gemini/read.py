"""What a request to Gemini holds: the system instruction and the contents."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from msgspec.structs import replace

from chatsquash.core.blocks import FORM, Block, HostedCall, HostedResult, Native, Result, Turn
from chatsquash.core.model import Json
from chatsquash.formats.base import LoadedTurn, TurnError
from chatsquash.formats.calls import State, native, renumber, results_first
from chatsquash.formats.providers.gemini.blocks import PROVIDER, WAS_SYSTEM, Blocks, blocks_of, camel
from chatsquash.formats.values import Object, as_list, compact, without
from chatsquash.formats.writing import are_instructions

START = State()
HOSTED = "hosted_{}"
"""The id of a hosted call, with its number in the turn, where none was logged."""

_SYSTEM_ROLES = ("system", "user", "", None)
"""Those that say nothing of a system instruction, since there is only one."""
_USER_ROLES = ("user", "function", "tool", "")


def system(value: Json) -> list[Turn]:
    """The system instruction, a content or just its text; raises ``TurnError``."""
    if value is None:
        return []
    turn = value if isinstance(value, dict) and "parts" in value else {"parts": value}
    content, role = open_turn(turn), turn.get("role")
    is_usual = role in _SYSTEM_ROLES
    form = native(FORM, {PROVIDER: {"role": role}}) if is_usual and role else Native()
    more = {**native(PROVIDER, turn, "parts", *(["role"] if is_usual else [])), **form}
    turns = list[Turn]()
    for marked, run in groupby(content, _are_instructions):
        parts = [without(camel(part), "partMetadata") if marked else part for part in run]
        turns.append(Turn("system", tuple(blocks_of(parts, "system")), marked))
    first, *others = turns or [Turn("system")]
    return [each for each in (replace(first, native=more), *others) if each.blocks or each.native.keys() - {FORM}]


def _are_instructions(part: Json) -> bool:
    return are_instructions(camel(part).get("partMetadata"))


def load(turn: Json, state: State) -> LoadedTurn:
    """A model's turn is one; another one is a turn for each run of results, and one for each run of other parts."""
    if not isinstance(turn, dict):
        raise TurnError("is not an object")
    parts = open_turn(turn)
    role = "" if turn.get("role") is None else turn["role"]
    if role == "model" or (not role and any("functionCall" in camel(part) for part in parts)):
        turns = [said(parts, state.call)]
        state = state.after_calls(turns[0].blocks, by_assistant=True)
    elif role not in (*_USER_ROLES, "system"):
        raise TurnError(f"has the role {compact(role)[:40]}, and Gemini's are user and model")
    elif (prompt := _was_system(parts)) or role == "system":
        turns, state = [Turn("system", tuple(blocks_of(prompt or parts, "system")))], state.evolve(by_assistant=False)
    else:
        turns, state = _results_first(parts, state)
    if len(turn) > 2 and (more := native(PROVIDER, turn, "role", "parts")):
        turns[0] = replace(turns[0], native=more)
    return LoadedTurn(turns, state)


def open_turn(turn: Object) -> list[Json]:
    """The parts of a turn; raises ``TurnError``."""
    parts = turn.get("parts")
    if parts is None and any(value is not None for key, value in turn.items() if key != "role"):
        raise TurnError("has no parts")
    if not isinstance(parts, list | dict | str | None):
        raise TurnError("has parts that are no list")
    return as_list(parts)


# The model


def said(parts: list[Json], number: int) -> Turn:
    """What the model says in parts, from whose calls without ids the first one has this number."""
    blocks = blocks_of(parts, "assistant")
    return renumber(Turn("assistant", tuple(_with_ids(blocks))), number)


def _with_ids(blocks: Blocks) -> Iterator[Block]:
    """The blocks of a turn; a hosted call without an id gets one, and so does the result behind it."""
    count = 0
    for block in blocks:
        count += type(block) is HostedCall
        is_nameless = isinstance(block, HostedCall | HostedResult) and not block.id
        yield replace(block, id=HOSTED.format(count)) if is_nameless else block


# Others


def _was_system(parts: list[Json]) -> list[Json]:
    """The parts of a system prompt among the contents, out of their tags; none of a turn that is not marked as one."""
    if not parts or not isinstance(parts[0], dict) or len(parts[0]) == 1:  # as most are
        return []
    known = [camel(part) for part in parts]
    if any(part.pop("partMetadata", None) != WAS_SYSTEM for part in known):
        return []
    for part in known:
        if isinstance(part.get("text"), str):
            part["text"] = part["text"].removeprefix("<system>").removesuffix("</system>")
    return list(known)


def _results_first(parts: list[Json], state: State) -> tuple[list[Turn], State]:
    """Results and what stands beside them, with what stands before the first one behind those that follow it."""
    blocks = blocks_of(parts, "user")
    if not any(type(block) is Result for block in blocks):
        return [Turn("user", tuple(blocks))], state.evolve(by_assistant=False)
    ordered = results_first(blocks, _is_result)
    ids, state = match_calls([(block.id, block.name) for block in ordered if type(block) is Result], state)
    answered = iter(ids)
    turns = list[Turn]()
    for are_results, run in groupby(ordered, _is_result):
        if are_results:
            turns.append(Turn("tool", tuple(_answering(block, next(answered)) for block in run)))
        else:
            turns.append(Turn("user", tuple(run)))
    return turns, state


def _is_result(block: Block) -> bool:
    return type(block) is Result


def _answering(block: Block, answered: str) -> Block:
    return replace(block, id=answered) if type(block) is Result and block.id != answered else block


def match_calls(links: list[tuple[str, str]], state: State) -> tuple[list[str], State]:
    """The ids of the calls that results answer, of which there are ids and names, and the state behind them.

    Those with ids are the first that find theirs, then those with names of calls, then the rest.
    """
    places: dict[int, str] = {}
    state = state.searchable()
    for rank in range(3):
        for place, (logged, name) in enumerate(links):
            is_next = logged or rank == 2 or (rank == 1 and state.is_open(1, name))
            if place not in places and is_next:
                places[place], state = state.answer(logged, name)
    state = state.evolve(by_assistant=False) if state.by_assistant else state
    return [places[place] for place in range(len(links))], state
