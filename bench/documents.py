"""Files that contain many sessions: an array of entries, rows of LiteLLM's proxy, and an export of Langfuse.

The members of the rows are those of the golden cases ``litellm`` and ``langfuse_blob_export``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

import orjson

Row = dict[str, Any]


def _array(entries: Iterable[Row]) -> Iterator[bytes]:
    """Yield one JSON array, pretty enough for a text editor: an entry per line."""
    before = b"[\n"
    for entry in entries:
        yield before + orjson.dumps(entry)
        before = b",\n"
    yield b"\n]\n"


def _litellm(entries: Iterable[Row]) -> Iterator[bytes]:
    """Yield payloads of LiteLLM's logging callbacks, one per line."""
    for entry in entries:
        request, response = entry["request"], entry["response"]
        row = {
            "id": response["id"],
            "trace_id": entry["session_id"],
            "call_type": "acompletion",
            "custom_llm_provider": "openai",
            "response_cost": 0.01,
            "model": request["model"],
            "startTime": datetime.fromisoformat(entry["timestamp"]).timestamp(),
            "status": "success",
            "messages": request["messages"],
            "response": response,
            "model_parameters": {"temperature": request["temperature"], "tools": request["tools"]},
        }
        yield orjson.dumps(row) + b"\n"


def _langfuse(entries: Iterable[Row]) -> Iterator[bytes]:
    """Yield generations of Langfuse's export to blob storage, whose bodies are JSON in strings."""
    for entry in entries:
        request, response = entry["request"], entry["response"]
        body = {"messages": request["messages"], "tools": request["tools"]}
        row = {
            "id": response["id"],
            "trace_id": entry["session_id"],
            "type": "GENERATION",
            "parent_observation_id": "",
            "start_time": entry["timestamp"].replace("T", " ").removesuffix("Z"),
            "name": "chat",
            "metadata": {},
            "level": "DEFAULT",
            "input": orjson.dumps(body).decode(),
            "output": orjson.dumps(response["choices"][0]["message"]).decode(),
            "provided_model_name": request["model"],
            "model_parameters": "{}",
            "usage_details": {"input": response["usage"]["prompt_tokens"]},
            "tool_definitions": {},
            "session_id": entry["session_id"],
            "user_id": None,
        }
        yield orjson.dumps(row) + b"\n"


DOCUMENTS: dict[str, tuple[str, Callable[[Iterable[Row]], Iterator[bytes]]]] = {
    "array": ("sessions.json", _array),
    "litellm": ("proxy.jsonl", _litellm),
    "langfuse": ("observations.jsonl", _langfuse),
}
"""The name of the file of each kind, and what writes it."""
