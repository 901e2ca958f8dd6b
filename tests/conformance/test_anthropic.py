"""What is read of Anthropic's replies and turns is what the types of its SDK hold."""

from __future__ import annotations

import json

import pytest
from anthropic.lib.streaming._beta_messages import accumulate_event
from anthropic.types.beta import BetaMessage, BetaMessageParam, BetaRawMessageStreamEvent, BetaToolUnionParam
from pydantic import TypeAdapter

from chatsquash.core import chat, jsonio
from chatsquash.formats import view
from chatsquash.formats.providers import anthropic as ours
from tests.conformance.shared import forced
from tests.conftest import needs_real_exchanges, real_exchanges

FINISHED = {
    "end_turn": "stop", "stop_sequence": "stop", "pause_turn": "stop", "tool_use": "tool_calls",
    "max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "content_filter",
}  # fmt: skip
TURNS = TypeAdapter(list[BetaMessageParam])
TOOLS = TypeAdapter(list[BetaToolUnionParam])
EVENT = TypeAdapter(BetaRawMessageStreamEvent)


def exchanges():
    for path in [*real_exchanges("anthropic/*.jsonl"), *real_exchanges("mixed/*.jsonl")]:
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            logged = jsonio.loads(line)
            if path.parent.name == "anthropic" or is_ours(logged["request"]):
                yield pytest.param(logged, id=f"{path.stem}:{number}")


def is_ours(request):
    return any(mark.test(request) for mark in ours.marks.request)


EXCHANGES = list(exchanges())


def theirs(message):
    """Text, reasoning and calls as the SDK's message holds them."""
    blocks = message.content
    thoughts = [block.thinking for block in blocks if block.type == "thinking" and block.thinking]
    return (
        "".join(block.text for block in blocks if block.type == "text"),
        "\n\n".join(thoughts) or None,
        [(block.id, block.name, block.input) for block in blocks if block.type == "tool_use"],
    )


def read(message):
    """The same of a canonical message."""
    calls = [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in chat.calls(message)
    ]
    text = (chat.text(message) or "") + "".join(chat.texts_after_calls(message))
    return text, message.get("reasoning_content"), calls


def events_of(raw):
    """The events in the text of a stream."""
    found = [line[5:].strip() for line in raw.splitlines() if line.startswith("data:")]
    return [json.loads(data) for data in found if data != "[DONE]"]


def accumulated(events):
    snapshot, pieces = None, {}
    for event in events:
        if event["type"] == "ping":
            continue
        parsed = EVENT.validate_python(event)
        snapshot = accumulate_event(event=parsed, current_snapshot=snapshot, json_bufs=pieces, request_headers={})
    return snapshot


def check_reply(response):
    if "body_raw" in response:
        events = events_of(response["body_raw"])
        stream = ours.assemble(events)
        assert stream.is_complete
        body, held = stream.body, accumulated(events)
    else:
        body = response
        if body.get("type") == "error":
            assert ours.reply(body).problem == "the response is an error body"
            return
        held = BetaMessage.model_validate(body)
    reply = ours.reply(body)
    assert read(reply.message) == theirs(held)
    assert reply.finish_reason == FINISHED[held.stop_reason]


def check_request(request):
    turns, state, messages = forced(TURNS.validate_python(request["messages"])), ours.START, []
    for turn in request["messages"]:
        result = ours.load(turn, state)
        messages += view.messages(result.turns)
        state = result.state
    blocks = [block for turn in turns if not isinstance(turn["content"], str) for block in turn["content"]]
    used = [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
    answered = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
    assert [each for message in messages for each in read(message)[2]] == used
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == answered
    texts = [b["text"] for b in blocks if b["type"] == "text"]
    texts += [turn["content"] for turn in turns if isinstance(turn["content"], str)]
    said = "\n".join(read(message)[0] for message in messages if message["role"] != "tool")
    assert all(text in said for text in texts)


def check_tools(request):
    forced(TOOLS.validate_python(request.get("tools", [])))
    tools = ours.tools(request.get("tools"))
    assert [*(tool["function"]["name"] for tool in tools.functions), *(tool["name"] for tool in tools.hosted)] == [
        tool["name"] for tool in sorted(request.get("tools", []), key=lambda tool: "input_schema" not in tool)
    ]


@needs_real_exchanges
@pytest.mark.parametrize("logged", EXCHANGES)
def test_real_replies_are_what_the_sdk_holds(logged):
    check_reply(logged["response"])


@needs_real_exchanges
@pytest.mark.parametrize("logged", EXCHANGES)
def test_real_requests_are_what_the_sdk_holds(logged):
    check_request(logged["request"])
    check_tools(logged["request"])


@needs_real_exchanges
@pytest.mark.parametrize("logged", EXCHANGES)
def test_real_requests_are_told_by_more_than_their_text(logged):
    assert is_ours(logged["request"]) or set(logged["request"]) <= {"messages", "model", "max_tokens", "stream"}


# Made up

USAGE = {"input_tokens": 3, "output_tokens": 9}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "usage": USAGE}
BLOCKS = [
    {"type": "thinking", "thinking": "Which one?", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "eno="},
    {"type": "text", "text": "Let me see, "},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "weather"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    {"type": "text", "text": "grüße."},
    {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Łódź", "days": 2.0}},
    {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}},
]


@pytest.mark.parametrize("blocks", [BLOCKS, BLOCKS[:1], BLOCKS[2:3], BLOCKS[6:]])
def test_a_made_up_reply(blocks):
    check_reply({**MESSAGE, "content": blocks, "stop_reason": "tool_use", "stop_sequence": None})


def streamed(blocks):
    yield {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None, "stop_sequence": None}}
    yield {"type": "ping"}
    for index, block in enumerate(blocks):
        yield from ({**event, "index": index} for event in block_events(block))
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 9},
    }
    yield {"type": "message_stop"}


def block_events(block):
    deltas = []
    if block["type"] == "text":
        deltas = [{"type": "text_delta", "text": letter} for letter in block["text"]]
        block = {**block, "text": ""}
    elif block["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": letter} for letter in block["thinking"]]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        block = {**block, "thinking": "", "signature": ""}
    elif block["type"].endswith("tool_use"):
        pieces = ["", *json.dumps(block["input"])] if block["input"] else [""]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        block = {**block, "input": {}}
    yield {"type": "content_block_start", "content_block": block}
    yield from ({"type": "content_block_delta", "delta": delta} for delta in deltas)
    yield {"type": "content_block_stop"}


@pytest.mark.parametrize("blocks", [BLOCKS, BLOCKS[:1], BLOCKS[2:3], BLOCKS[6:]])
def test_a_made_up_stream(blocks):
    raw = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in streamed(blocks))
    check_reply({"body_raw": raw})
    assert ours.assemble(events_of(raw)).body["content"] == blocks


def test_a_made_up_request():
    asked = {"role": "user", "content": "What is the weather?"}
    answers = [
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "noon"}]},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no city", "is_error": True},
        {"type": "text", "text": "Sorry."},
    ]
    tools = [
        {"name": "weather", "description": "d", "input_schema": {"type": "object"}},
        {"type": "web_search_20250305", "name": "web_search"},
    ]
    turns = [asked, {"role": "assistant", "content": BLOCKS}, {"role": "user", "content": answers}]
    check_request({"messages": turns})
    check_tools({"tools": tools})
