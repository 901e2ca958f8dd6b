"""Logs of shapes that are hard for a converter: many requests, branches, sub-agents or windows in one session."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Message = dict[str, Any]

_TOOLS = [{"type": "function", "function": {"name": "task", "description": "Delegates.", "parameters": {}}}]
_WORDS = "table index parser buffer thread lock cache query column commit merge release build package".split()


def _said(*parts: object) -> str:
    """A text of its own for each number in it, as a person may write one."""
    seed = sum(hash_of * 7 for hash_of in (len(str(part)) + int(part) for part in parts if isinstance(part, int)))
    return " ".join([*map(str, parts), "about the", *(_WORDS[(seed + 5 * k) % len(_WORDS)] for k in range(9))])


def _user(text: str) -> Message:
    return {"role": "user", "content": text}


def _assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


_SIDES = (("question", _user), ("answer", _assistant))


def _time(number: int) -> str:
    return f"2026-01-{13 + number // 86400:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"


def _chat(number: int, messages: list[Message], reply: Message, tools: list[Row] | None = None) -> Row:
    request = {"model": "m", "messages": messages, **({"tools": tools} if tools else {})}
    choice = {"index": 0, "message": reply, "finish_reason": "stop"}
    response = {"id": f"chat_{number}", "object": "chat.completion", "choices": [choice]}
    return {"timestamp": _time(number), "session_id": "s", "request": request, "response": response}


def _responses(number: int, text: str, refers: Row, ident: str = "") -> Row:
    request = {"model": "m", "input": [_user(text)], **refers}
    part = {"type": "output_text", "text": _said("answer", number), "annotations": []}
    message = {"type": "message", "role": "assistant", "content": [part]}
    response = {"id": ident or f"resp_{number}", "object": "response", "status": "completed", "output": [message]}
    return {"timestamp": _time(number), "session_id": "s", "request": request, "response": response}


# Plain chat


def requests(count: int) -> Iterator[Row]:
    """One conversation, which each request continues."""
    messages: list[Message] = []
    for number in range(count):
        messages.append(_user(_said("question", number)))
        yield _chat(number, messages[:], reply := _assistant(_said("answer", number)))
        messages.append(reply)


def sessions(count: int) -> Iterator[Row]:
    """Sessions of one request in one file."""
    for number in range(count):
        row = _chat(number, [_user(_said("question", number))], _assistant(_said("answer", number)))
        yield {**row, "session_id": f"s{number}"}


def retries(count: int) -> Iterator[Row]:
    """One request again and again, each time with another answer."""
    for number in range(count):
        yield _chat(number, [_user(_said("question"))], _assistant(_said("answer", number)))


def branches(count: int) -> Iterator[Row]:
    """One reply, after which each request continues with another prompt."""
    begun = [_user(_said("question", 0)), _assistant(_said("answer", 0))]
    yield _chat(0, begun[:1], begun[1])
    for number in range(1, count):
        yield _chat(number, [*begun, _user(_said("question", number))], _assistant(_said("answer", number)))


def equal_prompts(count: int) -> Iterator[Row]:
    """Conversations of two turns that all begin with the same prompt, under one session id."""
    for number in range(0, count, 2):
        begun = [_user(_said("question")), _assistant(_said("answer", number)), _user("continue")]
        yield _chat(number, begun[:1], begun[1])
        yield _chat(number + 1, begun, _assistant(_said("answer", number + 1)))


def side_requests(count: int) -> Iterator[Row]:
    """Requests of the client's own, each about one prompt of a conversation of a few turns."""
    begun: list[Message] = []
    for number in range(count):
        if number < 4:
            begun = [*begun, _user(_said("question", number))]
            yield _chat(number, begun, reply := _assistant(_said("answer", number)), _TOOLS)
            begun = [*begun, reply]
        else:
            prompt = [{"role": "system", "content": "Write a title."}, _user(_said("question", number % 4))]
            yield _chat(number, prompt, _assistant(f"Title {number}"))


def sub_agents(count: int) -> Iterator[Row]:
    """A short conversation whose calls began many others."""
    calls = [
        {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "task", "arguments": json.dumps({"prompt": text})},
        }
        for number in range(count - 2)
        for text in [_said("work", number)]
    ]
    begun = [_user(_said("question")), {"role": "assistant", "content": None, "tool_calls": calls}]
    yield _chat(0, begun[:1], begun[1], _TOOLS)
    answers = []
    for number in range(count - 2):
        answers.append({"role": "tool", "tool_call_id": f"c{number}", "content": _said("result", number)})
        prompt = [{"role": "system", "content": "You work."}, _user(_said("work", number))]
        yield _chat(number + 1, prompt, _assistant(_said("result", number)))
    yield _chat(count - 1, [*begun, *answers], _assistant(_said("answer")), _TOOLS)


def summaries(count: int) -> Iterator[Row]:
    """A conversation of two turns at a time, which begins again with a summary of everything before."""
    begun: list[Message] = []
    for number in range(0, count, 3):
        for turn in (number, number + 1):
            begun = [*begun, _user(_said("question", turn))]
            yield _chat(turn, begun, reply := _assistant(_said("answer", turn)))
            begun = [*begun, reply]
        summary = "Summary. " + " ".join(_said("done", each) for each in range(number, number + 2))
        yield _chat(number + 2, [*begun, _user("Summarize the conversation.")], _assistant(summary))
        begun = [_user(summary)]


def windows(count: int) -> Iterator[Row]:
    """A client that sends only its newest messages."""
    messages: list[Message] = []
    for number in range(count):
        messages.append(_user(_said("question", number)))
        yield _chat(number, messages[-9:], reply := _assistant(_said("answer", number)))
        messages.append(reply)


def findings(count: int) -> Iterator[Row]:
    """Requests each of which has something to report."""
    for number in range(count):
        call = {"id": "c", "type": "function", "function": {"name": f"tool {number}", "arguments": "{"}}
        messages = [_user(_said("question", number)), {"role": "assistant", "tool_calls": [call]}]
        yield _chat(number, [*messages, {"role": "tool", "content": "x"}], _assistant(_said("answer", number)))


def unlogged(count: int) -> Iterator[Row]:
    """A long request whose history was not logged, and others that go back to places in it."""
    begun = [make(_said(name, number)) for number in range(count) for name, make in _SIDES]
    yield _chat(0, [*begun, _user(_said("question", count))], _assistant(_said("end", 0)))
    for number in range(1, 9):
        messages = [*begun[: 2 * (count * number // 9) + 2], _user(_said("another", number))]
        yield _chat(number, messages, _assistant(_said("other", number)))


# Requests that refer to earlier ones


def chain_by_id(count: int) -> Iterator[Row]:
    """Each request continues the response before it."""
    for number in range(count):
        refers = {"previous_response_id": f"resp_{number - 1}"} if number else {}
        yield _responses(number, _said("question", number), refers)


def two_chains(count: int) -> Iterator[Row]:
    """Each request continues the response before the one before it."""
    for number in range(count):
        refers = {"previous_response_id": f"resp_{number - 2}"} if number > 1 else {}
        yield _responses(number, _said("question", number), refers)


def references(count: int) -> Iterator[Row]:
    """Each request continues the first response."""
    for number in range(count):
        refers = {"previous_response_id": "resp_0"} if number else {}
        yield _responses(number, _said("question", number), refers)


def stored_conversations(count: int) -> Iterator[Row]:
    """Requests of two conversations that the service stores, in turn."""
    for number in range(count):
        yield _responses(number, _said("question", number), {"conversation": {"id": f"conv_{number % 2}"}})


def interactions(count: int) -> Iterator[Row]:
    """Interactions of Gemini, each of which continues the one before it."""
    for number in range(count):
        request = {"model": "gemini-3", "input": _said("question", number)}
        if number:
            request["previous_interaction_id"] = f"i_{number - 1}"
        steps = [{"type": "model_output", "content": [{"type": "text", "text": _said("answer", number)}]}]
        response = {"id": f"i_{number}", "object": "interaction", "status": "completed", "steps": steps}
        yield {"timestamp": _time(number), "session_id": "s", "request": request, "response": response}


# Files of agents


def edited_prompts(count: int) -> Iterator[Row]:
    """A file of Claude Code in which each prompt was edited once."""
    last = None
    for number in range(0, 2 * count, 4):
        yield _code_row(number, last, "user", _said("question", number))
        yield _code_row(number + 1, f"u{number}", "assistant", _said("answer", number))
        yield _code_row(number + 2, last, "user", _said("another", number))
        yield _code_row(number + 3, f"u{number + 2}", "assistant", _said("other", number))
        last = f"u{number + 1}"


def _code_row(number: int, parent: str | None, role: str, text: str) -> Row:
    message: Row = _user(text)
    if role == "assistant":
        content = [{"type": "text", "text": text}]
        message = {"id": f"m{number}", "type": "message", "role": role, "model": "m", "content": content, "usage": {}}
    home = {"sessionId": "5d0c7e52-93b4-4b6e-8f0a-2a4f7a1c9e31", "cwd": "/w", "version": "2.0.0", "isSidechain": False}
    place = {"uuid": f"u{number}", "parentUuid": parent, "timestamp": _time(number)}
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
    parent = _thread(0)
    yield name(parent), chain([_codex_head(0)], *map(_codex_turn, range(count)))
    for number in range(1, count):
        rows = [_codex_head(number, forked_from_id=parent), _codex_head(0)]
        yield name(_thread(number)), chain(rows, *map(_codex_turn, (0, 1, count + number)))


def _thread(number: int) -> str:
    return f"019a0000-0000-7000-8000-{number:012x}"


def _codex_head(number: int, **more: str) -> Row:
    known = {"id": _thread(number), "timestamp": _time(number), "cwd": "/w", "cli_version": "0.139.0"}
    head = {**known, "originator": "codex_cli_rs", "base_instructions": {"text": "You help."}, **more}
    return {"timestamp": _time(number), "type": "session_meta", "payload": head}


def _codex_turn(number: int) -> Iterator[Row]:
    asked = [{"type": "input_text", "text": _said("question", number)}]
    answer = [{"type": "output_text", "text": _said("answer", number)}]
    yield {"timestamp": _time(number), "type": "turn_context", "payload": {"model": "m", "cwd": "/w"}}
    for role, content in (("user", asked), ("assistant", answer)):
        item = {"type": "message", "role": role, "content": content}
        yield {"timestamp": _time(number), "type": "response_item", "payload": item}


FILES: dict[str, Callable[[int], Files]] = {make.__name__: make for make in (archived, forks)}


def write(shape: str, count: int, folder: Path) -> Path:
    """Write a log of a shape with so many exchanges, or so many files; return its folder."""
    folder.mkdir(parents=True)
    files = FILES[shape](count) if shape in FILES else [("log.jsonl", SHAPES[shape](count))]
    for name, rows in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    if shape == archived.__name__:
        with tarfile.open(folder / "logs.tar", "w") as archive:
            for file in sorted(folder.glob("*.jsonl")):
                archive.add(file, file.name)
                file.unlink()
    return folder
