"""Calls of tools and their results: the ids that they lack, and which of them belong together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import count, takewhile
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from chatsquash import chat, jsonio
from chatsquash.chat import private
from chatsquash.formats.base import with_private
from chatsquash.formats.values import Object, at, compact, objects, string, without
from chatsquash.model import Json, Message, Tool

T = TypeVar("T")
parsed = jsonio.value
"""What a text is as JSON; ``None`` for one that is none."""

ERROR = "ERROR: "
"""What stands before the text of a result that failed, where a format has no member for that."""
_UNPARSED = "INVALID_JSON"
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


def numbered(logged: Iterable[Object], number: int, make: Callable[[Object, int], Object]) -> list[Object]:
    """The calls that ``make`` makes; those without an id get the numbers from this one on."""
    calls: list[Object] = []
    for each in logged:
        calls.append(make(each, number))
        number += made_up(calls[-1:])
    return calls


def tool_call(logged: str, number: int, called: Object, extra: Object, of: str = "function") -> Object:
    """A call with those members that are not null; its id is made up where none was logged."""
    call = {"id": logged or f"call_{number}", "type": of, of: without(called)}
    return cast("Object", with_private(cast("Message", call), {"synthetic_id": not logged, **extra}))


def function_call(logged: Json, name: Json, given: Json) -> Object:
    """A call of a function as OpenAI chat has it, its name and its arguments unless they are null."""
    return {"id": logged, "type": "function", "function": without({"name": name, "arguments": given})}


_SMALL = 1 << 16
"""Bytes of a message of which some may be held in memory, longer than a session takes."""


class Remembering:
    """Makes messages of what the assistant says, which mostly comes twice: in a response, then in the next request."""

    def __init__(self, make: Callable[[Any, int], Message]) -> None:
        """``make`` makes a message of a JSON value and the number of its next call without an id."""
        self._make = make
        self._known: deque[tuple[Any, int, Message]] = deque(maxlen=2)  # a line's response is read before its turns

    def __call__(self, value: Json, number: int) -> Message:
        """A new message; what is the same JSON as one of the last two times is not read again."""
        spelled = jsonio.encode(value)
        for known, first, message in self._known:
            if known == spelled:
                return message.copy() if number == first else _renumbered(message, number)
        message = self._make(value, number)
        if len(spelled[0]) <= _SMALL:
            self._known.append((spelled, number, message))
        return message


def _renumbered(message: Message, number: int) -> Message:
    """A copy with other numbers in the ids that were made up, from this one on."""
    renumbered = []
    for call in message.get("tool_calls", []):
        is_numbered = private(call).get("synthetic_id")
        renumbered.append({**call, "id": f"call_{number}"} if is_numbered else call)
        number += bool(is_numbered)
    return {**message, "tool_calls": renumbered} if renumbered else message.copy()


def arguments(value: Json, missing: str = "{}") -> str:
    """Arguments as text; what could not be parsed when it was written here is what it was."""
    if isinstance(value, dict) and list(value) == [_UNPARSED] and isinstance(value[_UNPARSED], str):
        return str(value[_UNPARSED])
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


# Writing


def arguments_object(raw: Json) -> Object:
    """Arguments as an object; those that are none are kept in one, from which they are read again."""
    if raw is None or raw == "":
        return {}
    value = parsed(raw) if isinstance(raw, str) else raw
    if isinstance(value, dict) and list(value) != [_UNPARSED]:
        return value
    return {_UNPARSED: raw if isinstance(raw, str) else compact(raw)}


def called(call: Object) -> tuple[str, Object]:
    """The name and the arguments of a call, as an object; what a custom tool gets is its ``input``."""
    function, custom = call.get("function"), call.get("custom")
    if isinstance(custom, dict) and not isinstance(function, dict):
        return string(custom, "name"), {"input": string(custom, "input")}
    return string(function, "name"), arguments_object(at(function, "arguments"))


def defined(tool: Tool) -> Any:
    """What of a definition has its name: its function, its custom tool, or itself."""
    return tool.get("function", tool.get("custom", tool)) if isinstance(tool, dict) else None


def is_custom(tool: Tool) -> bool:
    """Whether a definition is of a custom tool."""
    return "function" not in tool and "custom" in tool


def takes_text() -> Object:
    """The parameters of a custom tool, which gets a text, where a tool must have some."""
    return {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def failed(text: str) -> str:
    """The text of a result that failed, with what says so before it."""
    return text if text.startswith(ERROR) else f"{ERROR}{text}"


def after(message: Message) -> list[str]:
    """The texts that an assistant says behind its calls."""
    texts = private(message).get("after")
    return [each for each in texts if isinstance(each, str)] if isinstance(texts, list) else []


def as_text(message: Message) -> str | None:
    """The text of a message for what has no parts, each on a line of its own; ``None`` if it has none."""
    content = message.get("content")
    if not isinstance(content, list):
        return chat.text(message)
    return "\n".join(text for part in content if (text := chat.part_text(part)))


def told(message: Message) -> str | None:
    """All that a message says as text: its content, else its refusal, and what it says behind its calls."""
    said = as_text(message)
    refused = [part.get("refusal") for part in [message, *objects(chat.other_parts(message))]]
    said = said or next((each for each in refused if isinstance(each, str) and each), said)
    return "\n\n".join([*([said] if said else []), *after(message)]) if after(message) else said


def linked(messages: list[Message]) -> Iterator[tuple[Message, list[str]]]:
    """Each message with the ids of its calls, or the id of the call that it answers; those that lack are made up."""
    used = {call["id"] for message in messages for call in chat.calls(message) if string(call, "id")}
    unused = (made for number in count(1) if (made := f"call_{number}") not in used)
    state = State()
    for message in messages:
        calls = chat.calls(message)
        ids = [string(call, "id") or next(unused) for call in calls]
        if calls:
            state = state.but(open=tuple(zip(ids, map(call_name, calls), strict=True)))
        elif message.get("role") == "tool":
            answered, state = state.answer(string(message, "tool_call_id"), message.get("name"))
            ids.append(answered)
        yield message, ids


def referred(messages: list[Message]) -> set[str]:
    """The ids that results had when they were logged."""
    results = (message for message in messages if message["role"] == "tool")
    return {string(each, "tool_call_id") for each in results if not private(each).get("synthetic_id")}


def needed_ids(calls: list[Object], number: int, named: set[str]) -> list[str]:
    """The ids of calls, empty for those that a reader makes up just so and that no result names."""
    found = []
    for call in calls:
        known = string(call, "id")
        is_next = private(call).get("synthetic_id") and known == f"call_{number}"
        left_out = not known or (is_next and known not in named)
        number += bool(left_out)
        found.append("" if left_out else known)
    return found


def turns(messages: list[Message], has_place: Callable[[Message], bool] = bool) -> list[list[Message]]:
    """Messages by turns: results that follow each other are one, with what the user said in the same one.

    What the user said is left out of it where it has no place.
    """
    found: list[list[Message]] = []
    called: set[str] = set()
    for message in messages:
        if message["role"] == "assistant":
            called = {string(call, "id") for call in chat.calls(message)}
        joins = bool(found) and found[-1][0]["role"] == "tool" and _joins(message, found[-1][-1], called)
        if joins and (message["role"] == "tool" or has_place(message)):
            found[-1].append(message)
        else:
            found.append([message])
    return found


def _joins(message: Message, last: Message, called: set[str]) -> bool:
    """Whether a message is part of a turn that begins with a result; all results of a turn's calls are."""
    is_same = bool(private(message).get("same_turn"))
    if message["role"] == "tool":
        return is_same or last["role"] == "tool" or string(message, "tool_call_id") in called
    return message["role"] == "user" and is_same
