"""Load Pydantic AI messages as turns."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import replace

from chatsquash.core.blocks import Block, Media, Other, Text, Turn
from chatsquash.core.model import Json
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import State, result
from chatsquash.formats.clients.pydantic_ai import media
from chatsquash.formats.clients.pydantic_ai.members import (
    MESSAGE,
    PART,
    PROVIDER,
    errors_wording,
    own,
    shown_wording,
    tagged,
    unpack,
    with_newest_names,
)
from chatsquash.formats.clients.pydantic_ai.parts import OUTCOMES, blocks_of, text_of
from chatsquash.formats.values import Object, kind, objects, string

INSTRUCTIONS, _TIME = "instructions", "timestamp"
_CHANGE, _RESTATES = "instruction-delta", ("instruction-baseline", "compaction")
"""The kind of part that changes instructions, and the kinds of parts that replace all earlier changes."""


class PartTurn(NamedTuple):
    """A turn, and its place in the document."""

    turn: Turn
    message: int
    """The index of its message."""
    part: Object
    """The request part that it comes from; empty for responses and instructions."""


def read(messages: list[Json]) -> list[PartTurn]:
    """Load the turns of a document in order: one per request part, and one per response.

    Parts that models do not see are added to the next turn, or else to the last turn.  Raises ``TurnError``.
    """
    kinds = [_kind(number, message) for number, message in enumerate(messages)]
    prompt = _instructions(messages)
    turns, waiting, state, is_open = list[PartTurn](), list[Block](), State(), False
    last_restatement = _last_restatement(messages)
    for number, (message, of) in enumerate(zip(messages, kinds, strict=True)):
        is_known = prompt is not None and message.get(INSTRUCTIONS) == prompt[1]
        members = own(message, "kind", "parts", INSTRUCTIONS if is_known else "")
        is_request = of == "request"
        new_turns, still_waiting, state = (
            _request(message, number, state, waiting, last_restatement)
            if is_request
            else _response(message, number, state, waiting)
        )
        waiting = [*waiting, Other(PROVIDER, message)] if members and not new_turns else still_waiting
        if new_turns and is_open and is_request:
            members["kind"] = of  # marks the beginning of a separate request
        if new_turns and members:
            new_turns[0] = _with(new_turns[0], members)
        turns += new_turns
        is_open = is_request and (is_open or bool(message["parts"]))
    if turns and waiting:
        last = turns[-1].turn
        turns[-1] = turns[-1]._replace(turn=replace(last, blocks=(*last.blocks, *waiting)))
    return _with_instructions(turns, prompt, messages)


def _with(first: PartTurn, members: Object) -> PartTurn:
    """Add the members of a message to its first turn."""
    turn = first.turn
    known = {**turn.native.get(PROVIDER, {}), **{f"{MESSAGE}{key}": value for key, value in members.items()}}
    return PartTurn(Turn(turn.role, turn.blocks, native={PROVIDER: known}), first.message, first.part)


def _kind(number: int, message: Json) -> str:
    if not isinstance(message, dict):
        raise TurnError(f"[{number}] is {kind(message)}, expected an object")
    if message.get("kind") not in ("request", "response"):
        raise TurnError(f"[{number}]: unknown kind; expected request or response")
    if not isinstance(message.get("parts"), list):
        raise TurnError(f"[{number}] has no list of parts")
    return str(message["kind"])


def _kind_of(part: Json) -> str:
    if not isinstance(part, dict) or not isinstance(part.get("part_kind"), str):
        raise TurnError("no part_kind")
    return str(part["part_kind"])


def _with_instructions(turns: list[PartTurn], prompt: tuple[int, str] | None, messages: list[Json]) -> list[PartTurn]:
    """Insert instructions as a prompt after the leading prompts, or before them if the first request is empty."""
    if prompt is None:
        return turns
    number, text = prompt
    leads = not messages[0]["parts"] and messages[0].get(INSTRUCTIONS) == text
    leading = next((place for place, each in enumerate(turns) if leads or each.turn.role != "system"), len(turns))
    return [*turns[:leading], PartTurn(Turn("system", (Text(text),), instructions=True), number, {}), *turns[leading:]]


def _instructions(messages: list[Json]) -> tuple[int, str] | None:
    """Return the instructions of the last request, or of the request before it if the last has only results."""
    requests = [(number, message) for number, message in enumerate(messages) if message["kind"] == "request"][-2:]
    for number, message in reversed(requests):
        if isinstance(message.get(INSTRUCTIONS), str) and message[INSTRUCTIONS]:
            return number, message[INSTRUCTIONS]
        if any(part.get("part_kind") not in ("tool-return", "retry-prompt") for part in objects(message["parts"])):
            return None
    return None


def _last_restatement(messages: list[Json]) -> tuple[int, int]:
    """Return the place of the last part that replaces all earlier changes to instructions."""
    places = (
        (number, place)
        for number in reversed(range(len(messages)))
        for place, part in reversed(list(enumerate(messages[number]["parts"])))
        if isinstance(part, dict) and part.get("part_kind") in _RESTATES
    )
    return next(places, (-1, -1))


_MessageTurns = tuple[list[PartTurn], list[Block], State]


def _request(
    message: Object, number: int, state: State, waiting: list[Block], last_restatement: tuple[int, int]
) -> _MessageTurns:
    """Load a turn from each part; parts that models do not see (such as replaced instructions) wait for a turn."""
    turns = list[PartTurn]()
    for place, part in enumerate(message["parts"]):
        try:
            of = _kind_of(part)
            # The model sees only the instructions after the last restatement.
            is_past = of == _CHANGE and (number, place) < last_restatement
            turn, state = (None, state) if is_past else _request_turn(of, part, state)
        except TurnError as problem:
            raise TurnError(f"[{number}].parts[{place}]: {problem}") from None
        if turn is None:
            waiting = [*waiting, Other(PROVIDER, with_newest_names(part))]
            continue
        turns.append(PartTurn(replace(turn, blocks=(*waiting, *turn.blocks)) if waiting else turn, number, part))
        waiting = []
    return turns, waiting, state


def _response(message: Object, number: int, state: State, waiting: list[Block]) -> _MessageTurns:
    blocks, call_number = [*waiting], state.call
    for place, part in enumerate(message["parts"]):
        try:
            part_blocks = list(blocks_of(_kind_of(part), part, call_number))
        except TurnError as problem:
            raise TurnError(f"[{number}].parts[{place}]: {problem}") from None
        call_number += sum(getattr(block, "made_up", False) for block in part_blocks)
        blocks += part_blocks
    return [PartTurn(Turn("assistant", tuple(unpack(blocks))), number, {})], [], state.after_calls(blocks)


def _request_turn(of: str, part: Object, state: State) -> tuple[Turn | None, State]:
    """Load a part as a turn; return ``None`` if models do not see the part."""
    match of:
        case "tool-return":
            return _result(part, state)
        case "retry-prompt" if part.get("tool_name") is not None:
            return _result(part, state)
        case "system-prompt":
            text = text_of(part, "content")
            turn = Turn("system", (Text(text),) if text else (), native=tagged(own(part, "part_kind", "content")))
        case "user-prompt":
            turn = Turn("user", _prompt_blocks(part), native=tagged(own(part, "part_kind", "content")))
        case "speech" if blocks := _speech_blocks(part):
            turn = Turn("user", blocks, native=tagged({PART: own(part, "transcript", "audio")}))
        case _ if wording := shown_wording(part):
            content = {"content": part["content"]} if "content" in part else {}
            known = own({PART: {**own(part, _TIME), **content}, _TIME: part.get(_TIME)})
            turn = Turn(wording[0], (Text(wording[1]),), native=tagged(known))
        case _:
            return None, state
    return turn, state


def _prompt_blocks(part: Object) -> tuple[Block, ...]:
    content = part.get("content")
    if not isinstance(content, str | list):
        raise TurnError(f"content is {kind(content)}, expected a string or a list")
    return media.blocks(content)


def _speech_blocks(part: Object) -> tuple[Block, ...]:
    audio = media.binary(part.get("audio"))
    return (*media.blocks(string(part, "transcript")), *((audio,) if audio else ()))


def _result(part: Object, state: State) -> tuple[Turn, State]:
    """Load a result; retry prompts of older versions become results with the outcome ``retried``."""
    name, logged_id, content = text_of(part, "tool_name"), string(part, "tool_call_id"), part.get("content")
    call_id, state = state.answer(logged_id, name)
    outcome: Any = part["outcome"] if part.get("outcome") in OUTCOMES else "success"
    read: tuple[str, ...] = ("part_kind", "content", "outcome")
    wording = errors_wording(content) if part["part_kind"] == "retry-prompt" else content
    if part["part_kind"] == "retry-prompt":
        outcome, read = "retried", read if wording == content else ()
    result_value = media.result_content(wording, part.get("content_file_digests"))
    if not result_value.json or any(isinstance(block, Media) for block in result_value.content):
        read = (*read, "content_file_digests")  # computed from the files when written
    more = own(part, "tool_name", "tool_call_id", *read)
    return Turn("tool", (result(call_id, logged_id, name, result_value, outcome, tagged(more)),)), state
