"""Logs of shapes that are hard for a converter: many requests, branches, sub-agents or windows in one session."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

Row = dict[str, Any]
Message = dict[str, Any]

TOOLS = [{"type": "function", "function": {"name": "task", "description": "Delegates.", "parameters": {}}}]
_WORDS = "table index parser buffer thread lock cache query column commit merge release build package".split()


def said(*parts: object) -> str:
    """A text of its own for each number in it, as a person may write one."""
    seed = sum(hash_of * 7 for hash_of in (len(str(part)) + int(part) for part in parts if isinstance(part, int)))
    return " ".join([*map(str, parts), "about the", *(_WORDS[(seed + 5 * k) % len(_WORDS)] for k in range(9))])


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


_SIDES = (("question", user), ("answer", assistant))


def time(number: int) -> str:
    return f"2026-01-{13 + number // 86400:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"


def chat_row(number: int, messages: list[Message], reply: Message, tools: list[Row] | None = None) -> Row:
    request = {"model": "m", "messages": messages, **({"tools": tools} if tools else {})}
    choice = {"index": 0, "message": reply, "finish_reason": "stop"}
    response = {"id": f"chat_{number}", "object": "chat.completion", "choices": [choice]}
    return {"timestamp": time(number), "session_id": "s", "request": request, "response": response}


def response_row(number: int, text: str, refers: Row, ident: str = "") -> Row:
    request = {"model": "m", "input": [user(text)], **refers}
    part = {"type": "output_text", "text": said("answer", number), "annotations": []}
    message = {"type": "message", "role": "assistant", "content": [part]}
    response = {"id": ident or f"resp_{number}", "object": "response", "status": "completed", "output": [message]}
    return {"timestamp": time(number), "session_id": "s", "request": request, "response": response}


# Plain chat


def requests(count: int) -> Iterator[Row]:
    """One conversation, which each request continues."""
    messages: list[Message] = []
    for number in range(count):
        messages.append(user(said("question", number)))
        yield chat_row(number, messages[:], reply := assistant(said("answer", number)))
        messages.append(reply)


def sessions(count: int) -> Iterator[Row]:
    """Sessions of one request in one file."""
    for number in range(count):
        row = chat_row(number, [user(said("question", number))], assistant(said("answer", number)))
        yield {**row, "session_id": f"s{number}"}


def retries(count: int) -> Iterator[Row]:
    """One request again and again, each time with another answer."""
    for number in range(count):
        yield chat_row(number, [user(said("question"))], assistant(said("answer", number)))


def branches(count: int) -> Iterator[Row]:
    """One reply, after which each request continues with another prompt."""
    begun = [user(said("question", 0)), assistant(said("answer", 0))]
    yield chat_row(0, begun[:1], begun[1])
    for number in range(1, count):
        yield chat_row(number, [*begun, user(said("question", number))], assistant(said("answer", number)))


def equal_prompts(count: int) -> Iterator[Row]:
    """Conversations of two turns that all begin with the same prompt, under one session id."""
    for number in range(0, count, 2):
        begun = [user(said("question")), assistant(said("answer", number)), user("continue")]
        yield chat_row(number, begun[:1], begun[1])
        yield chat_row(number + 1, begun, assistant(said("answer", number + 1)))


def side_requests(count: int) -> Iterator[Row]:
    """Requests of the client's own, each about one prompt of a conversation of a few turns."""
    begun: list[Message] = []
    for number in range(count):
        if number < 4:
            begun = [*begun, user(said("question", number))]
            yield chat_row(number, begun, reply := assistant(said("answer", number)), TOOLS)
            begun = [*begun, reply]
        else:
            prompt = [{"role": "system", "content": "Write a title."}, user(said("question", number % 4))]
            yield chat_row(number, prompt, assistant(f"Title {number}"))


def sub_agents(count: int) -> Iterator[Row]:
    """A short conversation whose calls began many others."""
    calls = [
        {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "task", "arguments": json.dumps({"prompt": text})},
        }
        for number in range(count - 2)
        for text in [said("work", number)]
    ]
    begun = [user(said("question")), {"role": "assistant", "content": None, "tool_calls": calls}]
    yield chat_row(0, begun[:1], begun[1], TOOLS)
    answers = []
    for number in range(count - 2):
        answers.append({"role": "tool", "tool_call_id": f"c{number}", "content": said("result", number)})
        prompt = [{"role": "system", "content": "You work."}, user(said("work", number))]
        yield chat_row(number + 1, prompt, assistant(said("result", number)))
    yield chat_row(count - 1, [*begun, *answers], assistant(said("answer")), TOOLS)


def summaries(count: int) -> Iterator[Row]:
    """A conversation of two turns at a time, which begins again with a summary of everything before."""
    begun: list[Message] = []
    for number in range(0, count, 3):
        for turn in (number, number + 1):
            begun = [*begun, user(said("question", turn))]
            yield chat_row(turn, begun, reply := assistant(said("answer", turn)))
            begun = [*begun, reply]
        summary = "Summary. " + " ".join(said("done", each) for each in range(number, number + 2))
        yield chat_row(number + 2, [*begun, user("Summarize the conversation.")], assistant(summary))
        begun = [user(summary)]


def windows(count: int) -> Iterator[Row]:
    """A client that sends only its newest messages."""
    messages: list[Message] = []
    for number in range(count):
        messages.append(user(said("question", number)))
        yield chat_row(number, messages[-9:], reply := assistant(said("answer", number)))
        messages.append(reply)


def findings(count: int) -> Iterator[Row]:
    """Requests each of which has something to report."""
    for number in range(count):
        call = {"id": "c", "type": "function", "function": {"name": f"tool {number}", "arguments": "{"}}
        messages = [user(said("question", number)), {"role": "assistant", "tool_calls": [call]}]
        yield chat_row(number, [*messages, {"role": "tool", "content": "x"}], assistant(said("answer", number)))


def unlogged(count: int) -> Iterator[Row]:
    """A long request whose history was not logged, and others that go back to places in it."""
    begun = [make(said(name, number)) for number in range(count) for name, make in _SIDES]
    yield chat_row(0, [*begun, user(said("question", count))], assistant(said("end", 0)))
    for number in range(1, 9):
        messages = [*begun[: 2 * (count * number // 9) + 2], user(said("another", number))]
        yield chat_row(number, messages, assistant(said("other", number)))


# Requests that refer to earlier ones


def chain_by_id(count: int) -> Iterator[Row]:
    """Each request continues the response before it."""
    for number in range(count):
        refers = {"previous_response_id": f"resp_{number - 1}"} if number else {}
        yield response_row(number, said("question", number), refers)


def two_chains(count: int) -> Iterator[Row]:
    """Each request continues the response before the one before it."""
    for number in range(count):
        refers = {"previous_response_id": f"resp_{number - 2}"} if number > 1 else {}
        yield response_row(number, said("question", number), refers)


def references(count: int) -> Iterator[Row]:
    """Each request continues the first response."""
    for number in range(count):
        refers = {"previous_response_id": "resp_0"} if number else {}
        yield response_row(number, said("question", number), refers)


def stored_conversations(count: int) -> Iterator[Row]:
    """Requests of two conversations that the service stores, in turn."""
    for number in range(count):
        yield response_row(number, said("question", number), {"conversation": {"id": f"conv_{number % 2}"}})


def interactions(count: int) -> Iterator[Row]:
    """Interactions of Gemini, each of which continues the one before it."""
    for number in range(count):
        request = {"model": "gemini-3", "input": said("question", number)}
        if number:
            request["previous_interaction_id"] = f"i_{number - 1}"
        steps = [{"type": "model_output", "content": [{"type": "text", "text": said("answer", number)}]}]
        response = {"id": f"i_{number}", "object": "interaction", "status": "completed", "steps": steps}
        yield {"timestamp": time(number), "session_id": "s", "request": request, "response": response}


# Files of agents


def edited_prompts(count: int) -> Iterator[Row]:
    """A file of Claude Code in which each prompt was edited once."""
    last = None
    for number in range(0, 2 * count, 4):
        yield code_row(number, last, "user", said("question", number))
        yield code_row(number + 1, f"u{number}", "assistant", said("answer", number))
        yield code_row(number + 2, last, "user", said("another", number))
        yield code_row(number + 3, f"u{number + 2}", "assistant", said("other", number))
        last = f"u{number + 1}"


def code_row(number: int, parent: str | None, role: str, text: str) -> Row:
    message: Row = user(text)
    if role == "assistant":
        content = [{"type": "text", "text": text}]
        message = {"id": f"m{number}", "type": "message", "role": role, "model": "m", "content": content, "usage": {}}
    home = {"sessionId": "5d0c7e52-93b4-4b6e-8f0a-2a4f7a1c9e31", "cwd": "/w", "version": "2.0.0", "isSidechain": False}
    place = {"uuid": f"u{number}", "parentUuid": parent, "timestamp": time(number)}
    return {**home, "userType": "external", "type": role, **place, "message": message}


SHAPES: dict[str, Callable[[int], Iterator[Row]]] = {
    make.__name__: make
    for make in (
        *(
            requests,
            sessions,
            retries,
            branches,
            equal_prompts,
            side_requests,
            sub_agents,
            summaries,
            windows,
            findings,
            unlogged,
        ),
        *(chain_by_id, two_chains, references, stored_conversations, interactions, edited_prompts),
    )
}


# Several files

Files = Iterator[tuple[str, Iterator[Row]]]


def archived(count: int) -> Files:
    """Sessions of one request, each in a file of its own."""
    for number, row in enumerate(sessions(count)):
        yield f"{number}.jsonl", iter([row])


def forks(count: int) -> Files:
    """A session of Codex, and others that fork it and copy its first turns."""
    name = "sessions/2026/01/13/rollout-2026-01-13T00-00-00-{}.jsonl".format
    parent = thread(0)
    yield name(parent), chain([codex_head(0)], *map(codex_turn, range(count)))
    for number in range(1, count):
        rows = [codex_head(number, forked_from_id=parent), codex_head(0)]
        yield name(thread(number)), chain(rows, *map(codex_turn, (0, 1, count + number)))


def thread(number: int) -> str:
    return f"019a0000-0000-7000-8000-{number:012x}"


def codex_head(number: int, **more: str) -> Row:
    known = {"id": thread(number), "timestamp": time(number), "cwd": "/w", "cli_version": "0.139.0"}
    head = {**known, "originator": "codex_cli_rs", "base_instructions": {"text": "You help."}, **more}
    return {"timestamp": time(number), "type": "session_meta", "payload": head}


def codex_turn(number: int) -> Iterator[Row]:
    asked = [{"type": "input_text", "text": said("question", number)}]
    answer = [{"type": "output_text", "text": said("answer", number)}]
    yield {"timestamp": time(number), "type": "turn_context", "payload": {"model": "m", "cwd": "/w"}}
    for role, content in (("user", asked), ("assistant", answer)):
        item = {"type": "message", "role": role, "content": content}
        yield {"timestamp": time(number), "type": "response_item", "payload": item}


FILES: dict[str, Callable[[int], Files]] = {make.__name__: make for make in (archived, forks)}
