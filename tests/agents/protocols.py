"""The APIs that agents speak: the turns of a request, and replies as one body or as a stream of events.

Each class is one API. ``turns`` and ``tools`` read a request, ``whole`` is a reply as one body, ``events`` the same as a
stream of server-sent events, ``error`` a failed one. ``test_protocols.py`` has the makers' SDKs parse all of them, where
these are installed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

Json = dict[str, Any]


class Call(NamedTuple):
    """A call of a tool."""

    name: str
    arguments: Json
    id: str
    namespace: str = ""


class Scripted(NamedTuple):
    """A reply as the script has it."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = "stop"
    """``stop``, ``length`` or ``refusal``."""
    tokens: int = 1000
    """Input tokens that the usage reports."""


class Turn(NamedTuple):
    """A message of a request, as far as the script and the checks need it."""

    role: str
    text: str


_NO_TEXT = (
    "type",
    "id",
    "call_id",
    "tool_use_id",
    "image_url",
    "source",
    "detail",
    "inlineData",
    "cache_control",
    "mime_type",
)
"""Members of content parts that are no texts."""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            if name not in _NO_TEXT:
                yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def joined(value: Any) -> str:
    """All texts in a JSON value, on lines of their own."""
    return "\n".join(_texts(value))


def _event(data: Json, name: str | None = None) -> str:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n"


class Chat:
    """OpenAI chat completions."""

    paths = ("/chat/completions",)

    @staticmethod
    def turns(body: Json) -> list[Turn]:
        return [
            Turn("system" if m["role"] == "developer" else m["role"], joined([m.get("content"), m.get("tool_calls")]))
            for m in body["messages"]
        ]

    @staticmethod
    def tools(body: Json) -> list[str]:
        return [tool["function"]["name"] for tool in body.get("tools") or () if "function" in tool]

    @staticmethod
    def whole(reply: Scripted, number: int, body: Json) -> Json:
        message: Json = {"role": "assistant", "content": reply.text or None}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for call in reply.calls
            ]
        reasons = {"length": "length", "refusal": "content_filter"}
        finish = reasons.get(reply.finish) or ("tool_calls" if reply.calls else "stop")
        usage = {"prompt_tokens": reply.tokens, "completion_tokens": 20, "total_tokens": reply.tokens + 20}
        choice = {"index": 0, "message": message, "finish_reason": finish}
        head = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1767225600 + number,
            "model": body["model"],
        }
        return {**head, "choices": [choice], "usage": usage}

    @classmethod
    def events(cls, reply: Scripted, number: int, body: Json) -> Iterator[str]:
        whole = cls.whole(reply, number, body)
        message, finish = whole["choices"][0]["message"], whole["choices"][0]["finish_reason"]
        head = {**{name: whole[name] for name in ("id", "created", "model")}, "object": "chat.completion.chunk"}

        def chunk(delta: Json, end: str | None = None) -> str:
            return _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]})

        yield chunk({"role": "assistant", "content": ""})
        if reply.reasoning:
            yield chunk({"reasoning_content": reply.reasoning})
        for part in _halves(reply.text):
            yield chunk({"content": part})
        for index, call in enumerate(message.get("tool_calls") or ()):
            yield chunk({"tool_calls": [{"index": index, **call, "function": {**call["function"], "arguments": ""}}]})
            for part in _halves(call["function"]["arguments"]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
        yield chunk({}, finish)
        yield _event({**head, "choices": [], "usage": whole["usage"]})
        yield "data: [DONE]\n\n"


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [part for part in (text[:middle], text[middle:]) if part]


class Messages:
    """Anthropic Messages."""

    paths = ("/messages",)

    @staticmethod
    def turns(body: Json) -> list[Turn]:
        turns = [Turn("system", joined(body.get("system")))] if body.get("system") else []
        for message in body["messages"]:
            content = message["content"]
            blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
            results = [block for block in blocks if block.get("type") == "tool_result"]
            others = [block for block in blocks if block.get("type") != "tool_result"]
            turns += [Turn("tool", joined(block.get("content"))) for block in results]
            if others:
                turns.append(Turn(message["role"], "\n".join(joined(_spoken(block)) for block in others)))
        return turns

    @staticmethod
    def tools(body: Json) -> list[str]:
        return [tool["name"] for tool in body.get("tools") or ()]

    @staticmethod
    def whole(reply: Scripted, number: int, body: Json) -> Json:
        content: list[Json] = []
        if reply.reasoning:
            content.append({"type": "thinking", "thinking": reply.reasoning, "signature": f"sig{number}"})
        if reply.text:
            content.append({"type": "text", "text": reply.text})
        content += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in reply.calls
        ]
        stops = {"length": "max_tokens", "refusal": "refusal"}
        stop = stops.get(reply.finish) or ("tool_use" if reply.calls else "end_turn")
        return {
            "id": f"msg_{number:08}", "type": "message", "role": "assistant", "model": body["model"], "content": content,
            "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": reply.tokens, "output_tokens": 20},
        }  # fmt: skip

    @classmethod
    def events(cls, reply: Scripted, number: int, body: Json) -> Iterator[str]:
        whole = cls.whole(reply, number, body)
        start = {**whole, "content": [], "stop_reason": None}
        yield _event({"type": "message_start", "message": start}, "message_start")
        for index, block in enumerate(whole["content"]):
            yield from _block_events(index, block)
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield _event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 20}}, "message_delta")
        yield _event({"type": "message_stop"}, "message_stop")


def _spoken(block: Json) -> Any:
    kind = block.get("type")
    return block.get({"text": "text", "tool_use": "input"}.get(kind or "", ""))


def _block_events(index: int, block: Json) -> Iterator[str]:
    kind = block["type"]
    empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}[kind]
    opened = {**block, **empty}
    yield _event({"type": "content_block_start", "index": index, "content_block": opened}, "content_block_start")
    value = json.dumps(block["input"]) if kind == "tool_use" else block[kind]
    types = {
        "text": ("text_delta", "text"),
        "thinking": ("thinking_delta", "thinking"),
        "tool_use": ("input_json_delta", "partial_json"),
    }
    name, member = types[kind]
    deltas = [{"type": name, member: part} for part in _halves(value)]
    if kind == "thinking":
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    for delta in deltas:
        yield _event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
    yield _event({"type": "content_block_stop", "index": index}, "content_block_stop")


class Responses:
    """OpenAI Responses."""

    paths = ("/responses",)

    @staticmethod
    def turns(body: Json) -> list[Turn]:
        turns = [Turn("system", body["instructions"])] if body.get("instructions") else []
        items = body["input"]
        for item in items if isinstance(items, list) else [{"role": "user", "content": items}]:
            kind = item.get("type", "message")
            if kind == "message":
                role = "system" if item["role"] in ("developer", "system") else item["role"]
                turns.append(Turn(role, joined(item.get("content"))))
            elif kind.endswith("_output"):
                turns.append(Turn("tool", joined(item.get("output"))))
            elif kind.endswith("_call"):
                turns.append(Turn("assistant", joined([item.get("arguments"), item.get("input"), item.get("action")])))
        return turns

    @staticmethod
    def tools(body: Json) -> list[str]:
        names: list[str] = []
        for tool in body.get("tools") or ():
            if "tools" in tool:
                names += [f"{tool['name']}__{each['name']}" for each in tool["tools"]]
            elif "name" in tool:
                names.append(tool["name"])
        return names

    @staticmethod
    def items(reply: Scripted, number: int) -> list[Json]:
        items: list[Json] = []
        if reply.reasoning:
            summary = [{"type": "summary_text", "text": reply.reasoning}]
            items.append(
                {"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": f"enc{number}"}
            )
        if reply.text:
            content = [{"type": "output_text", "text": reply.text, "annotations": []}]
            items.append(
                {"type": "message", "id": f"m_{number}", "role": "assistant", "status": "completed", "content": content}
            )
        items += [
            {
                "type": "function_call",
                "id": f"fc_{call.id}",
                "call_id": call.id,
                "name": call.name,
                "arguments": json.dumps(call.arguments),
                "status": "completed",
                **({"namespace": call.namespace} if call.namespace else {}),
            }
            for call in reply.calls
        ]
        return items

    @classmethod
    def whole(cls, reply: Scripted, number: int, body: Json) -> Json:
        usage = {"input_tokens": reply.tokens, "output_tokens": 20, "total_tokens": reply.tokens + 20,
                 "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
        reason = {"length": "max_output_tokens", "refusal": "content_filter"}.get(reply.finish)
        return {
            "id": f"resp_{number}", "object": "response", "created_at": 1767225600 + number, "model": body["model"],
            "status": "incomplete" if reason else "completed", "output": cls.items(reply, number), "usage": usage,
            **({"incomplete_details": {"reason": reason}} if reason else {}),
        }  # fmt: skip

    @classmethod
    def events(cls, reply: Scripted, number: int, body: Json) -> Iterator[str]:
        whole = cls.whole(reply, number, body)
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        yield _event({"type": "response.created", "response": begun}, "response.created")
        for index, item in enumerate(whole["output"]):
            opened = {**item, "status": "in_progress"}
            yield _event(
                {"type": "response.output_item.added", "output_index": index, "item": opened},
                "response.output_item.added",
            )
            if item["type"] == "message":
                for part in _halves(item["content"][0]["text"]):
                    delta = {
                        "type": "response.output_text.delta",
                        "item_id": item["id"],
                        "output_index": index,
                        "content_index": 0,
                        "delta": part,
                    }
                    yield _event(delta, "response.output_text.delta")
            if item["type"] == "function_call":
                for part in _halves(item["arguments"]):
                    delta = {
                        "type": "response.function_call_arguments.delta",
                        "item_id": item["id"],
                        "output_index": index,
                        "delta": part,
                    }
                    yield _event(delta, "response.function_call_arguments.delta")
            yield _event(
                {"type": "response.output_item.done", "output_index": index, "item": item}, "response.output_item.done"
            )
        end = "response.incomplete" if whole["status"] == "incomplete" else "response.completed"
        yield _event({"type": end, "response": whole}, end)


class Gemini:
    """Gemini's generateContent."""

    paths = (":generateContent", ":streamGenerateContent")

    @staticmethod
    def turns(body: Json) -> list[Turn]:
        turns = [Turn("system", joined(body["systemInstruction"]))] if body.get("systemInstruction") else []
        for content in body["contents"]:
            parts = content["parts"]
            results = [part for part in parts if "functionResponse" in part]
            others = [part for part in parts if "functionResponse" not in part and not part.get("thought")]
            turns += [Turn("tool", joined(part["functionResponse"].get("response"))) for part in results]
            if others:
                role = "assistant" if content.get("role") == "model" else "user"
                turns.append(
                    Turn(
                        role, joined([part.get("text") or part.get("functionCall", {}).get("args") for part in others])
                    )
                )
        return turns

    @staticmethod
    def tools(body: Json) -> list[str]:
        return [each["name"] for tool in body.get("tools") or () for each in tool.get("functionDeclarations", ())]

    @staticmethod
    def parts(reply: Scripted) -> list[Json]:
        parts: list[Json] = [{"text": reply.reasoning, "thought": True}] if reply.reasoning else []
        parts += [{"text": reply.text}] if reply.text else []
        return parts + [
            {"functionCall": {"name": call.name, "args": call.arguments, "id": call.id}} for call in reply.calls
        ]

    @classmethod
    def whole(cls, reply: Scripted, number: int, body: Json) -> Json:
        finish = {"length": "MAX_TOKENS", "refusal": "SAFETY"}.get(reply.finish, "STOP")
        usage = {"promptTokenCount": reply.tokens, "candidatesTokenCount": 20, "totalTokenCount": reply.tokens + 20}
        candidate = {"content": {"role": "model", "parts": cls.parts(reply)}, "finishReason": finish, "index": 0}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini", "responseId": f"r{number}"}

    @classmethod
    def events(cls, reply: Scripted, number: int, body: Json) -> Iterator[str]:
        whole = cls.whole(reply, number, body)
        parts = whole["candidates"][0]["content"]["parts"]
        for part in parts[:-1]:
            yield _event({**whole, "candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]})
        last = {**whole["candidates"][0], "content": {"role": "model", "parts": parts[-1:]}}
        yield _event({**whole, "candidates": [last]})


def error(status: int) -> Json:
    """The body of a failed request, which has the members that each API's clients look for."""
    kinds = {429: "rate_limit_error", 529: "overloaded_error"}
    message = {429: "Too many requests", 529: "Overloaded"}.get(status, "Internal error")
    return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "code": status, "message": message}}


PROTOCOLS = (Chat, Messages, Responses, Gemini)
BY_NAME = {each.__name__: each for each in PROTOCOLS}
