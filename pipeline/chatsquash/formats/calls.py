"""Tool calls and their results: matching results with calls, and generating ids for calls logged without one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import chain, takewhile
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.blocks import Block, Call, Native, Outcome, Result, Turn
from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.model import Json, Tool
from chatsquash.formats.unanswered_calls import Link, OpenCalls, append_run, index_open_calls
from chatsquash.formats.values import Object, compact, string, without

T = TypeVar("T")
parse_json = jsonio.value
"""Parse a string as JSON; ``None`` if it is not valid."""

ERROR = "ERROR: "
"""The text prefix of failed results, in formats without a member for failures."""
KEY = "chatsquash"
"""The member for content that a format cannot express, and for marks that only chatsquash reads."""
FEW = 40
"""The maximum number of open calls for a linear search."""
UNPARSED = "INVALID_JSON"
"""The member for arguments that are not an object, in formats that require an object."""


# Reading


class State(Struct, frozen=True, gc=False):
    """The state that is passed from one turn to the next when turns are loaded."""

    call: int = 1
    """The number of the next call without an id."""
    orphan: int = 1
    """The number of the next result without an id and without a call."""
    open: tuple[Link, ...] | OpenCalls = ()
    """Ids and names of the unanswered calls of the last assistant turn."""
    by_assistant: bool = False
    """Whether the last turn was an assistant turn, in formats that treat consecutive assistant turns as one."""
    before: tuple[tuple[Link, ...], ...] = ()
    """Earlier open calls of consecutive assistant turns, in runs; only used if there are very many."""

    def evolve(self, **members: Any) -> State:
        """Return a copy with other values for some members."""
        return replace(self, **members)

    def searchable(self) -> State:
        """Return a copy with an index of the open calls if there are many."""
        calls = self.open
        if isinstance(calls, OpenCalls) or (len(calls) <= FEW and not self.before):
            return self
        return self.evolve(open=index_open_calls((*chain.from_iterable(self.before), *calls)), before=())

    def is_open(self, member: int, value: str) -> bool:
        """Return whether a call with this id (``member`` 0) or tool name (1) is open."""
        calls = self.searchable().open
        if isinstance(calls, OpenCalls):
            return calls.place(member, value) is not None
        return any(call[member] == value for call in calls)

    def answer(self, logged_id: str, name: Json) -> tuple[str, State]:
        """Match a result with an open call, and return the id of the call and the next state.

        A result with an id matches only calls with this id.  A result without an id matches a call of the same tool, or
        else the first open call.
        """
        calls = self.open
        if isinstance(calls, OpenCalls) or len(calls) > FEW or self.before:
            # A linear search for each of many results would take quadratic time.
            return _answer_of_many(self.searchable(), logged_id, name)
        if logged_id:
            fitting = [call for call in calls if call[0] == logged_id]
        else:
            fitting = [call for call in calls if call[1] is not None and call[1] == name] or list(calls)
        if fitting:
            remaining = list(calls)
            remaining.remove(fitting[0])
            return fitting[0][0], State(self.call, self.orphan, tuple(remaining), self.by_assistant)
        # A result whose id no call has keeps its id.
        return (logged_id, self) if logged_id else self.take_orphan()

    def without(self, ids: Collection[str]) -> State:
        """Return a copy without the calls with these ids."""
        calls = self.open
        if not (isinstance(calls, OpenCalls) or len(calls) > FEW or self.before):
            remaining = tuple([call for call in calls if call[0] not in ids])
            return State(self.call, self.orphan, remaining, self.by_assistant)
        state = self.searchable()
        return state.evolve(open=state.open.without(ids) or ()) if isinstance(state.open, OpenCalls) else state

    def take_orphan(self) -> tuple[str, State]:
        """Return an id for a result without a call, and the next state."""
        return f"orphan_{self.orphan}", self.evolve(orphan=self.orphan + 1)

    def with_calls(self, calls: tuple[Link, ...]) -> State:
        """Return the state after an assistant turn with these calls, in formats with one turn per reply."""
        return State(self.call, self.orphan, calls)

    def after_calls(self, blocks: Iterable[Block], *, by_assistant: bool = False) -> State:
        """Return the state after an assistant turn; calls of a directly preceding assistant turn stay open."""
        calls = [block for block in blocks if type(block) is Call]
        made_up = len([call for call in calls if call.made_up])
        own_calls, before = tuple([(call.id, call.name) for call in calls]), self.before
        if not self.by_assistant:
            before = ()
        elif isinstance(self.open, OpenCalls) or len(self.open) > FEW:
            before = append_run(before, tuple(self.open))
        else:
            own_calls = self.open + own_calls
        return State(self.call + made_up, self.orphan, own_calls, by_assistant, before)


def _answer_of_many(state: State, logged_id: str, name: Json) -> tuple[str, State]:
    calls: Any = state.open
    place = calls.place(0, logged_id) if logged_id else calls.place(1, name) if isinstance(name, str) else None
    if place is None and logged_id:
        return logged_id, state
    call_id, remaining = calls.take(calls.first() if place is None else place)
    return call_id, state.evolve(open=remaining or ())


def have_ids(turns: Iterable[Turn]) -> bool:
    """Return whether all calls and results of turns were logged with ids, so that they do not depend on other turns."""
    return not any(
        (type(block) is Call or type(block) is Result) and block.made_up for turn in turns for block in turn.blocks
    )


def renumber(turn: Turn, number: int) -> Turn:
    """Renumber the generated call ids of a turn, starting with ``number``."""
    if not any(type(block) is Call and block.made_up for block in turn.blocks):
        return turn
    blocks = list[Block]()
    for block in turn.blocks:
        if type(block) is Call and block.made_up:
            blocks.append(replace(block, id=f"call_{number}"))
            number += 1
        else:
            blocks.append(block)
    return replace(turn, blocks=tuple(blocks))


def call(  # noqa: PLR0913 - its members
    logged_id: str, number: int, name: Json, arguments: str, native: Native, *, custom: bool = False
) -> Call:
    """Build a call; its id is generated if none was logged."""
    known = name if isinstance(name, str) else None
    return Call(logged_id or f"call_{number}", known, arguments, custom, not logged_id, native)


def result(  # noqa: PLR0913, PLR0917 - its members
    call_id: str, logged_id: str, name: Json, content: ResultContent, outcome: Outcome, native: Native
) -> Result:
    """Build the result of a call.

    Args:
        call_id: the id of the call
        logged_id: the id that the result was logged with, which may be empty
        name: the name of the tool
        content: the content of the result
        outcome: whether the call succeeded
        native: members that only the provider understands
    """
    known = name if isinstance(name, str) else ""
    return Result(call_id, known, content.content, content.json, outcome, not logged_id, native)


class ResultContent(Struct, frozen=True):
    """The content of a result."""

    content: tuple[Any, ...] = ()
    json: bool = False
    """Whether the content is the JSON text of a value that was not a string."""


def arguments(value: Json, missing: str = "{}") -> str:
    """Return arguments as a string; the string in ``UNPARSED`` is restored."""
    if isinstance(value, dict):
        unparsed = value[UNPARSED] if len(value) == 1 and UNPARSED in value else None
        return unparsed if isinstance(unparsed, str) else compact(value)
    return missing if value is None else value if isinstance(value, str) else compact(value)


def native(provider: str, holder: Object, *read: str, required: tuple[str, ...] = ()) -> Native:
    """Return the non-empty members of an object that are not read elsewhere, as provider-specific data.

    Args:
        provider: the key for the data in the returned value
        holder: the object
        read: the members that are read elsewhere
        required: members that are returned even if they are empty, because the provider requires them
    """
    unread_members = {
        key: value for key, value in holder.items() if key not in read and (value not in EMPTY or key in required)
    }
    if KEY in holder and not is_mark(holder[KEY]):  # a member with this name that chatsquash did not write
        unread_members[KEY] = holder[KEY]
    return {provider: unread_members} if unread_members else {}


def is_mark(value: Json, *names: str) -> bool:
    """Return whether the value of ``KEY`` is a mark written by chatsquash, with one of these names (default: any)."""
    return isinstance(value, dict) and len(value) == 1 and any(value.get(n) is True for n in names or MARKS)


MARKS = ("failed", "instructions")
"""The marks: ``failed`` for results whose text begins with ``ERROR``, ``instructions`` for prompts sent as such."""


EMPTY: tuple[Json, ...] = (None, "", [], {})
"""Values that mean the same as a missing member."""


def results_first(items: list[T], is_result: Callable[[T], bool]) -> list[T]:
    """Move the items before the first run of results to the place after it."""
    lead = list(takewhile(lambda item: not is_result(item), items))
    results = list(takewhile(is_result, items[len(lead) :]))
    return [*results, *lead, *items[len(lead) + len(results) :]]


# Writing


def arguments_object(raw: Json) -> Object:
    """Return arguments as an object; other values are stored in ``UNPARSED``, and ``arguments`` restores them."""
    if raw is None or raw == "":
        return {}
    value = parse_json(raw) if isinstance(raw, str) else raw
    return value if isinstance(value, dict) else {UNPARSED: raw if isinstance(raw, str) else compact(raw)}


def call_input(block: Call) -> Object:
    """Return the arguments of a call as an object."""
    return custom_input(block.arguments) if block.custom else arguments_object(block.arguments)


def custom_input(text: Json) -> Object:
    """Return the input text of a custom tool as the arguments of a function."""
    return {"input": text}


def custom_function(definition: Object) -> Object:
    """Convert the definition of a custom tool to a function with one argument."""
    return {**without({key: definition.get(key) for key in ("name", "description")}), "parameters": takes_text()}


def definition(tool: Tool) -> Any:
    """Return the part of a definition that contains the name: its function, its custom tool, or all of it."""
    return tool.get("function", tool.get("custom", tool)) if isinstance(tool, dict) else None


def is_custom(tool: Tool) -> bool:
    """Return whether a definition describes a custom tool."""
    return "function" not in tool and "custom" in tool


def takes_text() -> Object:
    """Return parameters for a custom tool, whose input is a string, for formats that require parameters."""
    return {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def function_call(call_id: Json, name: Json, arguments: Json) -> Object:
    """Build a function call for OpenAI chat; a null name and null arguments are omitted."""
    # Either member may be missing in logs.
    return {"id": call_id, "type": "function", "function": without({"name": name, "arguments": arguments})}


def spell_arguments(arguments: Json) -> str:
    """Return arguments as a string: strings unchanged, other values as JSON, missing arguments as an empty object."""
    return arguments if isinstance(arguments, str) else compact({} if arguments is None else arguments)


def spell_call(call_id: Json, name: Json, arguments: Json) -> Object:
    """Build a function call for OpenAI chat, with its arguments as a string."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": spell_arguments(arguments)}}


def tool_message(call_id: Json, content: Json, outcome: str = "", name: Json = None) -> Object:
    """Build a tool message for OpenAI chat, with the outcome unless the call succeeded."""
    name_member = {"name": name} if isinstance(name, str) and name else {}
    outcomes = {PRIVATE: Private({"outcome": outcome})} if outcome else {}
    return {"role": "tool", "tool_call_id": call_id, **name_member, "content": content, **outcomes}


def assistant_message(content: Json, calls: list[Any], thoughts: str = "") -> Object:
    """Build an assistant message for OpenAI chat; the content is null if there are only calls."""
    message: Object = {"role": "assistant", "content": content or (None if calls else "")}
    message |= {"tool_calls": calls} if calls else {}
    return message | ({"reasoning_content": thoughts} if thoughts else {})


def call_name(call: Object) -> str | None:
    """Return the tool name of an OpenAI chat call."""
    function = call.get("function") or call.get("custom")
    return string(function, "name") or None


def named_calls(calls: list[Object]) -> tuple[Link, ...]:
    """Return the id and the tool name of each OpenAI chat call."""
    return tuple((call["id"], call_name(call)) for call in calls)
