"""Calls of tools and their results: the ids that they lack, and which of them belong together."""

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
"""What a text is as JSON; ``None`` for one that is none."""

ERROR = "ERROR: "
"""What stands before the text of a result that failed, where a format has no member for that."""
KEY = "chatsquash"
"""The member in which is kept what a format has no place for, and what only we read."""
_FEW = 40
"""As many open calls as are searched one by one."""
UNPARSED = "INVALID_JSON"
"""The member that arguments which are no object are kept in, where they must be one."""


# Reading


class State(Struct, frozen=True, gc=False):
    """What a turn needs to know of those before it."""

    call: int = 1
    """The number of the next call without an id."""
    orphan: int = 1
    """The number of the next result that has no id and answers nothing."""
    open: tuple[Link, ...] | OpenCalls = ()
    """Ids and names of the nearest assistant's calls that no result has answered."""
    by_assistant: bool = False
    """Whether the last turn was the assistant's, in formats where his turns in a row count as one."""
    before: tuple[tuple[Link, ...], ...] = ()
    """The open calls before those, by runs, where such turns have very many."""

    def evolve(self, **members: Any) -> State:
        """The same with these members."""
        return replace(self, **members)

    def searchable(self) -> State:
        """The same, whose calls are not searched one by one where they are very many."""
        calls = self.open
        if isinstance(calls, OpenCalls) or (len(calls) <= _FEW and not self.before):
            return self
        return self.evolve(open=index_open_calls((*chain.from_iterable(self.before), *calls)), before=())

    def is_open(self, member: int, value: str) -> bool:
        """Whether a call of this id (0) or this name (1) is open."""
        calls = self.searchable().open
        if isinstance(calls, OpenCalls):
            return calls.place(member, value) is not None
        return any(call[member] == value for call in calls)

    def answer(self, logged_id: str, name: Json) -> tuple[str, State]:
        """The id of the call that a result answers: by id, else by its tool's name, else the first that is open."""
        calls = self.open
        if isinstance(calls, OpenCalls) or len(calls) > _FEW or self.before:
            return _answer_of_many(self.searchable(), logged_id, name)
        if logged_id:
            fitting = [call for call in calls if call[0] == logged_id]
        else:
            fitting = [call for call in calls if call[1] is not None and call[1] == name] or list(calls)
        if fitting:
            remaining = list(calls)
            remaining.remove(fitting[0])
            return fitting[0][0], State(self.call, self.orphan, tuple(remaining), self.by_assistant)
        return (logged_id, self) if logged_id else self.take_orphan()

    def without(self, ids: Collection[str]) -> State:
        """The same without the calls of these ids."""
        calls = self.open
        if not (isinstance(calls, OpenCalls) or len(calls) > _FEW or self.before):
            remaining = tuple([call for call in calls if call[0] not in ids])
            return State(self.call, self.orphan, remaining, self.by_assistant)
        state = self.searchable()
        return state.evolve(open=state.open.without(ids) or ()) if isinstance(state.open, OpenCalls) else state

    def take_orphan(self) -> tuple[str, State]:
        """The id of a result that answers nothing."""
        return f"orphan_{self.orphan}", self.evolve(orphan=self.orphan + 1)

    def after_calls(self, blocks: Iterable[Block], *, by_assistant: bool = False) -> State:
        """The state behind an assistant's turn; if the last turn was his, too, its calls are still open."""
        calls = [block for block in blocks if type(block) is Call]
        made_up = len([call for call in calls if call.made_up])
        own_calls, before = tuple([(call.id, call.name) for call in calls]), self.before
        if not self.by_assistant:
            before = ()
        elif isinstance(self.open, OpenCalls) or len(self.open) > _FEW:
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


def renumber(turn: Turn, number: int) -> Turn:
    """A turn with other numbers in the ids that were made up, from this one on."""
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
    """A call, whose id is made up where none was logged."""
    known = name if isinstance(name, str) else None
    return Call(logged_id or f"call_{number}", known, arguments, custom, not logged_id, native)


def result(  # noqa: PLR0913, PLR0917 - its members
    call_id: str, logged_id: str, name: Json, content: ResultContent, outcome: Outcome, native: Native
) -> Result:
    """The result of a call; ``logged`` is the id that it has itself."""
    known = name if isinstance(name, str) else ""
    return Result(call_id, known, content.content, content.json, outcome, not logged_id, native)


class ResultContent(Struct, frozen=True):
    """What a result says."""

    content: tuple[Any, ...] = ()
    json: bool = False
    """Whether the content spells JSON that is no text."""


def arguments(value: Json, missing: str = "{}") -> str:
    """Arguments as text; what could not be parsed when it was written here is what it was."""
    if isinstance(value, dict) and list(value) == [UNPARSED] and isinstance(value[UNPARSED], str):
        return str(value[UNPARSED])
    return missing if value is None else value if isinstance(value, str) else compact(value)


def native(provider: str, holder: Object, *read: str, required: tuple[str, ...] = ()) -> Native:
    """The members of an object but those that are read and those that say nothing, as what a provider alone knows.

    ``required`` are members that a provider requires even where they say nothing.
    """
    unread_members = {
        key: value for key, value in holder.items() if key not in read and (value not in EMPTY or key in required)
    }
    if KEY in holder and not is_mark(holder[KEY]):
        unread_members[KEY] = holder[KEY]
    return {provider: unread_members} if unread_members else {}


def is_mark(value: Json, *names: str) -> bool:
    """Whether the value of ``KEY`` is as we write it, and says one of these."""
    return isinstance(value, dict) and len(value) == 1 and any(value.get(n) is True for n in names or MARKS)


MARKS = ("failed", "instructions")
"""What we say there: that the text of a result begins in our words, and that a prompt was given as instructions."""


EMPTY: tuple[Json, ...] = (None, "", [], {})
"""Values of a member that say no more than its absence."""


def results_first(items: list[T], is_result: Callable[[T], bool]) -> list[T]:
    """A turn's items with what stands before its first results behind them."""
    lead = list(takewhile(lambda item: not is_result(item), items))
    results = list(takewhile(is_result, items[len(lead) :]))
    return [*results, *lead, *items[len(lead) + len(results) :]]


# Writing


def arguments_object(raw: Json) -> Object:
    """Arguments as an object; those that are none are kept in one, from which they are read again."""
    if raw is None or raw == "":
        return {}
    value = parse_json(raw) if isinstance(raw, str) else raw
    return value if isinstance(value, dict) else {UNPARSED: raw if isinstance(raw, str) else compact(raw)}


def call_input(block: Call) -> Object:
    """The arguments of a call as an object."""
    return custom_input(block.arguments) if block.custom else arguments_object(block.arguments)


def custom_input(text: Json) -> Object:
    """The text that a custom tool gets, as the arguments of a function."""
    return {"input": text}


def custom_function(definition: Object) -> Object:
    """The definition of a custom tool as that of a function with one argument."""
    return {**without({key: definition.get(key) for key in ("name", "description")}), "parameters": takes_text()}


def definition(tool: Tool) -> Any:
    """What of a definition has its name: its function, its custom tool, or itself."""
    return tool.get("function", tool.get("custom", tool)) if isinstance(tool, dict) else None


def is_custom(tool: Tool) -> bool:
    """Whether a definition is of a custom tool."""
    return "function" not in tool and "custom" in tool


def takes_text() -> Object:
    """The parameters of a custom tool, which gets a text, where a tool must have some."""
    return {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def function_call(call_id: Json, name: Json, arguments: Json) -> Object:
    """A call of a function as OpenAI chat has it, its name and its arguments unless they are null."""
    return {"id": call_id, "type": "function", "function": without({"name": name, "arguments": arguments})}


def spell_arguments(arguments: Json) -> str:
    """Return arguments as a text: a text as it is, anything else as JSON, an empty object if they are missing."""
    return arguments if isinstance(arguments, str) else compact({} if arguments is None else arguments)


def spell_call(call_id: Json, name: Json, arguments: Json) -> Object:
    """A call of a function as OpenAI chat has it, with its arguments as a text."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": spell_arguments(arguments)}}


def tool_message(call_id: Json, content: Json, outcome: str = "", name: Json = None) -> Object:
    """The result of a call as OpenAI chat has it, with its outcome if it is not a success."""
    name_member = {"name": name} if isinstance(name, str) and name else {}
    outcomes = {PRIVATE: Private({"outcome": outcome})} if outcome else {}
    return {"role": "tool", "tool_call_id": call_id, **name_member, "content": content, **outcomes}


def assistant_message(content: Json, calls: list[Any], thoughts: str = "") -> Object:
    """A reply as OpenAI chat has it; one of calls alone has no content."""
    message: Object = {"role": "assistant", "content": content or (None if calls else "")}
    message |= {"tool_calls": calls} if calls else {}
    return message | ({"reasoning_content": thoughts} if thoughts else {})


def call_name(call: Object) -> str | None:
    """The name of the tool that a call of OpenAI chat is for."""
    function = call.get("function") or call.get("custom")
    return string(function, "name") or None


def named_calls(calls: list[Object]) -> tuple[Link, ...]:
    """The id and the name of each call of OpenAI chat."""
    return tuple((call["id"], call_name(call)) for call in calls)
