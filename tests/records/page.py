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
_ALIKE = {"=": "kept", "~": "changed", "-": "dropped", "x": "record skipped"}

KINDS: list[tuple[str, Conversation]] = [
    ("content as a list of text parts", talk(user([TEXT, TEXT]), B)),
    ("images, audio and files without placeholders", talk(user([TEXT, IMAGE]), B)),
    ("other non-text parts, such as refusals", talk(user([TEXT, {"type": "refusal", "refusal": "no"}]), B)),
    ("reasoning", talk(A, assistant("b", reasoning_content="hm"))),
    ("several calls in a message", talk(A, assistant("", call("c1"), call("c2")), result(), result("2", "c2"), B)),
    ("text next to calls", talk(A, assistant("t", call()), result(), B)),
    ("arguments that are not a JSON object", talk(A, assistant("", call(arguments="{")))),
    ("missing arguments", talk(A, assistant("", call(arguments=None)))),
    ("integers beyond 64 bits in arguments", talk(A, assistant("", call(arguments='{"q": 18446744073709551616}')))),
    ("integers beyond 64 bits in definitions", talk(A, B, tools=[tool(parameters={"maximum": 2**64})])),
    ("tool names with characters other than letters, digits, `_`, `-`", talk(A, B, tools=[tool("a.b")])),
    ("definitions without parameters", talk(A, B, tools=[{"name": "f"}])),
    ("calls and results without ids", talk(A, assistant("", call(None)), result(call_id=None), B)),
    ("messages between a call and its result", talk(A, assistant("", call()), A, result(), B)),
    ("a call without a result before another reply", talk(A, assistant("", call()), B)),
    ("a result without a call", talk(A, result(), B)),
    ("a call as the last message", talk(A, assistant("", call()))),
    ("messages after the last reply", talk(A, B, A)),
    ("several system messages at the start", talk(SYSTEM, SYSTEM, A, B)),
    ("later system messages", talk(A, B, SYSTEM, A, B)),
    ("consecutive user messages", talk(A, A, B)),
    ("consecutive assistant messages", talk(A, B, B)),
    ("an assistant message first", talk(B, A, B)),
    ("a user message after a result", talk(A, assistant("", call()), result(), A, B)),
    ("an empty assistant message", talk(A, assistant(""), A, B)),
    ("an empty last reply", talk(A, assistant(""))),
    ("content that is not a string, list or null", talk(user({"a": 1}), B)),
    ("no assistant message", talk(A)),
    ("other roles", talk(A, {"role": "critic", "content": "x"}, B)),
    ("calls of other types, and `function_call`", talk(A, assistant("", {**call(), "type": "custom"}))),
    ("calls written as text in addition to `tool_calls`", talk(A, assistant("<tool_call>", call()))),
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
    return _table(("preset", "description", "columns"), rows)


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
    """A table of the kinds that presets treat differently, and a list of those that all but the default treat alike."""
    names = [name for name in presets.names() if name != presets.DEFAULT]
    rows, alike = [], dict[str, list[str]]()
    for words, conversation in KINDS:
        marks = [_mark(name, conversation) for name in names]
        if len(set(marks)) == 1:
            alike.setdefault(marks[0], []).append(words)
        else:
            rows.append((words, *(f"`{mark}`" for mark in marks)))
    table = _table(("", *(f"`{name}`" for name in names)), rows)
    lines = "\n".join(f"- {words}: {'; '.join(alike[mark])}" for mark, words in _ALIKE.items())
    return f"{table}\n\nAll of these presets treat the following alike:\n\n{lines}"


def _mark(name: str, conversation: Conversation) -> str:
    if name == presets.DEFAULT:
        return "="
    result = line(presets.get_preset(name), conversation)
    if result.data is None:
        return "x"
    return next((_MARKS[found.code] for found in result.findings if found.code in _MARKS), "=")


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])
