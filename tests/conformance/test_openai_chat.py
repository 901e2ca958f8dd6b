"""What we read out of completions and their chunks is what the provider's SDK reads out of them."""

import json

import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessageParam
from pydantic import TypeAdapter

from chatsquash.formats import view
from chatsquash.formats.providers.openai_chat import START, assemble, load, reply
from tests.conformance.shared import events
from tests.conftest import needs_real_exchanges, real_exchanges

LOGS = real_exchanges("openai_chat/*.jsonl")
SPELLINGS = ("reasoning_content", "reasoning")
MESSAGES = TypeAdapter(list[ChatCompletionMessageParam])


def read(response):
    """The body of a logged response, and what the SDK makes of it; ``None`` where it is no completion."""
    if "body_raw" in response:
        chunks = events(response["body_raw"])
        stream = assemble(chunks)
        assert stream.is_complete
        return stream.body, accumulated(chunks)
    return response, ChatCompletion.construct(**response) if "choices" in response else None


def accumulated(chunks):
    state = ChatCompletionStreamState()
    for each in chunks:
        state.handle_chunk(ChatCompletionChunk.construct(**each))
    return state.current_completion_snapshot


def said(message):
    """Text, reasoning and calls of a message of the SDK."""
    extra = message.model_extra or {}
    reasoning = next((extra[key] for key in SPELLINGS if extra.get(key)), None)
    details = [item.get("text") or item.get("summary") or "" for item in extra.get("reasoning_details") or ()]
    calls = [(call.id, call.function.name, call.function.arguments or "{}") for call in message.tool_calls or ()]
    return message.content or None, reasoning or "".join(details) or None, calls


def ours(message):
    calls = [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in message.get("tool_calls", ())]
    return message["content"] or None, message.get("reasoning_content"), calls


def forced(value):
    """A value of the SDK's types with its lazy members read, since only reading checks them."""
    if isinstance(value, dict):
        return {key: forced(member) for key, member in value.items()}
    return value if isinstance(value, str) or not hasattr(value, "__iter__") else [forced(item) for item in value]


def loaded(turns):
    messages, state = [], START
    for turn in turns:
        found = load(turn, state)
        messages += view.public(found.turns)
        state = found.state
    return messages


def compare(response):
    body, theirs = read(response)
    found = reply(body)
    if theirs is None:
        assert found.message is None
        assert found.problem
        return
    assert found.message is not None
    assert found.choices == len(theirs.choices)
    assert ours(loaded([found.message])[0]) == said(theirs.choices[0].message)
    assert (found.finish_reason or None) == (theirs.choices[0].finish_reason or None)


MADE_UP = [
    {
        "id": "x",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": None,
                    "reasoning": "why",
                    "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": '{"a": '}, "index": 0}],
                },
            }
        ],
    },
    {"error": {"code": 429, "message": "later"}},
    {
        "body_raw": "".join(
            f"data: {json.dumps({'id': 'x', 'object': 'chat.completion.chunk', 'model': 'm', 'created': 1, 'choices': choices})}\n\n"
            for choices in (
                [{"index": 0, "delta": {"role": "assistant", "content": "he"}, "finish_reason": None}],
                [{"index": 0, "delta": {"content": "llo", "reasoning_content": "why"}, "finish_reason": None}],
                [
                    {
                        "index": 0,
                        "delta": {
                            "tool_calls": [
                                {
                                    "index": 0,
                                    "id": "c1",
                                    "type": "function",
                                    "function": {"name": "f", "arguments": ""},
                                },
                                {
                                    "index": 1,
                                    "id": "c2",
                                    "type": "function",
                                    "function": {"name": "g", "arguments": ""},
                                },
                            ]
                        },
                        "finish_reason": None,
                    }
                ],
                [
                    {
                        "index": 0,
                        "delta": {
                            "tool_calls": [
                                {"index": 1, "function": {"arguments": "{}"}},
                                {"index": 0, "function": {"arguments": '{"a":1}'}},
                            ]
                        },
                        "finish_reason": None,
                    }
                ],
                [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}],
                [],
            )
        )
        + "data: [DONE]\n\n"
    },
]


@pytest.mark.parametrize("response", MADE_UP, ids=["whole", "error", "streamed"])
def test_a_made_up_response(response):
    compare(response)


@needs_real_exchanges
@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_real_response(path):
    for line in path.read_bytes().splitlines():
        compare(json.loads(line)["response"])


@needs_real_exchanges
@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_real_messages_are_valid_ones_once_they_are_loaded(path):
    for line in path.read_bytes().splitlines():
        messages = loaded(json.loads(line)["request"]["messages"])
        checked = forced(MESSAGES.validate_python(messages))
        assert [message["role"] for message in checked] == [message["role"] for message in messages]


@needs_real_exchanges
def test_how_many_exchanges_end_with_a_reply():
    last = [json.loads(path.read_bytes().splitlines()[-1])["response"] for path in LOGS]
    assert sum(reply(read(response)[0]).message is not None for response in last) == 72
    assert len(LOGS) == 74, "two end with an error body"
