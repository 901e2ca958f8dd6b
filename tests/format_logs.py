"""Logs of each format for the law that reading by edits gives what loading each line alone gives.

``logs(name)`` gives whole logs: requests that grow, are rewritten, repeat and branch, with other system prompts, other
tools, turns without ids, turns that are none of the format, and lines that are broken; ``growing(name, ...)`` one that
only grows.  Turns, prompts, tools and responses are those of the rows of the format (``tests/formats/table.py``).  How a
line is spelled follows from a ``Style`` of ``tests.strategies``, in which the same turn always has the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

from chatsquash.core.model import Conversation
from chatsquash.formats import bodies, formats, get_format
from chatsquash.formats.base import TurnError
from tests.formats.table import rows
from tests.strategies import Draw, Pairs, Style, a_style, as_written, below, chance, pick, reordered, write

Turn = Any
Turns = list[Any]

NUMBERS = [1, True, 1.0]
"""Equal to Python, and different in a record."""
NOT_TURNS: list[Any] = [5, None, [], {}, {"role": 7}, {"role": "nobody", "content": "x", "parts": [{"text": "x"}]}]
"""Some of them are turns of some formats."""
BROKEN_LINES = [b"{", b"nonsense", b"[]", b"", b" \r", b'{"request": 1}', b'{"request": {}}', b'{"x": 1}']


@dataclass(frozen=True)
class Parts:
    """What the logs of a format are made of; turns come as lists, for some formats need two where others need one."""

    asks: list[Turns]
    says: list[Turns]
    answers: list[Turns]
    """Results of calls."""
    responses: list[Any]
    systems: list[tuple[str, Any]]
    """Members that hold a system prompt, with values for them."""
    tools: list[Any]


@cache
def by_ids(name: str) -> Parts:
    """The turns in the rows of a format by the role of the message that they give, and the rest of what rows hold."""
    form = formats()[name]
    by_role: dict[str, list[Turns]] = {"user": [], "assistant": [], "tool": []}
    turns = [turn for row in rows("turns", name) if "refused" not in row.expected for turn in row.given]
    for turn in [*turns, *(turn for number in NUMBERS for turn in numbered(name, number))]:
        try:
            loaded = bodies.load(form, {form.TURNS: [turn]}).messages
        except TurnError:
            continue
        by_role.setdefault(loaded[0]["role"] if loaded else "user", []).append([turn])
    return Parts(
        by_role["user"],
        by_role["assistant"],
        by_role["tool"],
        [row.given for row in rows("reply", name) if isinstance(row.given, dict) and "message" in row.expected],
        [(member, row.given) for member in form.SYSTEM for row in rows("system", name)],
        [row.given for row in rows("tools", name)],
    )


def conversation(requests: int) -> list[Any]:
    """Canonical messages of so many questions, each answered with a call, and its result."""
    messages: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "grüße 🙂 " + "x" * 3000},
    ]
    for number in range(requests):
        function = {"name": "grep", "arguments": "{}"}
        call = {"id": f"c{number}", "type": "function", "function": function}
        said = f"answer {number} " + "y" * 300
        messages += [
            {"role": "assistant", "content": said, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "name": "grep", "content": f"result {number} " + "z" * 300},
        ]
    return messages


def _step(item: dict[str, Any]) -> dict[str, Any]:
    """An item of Responses as a step of an interaction."""
    match item.get("type"):
        case "function_call":
            called = json.loads(item["arguments"])
            return {"type": "function_call", "id": item["call_id"], "name": item["name"], "arguments": called}
        case "function_call_output":
            return {"type": "function_result", "call_id": item["call_id"], "result": item["output"]}
    of = "model_output" if item["role"] == "assistant" else "user_input"
    return {"type": of, "content": [{"type": "text", "text": item["content"]}]}


def numbered(name: str, number: Any) -> Turns:
    """Turns whose call has a number, and its result."""
    function = {"name": "grep", "arguments": json.dumps({"n": number})}
    call = {"id": "a", "type": "function", "function": function}
    answer = {"role": "tool", "tool_call_id": "a", "name": "grep", "content": "ok"}
    form: Any = formats()[name]
    asked = Conversation([{"role": "assistant", "content": None, "tool_calls": [call]}, answer], [])
    turns: Turns = dumped(form, asked)[form.TURNS]
    return turns


def dumped(form: Any, said: Conversation) -> dict[str, Any]:
    """A request of a format; that of one that is only read is made of one to another service."""
    if form.dump:
        return dict(form.dump(said))
    if form.NAME == "gemini_interactions":
        body = get_format("openai_responses").dump(said)
        system = {"system_instruction": body["instructions"]} if "instructions" in body else {}
        tools = {"tools": body["tools"]} if "tools" in body else {}
        return {"input": list(map(_step, body["input"])), **system, **tools}
    body = get_format("anthropic").dump(said)
    turns = [{**turn, "content": list(map(_of_converse, _listed(turn["content"])))} for turn in body["messages"]]
    tools = [
        {"toolSpec": {"name": each["name"], "inputSchema": {"json": each.get("input_schema", {})}}}
        for each in body.get("tools", [])
    ]
    system = {"system": list(map(_of_converse, _listed(body["system"])))} if "system" in body else {}
    return {"messages": turns, **system, **({"toolConfig": {"tools": tools}} if tools else {})}


def _listed(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _of_converse(block: Any) -> Any:
    match block["type"]:
        case "tool_use":
            return {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}}
        case "tool_result":
            content = list(map(_of_converse, _listed(block["content"])))
            return {"toolResult": {"toolUseId": block["tool_use_id"], "content": content}}
    return {"text": block["text"]}


# How a request comes out of the one before


def grow(before: Turns, parts: Parts, draw: Draw) -> Turns:
    more = pick(draw, [parts.asks, parts.answers])
    return [*before, *pick(draw, parts.says), *pick(draw, more)]


def repeat(before: Turns, parts: Parts, draw: Draw) -> Turns:
    return before


def drop_tail(before: Turns, parts: Parts, draw: Draw) -> Turns:
    return before[: draw(below(len(before) + 1))]


def drop_head(before: Turns, parts: Parts, draw: Draw) -> Turns:
    return before[draw(below(len(before) + 1)) :]


def change(before: Turns, parts: Parts, draw: Draw) -> Turns:
    """One turn becomes others, with which ids made up behind it may be others, too."""
    at = draw(below(len(before) + 1))
    made = pick(draw, pick(draw, [parts.asks, parts.says, parts.answers]))
    return [*before[:at], *made, *before[at + 1 :]]


def insert(before: Turns, parts: Parts, draw: Draw) -> Turns:
    at = draw(below(len(before) + 1))
    return [*before[:at], *pick(draw, parts.says), *before[at:]]


def swap(before: Turns, parts: Parts, draw: Draw) -> Turns:
    at = draw(below(len(before) + 1))
    return [*before[at:], *before[:at]]


def retype(before: Turns, parts: Parts, draw: Draw) -> Turns:
    """A number becomes one that Python takes for equal, and a record does not."""
    old, new = pick(draw, [('"n": 1}', '"n": true}'), ('"n": true}', '"n": 1.0}'), ('"n": 1.0}', '"n": 1}')])
    return [json.loads(json.dumps(turn).replace(old, new)) for turn in before]


def begin(before: Turns, parts: Parts, draw: Draw) -> Turns:
    return pick(draw, parts.asks)


def spoil(before: Turns, parts: Parts, draw: Draw) -> Turns:
    at = draw(below(len(before) + 1))
    return [*before[:at], pick(draw, NOT_TURNS), *before[at:]]


CHANGES = [grow, grow, grow, grow, repeat, drop_tail, drop_head, change, change, insert, swap, retype, begin]


# Whole logs


@st.composite
def logs(draw: Draw, name: str) -> bytes:
    """A log of a format."""
    parts, style = by_ids(name), a_style(draw)
    style = Style(style.space, style.escape, style.order, seed=style.seed)
    wrap = pick(draw, [plain, plain, http])
    turns, system, tools = pick(draw, parts.asks), one_of(parts.systems, draw), pick(draw, [None, *parts.tools])
    lines = []
    for number in range(1 + draw(below(9))):
        logged = spoil(turns, parts, draw) if chance(draw, 12) else turns
        request = members(name, logged, system, tools, draw)
        lines.append(wrap(request, response(name, number, draw), number, style))
        if chance(draw, 10):
            lines.append(pick(draw, [*BROKEN_LINES, lines[-1][: len(lines[-1]) // 2]]))
        turns = pick(draw, CHANGES)(turns, parts, draw)
        system = one_of(parts.systems, draw) if chance(draw, 5) else system
        tools = pick(draw, [None, *parts.tools]) if chance(draw, 5) else tools
    return b"\n".join(lines)


def one_of(systems: list[tuple[str, Any]], draw: Draw) -> tuple[str, Any] | None:
    return pick(draw, [None, *systems])


def members(name: str, turns: Turns, system: tuple[str, Any] | None, tools: Any, draw: Draw) -> dict[str, Any]:
    """A request; now and then its turns are one turn, of a wrong type or missing, and its history is elsewhere."""
    form = formats()[name]
    odd = [turns, turns[0] if turns else {}, "one text", None, 5]
    request = {"model": "m", form.TURNS: pick(draw, odd) if chance(draw, 15) else turns}
    if system:
        request[system[0]] = system[1]
    if tools is not None:
        request["functions" if name == "openai_chat" and chance(draw, 5) else "tools"] = tools
    if name == "openai_responses" and chance(draw, 3):
        request["previous_response_id"] = f"r{draw(below(9))}"
    return request


def response(name: str, number: int, draw: Draw) -> Any:
    """A whole body, one of an error, or none."""
    body = pick(draw, by_ids(name).responses)
    if name == "openai_responses":
        body = {**body, "id": f"r{number}"}
    return pick(draw, [None, {"error": {"message": "late"}}]) if chance(draw, 8) else body


def plain(request: dict[str, Any], body: Any, number: int, style: Style) -> bytes:
    """A line in the envelope that is read."""
    entry = [("timestamp", 1e9 + number), ("session_id", "s"), ("request", spelled(request, style)), ("response", body)]
    return written(entry, style)


def http(request: dict[str, Any], body: Any, number: int, style: Style) -> bytes:
    """A line as a proxy writes it."""
    asked = {"headers": {"x": "y"}, "timestamp": 1e9 + number, "body": spelled(request, style)}
    answered = {"status": 200, "body": body}
    return written([("session_id", "s"), ("request", asked), ("response", answered)], style)


def spelled(request: dict[str, Any], style: Style) -> Pairs:
    """A request whose turns and tools each have bytes of their own, which are the same in every line."""
    pairs = Pairs(
        (key, as_written(value, style) if isinstance(value, list) else value) for key, value in request.items()
    )
    reordered(pairs, style)
    return pairs


def written(entry: list[tuple[str, Any]], style: Style) -> bytes:
    pairs = Pairs(entry)
    reordered(pairs, style)
    return write(pairs, style, style.random("entry"))


# Logs that only grow

TOOLS = [{"name": "grep", "description": "Looks.", "parameters": {"type": "object"}}]


def growing(name: str, requests: int, wrap: Callable[..., bytes] = plain) -> tuple[bytes, int]:
    """A log that only grows, and the bytes of its last request's turns and tools."""
    form: Any = formats()[name]
    style, messages, lines, needed = Style("default"), conversation(requests), [], 0
    for number in range(requests):
        request = {"model": "m", **dumped(form, Conversation(messages[: 2 + 2 * number], TOOLS))}
        lines.append(wrap(request, None, number, style))
        needed = len(write(request[form.TURNS], style, style.random(""))) + len(json.dumps(request[form.TOOLS[0]]))
    return b"\n".join(lines) + b"\n", needed
