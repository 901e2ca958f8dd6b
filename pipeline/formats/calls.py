"""Calls of tools and their results: the ids that they lack, and which of them belong together."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Any, NamedTuple, TypeVar, cast

from pipeline.chat import private
from pipeline.formats.base import with_private
from pipeline.formats.values import Object, at, compact, without
from pipeline.model import Json, Message

T = TypeVar("T")


class State(NamedTuple):
    """What a turn needs to know of those before it."""

    call: int = 1
    """The number of the next call without an id."""
    orphan: int = 1
    """The number of the next result that has no id and answers nothing."""
    open: tuple[tuple[str, str | None], ...] = ()
    """Ids and names of the nearest assistant's calls that no result has answered."""
    by_assistant: bool = False
    """Whether the last turn was the assistant's, in formats where his turns in a row count as one."""

    def answer(self, logged: str, name: Json) -> tuple[str, State]:
        """The id of the call that a result answers: by id, else by its tool's name, else the first that is open."""
        if logged:
            fitting = [call for call in self.open if call[0] == logged]
        else:
            fitting = [call for call in self.open if call[1] is not None and call[1] == name] or list(self.open)
        if fitting:
            left = list(self.open)
            left.remove(fitting[0])
            return fitting[0][0], self._replace(open=tuple(left))
        return (logged, self) if logged else self.lose()

    def lose(self) -> tuple[str, State]:
        """The id of a result that answers nothing."""
        return f"orphan_{self.orphan}", self._replace(orphan=self.orphan + 1)

    def called(self, calls: list[Object], *, by_assistant: bool = False) -> State:
        """The state behind an assistant's turn; if the last turn was his, too, its calls are still open."""
        before = self.open if self.by_assistant else ()
        return State(self.call + made_up(calls), self.orphan, before + names(calls), by_assistant)


def names(calls: list[Object]) -> tuple[tuple[str, str | None], ...]:
    """The id and the name of each call."""
    return tuple((call["id"], call_name(call)) for call in calls)


def call_name(call: Object) -> str | None:
    """The name of the tool that a call is for."""
    function = call.get("function")
    name = (isinstance(function, dict) and function.get("name")) or at(call, "custom", "name")
    return name if isinstance(name, str) else None


def made_up(calls: list[Object]) -> int:
    """How many calls have an id that was made up."""
    return sum(1 for call in calls if private(call).get("synthetic_id"))


def tool_call(logged: str, number: int, called: Object, extra: Object, of: str = "function") -> Object:
    """A call with those members that are not null; its id is made up where none was logged."""
    call = {"id": logged or f"call_{number}", "type": of, of: without(called)}
    return cast("Object", with_private(cast("Message", call), {"synthetic_id": not logged, **extra}))


def arguments(value: Json, missing: str = "{}") -> str:
    """Arguments as text; what could not be parsed when it was written here is what it was."""
    if isinstance(value, dict) and list(value) == ["INVALID_JSON"] and isinstance(value["INVALID_JSON"], str):
        return value["INVALID_JSON"]
    return missing if value is None else value if isinstance(value, str) else compact(value)


def assistant(content: Json, reasoning: str, calls: list[Object], refusal: str | None = None) -> Message:
    """An assistant's message with those members that it has."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if refusal is not None:
        message["refusal"] = refusal
    if reasoning:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return cast("Message", message)


def result(answered: str, name: str, content: Json) -> Message:
    """The result of a call, with its tool's name where that was logged."""
    named = {"name": name} if name else {}
    return cast("Message", {"role": "tool", "tool_call_id": answered, **named, "content": content})


def results_first(items: list[T], is_result: Callable[[T], bool]) -> list[T]:
    """A turn's items with what stands before its first results behind them."""
    lead = list(takewhile(lambda item: not is_result(item), items))
    results = list(takewhile(is_result, items[len(lead) :]))
    return [*results, *lead, *items[len(lead) + len(results) :]]
