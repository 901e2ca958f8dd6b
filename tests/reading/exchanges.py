"""One exchange of each format, whole and streamed, and the ways in which loggers write it down."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from tests.checks.rows import tool

SECRETS = ["Bearer sk-secret-1", "sk-secret-2", "sid=secret-3", "secret-4"]
HEADERS = {
    "Authorization": SECRETS[0],
    "x-api-key": SECRETS[1],
    "cookie": SECRETS[2],
    "x-goog-api-key": [SECRETS[3]],
    "content-type": "application/json",
}
SCHEMA = {"type": "object", "properties": {}}


class Exchange(NamedTuple):
    request: dict[str, Any]
    response: dict[str, Any]
    events: list[Any]
    """The same response as it is streamed; the last one but those of bookkeeping ends it."""


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}


CALL = {"id": "a", "type": "function", "function": {"name": "grep", "arguments": "{}"}}
ASSISTANT = {"role": "assistant", "content": "looking", "tool_calls": [CALL]}
CHAT = Exchange(
    {
        "model": "m",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "grüße 🙂"}],
        "tools": [{"type": "function", "function": tool()}],
    },
    {"object": "chat.completion", "choices": [{"index": 0, "message": ASSISTANT, "finish_reason": "tool_calls"}]},
    [
        chunk({"role": "assistant", "content": "look"}),
        chunk({"content": "ing"}),
        chunk({"tool_calls": [{"index": 0, **CALL, "function": {"name": "grep", "arguments": ""}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}),
        chunk({}, "tool_calls"),
    ],
)
ITEMS = [
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "looking"}]},
    {"type": "function_call", "call_id": "a", "name": "grep", "arguments": "{}"},
]
RESPONSE = {"id": "r1", "object": "response", "status": "completed", "output": ITEMS}
RESPONSES = Exchange(
    {
        "model": "m",
        "instructions": "s",
        "input": [{"role": "user", "content": "grüße 🙂"}],
        "tools": [{"type": "function", **tool()}],
    },
    RESPONSE,
    [
        {
            "type": "response.created",
            "sequence_number": 0,
            "response": {**RESPONSE, "status": "in_progress", "output": []},
        },
        *(
            {"type": "response.output_item.done", "sequence_number": n, "output_index": n - 1, "item": item}
            for n, item in enumerate(ITEMS, 1)
        ),
        {"type": "response.completed", "sequence_number": 3, "response": RESPONSE},
    ],
)
BLOCKS = [{"type": "text", "text": "looking"}, {"type": "tool_use", "id": "a", "name": "grep", "input": {}}]
ANTHROPIC = Exchange(
    {
        "model": "m",
        "max_tokens": 9,
        "system": "s",
        "messages": [{"role": "user", "content": "grüße 🙂"}],
        "tools": [{"name": "grep", "description": "d", "input_schema": SCHEMA}],
    },
    {"id": "m", "type": "message", "role": "assistant", "content": BLOCKS, "stop_reason": "tool_use"},
    [
        {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "look"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ing"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": BLOCKS[1]},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ],
)


def candidate(*parts: Any, **members: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0, **members}]}


CALLED = {"functionCall": {"name": "grep", "args": {}, "id": "a"}}
GEMINI = Exchange(
    {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "contents": [{"role": "user", "parts": [{"text": "grüße 🙂"}]}],
        "tools": [{"functionDeclarations": [{"name": "grep", "description": "d", "parametersJsonSchema": SCHEMA}]}],
    },
    candidate({"text": "looking"}, CALLED, finishReason="STOP"),
    [candidate({"text": "look"}), candidate({"text": "ing"}), candidate(CALLED, finishReason="STOP")],
)


def said(done: bool = False, **message: Any) -> dict[str, Any]:
    ending = {"done_reason": "stop"} if done else {}
    return {"model": "m", "message": {"role": "assistant", **message}, "done": done, **ending}


OBJECT_CALL = {"id": "a", "function": {"name": "grep", "arguments": {}}}
OLLAMA = Exchange(
    {
        "model": "m",
        "options": {"num_ctx": 9},
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "grüße 🙂"}],
        "tools": [{"type": "function", "function": tool()}],
    },
    said(done=True, content="looking", tool_calls=[OBJECT_CALL]),
    [
        said(content="look"),
        said(content="ing"),
        said(content="", tool_calls=[OBJECT_CALL]),
        said(done=True, content=""),
    ],
)
STEPS = [
    {"type": "model_output", "content": [{"type": "text", "text": "looking"}]},
    {"type": "function_call", "id": "a", "name": "grep", "arguments": {}},
]
INTERACTION = {"id": "int_1", "object": "interaction", "model": "m", "status": "requires_action"}
"""As google-genai 3.6 types it (``Interaction``, ``InteractionSSEEvent``)."""
GEMINI_INTERACTIONS = Exchange(
    {
        "model": "m",
        "system_instruction": "s",
        "input": [{"type": "user_input", "content": [{"type": "text", "text": "grüße 🙂"}]}],
        "tools": [{"type": "function", **tool()}],
    },
    {**INTERACTION, "steps": STEPS},
    [
        {"event_type": "interaction.created", "interaction": {**INTERACTION, "status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "look"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "ing"}},
        {"event_type": "step.stop", "index": 0},
        {"event_type": "step.start", "index": 1, "step": {**STEPS[1], "arguments": {}}},
        {"event_type": "step.delta", "index": 1, "delta": {"type": "arguments_delta", "arguments": "{}"}},
        {"event_type": "step.stop", "index": 1},
        {"event_type": "interaction.completed", "interaction": INTERACTION},
    ],
)
BEDROCK = Exchange(
    {
        "system": [{"text": "s"}],
        "messages": [{"role": "user", "content": [{"text": "grüße 🙂"}]}],
        "toolConfig": {"tools": [{"toolSpec": {"name": "grep", "description": "d", "inputSchema": {"json": SCHEMA}}}]},
    },
    {
        "output": {
            "message": {
                "role": "assistant",
                "content": [{"text": "looking"}, {"toolUse": {"toolUseId": "a", "name": "grep", "input": {}}}],
            }
        },
        "stopReason": "tool_use",
    },
    [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"text": "look"}, "contentBlockIndex": 0}},
        {"contentBlockDelta": {"delta": {"text": "ing"}, "contentBlockIndex": 0}},
        {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "a", "name": "grep"}}, "contentBlockIndex": 1}},
        {"contentBlockDelta": {"delta": {"toolUse": {"input": "{}"}}, "contentBlockIndex": 1}},
        {"messageStop": {"stopReason": "tool_use"}},
    ],
)
EXCHANGES = {
    "openai_chat": CHAT, "openai_responses": RESPONSES, "anthropic": ANTHROPIC, "bedrock": BEDROCK, "gemini": GEMINI,
    "ollama": OLLAMA, "gemini_interactions": GEMINI_INTERACTIONS,
}  # fmt: skip
MESSAGES = [{"role": "system", "content": "s"}, {"role": "user", "content": "grüße 🙂"}, ASSISTANT]
"""What each of them is in a record."""


def sse(events: list[Any], end: str = "data: [DONE]\n\n") -> str:
    return "".join(f"event: {each.get('type', 'x')}\ndata: {json.dumps(each)}\n\n" for each in events) + end


def ndjson(events: list[Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in events)


def plain(request: Any, response: Any, **members: Any) -> dict[str, Any]:
    return {
        "timestamp": "2026-01-13T10:00:00Z",
        "session_id": "s1",
        "request": request,
        "response": response,
        **members,
    }


def http(body: Any, answer: dict[str, Any], **members: Any) -> dict[str, Any]:
    """An HTTP pair, with headers that nobody may see."""
    asked = {"timestamp": "2026-01-13T10:00:00Z", "method": "POST", "headers": HEADERS, "body": body}
    answered = {"headers": {**HEADERS, "set-cookie": SECRETS[2]}, **answer}
    return {"session_id": "s1", "request": asked, "response": answered, "logged_at": "2026-01-13T10:00:01Z", **members}
