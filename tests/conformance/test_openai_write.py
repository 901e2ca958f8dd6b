"""What is written as OpenAI chat and as OpenAI Responses is what the provider's own library takes."""

import json
from typing import Any

import pydantic
import pytest
from hypothesis import given
from openai.types import chat, responses

from chatsquash.formats import bodies, openai_chat, openai_responses
from chatsquash.model import Conversation
from tests.conftest import needs_real_exchanges, real_exchanges
from tests.formats.kinds import KINDS, ODD, SIGNATURE, call, image, private, result, said, text, user

MESSAGES = pydantic.TypeAdapter(list[chat.ChatCompletionMessageParam])
CHAT_TOOLS = pydantic.TypeAdapter(list[chat.ChatCompletionToolUnionParam])
ITEMS = pydantic.TypeAdapter(list[responses.ResponseInputItemParam])
TOOLS = pydantic.TypeAdapter(list[responses.ToolParam])
INSTRUCTIONS = pydantic.TypeAdapter(str)

SCHEMA = {"type": "object", "properties": {"city": {"type": ["string", "null"]}}}
DEFINED = [
    {"type": "function", "function": {"name": "weather", "description": "d", "parameters": SCHEMA, "strict": True}},
    {"type": "function", "function": {"name": "time"}},
    {"type": "function", "function": {"name": "odd", "description": None, "parameters": None, "strict": None}},
    private({"type": "function", "function": {"name": "late"}}, defer_loading=True, type="custom"),
    {"type": "custom", "custom": {"name": "shell", "format": {"type": "text"}}},
    {"type": "custom", "custom": {"name": "sql", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "x"}}}},
]  # fmt: skip
BEYOND = {
    "an image shown by the assistant": [user(), said([text("a"), image()])],
    "results as parts": [user(), said(None, call()), result([text("a"), text("b"), image()])],
    "reasoning of others": [user(), private(said("a", reasoning_content="r"), thinking=[{"text": "r"}, {"redacted": SIGNATURE}])],
    "phases": [user(), private(said([text("a"), text("b")]), phase=["commentary", "final_answer"])],
    "refusal beside text": [user(), said("a", refusal="no")],
    "nothing said": [user(None), said(None), user("")],
}  # fmt: skip
WRITTEN = {**KINDS, **{name: Conversation(messages, []) for name, messages in BEYOND.items()}}


def walked(value: Any) -> Any:
    """A validated value without laziness: iterables are checked only when they are gone through."""
    if isinstance(value, dict):
        return {key: walked(member) for key, member in value.items()}
    return value if isinstance(value, str | int | float | None) else [walked(member) for member in value]


def check(conversation: Conversation) -> None:
    """Both bodies are valid, and so large as they were before unknown keys were dropped."""
    body = json.loads(json.dumps(openai_chat.dump(conversation)))
    found = walked(MESSAGES.validate_python(body["messages"]))
    assert [message["role"] for message in found] == [message["role"] for message in body["messages"]]
    walked(CHAT_TOOLS.validate_python(body.get("tools", [])))
    body = json.loads(json.dumps(openai_responses.dump(conversation)))
    assert walked(ITEMS.validate_python(body["input"])) == body["input"], "the library knows every key"
    assert walked(TOOLS.validate_python(body.get("tools", []))) == body.get("tools", [])
    INSTRUCTIONS.validate_python(body.get("instructions", ""))


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_kind_is_valid(kind):
    check(Conversation(WRITTEN[kind].messages, DEFINED))


@given(ODD)
def test_odd_values_are_valid_or_not_written(conversation):
    check(conversation)


@pytest.mark.parametrize("kind", WRITTEN)
def test_every_result_answers_a_call_that_is_there_unless_it_did_not_before(kind):
    orphans = {"call_gone"}
    body = openai_chat.dump(WRITTEN[kind])
    calls = [each["id"] for message in body["messages"] for each in message.get("tool_calls", [])]
    results = [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]
    items = openai_responses.dump(WRITTEN[kind])["input"]
    assert [item["call_id"] for item in items if item.get("type") in ("function_call", "custom_tool_call")] == calls
    assert [item["call_id"] for item in items if str(item.get("type")).endswith("_output")] == results
    assert set(results) <= {*calls, *orphans}
    assert len(set(calls)) == len(calls)


def test_the_check_goes_through_what_the_library_leaves_unread():
    wrong = [
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": {}}}],
        }
    ]
    lazy = MESSAGES.validate_python(wrong)
    with pytest.raises(pydantic.ValidationError):
        walked(lazy)


LOGS = [(form, path) for form in (openai_chat, openai_responses) for path in real_exchanges(f"{form.NAME}/*.jsonl")]


@needs_real_exchanges
@pytest.mark.parametrize("form, path", LOGS, ids=[f"{form.NAME}-{path.stem}" for form, path in LOGS])
def test_recorded_conversations_are_valid_in_both(form, path):
    for line in path.read_bytes().splitlines():
        conversation = bodies.load(form, json.loads(line)["request"])
        body = openai_chat.dump(conversation)
        walked(MESSAGES.validate_python(body["messages"]))
        walked(CHAT_TOOLS.validate_python(body.get("tools", [])))
        body = openai_responses.dump(conversation)
        walked(ITEMS.validate_python(body["input"]))
        walked(TOOLS.validate_python(body.get("tools", [])))
