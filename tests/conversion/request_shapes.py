"""Logs of gateways of shapes that are hard for a converter, in which requests differ in few things."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from .shapes import TOOLS, Message, Row, assistant, chain_by_id, chat_row, response_row, said, user


def _system(text: str) -> Message:
    return {"role": "system", "content": text}


def _call(number: int, text: str) -> Message:
    function = {"name": "task", "arguments": json.dumps({"prompt": text})}
    return {"role": "assistant", "content": None, "tool_calls": [_part(number, function)]}


def _part(number: int, function: Row) -> Row:
    return {"id": f"c{number}", "type": "function", "function": function}


def _result(number: int, text: str) -> Message:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text}


def nested_agents(count: int) -> Iterator[Row]:
    """Sub-agents each of which begins the next one; results come back from the last to the first."""
    depths = range(count // 2)
    prompts = [[_system("You work."), user(said("work", depth))] for depth in depths]
    calls = [_call(depth, said("work", depth + 1)) for depth in depths]
    for depth in depths:
        yield chat_row(depth, prompts[depth], calls[depth], TOOLS)
    for number, depth in enumerate(reversed(depths), count // 2):
        messages = [*prompts[depth], calls[depth], _result(depth, said("result", depth + 1))]
        yield chat_row(number, messages, assistant(said("result", depth)), TOOLS)


def equal_agents(count: int) -> Iterator[Row]:
    """A reply that calls many sub-agents with one prompt."""
    prompt, begun = "look into the very same matter once more please", [user(said("question"))]
    function = {"name": "task", "arguments": json.dumps({"prompt": prompt})}
    numbers = range(1, count - 1)
    reply = {"role": "assistant", "content": None, "tool_calls": [_part(number, function) for number in numbers]}
    yield chat_row(0, begun, reply, TOOLS)
    for number in numbers:
        yield chat_row(number, [_system("You work."), user(prompt)], assistant(said("result", number)))
    results = [_result(number, said("result", number)) for number in reversed(numbers)]
    yield chat_row(count, [*begun, reply, *results], assistant("end"), TOOLS)


def alternating_sessions(count: int) -> Iterator[Row]:
    """Sessions of three turns each, one request of each in turn."""
    histories: list[list[Message]] = [[] for _ in range(count // 3)]
    for number in range(count // 3 * 3):
        at = number % len(histories)
        begun, reply = [*histories[at], user(said("question", number))], assistant(said("answer", number))
        yield {**chat_row(number, begun, reply), "session_id": f"s{at}"}
        histories[at] = [*begun, reply]


def equal_sessions(count: int) -> Iterator[Row]:
    """The same request and reply, under many session ids."""
    for number in range(count):
        row = chat_row(number, [_system("You help."), user(said("question"))], assistant(said("answer")))
        yield {**row, "session_id": f"s{number}"}


def repeated_retries(count: int) -> Iterator[Row]:
    """A conversation in which each request was sent twice."""
    begun: list[Message] = []
    for number in range(0, count, 2):
        begun = [*begun, user(said("question", number))]
        yield chat_row(number, begun, assistant(said("answer", number)))
        yield chat_row(number + 1, begun, reply := assistant(said("answer", number + 1)))
        begun = [*begun, reply]


def backward_windows(count: int) -> Iterator[Row]:
    """Requests with a few messages of a long history, from its end to its beginning."""
    begun = [make(said(name, at)) for at in range(count + 5) for name, make in (("ask", user), ("say", assistant))]
    for number in range(count):
        first = 2 * (count - number)
        messages = [*begun[first : first + 8], user(said("more", number))]
        yield chat_row(number, messages, assistant(said("reply", number)))


def other_tools(count: int) -> Iterator[Row]:
    """One prompt, each time with another tool."""
    for number in range(count):
        yield chat_row(number, [user(said("question"))], assistant(said("answer", number)), _tools(number))


def changing_tools(count: int) -> Iterator[Row]:
    """A conversation in which the tool's definition changes with each request."""
    begun: list[Message] = []
    for number in range(count):
        begun = [*begun, user(said("question", number))]
        yield chat_row(number, begun, reply := assistant(said("answer", number)), _tools(number))
        begun = [*begun, reply]


def _tools(number: int) -> list[Row]:
    parameters = {"type": "object", "properties": {f"p{number}": {"type": "string"}}}
    function = {"name": "task", "description": said("does", number), "parameters": parameters}
    return [{"type": "function", "function": function}]


def reasoning_forks(count: int) -> Iterator[Row]:
    """A reply with reasoning, after which each request continues without it."""
    begun = [user(said("question", 0)), assistant(said("answer", 0))]
    yield chat_row(0, begun[:1], {**begun[1], "reasoning_content": said("thought", 0)})
    for number in range(1, count):
        reply = {**assistant(said("answer", number)), "reasoning_content": said("thought", number)}
        yield chat_row(number, [*begun, user(said("question", number))], reply)


def reasoning_windows(count: int) -> Iterator[Row]:
    """A client that sends only its newest messages, and those without their reasoning."""
    messages: list[Message] = []
    for number in range(count):
        messages.append(user(said("question", number)))
        reply = assistant(said("answer", number))
        yield chat_row(number, messages[-9:], {**reply, "reasoning_content": said("thought", number)})
        messages.append(reply)


def edited_message(count: int) -> Iterator[Row]:
    """One long message, of which each request has another word changed."""
    words = said(*range(60)).split()
    for number in range(count):
        at = number % len(words)
        text = " ".join([*words[:at], f"word{number}", *words[at + 1 :]])
        yield chat_row(number, [user(text)], assistant(said("answer", number)))


def emptied_results(count: int) -> Iterator[Row]:
    """An agent that clears all results but the last ones."""
    begun = [user(said("question"))]
    for number in range(count):
        shown = [{**each, "content": "[cleared]"} if each["role"] == "tool" else each for each in begun[:-4]]
        yield chat_row(number, [*shown, *begun[-4:]], call := _call(number, said("work", number)), TOOLS)
        begun = [*begun, call, _result(number, said("result", number))]


def quotes(count: int) -> Iterator[Row]:
    """Requests each of which quotes the five replies before it."""
    texts: list[str] = []
    for number in range(count):
        text = " ".join([*texts[-5:], said("question", number)])
        yield chat_row(number, [user(text)], assistant(said("answer", number, number * number)))
        texts.append(said("answer", number, number * number))


def unknown_references(count: int) -> Iterator[Row]:
    """Requests that refer to responses which are not in the log."""
    for number in range(count):
        yield response_row(number, said("question", number), {"previous_response_id": f"gone_{number}"})


def late_references(count: int) -> Iterator[Row]:
    """Each request continues the response after it."""
    yield from reversed(list(chain_by_id(count)))


_AT_ONCE = 10
"""Conversations that alternate."""


def alternating_references(count: int) -> Iterator[Row]:
    """Requests of several conversations in turns, each of which continues a response by its id."""
    for number in range(count * _AT_ONCE):
        before = number - _AT_ONCE
        yield response_row(
            number, said("question", number), {"previous_response_id": f"resp_{before}"} if before >= 0 else {}
        )


REQUEST_SHAPES: dict[str, Callable[[int], Iterator[Row]]] = {
    make.__name__: make
    for make in (
        *(nested_agents, equal_agents, alternating_sessions, equal_sessions, repeated_retries, backward_windows),
        *(other_tools, changing_tools, reasoning_forks, reasoning_windows, edited_message, emptied_results),
        *(quotes, unknown_references, late_references, alternating_references),
    )
}
