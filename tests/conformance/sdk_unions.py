"""The unions of the SDKs, and the exchanges that an example of a member is logged in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import ollama
import pytest
from anthropic.types import beta
from google.genai import interactions
from google.genai import types as google
from openai.types import chat, responses

from tests.conformance.examples import Example, Shape, Shapes, examples, label, union

Object = dict[str, Any]


class Exchange(NamedTuple):
    """A request with its response."""

    request: Object
    response: Object

    def line(self) -> Object:
        """The line of a log."""
        return {"session_id": "s", "timestamp": "2026-01-02T03:04:05Z", **self._asdict()}


class Union(NamedTuple):
    """A union of an SDK, and the exchange that an example of a member is part of."""

    format: str
    place: str
    """Where its members are: ``block of a request``."""
    type: Any
    exchange: Callable[[Any], Exchange]
    depth: int = 2
    shapes: Shapes = {}  # noqa: RUF012 - never changed

    @property
    def name(self) -> str:
        return f"{self.format} {self.place}"


class Member(NamedTuple):
    """A member of a union with its examples."""

    union: Union
    name: str
    examples: list[Example]


def _sse(events: list[Any]) -> Object:
    return {"body_raw": "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)}


# Anthropic

_SAID = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "stop_sequence": None}
_USED = {"input_tokens": 3, "output_tokens": 9}
_MADE_BY_ASSISTANTS = {label(each).removesuffix("Block") for each in union(beta.BetaContentBlock)}


def _message(*blocks: Any, stop: str | None = "end_turn") -> Object:
    return {**_SAID, "content": list(blocks), "stop_reason": stop, "usage": _USED}


_FINE = _message({"type": "text", "text": "Fine."})


def _anthropic(messages: list[Any], **more: Any) -> Object:
    return {"model": "claude-x", "max_tokens": 9, "messages": messages, **more}


_USER = {"role": "user", "content": "Which one?"}


def _anthropic_block(block: Any) -> Exchange:
    """In a turn of the user, but what only the model writes."""
    of = block["type"]
    if of in _OF_MODELS:
        turns = [_USER, {"role": "assistant", "content": [block]}]
        if of == "tool_use":
            turns.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": block["id"]}]})
        else:
            turns.append(_USER)
        return Exchange(_anthropic(turns), _FINE)
    if of == "tool_result":
        call = {"type": "tool_use", "id": block["tool_use_id"], "name": "look", "input": {}}
        turns = [_USER, {"role": "assistant", "content": [call]}, {"role": "user", "content": [block]}]
        return Exchange(_anthropic(turns), _FINE)
    return Exchange(_anthropic([{"role": "user", "content": [block]}]), _FINE)


def _anthropic_reply(block: Any) -> Exchange:
    return Exchange(_anthropic([_USER]), _message(block))


def _anthropic_tool(tool: Any) -> Exchange:
    return Exchange(_anthropic([_USER], tools=[tool]), _FINE)


def _type_of(model: Any) -> str:
    return str(next(examples(model)).value["type"])


_OF_MODELS = {_type_of(each) for each in union(beta.BetaContentBlock)} - {"text", "container_upload"}


def _anthropic_stream(block: Any, *deltas: Any) -> Exchange:
    """A block that begins as it is, and what is added to it."""
    events = [
        {"type": "message_start", "message": _message(stop=None)},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": each} for each in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": _USED},
        {"type": "message_stop"},
    ]
    return Exchange(_anthropic([_USER]), _sse(events))


_BEGUN: dict[str, Object] = {
    "text_delta": {"type": "text", "text": ""}, "citations_delta": {"type": "text", "text": "Fine."},
    "input_json_delta": {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}},
    "thinking_delta": {"type": "thinking", "thinking": "", "signature": ""},
    "signature_delta": {"type": "thinking", "thinking": "So.", "signature": ""},
    "compaction_delta": {"type": "compaction", "content": None},
}  # fmt: skip


def _anthropic_delta(delta: Any) -> Exchange:
    if "partial_json" in delta:
        delta = {**delta, "partial_json": json.dumps({"at": delta["partial_json"]})}
    return _anthropic_stream(_BEGUN.get(delta["type"], {"type": "text", "text": ""}), delta)


def _anthropic_event(event: Any) -> Exchange:
    """An event of a stream, the others of which say that a text came; a delta with the block that it is of."""
    if "delta" in event and "index" in event:
        return _anthropic_delta(event["delta"])
    events = [
        {"type": "message_start", "message": _message(stop=None)},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Fine."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": _USED},
        {"type": "message_stop"},
    ]
    event = {**event, **({"index": 0} if "index" in event else {})}
    return Exchange(_anthropic([_USER]), _sse([event if each["type"] == event["type"] else each for each in events]))


# OpenAI Responses

_ANSWERED = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Fine.", "annotations": []}],
}


def _responses(*output: Any, **more: Any) -> Object:
    told = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "error": None}
    rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "incomplete_details": None}
    return {**told, **rest, "output": list(output), **more}


def _items(*items: Any, **more: Any) -> Object:
    return {"model": "m", "input": list(items), **more}


_ASKED = {"role": "user", "content": "Which one?"}


def _responses_item(item: Any) -> Exchange:
    return Exchange(_items(_ASKED, item), _responses(_ANSWERED))


def _responses_reply(item: Any) -> Exchange:
    return Exchange(_items(_ASKED), _responses(item))


def _responses_tool(tool: Any) -> Exchange:
    return Exchange(_items(_ASKED, tools=[tool]), _responses(_ANSWERED))


def _responses_stream(item: Any) -> Exchange:
    begun = _responses(status="in_progress")
    events = [
        {"type": "response.created", "response": begun, "sequence_number": 0},
        {"type": "response.output_item.added", "item": item, "output_index": 0, "sequence_number": 1},
        {"type": "response.output_item.done", "item": item, "output_index": 0, "sequence_number": 2},
    ]
    return Exchange(_items(_ASKED), _sse(events))


_PART = {"type": "output_text", "text": "", "annotations": []}
_BEGUN_ITEMS: dict[str, Object] = {
    "reasoning": {"type": "reasoning", "summary": []},
    "function_call": {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": ""},
    "custom_tool_call": {"type": "custom_tool_call", "call_id": "call_1", "name": "look", "input": ""},
    "mcp_call": {"type": "mcp_call", "name": "look", "server_label": "here", "arguments": ""},
    "code_interpreter_call": {"type": "code_interpreter_call", "container_id": "c", "code": "", "outputs": []},
    "shell_call_output": {"type": "shell_call_output", "call_id": "call_1", "output": []},
    "shell_call": {"type": "shell_call", "call_id": "call_1", "action": {"commands": []}},
}
"""Items as they begin, by the first words of the events that go on with them."""
_WHOLE = {"response.output_item.added", "response.output_item.done"}


def _responses_event(event: Any) -> Exchange:
    """An event of a stream that ends with it, after the beginning of the item that it is about."""
    of = event["type"].removeprefix("response.")
    begun = next((item for name, item in _BEGUN_ITEMS.items() if of.startswith(name)), {**_ANSWERED, "content": []})
    events = [{"type": "response.created", "response": _responses(status="in_progress")}]
    if "output_index" in event and event["type"] not in _WHOLE:
        events.append({"type": "response.output_item.added", "item": {**begun, "id": "item_1"}, "output_index": 0})
        if "content_index" in event and begun.get("content") == []:
            start = {"type": "response.content_part.added", "item_id": "item_1", "output_index": 0, "content_index": 0}
            events.append({**start, "part": _PART})
        event = {**event, **dict.fromkeys(_INDICES & event.keys(), 0)}
    return Exchange(_items(_ASKED), _sse([*events, {**event, **({"item_id": "item_1"} if "item_id" in event else {})}]))


_INDICES = {"output_index", "content_index", "summary_index", "annotation_index", "command_index"}

# Chat completions


def _completion(message: Any) -> Object:
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


_CHAT_FINE = _completion({"role": "assistant", "content": "Fine."})


def _chat(*messages: Any, **more: Any) -> Object:
    return {"model": "m", "messages": list(messages), **more}


def _chat_message(message: Any) -> Exchange:
    before = [_ASKED]
    if message["role"] == "tool":
        call = {"id": message["tool_call_id"], "type": "function", "function": {"name": "look", "arguments": "{}"}}
        before.append({"role": "assistant", "content": None, "tool_calls": [call]})
    if message["role"] == "function":
        call = {"name": message["name"], "arguments": "{}"}
        before.append({"role": "assistant", "content": None, "function_call": call})
    after = [{"role": "tool", "tool_call_id": call["id"], "content": "So."} for call in message.get("tool_calls") or []]
    return Exchange(_chat(*before, message, *after, _ASKED), _CHAT_FINE)


def _chat_reply(message: Any) -> Exchange:
    return Exchange(_chat(_ASKED), _completion(message))


def _chat_tool(tool: Any) -> Exchange:
    return Exchange(_chat(_ASKED, tools=[tool]), _CHAT_FINE)


def _chat_stream(delta: Any) -> Exchange:
    told = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = [
        {**told, "choices": [{"index": 0, "delta": each, "finish_reason": reason}]}
        for each, reason in (({"role": "assistant", "content": ""}, None), (delta, None), ({}, "stop"))
    ]
    raw = "".join(f"data: {json.dumps(each)}\n\n" for each in chunks)
    return Exchange(_chat(_ASKED), {"body_raw": f"{raw}data: [DONE]\n\n"})


# Gemini

_PARTS = {
    "Part": Shape(
        base={"text": "\0"},
        alone=(
            "codeExecutionResult", "executableCode", "fileData", "functionCall", "functionResponse", "inlineData",
            "text", "toolCall", "toolResponse",
        ),
    ),
}  # fmt: skip
"""A part has one of these, and may have the other members next to it."""


def _gemini(*contents: Any, **more: Any) -> Object:
    return {"contents": list(contents), **more}


def _candidate(*parts: Any) -> Object:
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "modelVersion": "gemini-x"}


_GEMINI_ASKED = {"role": "user", "parts": [{"text": "Which one?"}]}
_GEMINI_FINE = _candidate({"text": "Fine."})


def _gemini_part(part: Any) -> Exchange:
    return Exchange(_gemini({"role": "user", "parts": [part]}), _GEMINI_FINE)


def _gemini_reply(part: Any) -> Exchange:
    return Exchange(_gemini(_GEMINI_ASKED), _candidate(part))


def _gemini_stream(part: Any) -> Exchange:
    chunks = "".join(f"data: {json.dumps(each)}\n\n" for each in (_candidate(part), _candidate()))
    return Exchange(_gemini(_GEMINI_ASKED), {"body_raw": chunks})


def _gemini_tool(tool: Any) -> Exchange:
    return Exchange(_gemini(_GEMINI_ASKED, tools=[tool]), _GEMINI_FINE)


# Gemini's interactions

_INPUT = {"type": "user_input", "content": [{"type": "text", "text": "Which one?"}]}
_OUTPUT = {"type": "model_output", "content": [{"type": "text", "text": "Fine."}]}


def _interaction(*steps: Any, status: str = "completed") -> Object:
    return {"id": "i", "object": "interaction", "model": "gemini-x", "status": status, "steps": list(steps)}


def _interactions_step(step: Any) -> Exchange:
    return Exchange({"model": "gemini-x", "input": [_INPUT, step]}, _interaction(_OUTPUT))


def _interactions_reply(step: Any) -> Exchange:
    return Exchange({"model": "gemini-x", "input": [_INPUT]}, _interaction(step))


def _interactions_stream(step: Any, *deltas: Any) -> Exchange:
    events = [
        {"event_type": "interaction.created", "interaction": _interaction(status="in_progress")},
        {"event_type": "step.start", "index": 0, "step": step},
        *({**each, "index": 0} for each in deltas),
        {"event_type": "step.stop", "index": 0},
    ]
    raw = "".join(f"event: {each['event_type']}\ndata: {json.dumps(each)}\n\n" for each in events)
    return Exchange({"model": "gemini-x", "input": [_INPUT]}, {"body_raw": raw})


_GOES_ON = {"arguments_delta": "function_call", "thought_summary": "thought", "thought_signature": "thought"}
"""The steps that deltas continue; those of tools have the name of their step."""


def _interactions_delta(delta: Any) -> Exchange:
    of = delta["delta"]["type"]
    step = {"type": _GOES_ON.get(of, of if of.endswith(("_call", "_result")) else "model_output")}
    if of == "arguments_delta":
        step |= {"id": "call_1", "name": "look"}
    return _interactions_stream(step, delta)


# Ollama

_OLLAMA_ROLES = {"Message": Shape(base={"role": "user"})}


def _ollama(*messages: Any, **more: Any) -> Object:
    return {"model": "m", "messages": list(messages), "options": {}, **more}


def _ollama_answer(message: Any) -> Object:
    return {"model": "m", "created_at": "2026-01-02T03:04:05Z", "message": message, "done": True}


def _in_json(message: Any) -> Object:
    """A message as it is sent, with images as text."""
    images = {"images": [each["value"] for each in message["images"]]} if "images" in message else {}
    return {**message, **images}


def _ollama_message(message: Any) -> Exchange:
    role = "tool" if "tool_name" in message else "assistant" if message.keys() & {"tool_calls", "thinking"} else "user"
    made = {**_in_json(message), "role": role}
    return Exchange(_ollama(_ASKED, made, _ASKED), _ollama_answer({"role": "assistant", "content": "Fine."}))


def _ollama_reply(message: Any) -> Exchange:
    return Exchange(_ollama(_ASKED), _ollama_answer({**_in_json(message), "role": "assistant"}))


def _ollama_tool(tool: Any) -> Exchange:
    return Exchange(_ollama(_ASKED, tools=[tool]), _ollama_answer({"role": "assistant", "content": "Fine."}))


# The table


UNIONS = [
    Union("anthropic", "block of a request", beta.BetaContentBlockParam, _anthropic_block),
    Union("anthropic", "block of a reply", beta.BetaContentBlock, _anthropic_reply),
    Union("anthropic", "streamed block", beta.BetaContentBlock, _anthropic_stream),
    Union("anthropic", "delta", beta.BetaRawContentBlockDelta, _anthropic_delta),
    Union("anthropic", "event", beta.BetaRawMessageStreamEvent, _anthropic_event, 1),
    Union("anthropic", "tool", beta.BetaToolUnionParam, _anthropic_tool),
    Union("openai_responses", "item of a request", responses.ResponseInputItemParam, _responses_item),
    Union("openai_responses", "item of a reply", responses.ResponseOutputItem, _responses_reply),
    Union("openai_responses", "streamed item", responses.ResponseOutputItem, _responses_stream),
    Union("openai_responses", "event", responses.ResponseStreamEvent, _responses_event, 1),
    Union("openai_responses", "tool", responses.ToolParam, _responses_tool),
    Union("openai_chat", "message of a request", chat.ChatCompletionMessageParam, _chat_message),
    Union("openai_chat", "message of a reply", chat.ChatCompletionMessage, _chat_reply),
    Union("openai_chat", "delta", chat.chat_completion_chunk.ChoiceDelta, _chat_stream),
    Union("openai_chat", "tool", chat.ChatCompletionToolUnionParam, _chat_tool),
    Union("gemini", "part of a request", google.Part, _gemini_part, shapes=_PARTS),
    Union("gemini", "part of a reply", google.Part, _gemini_reply, shapes=_PARTS),
    Union("gemini", "streamed part", google.Part, _gemini_stream, shapes=_PARTS),
    Union("gemini", "tool", google.Tool, _gemini_tool),
    Union("gemini_interactions", "step of a request", interactions.Step, _interactions_step),
    Union("gemini_interactions", "step of a reply", interactions.Step, _interactions_reply),
    Union("gemini_interactions", "streamed step", interactions.Step, _interactions_stream),
    Union("gemini_interactions", "delta", interactions.StepDelta, _interactions_delta),
    Union("ollama", "message of a request", ollama.Message, _ollama_message, shapes=_OLLAMA_ROLES),
    Union("ollama", "message of a reply", ollama.Message, _ollama_reply, shapes=_OLLAMA_ROLES),
    Union("ollama", "tool", ollama.Tool, _ollama_tool),
]


def _members() -> Iterator[Any]:
    for each in UNIONS:
        for of in union(each.type):
            found = list(examples(of, each.depth, each.shapes))
            yield pytest.param(Member(each, label(of), found), id=f"{each.name}-{label(of)}")


MEMBERS = list(_members())
