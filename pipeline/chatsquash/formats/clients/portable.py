"""The provider-neutral array that OpenAF exports and imports: entries with ``toolCalls`` and ``toolResults``."""

from __future__ import annotations

import re

from chatsquash.core.blocks import FAILED, Block, Call, Other, Result, Text, Turn
from chatsquash.core.model import Conversation, Json
from chatsquash.formats import bodies, view, writing
from chatsquash.formats.base import LoadedTurn, TurnError, load_objects, role_of
from chatsquash.formats.calls import ResultContent, State, arguments, call, call_input, native, parse_json, result
from chatsquash.formats.evidence import at_line, line_numbers
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.providers.anthropic.blocks import result_content
from chatsquash.formats.providers.openai_chat.read import merge_results, turns_of
from chatsquash.formats.values import Object, compact, kind, objects, string, text_members
from chatsquash.formats.writing import (
    KEY,
    are_instructions,
    failure_mark,
    failure_text,
    is_failed,
    parse_outcome,
    text_of,
    with_tool_names,
)
from chatsquash.formats.writing import native as own_of

NAME = PROVIDER = "portable"
HAS_TOOLS = False
MEMBERS: tuple[str, ...] = ()

_ROLES = ("system", "user", "assistant")
_MEMBERS = ("role", "content", "toolCalls", "toolResults", KEY)
_GENERATED_ID = re.compile(r"tc_\d+_\d+")
"""Ids that OpenAF generates; they differ between a call and its result."""


# Reading


def fits(objects: list[Json]) -> str | None:
    """Check for arrays of entries with at least one call or result."""
    # Without calls and results, the entries are plain chat messages.
    if all(map(_is_array, objects)) and any(_is_own_entry(entry) for array in objects for entry in array):
        return "an array with toolCalls or toolResults"
    return None


def _is_array(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) and each.get("role") in _ROLES for each in value)


def _is_own_entry(entry: Object) -> bool:
    has_calls = any("name" in each and "arguments" in each for each in objects(entry.get("toolCalls")))
    return has_calls or any("name" in each and "result" in each for each in objects(entry.get("toolResults")))


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Load a conversation from each array; may raise ``TurnError``."""
    return list(map(at_line, load_objects(objects, _load), line_numbers(objects, lines)))


def _load(array: Json) -> Conversation:
    if not isinstance(array, list):
        raise TurnError(f"expected a list of entries, not {kind(array)}")
    turns = bodies.load_each(_entry, array, State(), "").turns
    return Conversation(view.messages(turns), [], turns=merge_results(turns))


def _entry(entry: Json, state: State) -> LoadedTurn:
    if not isinstance(entry, dict):
        raise TurnError("not an object")
    role, content = role_of(entry, _ROLES), entry.get("content")
    if not isinstance(content, str | None):
        raise TurnError(f"content is {kind(content)}, expected a string")
    calls, results = (
        _objects_in(entry, "toolCalls", role == "assistant"),
        _objects_in(entry, "toolResults", role == "user"),
    )
    more = native(PROVIDER, entry, *_MEMBERS)
    text_blocks: tuple[Block, ...] = (Text(content),) if content else ()
    if results:
        answers, state = _answers(results, state)
        text_turns = [Turn("user", text_blocks)] if text_blocks else []
        return LoadedTurn([Turn("tool", answers, native=more), *text_turns], state)
    if role == "assistant":
        blocks = (*text_blocks, *_calls(calls, state.call))
        # OpenAF writes a separate entry for each call, even for calls of the same turn.
        return LoadedTurn([Turn(role, blocks, native=more)], state.after_calls(blocks, by_assistant=True))
    return LoadedTurn([Turn(role, text_blocks, are_instructions(entry), more)], state.evolve(by_assistant=False))


def _objects_in(entry: Object, member: str, has_place: bool) -> list[Object]:
    """Return the objects in a list member, or an empty list if the member is missing."""
    value = entry.get(member)
    if value in (None, []):
        return []
    if not has_place:
        raise TurnError(f"{member} requires the role {'assistant' if member == 'toolCalls' else 'user'}")
    if not isinstance(value, list):
        raise TurnError(f"{member} is {kind(value)}, expected a list")
    number = next((number for number, each in enumerate(value) if not isinstance(each, dict)), None)
    if number is not None:
        raise TurnError(f"{member}[{number}] is not an object")
    return value


def _calls(logged_calls: list[Object], number: int) -> list[Block]:
    blocks = list[Block]()
    for each in logged_calls:
        own, name = string(each, "id"), each.get("name")
        more = native(PROVIDER, each, "arguments", *text_members(each, "id", "name"))
        blocks.append(call(own, number, name, arguments(each.get("arguments")), more))
        number += not own
    return blocks


def _answers(results: list[Object], state: State) -> tuple[tuple[Result, ...], State]:
    """Load results; results without an id answer calls that have no other result."""
    state = state.searchable()
    logged_ids = [_logged_id(each, state) for each in results]
    state = state.without(set(logged_ids)).evolve(by_assistant=False)
    answers = list[Result]()
    for each, own in zip(results, logged_ids, strict=True):
        call_id, state = state.answer(own, string(each, "name"))
        more = native(PROVIDER, each, "result", KEY, *text_members(each, "id", "name"))
        result_value = _result_content(each.get("result"))
        content, outcome = parse_outcome(result_value.content, is_marked=is_failed(each) and not result_value.json)
        answers.append(result(call_id, own, each.get("name"), ResultContent(content, result_value.json), outcome, more))
    return tuple(answers), state


def _logged_id(answer: Object, state: State) -> str:
    """Return the id of a result, or an empty string if OpenAF generated it independently of the call's id."""
    own, name = string(answer, "id"), string(answer, "name")
    is_generated = _GENERATED_ID.fullmatch(own) and not state.is_open(0, own)
    return "" if is_generated and state.is_open(1, name) else own


def _result_content(value: Json) -> ResultContent:
    """Load the value of a result: a string, content in a provider's form, or JSON."""
    if isinstance(value, str | None):
        return ResultContent((Text(value),) if value else ())
    if isinstance(value, list) and value and all(string(each, "type") for each in value):
        turn = openai_chat.load({"role": "tool", "content": value}, openai_chat.START).turns[0]
        openai = (ResultContent(block.content, block.json) for block in turn.blocks if type(block) is Result)
        # The first provider whose format expresses all content is used.
        for content in (result_content(value), *openai):
            if not (content.json or any(type(block) is Other for block in content.content)):
                return content
    return ResultContent((Text(compact(value)),), json=True)


# Writing


def dump(conversation: Conversation) -> Json:
    """Write the array: entries have either content or results, and consecutive results share an entry.

    Only text, calls and results are written.  Results are objects only if their content was a JSON object.
    """
    (turns, tool_names), entries = with_tool_names(turns_of(conversation)), list[Object]()
    for turn in turns:
        entry = _write_entry(turn, tool_names)
        if entry and "toolResults" in entry and entries and "toolResults" in entries[-1]:
            entries[-1] = {**entry, **entries[-1], "toolResults": entries[-1]["toolResults"] + entry["toolResults"]}
        elif entry:
            entries.append(entry)
    return entries


def _write_entry(turn: Turn, tool_names: dict[str, str]) -> Object | None:
    """Write the entry of a turn; return ``None`` if its content is not supported, except for empty assistant turns."""
    own = own_of(turn, PROVIDER)
    if turn.role == "tool":
        results = [_result(block, tool_names) for block in turn.blocks if type(block) is Result]
        return {"role": "user", "content": None, **own, "toolResults": results} if results else None
    is_assistant = turn.role == "assistant"
    text = text_of(turn.blocks, by_assistant=is_assistant)
    calls = [_call(block) for block in turn.blocks if type(block) is Call and is_assistant]
    if turn.role not in writing.SPEAKERS or not (text or calls or (is_assistant and not turn.blocks)):
        return None
    call_members = {"toolCalls": calls} if calls else {}
    members = {
        "role": writing.SPEAKERS[turn.role],
        "content": text or (None if calls else ""),
        **call_members,
        **writing.instructions_mark(turn),
    }
    return {**members, **own, **members}


def _call(block: Call) -> Object:
    """Write a call with its arguments as an object."""
    members = {"id": block.id, "name": block.name or "", "arguments": call_input(block)}
    return {**members, **own_of(block, PROVIDER), **members}


def _result(block: Result, tool_names: dict[str, str]) -> Object:
    members = {
        "id": block.id,
        "name": block.name or tool_names.get(block.id, ""),
        "result": _value(block),
        **failure_mark(block),
    }
    return {**members, **own_of(block, PROVIDER), **members}


def _value(block: Result) -> Json:
    """Write the value of a result: an object if its content was a JSON object, otherwise a string."""
    text = text_of(block.content)
    value = parse_json(text) if block.json and block.outcome not in FAILED else None
    if isinstance(value, dict) and compact(value) == text:  # otherwise, digits or white space would be lost
        return value
    return failure_text(text, block)


LOSES = """
developer role, developer mid, image data, image between text, image url, audio, video, pdf, file id of OpenAI, file
id of Anthropic, result image, result file, approval, reasoning, reasoning+call, reasoning of two blocks, reasoning
between, anthropic signature, openai encrypted, refusal, custom tool call, hosted call, unanswered hosted call, source
"""
BLURS = """
instructions, text part bounds, text after call, result json list, result parts, is_error, denied result, anthropic
redacted, gemini call sig, native members
"""
