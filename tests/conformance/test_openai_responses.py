"""What the loader reads equals what the provider's own library reads; recorded exchanges only where they are at hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import orjson
import pydantic
import pytest

from chatsquash.core.blocks import Call, HostedCall, Other, Reasoning, Refusal, Text, Turn
from chatsquash.formats import view
from chatsquash.formats.providers import openai_responses as responses
from chatsquash.formats.providers.openai_chat.read import turns_of_messages
from tests.conftest import needs_real_exchanges, real_exchanges

ENDS = ("response.completed", "response.incomplete", "response.failed")
LOGS = real_exchanges("openai_responses/*.jsonl")


def client(content: bytes, kind: str) -> Any:
    """The library, with one answer to whatever it asks."""
    answer = httpx.Response(200, content=content, headers={"content-type": kind})
    transport = httpx.MockTransport(lambda request: answer)
    return openai.OpenAI(api_key="none", base_url="http://localhost", http_client=httpx.Client(transport=transport))


def parsed(body: Any) -> Any:
    return client(orjson.dumps(body), "application/json").responses.create(model="m", input="x")


def accumulated(sse: str) -> Any:
    with client(sse.encode(), "text/event-stream").responses.stream(model="m", input="x") as stream:
        return stream.get_final_response()


def events(sse: str) -> list[Any]:
    data = [line.removeprefix("data:").strip() for line in sse.splitlines() if line.startswith("data:")]
    return [orjson.loads(text) for text in data if text != "[DONE]"]


def sse(*streamed: dict[str, Any]) -> str:
    return "".join(f"event: {each['type']}\ndata: {orjson.dumps(each).decode()}\n\n" for each in streamed)


def theirs(response: Any) -> dict[str, Any]:
    """What a reply says, as the library's objects have it."""
    items = {kind: [item for item in response.output if item.type == kind] for kind in ("message", "reasoning")}
    calls = [item for item in response.output if item.type in ("function_call", "custom_tool_call")]
    parts = [part for item in items["message"] for part in item.content]
    return {
        "text": response.output_text,
        "refusal": "\n\n".join(part.refusal for part in parts if part.type == "refusal"),
        "reasoning": [part.text for item in items["reasoning"] for part in (item.content or item.summary) if part.text],
        "encrypted": [item.encrypted_content for item in items["reasoning"] if item.encrypted_content],
        "calls": [
            (item.call_id, item.name, item.arguments if item.type == "function_call" else item.input) for item in calls
        ],
        "others": [item.type for item in response.output if item not in calls and item.type not in items],
    }


def ours(message: Any) -> dict[str, Any]:
    """The same of a message of ours."""
    (turn,) = turns_of_messages([message])
    assert [call["id"] for call in message.get("tool_calls", [])] == [block.id for block in of(turn, Call)]
    others = [named(block) for block in of(turn, HostedCall, Other)]
    return {
        "text": "".join(block.text for block in of(turn, Text)),
        "refusal": "\n\n".join(block.text for block in of(turn, Refusal)),
        "reasoning": [block.text for block in of(turn, Reasoning) if block.text],
        "encrypted": [block.encrypted for block in of(turn, Reasoning) if block.encrypted],
        "calls": [(call.id, call.name, call.arguments) for call in of(turn, Call)],
        "others": others,
    }


def named(block: HostedCall | Other) -> str:
    """The type of the item that a block is made of."""
    return f"{block.name}_call" if isinstance(block, HostedCall) else block.value["item"]["type"]


def of(turn: Turn, *kinds: type) -> list[Any]:
    return [block for block in turn.blocks if type(block) in kinds]


def same(message: Any, response: Any) -> None:
    assert ours(message) == theirs(response)


def forced(value: Any) -> Any:
    """A validated value without laziness: iterables are checked only when they are gone through."""
    if isinstance(value, dict):
        return {key: forced(member) for key, member in value.items()}
    return value if isinstance(value, str | int | float | None) else [forced(member) for member in value]


def body(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    held = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "error": None}
    settings = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "incomplete_details": None}
    return {**held, **settings, "output": list(output), **more}


def text(said: str, ident: str = "msg_1") -> dict[str, Any]:
    part = {"type": "output_text", "text": said, "annotations": []}
    return {"type": "message", "role": "assistant", "id": ident, "status": "completed", "content": [part]}


REFUSED = {**text(""), "content": [{"type": "refusal", "refusal": "no"}]}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": t} for t in ("why", "so")]}
RAW = {"type": "reasoning", "id": "rs_2", "summary": [], "content": [{"type": "reasoning_text", "text": "raw"}]}
SEALED = {"type": "reasoning", "id": "rs_3", "summary": [], "encrypted_content": "gAAA"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "add", "arguments": '{ "a": 1.0}'}
SECOND = {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "sub", "arguments": "{}"}
CUSTOM = {"type": "custom_tool_call", "id": "ct_1", "call_id": "c3", "name": "sh", "input": "ls"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}

BODIES = [
    body(text("hi")),
    body(THOUGHT, text("hi"), CALL, SECOND),
    body(RAW, CALL),
    body(SEALED, SEARCH, THOUGHT, text("a"), SEARCH, text("b", "msg_2")),
    body(REFUSED),
    body(CUSTOM),
    body(CALL, text("behind")),
    body(text("cut"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
]


@pytest.mark.parametrize("made", BODIES, ids=lambda made: "-".join(item["type"] for item in made["output"]))
def test_a_made_up_reply_is_read_as_the_library_reads_it(made):
    assert openai.types.responses.Response.model_validate(made)
    same(responses.reply(made).message, parsed(made))


def streamed(*items: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of a response, as the service sends them."""
    yield {"type": "response.created", "response": body(status="in_progress")}
    for at, item in enumerate(items):
        place = {"output_index": at, "item_id": item["id"]}
        is_call = item["type"] == "function_call"
        started = {**item, "arguments": ""} if is_call else {**item, "content": [], "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": at, "item": started}
        if is_call:
            for char in item["arguments"]:
                yield {"type": "response.function_call_arguments.delta", **place, "delta": char}
        else:
            part = item["content"][0]
            place["content_index"] = 0
            yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
            for char in part["text"]:
                yield {"type": "response.output_text.delta", **place, "delta": char, "logprobs": []}
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    yield {"type": "response.completed", "response": body(*items)}


def numbered(made: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**each, "sequence_number": at} for at, each in enumerate(made)]


STREAMS = [(text("hello"),), (text("let me"), CALL, SECOND), (CALL,)]


@pytest.mark.parametrize("items", STREAMS, ids=len)
def test_a_made_up_stream_is_read_as_the_library_reads_it(items):
    made = numbered(streamed(*items))
    response = accumulated(sse(*made))
    assert response.output
    for kept in (made, [each for each in made if each["type"] != "response.output_item.done"], made[:-1]):
        found = responses.assemble(kept)
        assert found.is_complete == (kept[-1]["type"] == "response.completed")
        same(responses.reply(found.body).message, response)
    deltas = [each for each in made[:-1] if each["type"] != "response.output_item.done"]
    same(responses.reply(responses.assemble(deltas).body).message, response)


TURNS = [
    {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "u", "detail": "auto"}]},
    {"role": "developer", "content": "b"},
    THOUGHT,
    {"role": "assistant", "content": "c"},
    CALL,
    SECOND,
    {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "d"}]},
    {"type": "function_call_output", "call_id": "c2", "output": "e"},
    {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "x", "parameters": {}, "strict": True}]},
    CUSTOM,
    {"type": "custom_tool_call_output", "call_id": "c3", "output": "f"},
]  # fmt: skip


def loaded(turns: list[Any]) -> list[Any]:
    found, state = [], responses.START
    for turn in turns:
        result = responses.load(turn, state)
        found += result.turns
        state = result.state
    return view.messages([*found, *responses.close(state)])


def test_input_that_the_library_takes_is_loaded():
    accepted = pydantic.TypeAdapter(list[openai.types.responses.ResponseInputItemParam])
    assert len(forced(accepted.validate_python(TURNS))) == len(TURNS)
    roles = [message["role"] for message in loaded(TURNS)]
    assert roles == ["user", "developer", "assistant", "tool", "tool", "developer", "assistant", "tool"]


def test_a_call_inside_a_message_is_refused_by_the_library_and_kept_as_logged_by_the_loader():
    accepted = pydantic.TypeAdapter(list[openai.types.responses.ResponseInputItemParam])
    turn = {"role": "assistant", "content": [CALL]}
    with pytest.raises(pydantic.ValidationError):
        forced(accepted.validate_python([turn]))
    assert turns_of_messages(loaded([turn]))[0].blocks == (Other("openai", {"item": turn}),)


# Recorded exchanges


def lines(path: Path) -> list[Any]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def answer(response: Any) -> tuple[Any, Any]:
    """The body of a response, put together if it was streamed, and what the library makes of it."""
    if isinstance(response, dict) and "body_raw" in response:
        found = responses.assemble(events(response["body_raw"]))
        assert found.is_complete
        return found.body, accumulated(response["body_raw"])
    return response, parsed(response)


@needs_real_exchanges
def test_all_but_one_of_the_recorded_exchanges_end_with_a_reply():
    last = [responses.reply(answer(lines(path)[-1]["response"])[0]) for path in LOGS]
    assert len(last) == 36
    assert [found.problem for found in last if found.message is None] == ["the response is an error body"]


@needs_real_exchanges
@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_recorded_reply_is_read_as_the_library_reads_it(path):
    for line in lines(path):
        body, response = answer(line["response"])
        found = responses.reply(body)
        if found.message is None:
            assert body["error"]
        else:
            same(found.message, response)


@needs_real_exchanges
@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_recorded_stream_says_the_same_without_its_last_event_and_without_whole_items(path):
    for line in lines(path):
        raw = (line["response"] or {}).get("body_raw")
        if raw is None:
            continue
        whole = responses.reply(responses.assemble(events(raw)).body).message
        cut = [each for each in events(raw) if each["type"] not in ENDS]
        for kept in (cut, [each for each in cut if each["type"] != "response.output_item.done"]):
            found = responses.assemble(kept)
            assert not found.is_complete
            message = responses.reply(found.body).message
            assert {**message, "_x": None} == {**whole, "_x": None}


@needs_real_exchanges
@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_recorded_request_is_recognised_and_says_what_its_items_say(path):
    for line in lines(path):
        request = line["request"]
        messages = loaded(request["input"])
        # Calls of a tool search are calls, too, if the client runs it.
        others = {item["call_id"] for item in request["input"] if item.get("type") == "tool_search_call"}
        made = [call for each in messages for call in each.get("tool_calls", [])]
        calls = [(call["id"], call["function"]) for call in made if call["id"] not in others]
        logged = [item for item in request["input"] if item.get("type") == "function_call"]
        answers = [each for each in messages if each["role"] == "tool" and each["tool_call_id"] not in others]
        results = [(each["tool_call_id"], each["content"]) for each in answers]
        answered = [item for item in request["input"] if item.get("type") == "function_call_output"]
        outputs = [item for item in answered if item["call_id"] not in others]
        assert min(mark.rank for mark in responses.marks.request if mark.test(request)) == 6
        assert calls == [(item["call_id"], {"name": item["name"], "arguments": item["arguments"]}) for item in logged]
        assert [name for name, _ in results] == [item["call_id"] for item in outputs]
        assert all(
            content == item["output"]
            for (_, content), item in zip(results, outputs, strict=True)
            if isinstance(item["output"], str)
        )
