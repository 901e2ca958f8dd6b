"""The makers' SDKs parse what the model server answers, as one body and as a stream; they are here after ``make conformance``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.clients import Client
from tests.agents.protocols import BY_NAME, Call, Scripted
from tests.agents.scenarios import Step
from tests.agents.server import ModelServer, marks

PROMPT = "Please continue with the work, uxabcx001"
SCRIPT = {"u1": [Step("call"), Step("parallel"), Step("text"), Step("length"), Step("error", "429")]}


class Plain(Client):
    """A client with one tool."""

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        return "print", {"words": mark}


@pytest.fixture
def server(tmp_path):
    client = Plain(tmp_path, tmp_path, "")
    script = {mark: list(steps) for mark, steps in SCRIPT.items()}
    with ModelServer("abc", script, client, tmp_path / "log.jsonl") as running:
        yield running


def anthropic(url: str) -> Any:
    module = pytest.importorskip("anthropic")
    return module.Anthropic(base_url=url, api_key="k", max_retries=0), module


def openai(url: str) -> Any:
    module = pytest.importorskip("openai")
    return module.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0), module


MESSAGES = [{"role": "user", "content": PROMPT}]


def test_anthropic_parses_messages_and_their_streams(server):
    client, module = anthropic(server.url)
    tool = {"name": "print", "input_schema": {"type": "object"}}
    wanted = {"model": "m", "max_tokens": 100, "messages": MESSAGES, "tools": [tool]}
    whole = client.messages.create(**wanted)
    assert [block.type for block in whole.content] == ["thinking", "text", "tool_use"]
    assert whole.content[2].input == {"words": "qxabcx001-0"}
    with client.messages.stream(**wanted) as stream:
        message = stream.get_final_message()
    assert [block.input for block in message.content if block.type == "tool_use"] == [
        {"words": "qxabcx002-0"},
        {"words": "qxabcx002-1"},
    ]
    assert client.messages.create(**wanted).stop_reason == "end_turn"
    assert client.messages.create(**wanted).stop_reason == "max_tokens"
    with pytest.raises(module.RateLimitError):
        client.messages.create(**wanted)


def test_openai_parses_chat_completions_and_their_streams(server):
    client, module = openai(server.url)
    tool = {"type": "function", "function": {"name": "print", "parameters": {"type": "object"}}}
    wanted = {"model": "m", "messages": MESSAGES, "tools": [tool]}
    whole = client.chat.completions.create(**wanted).choices[0]
    assert whole.message.tool_calls[0].function.arguments == '{"words": "qxabcx001-0"}'
    with client.chat.completions.stream(**wanted) as stream:
        streamed = stream.get_final_completion().choices[0]
    assert [call.function.arguments for call in streamed.message.tool_calls] == [
        '{"words": "qxabcx002-0"}',
        '{"words": "qxabcx002-1"}',
    ]
    assert client.chat.completions.create(**wanted).choices[0].finish_reason == "stop"
    assert client.chat.completions.create(**wanted).choices[0].finish_reason == "length"
    with pytest.raises(module.RateLimitError):
        client.chat.completions.create(**wanted)


def test_openai_parses_responses_and_their_streams(server):
    client, _ = openai(server.url)
    tool = {"type": "function", "name": "print", "parameters": {"type": "object"}, "strict": False}
    wanted = {"model": "m", "input": MESSAGES, "tools": [tool]}
    whole = client.responses.create(**wanted)
    assert [item.type for item in whole.output] == ["reasoning", "message", "function_call"]
    with client.responses.stream(**wanted) as stream:
        streamed = stream.get_final_response()
    assert [item.arguments for item in streamed.output if item.type == "function_call"] == [
        '{"words": "qxabcx002-0"}',
        '{"words": "qxabcx002-1"}',
    ]
    assert client.responses.create(**wanted).output_text.startswith("Reply qxabcx003")
    assert client.responses.create(**wanted).incomplete_details.reason == "max_output_tokens"


def test_google_parses_contents_and_their_streams(server):
    genai = pytest.importorskip("google.genai")
    client = genai.Client(api_key="k", http_options={"base_url": server.url})
    config = {"tools": [{"function_declarations": [{"name": "print"}]}]}
    wanted = {"model": "m", "contents": PROMPT, "config": config}
    whole = client.models.generate_content(**wanted)
    assert [call.args for call in whole.function_calls] == [{"words": "qxabcx001-0"}]
    parts = [part for chunk in client.models.generate_content_stream(**wanted) for part in chunk.function_calls or ()]
    assert [call.args for call in parts] == [{"words": "qxabcx002-0"}, {"words": "qxabcx002-1"}]
    assert client.models.generate_content(**wanted).candidates[0].finish_reason.value == "STOP"
    assert client.models.generate_content(**wanted).candidates[0].finish_reason.value == "MAX_TOKENS"


REPLY = Scripted(
    "Yes qxabcx001.", "rxabcx001 is why it is printed.", (Call("print", {"words": "qxabcx001-0"}, "call_1"),)
)
REQUESTS = {
    "Chat": {
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "uxabcx001"}]},
            {
                "role": "assistant",
                "tool_calls": [{"id": "c", "function": {"name": "print", "arguments": '{"w": "qxabcx002"}'}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "qxabcx002"},
        ]
    },
    "Messages": {
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": "uxabcx001"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c", "name": "print", "input": {"w": "qxabcx002"}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "qxabcx002"}]},
        ],
    },
    "Responses": {
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "uxabcx001"},
            {"type": "function_call", "call_id": "c", "name": "print", "arguments": '{"w": "qxabcx002"}'},
            {"type": "function_call_output", "call_id": "c", "output": "qxabcx002"},
        ],
    },
    "Gemini": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "uxabcx001"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "print", "args": {"w": "qxabcx002"}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "print", "response": {"output": "qxabcx002"}}}]},
        ],
    },
}


@pytest.mark.parametrize("name", REQUESTS)
def test_the_turns_of_a_request_are_the_same_in_every_api(name):
    turns = BY_NAME[name].turns({"model": "m", **REQUESTS[name]})
    assert [turn.role for turn in turns] == ["system", "user", "assistant", "tool"]
    assert marks(turns) == "u1 a2 t2"


@pytest.mark.parametrize("name", BY_NAME)
def test_a_stream_has_all_texts_of_the_reply(name):
    events = list(BY_NAME[name].events(REPLY, 1, {"model": "m"}))
    text = "".join(events)
    assert all(event.endswith("\n\n") for event in events)
    assert "rxabcx001" in text
    assert "print" in text


def test_a_held_stream_ends_midway_and_is_logged_as_its_events(server):
    urllib = pytest.importorskip("urllib.request")
    server.script["u1"] = [Step("cut")]
    body = json.dumps({"model": "m", "stream": True, "messages": MESSAGES, "tools": [{"function": {"name": "print"}}]})
    request = urllib.Request(f"{server.url}/v1/chat/completions", body.encode())
    with urllib.urlopen(request) as answer:
        assert b"[DONE]" not in answer.read()
    line = json.loads(Path(server.log).read_text(encoding="utf-8"))
    assert [each["object"] for each in line["response"]] == ["chat.completion.chunk"] * len(line["response"])
    assert server.exchanges[0].status == "cut"
