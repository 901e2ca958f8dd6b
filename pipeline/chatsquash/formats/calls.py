"""Calls of tools and their results: the ids that they lack, and which of them belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from chatsquash import jsonio
from chatsquash.blocks import Block, Call, Native, Outcome, Result, Turn
from chatsquash.formats.values import Object, compact, string, without
from chatsquash.model import Json, Tool

T = TypeVar("T")
parsed = jsonio.value
"""What a text is as JSON; ``None`` for one that is none."""

ERROR = "ERROR: "
"""What stands before the text of a result that failed, where a format has no member for that."""
UNPARSED = "INVALID_JSON"
"""The member that arguments which are no object are kept in, where they must be one."""


# Reading


class State(Struct, frozen=True, gc=False):
    """What a turn needs to know of those before it."""

    call: int = 1
    """The number of the next call without an id."""
    orphan: int = 1
    """The number of the next result that has no id and answers nothing."""
    open: tuple[tuple[str, str | None], ...] = ()
    """Ids and names of the nearest assistant's calls that no result has answered."""
    by_assistant: bool = False
    """Whether the last turn was the assistant's, in formats where his turns in a row count as one."""

    def but(self, **members: Any) -> State:
        """The same with these members."""
        return replace(self, **members)

    def answer(self, logged: str, name: Json) -> tuple[str, State]:
        """The id of the call that a result answers: by id, else by its tool's name, else the first that is open."""
        if logged:
            fitting = [call for call in self.open if call[0] == logged]
        else:
            fitting = [call for call in self.open if call[1] is not None and call[1] == name] or list(self.open)
        if fitting:
            left = list(self.open)
            left.remove(fitting[0])
            return fitting[0][0], self.but(open=tuple(left))
        return (logged, self) if logged else self.lose()

    def lose(self) -> tuple[str, State]:
        """The id of a result that answers nothing."""
        return f"orphan_{self.orphan}", self.but(orphan=self.orphan + 1)

    def called(self, blocks: Iterable[Block], *, by_assistant: bool = False) -> State:
        """The state behind an assistant's turn; if the last turn was his, too, its calls are still open."""
        calls = [block for block in blocks if type(block) is Call]
        before = self.open if self.by_assistant else ()
        made_up = sum(call.made_up for call in calls)
        opened = tuple((call.id, call.name) for call in calls)
        return State(self.call + made_up, self.orphan, before + opened, by_assistant)


def numbered(turn: Turn, number: int) -> Turn:
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
    logged: str, number: int, name: Json, arguments: str, native: Native, *, custom: bool = False
) -> Call:
    """A call, whose id is made up where none was logged."""
    known = name if isinstance(name, str) else None
    return Call(logged or f"call_{number}", known, arguments, custom, not logged, native)


def result(  # noqa: PLR0913, PLR0917 - its members
    answered: str, logged: str, name: Json, said: Said, outcome: Outcome, native: Native
) -> Result:
    """The result of a call; ``logged`` is the id that it has itself."""
    known = name if isinstance(name, str) else ""
    return Result(answered, known, said.content, said.json, outcome, not logged, native)


class Said(Struct, frozen=True):
    """What a result says."""

    content: tuple[Any, ...] = ()
    json: bool = False
    """Whether the content spells JSON that is no text."""


def arguments(value: Json, missing: str = "{}") -> str:
    """Arguments as text; what could not be parsed when it was written here is what it was."""
    if isinstance(value, dict) and list(value) == [UNPARSED] and isinstance(value[UNPARSED], str):
        return str(value[UNPARSED])
    return missing if value is None else value if isinstance(value, str) else compact(value)


def native(provider: str, holder: Object, *read: str) -> Native:
    """The members of an object but those that are read and those that say nothing, as what a provider alone knows."""
    left = {key: value for key, value in holder.items() if key not in read and value not in EMPTY}
    return {provider: left} if left else {}


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
    value = parsed(raw) if isinstance(raw, str) else raw
    return value if isinstance(value, dict) else {UNPARSED: raw if isinstance(raw, str) else compact(raw)}


def given(block: Call) -> Object:
    """What a call gives its tool, as an object; what a custom tool gets is its ``input``."""
    return {"input": block.arguments} if block.custom else arguments_object(block.arguments)


def defined(tool: Tool) -> Any:
    """What of a definition has its name: its function, its custom tool, or itself."""
    return tool.get("function", tool.get("custom", tool)) if isinstance(tool, dict) else None


def is_custom(tool: Tool) -> bool:
    """Whether a definition is of a custom tool."""
    return "function" not in tool and "custom" in tool


def takes_text() -> Object:
    """The parameters of a custom tool, which gets a text, where a tool must have some."""
    return {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def function_call(logged: Json, name: Json, given: Json) -> Object:
    """A call of a function as OpenAI chat has it, its name and its arguments unless they are null."""
    return {"id": logged, "type": "function", "function": without({"name": name, "arguments": given})}


def call_name(call: Object) -> str | None:
    """The name of the tool that a call of OpenAI chat is for."""
    held = call.get("function") or call.get("custom")
    return string(held, "name") or None


def named_calls(calls: list[Object]) -> tuple[tuple[str, str | None], ...]:
    """The id and the name of each call of OpenAI chat."""
    return tuple((call["id"], call_name(call)) for call in calls)
