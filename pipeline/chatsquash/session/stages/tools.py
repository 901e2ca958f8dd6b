"""Stages over tool definitions: enums as text, and only the tools that are called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from chatsquash.checks import shapes
from chatsquash.checks.tags import has_markup, outlined
from chatsquash.core import chat, jsonio
from chatsquash.core.memo import Last
from chatsquash.core.model import Conversation, Json, Message, StageResult, Tool

_NO_SCHEMAS = ("enum", "const", "default", "examples")
"""The members of a schema that hold values."""


def enums_as_texts(conversation: Conversation) -> StageResult:
    """The conversation with its definitions so; how many values were none is reported."""
    tools, count = _written(conversation.tools)
    if not count:
        return conversation, ()
    return replace(conversation, tools=tools), [shapes.shape_changed({"values of enum written as text": count})]


def _write(tools: list[Tool]) -> tuple[list[Tool], int]:
    written = [_tool(tool) for tool in tools]
    return [tool for tool, _ in written], sum(count for _, count in written)


_written = Last(_write)


def _tool(tool: Any) -> tuple[Tool, int]:
    parameters = tool.get("parameters") if isinstance(tool, dict) else None
    if not isinstance(parameters, dict):
        return tool, 0
    changed, count = _schema(parameters)
    return ({**tool, "parameters": changed}, count) if count else (tool, 0)


def _schema(schema: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """A copy in which no value of an ``enum`` is anything but a text, without recursion, and how many were."""
    count = 0
    whole = dict(schema)
    todo: list[Any] = [whole]
    while todo:
        holder = todo.pop()
        values = holder.get("enum") if isinstance(holder, dict) else None
        if isinstance(values, list):
            count += sum(not isinstance(value, str) for value in values)
            holder["enum"] = list(map(_text, values))
        for key, member in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(member, dict | list) and key not in _NO_SCHEMAS:
                holder[key] = member.copy()
                todo.append(holder[key])
    return whole, count


def _text(value: Json) -> str:
    return value if isinstance(value, str) else jsonio.dumps(value).decode("utf-8", "surrogatepass")


def used_tools(conversation: Conversation) -> StageResult:
    """The conversation with the definitions of the tools that it calls; how many others there were is reported.

    Calls are those of all assistant messages, also in the legacy form and as markup in the text.
    """
    said = conversation.messages
    named = _names_called([*said, *outlined(said)] if has_markup(said) else said)
    called = {name for name in named if isinstance(name, str)}
    # A custom tool has the name that its calls have further inside.
    tools = [
        tool for tool in conversation.tools if (chat.tool_name(tool) or chat.tool_name(chat.custom(tool))) in called
    ]
    gone = len(conversation.tools) - len(tools)
    if not gone:
        return conversation, ()
    return replace(conversation, tools=tools), [shapes.shape_changed({"definitions of tools not called": gone})]


def _names_called(messages: list[Message]) -> Iterator[object]:
    for message in messages:
        for call in chat.calls(message):
            yield chat.call_name(call) or (chat.custom(call) or {}).get("name")
        legacy: Any = message.get("function_call")
        if isinstance(legacy, dict):
            yield legacy.get("name")
