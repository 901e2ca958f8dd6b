"""Logs of each format for the law that reading by edits gives what loading each line alone gives.

``logs(name)`` gives whole logs: requests that grow, are rewritten, repeat and branch, with other system prompts, other
tools, turns without ids, turns that are none of the format, and lines that are broken.  ``GROWING`` holds what a log
that only grows is made of.  How a line is spelled follows from a ``Style`` of ``tests.strategies``, in which the same
turn always has the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from chatsquash.formats import formats
from tests.strategies import Draw, Pairs, Raw, Style, a_style, as_written, below, chance, pick, reordered, text, write

Turn = Any
Turns = list[Any]

IDS = ["a", "b", "call_1", "", None]
"""Few enough that calls and results meet; ``call_1`` is what a made-up id looks like, ``None`` leaves the id out."""
NAMES = ["grep", "ls"]
INPUTS: list[Any] = [{"n": 1}, {"n": True}, {"n": 1.0}, {}, {"path": "ü/]}", "deep": [{"contents": []}]}]
"""The first three are equal to Python and differ in a record."""
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
NOT_TURNS: list[Any] = [5, None, [], {}, {"role": 7}, {"role": "nobody", "content": "x", "parts": [{"text": "x"}]}]
"""Some of them are turns of some formats."""
BROKEN_LINES = [b"{", b"nonsense", b"[]", b"", b" \r", b'{"request": 1}', b'{"request": {}}', b'{"x": 1}']


def with_id(key: str, draw: Draw) -> dict[str, Any]:
    """A member that names an id, or none."""
    value = pick(draw, IDS)
    return {} if value is None else {key: value}


@dataclass(frozen=True)
class Parts:
    """What the logs of a format are made of; turns come as lists, for some formats need two where others need one."""

    asks: Callable[[Draw], Turns]
    says: Callable[[Draw], Turns]
    answers: Callable[[Draw], Turns]
    """Results of calls."""
    response: Callable[[Turns], Any]
    """A whole body whose reply is what these turns of the assistant say."""
    systems: tuple[tuple[str, Any], ...]
    """Members that hold a system prompt, with values for them."""
    tools: tuple[Any, ...]


# Gemini


def gemini_asks(draw: Draw) -> Turns:
    parts = pick(
        draw, [[{"text": text(draw)}], [{"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": "AA=="}}], []]
    )
    return [pick(draw, [{"role": "user", "parts": parts}, {"parts": parts}])]


def gemini_says(draw: Draw) -> Turns:
    call = {"name": pick(draw, NAMES), "args": pick(draw, INPUTS), **with_id("id", draw)}
    thought = {"text": "hm", "thought": True, "thoughtSignature": "c2ln"}
    parts = pick(
        draw, [[{"text": text(draw)}], [{"functionCall": call}], [thought, {"text": "a"}, {"function_call": call}]]
    )
    return [{"role": "model", "parts": parts}]


def gemini_answers(draw: Draw) -> Turns:
    response = pick(draw, [{"output": "ok"}, {"error": "no"}, {"n": 1}, {"n": True}])
    result = {"functionResponse": {"name": pick(draw, NAMES), "response": response, **with_id("id", draw)}}
    return [
        {
            "role": pick(draw, ["user", "function"]),
            "parts": pick(draw, [[result], [result, result], [{"text": "x"}, result]]),
        }
    ]


def gemini_response(turns: Turns) -> Any:
    return {"candidates": [{"content": turns[0], "finishReason": "STOP", "index": 0}], "modelVersion": "m"}


# OpenAI Responses


def responses_asks(draw: Draw) -> Turns:
    said = text(draw)
    content = pick(
        draw, [said, [{"type": "input_text", "text": said}], [{"type": "input_image", "image_url": "data:,"}]]
    )
    return [{**pick(draw, [{}, {"type": "message"}]), "role": pick(draw, ["user", "developer"]), "content": content}]


def responses_says(draw: Draw) -> Turns:
    arguments = json.dumps(pick(draw, INPUTS))
    call = {"type": "function_call", "name": pick(draw, NAMES), "arguments": arguments, **with_id("call_id", draw)}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text(draw)}]}
    thought = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}]}
    searched = {"type": "web_search_call", "id": "ws", "n": pick(draw, [1, True])}
    return pick(
        draw,
        [
            [said],
            [call],
            [thought, said, call],
            [call, call],
            [searched, said],
            [{"role": "assistant", "content": "x"}],
        ],
    )


def responses_answers(draw: Draw) -> Turns:
    output = pick(draw, ["ok", [{"type": "input_text", "text": "ok"}], [1], [True]])
    return [{"type": "function_call_output", "output": output, **with_id("call_id", draw)}]


def responses_response(turns: Turns) -> Any:
    return {"object": "response", "status": "completed", "output": turns}


# Anthropic


def anthropic_asks(draw: Draw) -> Turns:
    said = text(draw)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    content = pick(draw, [said, [{"type": "text", "text": said}], [{"type": "text", "text": "a"}, image], []])
    return [{"role": "user", "content": content}]


def anthropic_says(draw: Draw) -> Turns:
    call = {"type": "tool_use", "name": pick(draw, NAMES), "input": pick(draw, INPUTS), **with_id("id", draw)}
    said = {"type": "text", "text": text(draw)}
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    content = pick(
        draw,
        [[said], [call], [thought, said, call], [call, call], [call, said], [{"type": "server_tool_use", "id": "s"}]],
    )
    return [{"role": "assistant", "content": content}]


def anthropic_answers(draw: Draw) -> Turns:
    result = {
        "type": "tool_result",
        "content": pick(draw, ["ok", [{"type": "text", "text": "ok"}], {"n": 1}, {"n": True}]),
    }
    result = {**result, **with_id("tool_use_id", draw), **pick(draw, [{}, {"is_error": True}])}
    return [
        {"role": "user", "content": pick(draw, [[result], [result, result], [result, {"type": "text", "text": "x"}]])}
    ]


def anthropic_response(turns: Turns) -> Any:
    return {"type": "message", "role": "assistant", "content": turns[0]["content"], "stop_reason": "end_turn"}


# Ollama


def ollama_asks(draw: Draw) -> Turns:
    return [{"role": "user", "content": text(draw), **pick(draw, [{}, {"images": ["iVBORw0KGgo="]}])}]


def ollama_says(draw: Draw) -> Turns:
    call = {"function": {"name": pick(draw, NAMES), "arguments": pick(draw, INPUTS)}, **with_id("id", draw)}
    members = pick(draw, [{}, {"tool_calls": [call]}, {"tool_calls": [call, call]}, {"thinking": "hm"}])
    return [{"role": "assistant", "content": text(draw), **members}]


def ollama_answers(draw: Draw) -> Turns:
    return [
        {
            "role": "tool",
            "content": "ok",
            **with_id("tool_call_id", draw),
            **pick(draw, [{}, {"tool_name": pick(draw, NAMES)}]),
        }
    ]


def ollama_response(turns: Turns) -> Any:
    return {"model": "m", "message": turns[0], "done": True, "done_reason": "stop"}


# OpenAI chat, whose messages go into a record as they are


def chat_says(draw: Draw) -> Turns:
    function = {"name": pick(draw, NAMES), "arguments": json.dumps(pick(draw, INPUTS))}
    call = {"type": "function", "function": function, **with_id("id", draw)}
    members = pick(
        draw, [{}, {"tool_calls": [call]}, {"function_call": function}, {"reasoning": "hm"}, {"n": 1}, {"n": True}]
    )
    return [{"role": "assistant", "content": text(draw), **members}]


def chat_answers(draw: Draw) -> Turns:
    return [{"role": "tool", "content": "ok", **with_id("tool_call_id", draw)}]


def chat_response(turns: Turns) -> Any:
    return {"object": "chat.completion", "choices": [{"index": 0, "message": turns[0], "finish_reason": "stop"}]}


FUNCTION = {"type": "function", "function": {"name": "grep", "description": "d", "parameters": SCHEMA}}
DECLARED = {"functionDeclarations": [{"name": "grep", "parameters": {"type": "OBJECT"}}]}
FLAT = {"type": "function", "name": "grep", "parameters": SCHEMA, "strict": True}
CLIENT = {"name": "grep", "description": "d", "input_schema": SCHEMA}

PARTS: dict[str, Parts] = {
    "gemini": Parts(
        gemini_asks,
        gemini_says,
        gemini_answers,
        gemini_response,
        (
            ("systemInstruction", {"parts": [{"text": "s"}]}),
            ("system_instruction", "t"),
            ("systemInstruction", {"parts": []}),
            ("systemInstruction", 5),
        ),
        ([DECLARED], DECLARED, [DECLARED, {"googleSearch": {}}], []),
    ),
    "openai_responses": Parts(
        responses_asks,
        responses_says,
        responses_answers,
        responses_response,
        (("instructions", "s"), ("instructions", [{"role": "developer", "content": "t"}]), ("instructions", 5)),
        ([FLAT], [FLAT, {"type": "web_search"}], []),
    ),
    "anthropic": Parts(
        anthropic_asks,
        anthropic_says,
        anthropic_answers,
        anthropic_response,
        (("system", "s"), ("system", [{"type": "text", "text": "t", "cache_control": {}}]), ("system", 5)),
        ([CLIENT], [CLIENT, {"type": "web_search_20250305", "name": "web_search"}], []),
    ),
    "ollama": Parts(ollama_asks, ollama_says, ollama_answers, ollama_response, (), ([FUNCTION], [])),
    "openai_chat": Parts(
        lambda draw: [{"role": "user", "content": text(draw)}],
        chat_says,
        chat_answers,
        chat_response,
        (),
        ([FUNCTION], [], "no tools"),
    ),
}


# How a request comes out of the one before


def grow(before: Turns, parts: Parts, draw: Draw) -> Turns:
    more = pick(draw, [parts.asks, parts.answers])
    return [*before, *parts.says(draw), *more(draw)]


def repeat(before: Turns, parts: Parts, draw: Draw) -> Turns:
    return before


def drop_tail(before: Turns, parts: Parts, draw: Draw) -> Turns:
    return before[: draw(below(len(before) + 1))]


def drop_head(before: Turns, parts: Parts, draw: Draw) -> Turns:
    return before[draw(below(len(before) + 1)) :]


def change(before: Turns, parts: Parts, draw: Draw) -> Turns:
    """One turn becomes others, with which ids made up behind it may be others, too."""
    at = draw(below(len(before) + 1))
    made = pick(draw, [parts.asks, parts.says, parts.answers])(draw)
    return [*before[:at], *made, *before[at + 1 :]]


def insert(before: Turns, parts: Parts, draw: Draw) -> Turns:
    at = draw(below(len(before) + 1))
    return [*before[:at], *parts.says(draw), *before[at:]]


def swap(before: Turns, parts: Parts, draw: Draw) -> Turns:
    at = draw(below(len(before) + 1))
    return [*before[at:], *before[:at]]


def retype(before: Turns, parts: Parts, draw: Draw) -> Turns:
    """A number becomes one that Python takes for equal, and a record does not."""
    old, new = pick(draw, [('"n": 1}', '"n": true}'), ('"n": true}', '"n": 1.0}'), ('"n": 1.0}', '"n": 1}')])
    return [json.loads(json.dumps(turn).replace(old, new)) for turn in before]


def begin(before: Turns, parts: Parts, draw: Draw) -> Turns:
    return parts.asks(draw)


def spoil(before: Turns, parts: Parts, draw: Draw) -> Turns:
    at = draw(below(len(before) + 1))
    return [*before[:at], pick(draw, NOT_TURNS), *before[at:]]


CHANGES = [grow, grow, grow, grow, repeat, drop_tail, drop_head, change, change, insert, swap, retype, begin]


# Whole logs


@st.composite
def logs(draw: Draw, name: str) -> bytes:
    """A log of a format."""
    parts, style = PARTS[name], a_style(draw)
    style = Style(style.space, style.escape, style.order, seed=style.seed)
    wrap = pick(draw, [plain, plain, http])
    turns, system, tools = parts.asks(draw), one_of(parts.systems, draw), pick(draw, [None, *parts.tools])
    lines = []
    for number in range(1 + draw(below(9))):
        said = parts.says(draw)
        logged = spoil(turns, parts, draw) if chance(draw, 12) else turns
        request = members(name, logged, system, tools, draw)
        lines.append(wrap(request, response(name, said, number, draw), number, style))
        if chance(draw, 10):
            lines.append(pick(draw, [*BROKEN_LINES, lines[-1][: len(lines[-1]) // 2]]))
        turns = pick(draw, CHANGES)(turns, parts, draw)
        system = one_of(parts.systems, draw) if chance(draw, 5) else system
        tools = pick(draw, [None, *parts.tools]) if chance(draw, 5) else tools
    return b"\n".join(lines)


def one_of(systems: tuple[tuple[str, Any], ...], draw: Draw) -> tuple[str, Any] | None:
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


def response(name: str, said: Turns, number: int, draw: Draw) -> Any:
    """A whole body, one of an error, or none."""
    body = PARTS[name].response(said)
    if name == "openai_responses":
        body = {"id": f"r{number}", **body}
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


@dataclass(frozen=True)
class Growing:
    """The turns of a log that only grows."""

    ask: Callable[[str], Turn]
    say: Callable[[str, str], Turns]
    """Of a text and an id, a turn with a call."""
    answer: Callable[[str, str], Turn]
    """Of a text and an id."""


GROWING = {
    "gemini": Growing(
        lambda said: {"role": "user", "parts": [{"text": said}]},
        lambda said, _: [{"role": "model", "parts": [{"text": said}, {"functionCall": {"name": "grep", "args": {}}}]}],
        lambda said, _: {
            "role": "user",
            "parts": [{"functionResponse": {"name": "grep", "response": {"output": said}}}],
        },
    ),
    "openai_responses": Growing(
        lambda said: {"role": "user", "content": said},
        lambda said, ident: [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]},
            {"type": "function_call", "call_id": ident, "name": "grep", "arguments": "{}"},
        ],
        lambda said, ident: {"type": "function_call_output", "call_id": ident, "output": said},
    ),
    "anthropic": Growing(
        lambda said: {"role": "user", "content": said},
        lambda said, ident: [
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": said},
                    {"type": "tool_use", "id": ident, "name": "grep", "input": {}},
                ],
            }
        ],
        lambda said, ident: {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": ident, "content": said}],
        },
    ),
    "ollama": Growing(
        lambda said: {"role": "user", "content": said},
        lambda said, _: [
            {"role": "assistant", "content": said, "tool_calls": [{"function": {"name": "grep", "arguments": {}}}]}
        ],
        lambda said, _: {"role": "tool", "tool_name": "grep", "content": said},
    ),
    "openai_chat": Growing(
        lambda said: {"role": "user", "content": said},
        lambda said, ident: [
            {
                "role": "assistant",
                "content": said,
                "tool_calls": [{"id": ident, "type": "function", "function": {"name": "grep", "arguments": "{}"}}],
            }
        ],
        lambda said, ident: {"role": "tool", "tool_call_id": ident, "content": said},
    ),
}


def growing(name: str, requests: int, wrap: Callable[..., bytes] = plain) -> tuple[bytes, int]:
    """A log that only grows, and the bytes of its last request's turns and tools."""
    form, make, style = formats()[name], GROWING[name], Style("default")
    system, tools = one_system(name), PARTS[name].tools[0]
    turns, lines = [make.ask("grüße 🙂 " + "x" * 3000)], []
    for number in range(requests):
        said = make.say(f"answer {number} " + "y" * 300, f"c{number}")
        request = {"model": "m", **system, form.TURNS: turns, "tools": tools}
        lines.append(wrap(request, PARTS[name].response(said), number, style))
        needed = len(write(turns, style, style.random("")))
        turns = [*turns, *said, make.answer(f"result {number} " + "z" * 300, f"c{number}")]
    return b"\n".join(lines) + b"\n", needed + len(json.dumps(tools))


def one_system(name: str) -> dict[str, Any]:
    return dict(PARTS[name].systems[:1])


__all__ = ["CHANGES", "GROWING", "PARTS", "Raw", "growing", "http", "logs", "plain"]
