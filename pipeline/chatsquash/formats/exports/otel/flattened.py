"""Spans in formats of OpenLLMetry and the AI SDK that are older than the conventions.

Messages are in numbered attributes, or in a single JSON string.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.core.model import Json, Tool
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import parse_json
from chatsquash.formats.definitions import function_tool
from chatsquash.formats.providers.openai_chat import rewriting
from chatsquash.formats.providers.openai_chat.members import TYPES
from chatsquash.formats.values import Object, as_list, members, objects, string, without

PROMPT, COMPLETION, FUNCTION = "gen_ai.prompt.", "gen_ai.completion.", "llm.request.functions."
"""The prefixes of OpenLLMetry's attributes."""
MESSAGES, AI_PROMPT, AI_TOOLS, ANSWER = "ai.prompt.messages", "ai.prompt", "ai.prompt.tools", "ai.response."
"""The AI SDK's attributes, and the prefix of attributes for the reply."""
FINISHED = "ai.response.finishReason"
_READ = (PROMPT, COMPLETION, FUNCTION, MESSAGES, AI_TOOLS, ANSWER)
_THOUGHT = "thinking"
"""The role of completions that contain the reasoning of the next completion."""


def has_messages(attributes: Object) -> bool:
    """Return whether a span has messages in the attributes of these formats."""
    return MESSAGES in attributes or any(name.startswith((PROMPT, COMPLETION)) for name in attributes)


def has_prompt(attributes: Object) -> bool:
    """Return whether an AI SDK span has a prompt and its final answer; nested spans contain the steps."""
    return AI_PROMPT in attributes and any(name.startswith(ANSWER) for name in attributes)


def is_read(name: str) -> bool:
    """Return whether this module reads an attribute."""
    return name == AI_PROMPT or name.startswith(_READ)


def request(attributes: Object, place: str) -> list[Any]:
    """Return the messages of a request in OpenAI chat's form."""
    if MESSAGES in attributes:
        messages = _json(attributes[MESSAGES])
        if not isinstance(messages, list):
            raise TurnError(f"{place}: {MESSAGES} is not a list of messages; it may have been truncated")
        return [message for each in messages for message in rewriting.messages(each)]
    if AI_PROMPT in attributes:
        return _prompt_messages(members(_json(attributes[AI_PROMPT])))
    return [converted for each in _messages(attributes, PROMPT) for converted in rewriting.messages(each)]


def _prompt_messages(prompt: Object) -> list[Any]:
    """Return the messages of an AI SDK call: a system prompt, and a string or messages."""
    system, text = string(prompt, "system"), string(prompt, "prompt")
    messages_or_text = prompt["messages"] if isinstance(prompt.get("messages"), list) else prompt.get("prompt")
    raw_messages: list[Json] = [{"role": "user", "content": text}] if text else as_list(messages_or_text)
    messages = [message for each in raw_messages for message in rewriting.messages(each)]
    return [*([{"role": "system", "content": system}] if system else []), *messages]


def answers(attributes: Object) -> list[Any]:
    """Return the messages of a response, one for each choice."""
    if not any(name.startswith(ANSWER) for name in attributes):  # a span of OpenLLMetry
        return [rewriting.reply(each) for each in _messages(attributes, COMPLETION)]
    text = attributes.get(f"{ANSWER}text") or attributes.get(f"{ANSWER}object") or ""
    thought, calls = string(attributes, f"{ANSWER}reasoning"), _json(attributes.get(f"{ANSWER}toolCalls"))
    message = {"role": "assistant", "content": text, "tool_calls": as_list(calls) or None}
    message["reasoning_content"] = thought or None
    return [rewriting.reply(without(message))] if text or calls or thought else []


def tools(attributes: Object) -> list[Tool]:
    """Return the tool definitions of a request."""
    definitions = as_list(_json(attributes.get(AI_TOOLS)))
    definitions += [
        {**each, "parameters": _json(each.get("parameters"))} for each in _entries_by_number(attributes, FUNCTION)
    ]
    return [tool for each in definitions if (tool := function_tool(each))]


# OpenLLMetry


def _messages(attributes: Object, prefix: str) -> Iterator[Object]:
    """Yield the messages in numbered attributes, with the reasoning that precedes them."""
    thoughts = list[str]()
    for each in _entries_by_number(attributes, prefix):
        value = content(each.get("content"))
        if each.get("role") == _THOUGHT and isinstance(value, str):
            thoughts.append(value)
            continue
        message: Object = {"role": each.get("role"), "content": value}
        if calls := list(_entries_by_number(each, "tool_calls.")):
            message["tool_calls"] = calls
        if each.get("tool_call_id"):
            message["tool_call_id"] = each["tool_call_id"]
        if thoughts and message["role"] == "assistant":
            message["reasoning_content"] = "\n\n".join(thoughts)
        thoughts = []
        yield message
    if thoughts:
        # A completion may consist only of reasoning.
        yield {"role": "assistant", "content": "", "reasoning_content": "\n\n".join(thoughts)}


def content(value: Json) -> Json:
    """Return content, in which a list of blocks may be a JSON string."""
    blocks = parse_json(value) if isinstance(value, str) and value[:1] == "[" else None
    are_blocks = isinstance(blocks, list) and blocks and len(objects(blocks)) == len(blocks)
    return blocks if are_blocks and all(string(each, "type") in _BLOCKS for each in blocks) else value  # type: ignore[union-attr]


_BLOCKS = frozenset(("text", "image", "image_url", "thinking", "redacted_thinking", *TYPES))


def _entries_by_number(attributes: Object, prefix: str) -> list[Object]:
    """Return the entries in numbered attributes, in order."""
    entries = dict[int, Object]()
    for name, value in attributes.items():
        number, _, member = name[len(prefix) :].partition(".") if name.startswith(prefix) else ("", "", "")
        if number.isascii() and number.isdecimal() and len(number) < 9 and member:
            entries.setdefault(int(number), {})[member] = value
    return [entries[number] for number in sorted(entries)]


def _json(value: Json) -> Json:
    return parse_json(value) if isinstance(value, str) else value
