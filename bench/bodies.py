"""The same sessions in the bodies of other providers: what is said, called and answered is what the chat messages say.

Ids stand where the provider's clients log them, so Gemini's and Ollama's calls have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import orjson

Object = dict[str, Any]
MESSAGES, TOOLS, REPLY = "@messages@", "@tools@", "@reply@"
"""Markers: what stands in their places is put in as bytes."""


class Answer(NamedTuple):
    """What a response says of itself."""

    ident: str
    at: datetime
    called: bool
    tokens: int
    """Of its prompt."""


class Body(Protocol):
    """A provider's bodies."""

    def turns(self, messages: list[Object]) -> Iterator[Object]:
        """The turns that say what chat messages say, the system prompt aside where it does not stand among them."""

    def tools(self, tools: list[Object]) -> Any:
        """What stands in the place of ``TOOLS``."""

    def reply(self, message: Object) -> Any:
        """What stands in the place of ``REPLY``."""

    def request(self, system: str) -> Object:
        """A request, with markers."""

    def response(self, answer: Answer, system: str) -> Object:
        """A response, with markers."""


def _is_result(message: Object) -> bool:
    return bool(message["role"] == "tool")


def _calls(message: Object) -> Iterator[tuple[str, str, Object]]:
    """Id, name and arguments of each call."""
    for call in message.get("tool_calls", ()):
        yield call["id"], call["function"]["name"], orjson.loads(call["function"]["arguments"])


def _names(messages: list[Object]) -> dict[str, str]:
    """The names of the functions that are called, by the ids of the calls."""
    return {ident: name for message in messages for ident, name, _ in _calls(message)}


class Anthropic:
    """Blocks; the results of one turn's calls are one turn."""

    def turns(self, messages: list[Object]) -> Iterator[Object]:
        """Users and assistants."""
        for are_results, run in groupby((each for each in messages if each["role"] != "system"), _is_result):
            if are_results:
                yield {"role": "user", "content": [self._result(each) for each in run]}
            else:
                yield from ({"role": each["role"], "content": self.reply(each)} for each in run)

    def tools(self, tools: list[Object]) -> Any:
        """A list."""
        functions = [tool["function"] for tool in tools]
        return [
            {"name": each["name"], "description": each["description"], "input_schema": each["parameters"]}
            for each in functions
        ]

    def reply(self, message: Object) -> Any:
        """The content."""
        calls = [{"type": "tool_use", "id": i, "name": name, "input": given} for i, name, given in _calls(message)]
        text = message["content"]
        return [*([] if text is None else [{"type": "text", "text": text}]), *calls]

    def _result(self, message: Object) -> Object:
        said = [{"type": "text", "text": message["content"]}]
        return {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": said}

    def request(self, system: str) -> Object:
        """The prompt in a block, as clients that cache it write it."""
        told = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
        beside = {"model": "claude-sonnet-4-5", "max_tokens": 32_000, "system": told}
        return {**beside, "messages": MESSAGES, "tools": TOOLS, "stream": False}

    def response(self, answer: Answer, system: str) -> Object:  # noqa: ARG002 - the interface's
        """A message."""
        return {
            "id": f"msg_{answer.ident}",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": REPLY,
            "stop_reason": "tool_use" if answer.called else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": answer.tokens, "output_tokens": 120},
        }


class Gemini:
    """Parts; the results of one turn's calls are one turn."""

    def turns(self, messages: list[Object]) -> Iterator[Object]:
        """Users and the model."""
        names = _names(messages)
        for are_results, run in groupby((each for each in messages if each["role"] != "system"), _is_result):
            if are_results:
                yield {"role": "user", "parts": [self._result(each, names) for each in run]}
            else:
                yield from map(self.reply, run)

    def tools(self, tools: list[Object]) -> Any:
        """All in one."""
        functions = [tool["function"] for tool in tools]
        declared = [
            {"name": each["name"], "description": each["description"], "parametersJsonSchema": each["parameters"]}
            for each in functions
        ]
        return [{"functionDeclarations": declared}]

    def reply(self, message: Object) -> Any:
        """The content of a candidate."""
        text = message["content"]
        parts = [{"functionCall": {"name": name, "args": given}} for _, name, given in _calls(message)]
        role = "model" if message["role"] == "assistant" else "user"
        return {"role": role, "parts": [*([] if text is None else [{"text": text}]), *parts]}

    def _result(self, message: Object, names: dict[str, str]) -> Object:
        name = names[message["tool_call_id"]]
        return {"functionResponse": {"name": name, "response": {"output": message["content"]}}}

    def request(self, system: str) -> Object:
        """The prompt beside the contents."""
        told = {"parts": [{"text": system}]}
        settings = {"generationConfig": {"temperature": 0.2}}
        return {"systemInstruction": told, "contents": MESSAGES, "tools": TOOLS, **settings}

    def response(self, answer: Answer, system: str) -> Object:  # noqa: ARG002 - the interface's
        """One candidate."""
        return {
            "candidates": [{"content": REPLY, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": answer.tokens, "candidatesTokenCount": 120},
            "modelVersion": "gemini-2.5-pro",
            "responseId": answer.ident,
        }


class Responses:
    """Items; a response repeats instructions and tools."""

    def turns(self, messages: list[Object]) -> Iterator[Object]:
        """Messages, calls and results."""
        for message in messages:
            if message["role"] == "assistant":
                yield from self.reply(message)
            elif message["role"] == "tool":
                output = message["content"]
                yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": output}
            elif message["role"] != "system":
                yield {"role": message["role"], "content": [{"type": "input_text", "text": message["content"]}]}

    def tools(self, tools: list[Object]) -> Any:
        """Functions, without a level between."""
        return [{"type": "function", **tool["function"]} for tool in tools]

    def reply(self, message: Object) -> Any:
        """The output."""
        text, calls = message["content"], message.get("tool_calls", ())
        said = {"type": "output_text", "text": text, "annotations": []}
        told = {"type": "message", "role": "assistant", "status": "completed", "content": [said]}
        return [*([] if text is None else [told]), *map(self._call, calls)]

    def _call(self, call: Object) -> Object:
        return {"type": "function_call", "status": "completed", "call_id": call["id"], **call["function"]}

    def request(self, system: str) -> Object:
        """The prompt as instructions."""
        told = {"model": "gpt-5", "instructions": system}
        return {**told, "input": MESSAGES, "tools": TOOLS, "store": False, "stream": False}

    def response(self, answer: Answer, system: str) -> Object:
        """All that a service sends back."""
        return {
            "id": f"resp_{answer.ident}",
            "object": "response",
            "created_at": int(answer.at.timestamp()),
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "instructions": system,
            "model": "gpt-5",
            "output": REPLY,
            "parallel_tool_calls": True,
            "tools": TOOLS,
            "usage": {"input_tokens": answer.tokens, "output_tokens": 120, "total_tokens": answer.tokens + 120},
        }


class Ollama:
    """Chat messages without ids, with objects for arguments."""

    def turns(self, messages: list[Object]) -> Iterator[Object]:
        """One for each message."""
        names = _names(messages)
        for message in messages:
            if message["role"] == "tool":
                yield {"role": "tool", "content": message["content"], "tool_name": names[message["tool_call_id"]]}
            else:
                yield self.reply(message)

    def tools(self, tools: list[Object]) -> Any:
        """As in chat."""
        return tools

    def reply(self, message: Object) -> Any:
        """The message."""
        calls = [{"function": {"name": name, "arguments": given}} for _, name, given in _calls(message)]
        said = {"role": message["role"], "content": message["content"] or ""}
        return {**said, "tool_calls": calls} if calls else said

    def request(self, system: str) -> Object:  # noqa: ARG002 - the interface's
        """The prompt is the first turn."""
        options = {"options": {"num_ctx": 32_768, "temperature": 0.2}}
        return {"model": "qwen3:32b", "messages": MESSAGES, "tools": TOOLS, **options, "stream": False}

    def response(self, answer: Answer, system: str) -> Object:  # noqa: ARG002 - the interface's
        """A message with what it took."""
        return {
            "model": "qwen3:32b",
            "created_at": answer.at.isoformat().replace("+00:00", "Z"),
            "message": REPLY,
            "done_reason": "stop",
            "done": True,
            "total_duration": 5_191_566_416,
            "prompt_eval_count": answer.tokens,
            "eval_count": 120,
        }


BODIES: dict[str, Body] = {
    "anthropic": Anthropic(),
    "gemini": Gemini(),
    "openai_responses": Responses(),
    "ollama": Ollama(),
}
"""By the name of the format."""
