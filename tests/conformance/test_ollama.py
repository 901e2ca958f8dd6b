"""What is read of Ollama's answers is what its own types hold."""

from __future__ import annotations

import json
from typing import Any

import ollama
import pytest

from chatsquash.core.chat import text
from chatsquash.formats import bodies, get_format
from chatsquash.formats.providers import ollama as ours


def body(content: str = "", *, done: bool = True, **message: Any) -> dict[str, Any]:
    end = {"done_reason": "stop", "total_duration": 5191566416, "eval_count": 298} if done else {}
    return {
        "model": "qwen3:8b",
        "created_at": "2026-01-13T10:00:00.123456789Z",
        "message": {"role": "assistant", "content": content, **message},
        "done": done,
        **end,
    }


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}}


ANSWERS = {
    "text": [body("Two ducks.")],
    "thinking": [body("Two ducks.", thinking="Counting them.")],
    "calls": [body(tool_calls=[call("count", of="ducks", deep={"a": [1, None]}), call("count")])],
    "calls with ids and indexes": [body(tool_calls=[{"id": "call_ab12", "function": {"index": 0, "name": "count", "arguments": {"of": "geese"}}}])],
    "a stream of text": [body("Two ", done=False), body("ducks.", done=False), body()],
    "a stream of thinking and calls": [
        body(done=False, thinking="Coun"),
        body(done=False, thinking="ting."),
        body("Let me see.", done=False),
        body(done=False, tool_calls=[call("count", of="ducks")]),
        body(done=False, tool_calls=[call("count", of="geese")]),
        body(),
    ],
}  # fmt: skip


@pytest.mark.parametrize("events", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_what_ollamas_types_hold(events):
    held = [ollama.ChatResponse.model_validate(event).message for event in events]
    reply = ours.reply(events[0] if len(events) == 1 else ours.assemble(events).body)
    message: Any = reply.message

    assert (text(message) or "") == "".join(each.content or "" for each in held)
    assert message.get("reasoning_content", "") == "".join(each.thinking or "" for each in held)
    calls = [each.function for message in held for each in message.tool_calls or []]
    functions = [each["function"] for each in message.get("tool_calls", [])]
    assert [each["name"] for each in functions] == [each.name for each in calls]
    assert [json.loads(each["arguments"]) for each in functions] == [dict(each.arguments) for each in calls]
    assert reply.finish_reason == ("tool_calls" if calls else "stop")


CONVERSATION = [
    {"role": "system", "content": "Count birds."},
    {"role": "user", "content": "How many?", "images": ["iVBORw0KGgoAAAANSUhEUgAA"]},
    {"role": "assistant", "content": "", "thinking": "Look.", "tool_calls": [call("count", of="ducks"), call("count")]},
    {"role": "tool", "content": "2", "tool_name": "count"},
    {"role": "tool", "content": "3", "tool_name": "count"},
    {"role": "assistant", "content": "Two, and three."},
]


def test_a_conversation_is_what_ollamas_types_hold():
    wrapped = [
        each | ({"images": [ollama.Image(value=image) for image in each["images"]]} if "images" in each else {})
        for each in CONVERSATION
    ]
    held = [ollama.Message.model_validate(each) for each in wrapped]
    messages = bodies.load(get_format("ollama"), {"messages": CONVERSATION}).messages

    assert [each["role"] for each in messages] == [each.role for each in held]
    assert [text(each) or "" for each in messages] == [each.content for each in held]
    assert [each.get("name") for each in messages] == [each.tool_name for each in held]
    assert [each["id"] for each in messages[2]["tool_calls"]] == [each["tool_call_id"] for each in messages[3:5]]
