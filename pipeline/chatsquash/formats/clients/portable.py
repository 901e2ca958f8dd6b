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
_MADE_UP = re.compile(r"tc_\d+_\d+")
"""Ids that OpenAF makes up, a call's and its result's never the same."""


# Reading


def fits(objects: list[Json]) -> str | None:
    """Arrays of entries, one of which at least has calls or results; without them they are plain chat messages."""
    if all(map(_is_array, objects)) and any(_tells(entry) for array in objects for entry in array):
        return "an array with toolCalls or toolResults"
    return None


def _is_array(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) and each.get("role") in _ROLES for each in value)


def _tells(entry: Object) -> bool:
    called = any("name" in each and "arguments" in each for each in objects(entry.get("toolCalls")))
    return called or any("name" in each and "result" in each for each in objects(entry.get("toolResults")))


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """One for each array; raises ``TurnError``."""
    return list(map(at_line, load_objects(objects, _load), line_numbers(objects, lines)))


def _load(array: Json) -> Conversation:
    if not isinstance(array, list):
        raise TurnError(f"is {kind(array)}, not a list of entries")
    turns = bodies.load_each(_entry, array, State(), "").turns
    return Conversation(view.messages(turns), [], turns=merge_results(turns))


def _entry(entry: Json, state: State) -> LoadedTurn:
    if not isinstance(entry, dict):
        raise TurnError("is not an object")
    role, content = role_of(entry, _ROLES), entry.get("content")
    if not isinstance(content, str | None):
        raise TurnError(f"has a content that is {kind(content)}, not text")
    calls, results = (
        _objects_in(entry, "toolCalls", role == "assistant"),
        _objects_in(entry, "toolResults", role == "user"),
    )
    more = native(PROVIDER, entry, *_MEMBERS)
    said: tuple[Block, ...] = (Text(content),) if content else ()
    if results:
        answers, state = _answers(results, state)
        behind = [Turn("user", said)] if said else []
        return LoadedTurn([Turn("tool", answers, native=more), *behind], state)
    if role == "assistant":
        made = (*said, *_calls(calls, state.call))
        # OpenAF writes one entry for each of the calls that were made together.
        return LoadedTurn([Turn(role, made, native=more)], state.after_calls(made, by_assistant=True))
    return LoadedTurn([Turn(role, said, are_instructions(entry), more)], state.evolve(by_assistant=False))


def _objects_in(entry: Object, member: str, has_place: bool) -> list[Object]:
    """The objects in a list, which is empty where the entry has none."""
    value = entry.get(member)
    if value in (None, []):
        return []
    if not has_place:
        raise TurnError(f"has {member}, which only {'assistants' if member == 'toolCalls' else 'users'} have")
    if not isinstance(value, list):
        raise TurnError(f"has {member} that are {kind(value)}, not a list")
    number = next((number for number, each in enumerate(value) if not isinstance(each, dict)), None)
    if number is not None:
        raise TurnError(f"has {member}[{number}] that is not an object")
    return value


def _calls(logged: list[Object], number: int) -> list[Block]:
    blocks = list[Block]()
    for each in logged:
        own, name = string(each, "id"), each.get("name")
        more = native(PROVIDER, each, "arguments", *text_members(each, "id", "name"))
        blocks.append(call(own, number, name, arguments(each.get("arguments")), more))
        number += not own
    return blocks


def _answers(results: list[Object], state: State) -> tuple[tuple[Result, ...], State]:
    """Results; those without an id answer calls that none of the others does."""
    state = state.searchable()
    logged = [_logged_id(each, state) for each in results]
    state = state.without(set(logged)).evolve(by_assistant=False)
    answers = list[Result]()
    for each, own in zip(results, logged, strict=True):
        answered, state = state.answer(own, string(each, "name"))
        more = native(PROVIDER, each, "result", KEY, *text_members(each, "id", "name"))
        said = _said(each.get("result"))
        content, outcome = parse_outcome(said.content, is_marked=is_failed(each) and not said.json)
        answers.append(result(answered, own, each.get("name"), ResultContent(content, said.json), outcome, more))
    return tuple(answers), state


def _logged_id(answer: Object, state: State) -> str:
    """The id that a result has; empty for one that OpenAF made up beside that of the call."""
    own, name = string(answer, "id"), string(answer, "name")
    other = _MADE_UP.fullmatch(own) and not state.is_open(0, own)
    return "" if other and state.is_open(1, name) else own


def _said(value: Json) -> ResultContent:
    """What a tool returned: text, content as a provider has it in results, or JSON."""
    if isinstance(value, str | None):
        return ResultContent((Text(value),) if value else ())
    if isinstance(value, list) and value and all(string(each, "type") for each in value):
        (turn,), _ = openai_chat.load({"role": "tool", "content": value}, openai_chat.START)
        openai = (ResultContent(block.content, block.json) for block in turn.blocks if type(block) is Result)
        for said in (result_content(value), *openai):
            if not (said.json or any(type(block) is Other for block in said.content)):
                return said
    return ResultContent((Text(compact(value)),), json=True)


# Writing


def dump(conversation: Conversation) -> Json:
    """The array: content and results never on one entry, results in a row on one.

    It holds texts, calls and results; a result is an object only where that is known to be its JSON.
    """
    (turns, called), entries = with_tool_names(turns_of(conversation)), list[Object]()
    for turn in turns:
        entry = _write_entry(turn, called)
        if entry and "toolResults" in entry and entries and "toolResults" in entries[-1]:
            entries[-1] = {**entry, **entries[-1], "toolResults": entries[-1]["toolResults"] + entry["toolResults"]}
        elif entry:
            entries.append(entry)
    return entries


def _write_entry(turn: Turn, called: dict[str, str]) -> Object | None:
    """The entry of a turn; ``None`` for one that says nothing here, unless it is an assistant's that is empty."""
    own = own_of(turn, PROVIDER)
    if turn.role == "tool":
        results = [_result(block, called) for block in turn.blocks if type(block) is Result]
        return {"role": "user", "content": None, **own, "toolResults": results} if results else None
    is_assistant = turn.role == "assistant"
    text = text_of(turn.blocks, by_assistant=is_assistant)
    calls = [_call(block) for block in turn.blocks if type(block) is Call and is_assistant]
    if turn.role not in writing.SPEAKERS or not (text or calls or (is_assistant and not turn.blocks)):
        return None
    listed = {"toolCalls": calls} if calls else {}
    made = {
        "role": writing.SPEAKERS[turn.role],
        "content": text or (None if calls else ""),
        **listed,
        **writing.instructions_mark(turn),
    }
    return {**made, **own, **made}


def _call(block: Call) -> Object:
    """A call with an object for its arguments."""
    made = {"id": block.id, "name": block.name or "", "arguments": call_input(block)}
    return {**made, **own_of(block, PROVIDER), **made}


def _result(block: Result, called: dict[str, str]) -> Object:
    made = {
        "id": block.id,
        "name": block.name or called.get(block.id, ""),
        "result": _value(block),
        **failure_mark(block),
    }
    return {**made, **own_of(block, PROVIDER), **made}


def _value(block: Result) -> Json:
    """An object for what is known to be the JSON of one, else text."""
    text = text_of(block.content)
    value = parse_json(text) if block.json and block.outcome not in FAILED else None
    if isinstance(value, dict) and compact(value) == text:  # else some of its digits or white space would be lost
        return value
    return failure_text(text, block)


LOSES = """
developer role, developer mid, image data, image between text, image url, audio, video, pdf, file id of OpenAI, file
id of Anthropic, result image, result file, approval, reasoning, reasoning+call, reasoning of two blocks, reasoning
between, anthropic signature, openai encrypted, refusal, custom tool call, hosted call, hosted call alone, source
"""
BLURS = """
instructions, text part bounds, text after call, result json list, result parts, is_error, denied result, anthropic
redacted, gemini call sig, native members
"""
