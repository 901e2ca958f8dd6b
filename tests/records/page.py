"""The generated regions of ``docs/presets.md``; its tables are what the presets do."""

from __future__ import annotations

import json
from typing import Any

from chatsquash.core.model import Conversation
from chatsquash.records import presets
from chatsquash.records.presets import Column
from chatsquash.records.shaping import line
from tests.checks.rows import assistant, call, result, talk, tool, user

A, B = user("a"), assistant("b")
SYSTEM = {"role": "system", "content": "s"}
IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}
TEXT = {"type": "text", "text": "x"}
_MARKS = {"shape-dropped": "-", "shape-changed": "~"}

KINDS: list[tuple[str, Conversation]] = [
    ("content as a list of texts", talk(user([TEXT, TEXT]), B)),
    ("images, sounds and files", talk(user([TEXT, IMAGE]), B)),
    ("other parts that are no text, such as refusals", talk(user([TEXT, {"type": "refusal", "refusal": "no"}]), B)),
    ("reasoning", talk(A, assistant("b", reasoning_content="hm"))),
    ("several calls in a message", talk(A, assistant("", call("c1"), call("c2")), result(), result("2", "c2"), B)),
    ("text beside calls", talk(A, assistant("t", call()), result(), B)),
    ("arguments that are no JSON object", talk(A, assistant("", call(arguments="{")))),
    ("arguments that are missing", talk(A, assistant("", call(arguments=None)))),
    ("integers beyond 64 bits in arguments", talk(A, assistant("", call(arguments='{"q": 18446744073709551616}')))),
    ("integers beyond 64 bits in definitions", talk(A, B, tools=[tool(parameters={"maximum": 2**64})])),
    ("names of tools with other characters than letters, digits, `_`, `-`", talk(A, B, tools=[tool("a.b")])),
    ("definitions without parameters", talk(A, B, tools=[{"name": "f"}])),
    ("calls and results that both have no ids", talk(A, assistant("", call(None)), result(call_id=None), B)),
    ("messages between a call and its result", talk(A, assistant("", call()), A, result(), B)),
    ("a call without a result, and the assistant goes on", talk(A, assistant("", call()), B)),
    ("a result without a call", talk(A, result(), B)),
    ("a call as the last message", talk(A, assistant("", call()))),
    ("messages behind the last of the assistant", talk(A, B, A)),
    ("several system messages at the start", talk(SYSTEM, SYSTEM, A, B)),
    ("system messages later on", talk(A, B, SYSTEM, A, B)),
    ("messages of the user in a row", talk(A, A, B)),
    ("messages of the assistant in a row", talk(A, B, B)),
    ("the assistant speaks first", talk(B, A, B)),
    ("the user speaks right behind a result", talk(A, assistant("", call()), result(), A, B)),
    ("an empty message of the assistant", talk(A, assistant(""), A, B)),
    ("a last reply that says nothing", talk(A, assistant(""))),
    ("content that is no string, list or null", talk(user({"a": 1}), B)),
    ("no message of the assistant", talk(A)),
    ("other roles", talk(A, {"role": "critic", "content": "x"}, B)),
    ("calls of other types, and `function_call`", talk(A, assistant("", {**call(), "type": "custom"}))),
    ("calls in the text beside `tool_calls`", talk(A, assistant("<tool_call>", call()))),
    ("lone surrogates", talk(user("\ud800"), B)),
]

EXAMPLE = talk(
    user("Rain in Oslo?"),
    assistant("I look.", call("call_7", "rain", '{"city": "Oslo"}'), reasoning="Ask."),
    result("none", "call_7"),
    assistant("It stays dry."),
    tools=[{"name": "rain", "parameters": {"type": "object"}}],
)


def regions() -> dict[str, str]:
    """The tables and the examples, by their names."""
    return {"presets": _presets(), "shapes": _examples(), "kinds": _kinds()}


def _presets() -> str:
    rows = []
    for name in presets.names():
        preset = presets.get_preset(name)
        columns = ", ".join(map(_column, preset.COLUMNS))
        rows.append((f"`{name}`", preset.doc.partition("\n")[0].rstrip(".").replace("``", "`"), columns))
    return _table(("preset", "what it is", "columns"), rows)


def _column(column: Column) -> str:
    """The name of a column, with the option that it is there for."""
    return f"`{column.name}`" + (" with `--media keep`" if column.name == "images" else "")


def _examples() -> str:
    return "\n\n".join(f"`{name}`:\n\n```json\n{_example(name)}\n```" for name in presets.names())


def _example(name: str) -> str:
    """The example as JSON, an item of each list on a line of its own."""
    record = presets.get_preset(name).shape(EXAMPLE).record or {}
    return "{" + ",\n ".join(f"{_json(key)}: {_value(value)}" for key, value in record.items()) + "}"


def _value(value: Any) -> str:
    return "[" + ",\n  ".join(map(_json, value)) + "]" if isinstance(value, list) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _kinds() -> str:
    names = presets.names()
    rows = [(words, *(f"`{_mark(name, conversation)}`" for name in names)) for words, conversation in KINDS]
    return _table(("", *(f"`{name}`" for name in names)), rows)


def _mark(name: str, conversation: Conversation) -> str:
    if name == presets.DEFAULT:
        return "="
    written, findings, *_ = line(presets.get_preset(name), conversation)
    if written is None:
        return "x"
    return next((_MARKS[found.code] for found in findings if found.code in _MARKS), "=")


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])
