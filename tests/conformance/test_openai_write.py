"""What is written as OpenAI chat and as OpenAI Responses is what the provider's own library takes."""

import json
from typing import Any

import pydantic
import pytest
from hypothesis import given
from msgspec.structs import replace
from openai.types import chat, responses

from chatsquash.core.blocks import HostedCall, HostedResult, Media, Other, Reasoning, Refusal, Source, Text
from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.model import Conversation
from chatsquash.formats import bodies, get_format
from chatsquash.formats.providers import openai_chat, openai_responses
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.writing import without_marks
from tests.conftest import needs_real_exchanges, real_exchanges
from tests.formats.kinds import KINDS, ODD, SIGNATURE, answers, asks, calling, conversation, gives, says, turn

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
    {"type": "function", "function": {"name": "late"}, PRIVATE: Private(openai={"defer_loading": True})},
    {"type": "custom", "custom": {"name": "shell", "format": {"type": "text"}}},
    {"type": "custom", "custom": {"name": "sql", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "x"}}}},
]  # fmt: skip
PHASES = [Text(each, apart=True, native={"openai": {"phase": each}}) for each in ("commentary", "final_answer")]
OWN = Text("a", native={"openai": {"id": "msg_abc", "phase": "commentary"}})
CITED = Source("https://example.com", "t", native={"openai": {"start_index": 0, "end_index": 1}})
HOSTED = [
    HostedCall("ws_abc", "web_search", '{"type":"search","query":"q"}', "openai"),
    HostedCall("ci_abc", "code_interpreter", '{"code":"1","container_id":"c"}', "openai"),
    HostedCall("fs_abc", "file_search", '{"queries":["q"]}', "openai"),
    HostedResult("fs_abc", "file_search", [{"file_id": "f", "text": "t"}], provider="openai"),
    HostedCall("mcp_abc", "f", "{}", "openai", {"openai": {"server_label": "s"}}),
    HostedResult("mcp_abc", "f", "ok", provider="openai"),
]
BEYOND = {
    "an image shown by the assistant": [asks(), says("a", Media("image", url="u"))],
    "results as parts": [asks(), says(calling()), answers(gives("a", "b", Media("image", url="u")))],
    "an image of which the call failed": [asks(), says(calling()), answers(gives(Media("image", url="u"), outcome="failed"))],
    "reasoning of others": [asks(), says(Reasoning("r"), Reasoning("", "anthropic", encrypted=SIGNATURE), "a")],
    "reasoning in several texts": [asks(), says(Reasoning("r", "openai", id="rs_abc"), Reasoning("s", "openai", id="rs_abc"))],
    "phases": [asks(), says(*PHASES)],
    "a message with an id": [asks(), says(OWN, CITED, Refusal("no"))],
    "refusal beside text": [asks(), says("a", Refusal("no"))],
    "calls that OpenAI ran": [asks(), says(*HOSTED, "a")],
    "nothing said": [turn("user"), turn("assistant"), turn("user")],
}  # fmt: skip
WRITTEN = {**KINDS, **{name: conversation(*turns) for name, turns in BEYOND.items()}}


def walked(value: Any) -> Any:
    """A validated value without laziness: iterables are checked only when they are gone through."""
    if isinstance(value, dict):
        return {key: walked(member) for key, member in value.items()}
    return value if isinstance(value, str | int | float | None) else [walked(member) for member in value]


def ours(held: Any) -> Any:
    """A turn or a block without what only a chat says, of whichever vendor: that is written as it was."""
    kept = {provider: members for provider, members in held.native.items() if provider != "openai_chat"}
    return replace(held, native=kept)


def is_ours(block: Any) -> bool:
    return not isinstance(block, Other) or block.provider != "openai_chat"


def check_chat(held: Conversation) -> None:
    """What we make is valid, and so long as it was before unknown keys were dropped."""
    turns = [ours(replace(turn, blocks=tuple(filter(is_ours, turn.blocks)))) for turn in turns_of(held)]
    body = json.loads(json.dumps(openai_chat.dump(conversation(*turns, tools=held.tools))))
    found = walked(MESSAGES.validate_python(body["messages"]))
    assert [message["role"] for message in found] == [message["role"] for message in body["messages"]]
    walked(CHAT_TOOLS.validate_python(body.get("tools", [])))


def check_responses(held: Conversation) -> None:
    """What is written is valid, and the library knows every key of it."""
    body = without_marks(json.loads(json.dumps(openai_responses.dump(held))))
    assert walked(ITEMS.validate_python(body["input"])) == body["input"]
    assert walked(TOOLS.validate_python(body.get("tools", []))) == body.get("tools", [])
    INSTRUCTIONS.validate_python(body.get("instructions", ""))


CHECKS = pytest.mark.parametrize("check", [check_chat, check_responses])


@CHECKS
@pytest.mark.parametrize("kind", WRITTEN)
def test_a_kind_is_valid(kind, check):
    check(conversation(*WRITTEN[kind].turns, tools=DEFINED))


@CHECKS
@given(ODD)
def test_odd_values_are_valid_or_not_written(check, held):
    check(held)


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
        held = bodies.load(get_format(form.NAME), json.loads(line)["request"])
        body = openai_chat.dump(held)
        walked(MESSAGES.validate_python(body["messages"]))
        walked(CHAT_TOOLS.validate_python(body.get("tools", [])))
        body = openai_responses.dump(held)
        walked(ITEMS.validate_python(body["input"]))
        walked(TOOLS.validate_python(body.get("tools", [])))
