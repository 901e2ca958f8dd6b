"""An image in a result costs a record the image, not the session, whatever wrote the log and whatever it is trained with.

The rows of agents have the lines that recorded runs of Claude Code 2.1.197, Codex 0.171.0, Cline CLI 3.0.65, OpenCode
1.18.33 and Pi 0.73.1 have around an image; the texts are invented.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatsquash import Options, convert
from tests import golden
from tests.outputs import findings

PRESETS = ("hf", "mistral", "openai", "sharegpt", "text")
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mP43yCAFTEMLQkANdFjwbRLm40AAAAASUVORK5CYII="
URL = f"data:image/png;base64,{PNG}"
PROMPT, REPLY = "What does the chart show?", "The tide rises until noon."
TIME = "2026-03-02T09:00:00Z"


def exchange(request: Any, response: Any) -> list[Any]:
    return [{"timestamp": TIME, "session_id": "s", "request": {"model": "m", **request}, "response": response}]


def chat(*shown: Any) -> list[Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    calls = {"role": "assistant", "content": None, "tool_calls": [call]}
    said = {"role": "assistant", "content": REPLY}
    choice = {"index": 0, "finish_reason": "stop", "message": said}
    messages = [{"role": "user", "content": PROMPT}, calls, *shown]
    return exchange({"messages": messages}, {"object": "chat.completion", "choices": [choice]})


def result(content: Any) -> Any:
    return {"role": "tool", "tool_call_id": "c1", "content": content}


def shown(*said: str) -> Any:
    texts = [{"type": "text", "text": text} for text in said]
    return {"role": "user", "content": [*texts, {"type": "image_url", "image_url": {"url": URL}}]}


def anthropic() -> list[Any]:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    messages = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [image]}]},
    ]
    answer = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": REPLY}],
        "stop_reason": "end_turn",
    }
    return exchange({"max_tokens": 9, "messages": messages}, answer)


def responses() -> list[Any]:
    items = [
        {"role": "user", "content": PROMPT},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_image", "image_url": URL}]},
    ]
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": REPLY}]}
    return exchange({"input": items}, {"object": "response", "status": "completed", "output": [said]})


def gemini(*, is_within: bool) -> list[Any]:
    image = {"inlineData": {"mimeType": "image/png", "data": PNG}}
    returned: Any = {"name": "look", "response": {"output": "1 image"}}
    parts = [{"functionResponse": {**returned, "parts": [image]} if is_within else returned}]
    contents = [
        {"role": "user", "parts": [{"text": PROMPT}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
        {"role": "user", "parts": parts if is_within else [*parts, image]},
    ]
    said = {"content": {"role": "model", "parts": [{"text": REPLY}]}, "finishReason": "STOP"}
    return exchange({"contents": contents}, {"candidates": [said]})


def codex() -> list[Any]:
    image = {"type": "input_image", "image_url": URL, "detail": "high"}
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": PROMPT}]},
        {"type": "function_call", "call_id": "c1", "name": "view_image", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": [image]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": REPLY}]},
    ]
    meta = {"id": "s", "cwd": "/w", "cli_version": "0.171.0", "originator": "codex", "timestamp": TIME}
    return [
        {"timestamp": TIME, "type": "session_meta", "payload": meta},
        *({"timestamp": TIME, "type": "response_item", "payload": item} for item in items),
    ]


def pi() -> list[Any]:
    used = {"input": 9, "output": 9, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 18}
    image = {"type": "image", "data": PNG, "mimeType": "image/png"}
    messages: list[Any] = [
        {"role": "user", "content": [{"type": "text", "text": PROMPT}]},
        {
            "role": "assistant",
            "content": [{"type": "toolCall", "id": "c1", "name": "read", "arguments": {}}],
            "usage": used,
            "stopReason": "toolUse",
        },
        {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": "read",
            "content": [{"type": "text", "text": "Read image file"}, image],
            "isError": False,
        },
        {"role": "assistant", "content": [{"type": "text", "text": REPLY}], "usage": used, "stopReason": "stop"},
    ]
    lines = [
        {"type": "message", "id": str(at), "parentId": str(at - 1) if at else None, "timestamp": TIME, "message": each}
        for at, each in enumerate(messages)
    ]
    return [{"type": "session", "version": 3, "id": "s", "timestamp": TIME, "cwd": "/w"}, *lines]


LOGS = {
    "Codex": codex(),
    "Pi": pi(),
    "a gateway, Anthropic": anthropic(),
    "a gateway, Gemini, within the result": gemini(is_within=True),
    "a gateway, Gemini, after the result as Gemini CLI sends it": gemini(is_within=False),
    "a gateway, OpenAI chat": chat(
        result([{"type": "text", "text": "a chart"}, {"type": "image_url", "image_url": {"url": URL}}])
    ),
    "a gateway, OpenAI chat, after the result as Cline sends it": chat(result("a chart"), shown()),
    "a gateway, OpenAI chat, after the result as Pi and OpenCode send it": chat(
        result("a chart"), shown("Attached image(s) from tool result:")
    ),
    "a gateway, OpenAI Responses": responses(),
}
GOLDEN = {
    "Claude Code": "claude_code/an_image_that_stands_twice",
    "Cline": "cline_sdk/an_image_in_a_result_and_an_error",
    "Ollama": "ollama/images",
    "OpenCode": "opencode/calls_with_their_results_in_one_message",
}


def put(lines: list[Any], folder: Any) -> Any:
    logs = folder / "logs"
    logs.mkdir()
    (logs / "s.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return logs


def records(logs: Any, preset: str, folder: Any) -> list[str]:
    convert([str(logs)], folder / "out", Options(preset=preset, group_by="none", format="jsonl"))
    paths = sorted((folder / "out/data").glob("*.jsonl"))
    return [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("source", [*LOGS, *GOLDEN])
def test_a_placeholder_and_a_finding_replace_an_image(source, preset, tmp_path):
    logs = put(LOGS[source], tmp_path) if source in LOGS else golden.ROOT / GOLDEN[source] / "logs"
    made = records(logs, preset, tmp_path)
    assert made
    assert all("[image]" in line for line in made)
    assert "iVBOR" not in "".join(made)
    assert REPLY in "".join(made) or source in GOLDEN
    assert findings("media-replaced", out=tmp_path / "out")
    assert not findings("media-dropped", out=tmp_path / "out")


def test_what_a_user_says_of_an_image_after_a_result_is_no_part_of_the_result(tmp_path):
    lines = chat(result("a chart"), shown("Stop, look at this instead."))
    assert records(put(lines, tmp_path), "sharegpt", tmp_path) == []
    (found,) = findings("unsupported-shape", out=tmp_path / "out")
    assert "a user message directly follows a result" in found["text"]
