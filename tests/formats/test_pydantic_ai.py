"""What is particular to Pydantic AI; ``rows/pydantic_ai.json`` has what all documents have."""

import json

import pytest

from chatsquash import Options, convert_session
from chatsquash.core.blocks import Call, HostedCall, Other, Result, Text, Turn
from chatsquash.core.model import Conversation
from chatsquash.formats.clients import pydantic_ai
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.translate import losses
from tests.conftest import cases
from tests.formats.kinds import asks, calling, conversation, gives, says, turn

DELTA = {"part_kind": "tool-availability-delta", "tools_added": ["traffic"]}
CALL = {"part_kind": "tool-call", "tool_name": "weather", "args": "{}", "tool_call_id": "call_abc"}
RETURN = {"part_kind": "tool-return", "tool_name": "weather", "content": "sunny", "tool_call_id": "call_abc"}


def request(*parts, **members):
    return {"kind": "request", "parts": list(parts), **members}


def response(*parts, **members):
    return {"kind": "response", "parts": list(parts), **members}


def load(*messages):
    (found,) = pydantic_ai.conversations([list(messages)])
    return found


def again(*messages):
    """A document that is read and written, without the digests that say which files a result has."""
    written = pydantic_ai.dump(load(*messages))
    for message in written:
        for part in message["parts"]:
            part.pop("content_file_digests", None)
    return written


def test_the_name_of_a_tool_is_its_calls_where_the_result_has_none():
    written = pydantic_ai.dump(conversation(says(calling()), turn("tool", gives("sunny"))))
    assert written[1]["parts"][0]["tool_name"] == "weather"


def test_tools_are_lost():
    tool = {"type": "function", "function": {"name": "weather"}}
    written = conversation(asks("A"), tools=[tool])
    (read,) = pydantic_ai.conversations([pydantic_ai.dump(written)])
    assert losses.differences(written, read) == ["tools[0]"]


@cases(
    "document",
    [response(CALL), request(RETURN, DELTA), response()],
    [response(CALL), request(DELTA, RETURN)],
    [response(CALL), request(RETURN), response(CALL), request(DELTA)],
    [request({"part_kind": "user-prompt", "content": "A"}), request(metadata={"m": 1}), response()],
    [request(DELTA, metadata={"m": 1}), response()],
    [response({"part_kind": "compaction", "provider_name": "openai", "provider_details": {"k": 1}})],
    [response(CALL), request({**RETURN, "content": [{"kind": "binary"}], "metadata": {"m": 1}})],
)
def test_what_no_model_is_shown_is_written_where_it_stood(document):
    assert again(*document) == document


@pytest.mark.parametrize("args", ["", "{bad", '{ "a": 1.0 }', "[1]"])
@pytest.mark.parametrize("kind", ["tool-call", "builtin-tool-call"])
def test_arguments_come_back_as_they_were_spelled(kind, args):
    document = [response({**CALL, "part_kind": kind, "args": args})]
    assert again(*document) == document


def test_an_object_becomes_the_text_that_says_the_same():
    document = [response({**CALL, "args": {"a": 1}})]
    assert again(*document) == [response({**CALL, "args": '{"a":1}'})]
    assert load(*document).turns[0].blocks[0].native == {}


def test_when_and_by_whom_a_message_came_comes_back():
    known = {"usage": {"input_tokens": 1}, "model_name": "m", "timestamp": "2026-01-01T00:00:00Z", "run_id": "r"}
    found = load(response({"part_kind": "text", "content": "A"}, **known))
    assert set(turns_of(found)[0].native["pydantic_ai"]) == {f"message.{name}" for name in known}
    assert pydantic_ai.dump(found)[0].items() >= known.items()


def test_calls_of_the_providers_own_tools_do_not_wait_for_a_result():
    hosted = {"part_kind": "builtin-tool-call", "tool_name": "weather", "args": "{}", "tool_call_id": "b"}
    found = load(response(hosted, CALL), request({**RETURN, "tool_call_id": ""}))
    assert [type(block) for block in turns_of(found)[0].blocks] == [HostedCall, Call]
    assert turns_of(found)[1].blocks[0].id == "call_abc"


def test_what_another_provider_alone_has_is_not_written():
    blocks = (Other("openai", {"part_kind": "text", "content": "A"}), Text("B"))
    written = pydantic_ai.dump(Conversation([], [], turns=(Turn("assistant", blocks), Turn("user", blocks))))
    parts = [part for message in written for part in message["parts"]]
    assert [part["content"] for part in parts] == ["B", "B"]


def test_a_file_is_one_of_the_tools_only_if_its_digest_is_known():
    item = {"kind": "uploaded-file", "file_id": "file-1", "provider_name": "openai"}
    written = again(response(CALL), request({**RETURN, "content": item}))
    assert written[1]["parts"][0]["content"] == item
    found = load(response(CALL), request({**RETURN, "content": item, "content_file_digests": ["another"]}))
    result = turns_of(found)[1].blocks[0]
    assert isinstance(result, Result)
    assert result.json


@pytest.mark.parametrize(
    ("state", "weight"), [("complete", 1), ("suspended", 1), ("incomplete", 0), ("interrupted", 0)]
)
def test_a_response_that_was_stopped_early_is_truncated(state, weight):
    """The states are those of ``ModelResponse`` in Pydantic AI 2."""
    document = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "q"}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "a"}], "state": state},
    ]
    (outcome,) = convert_session([json.dumps(document)], Options(anonymize=False, loss="weight"))
    assert json.loads(outcome.record)["messages"][-1]["weight"] == weight
    assert ("reply-truncated" in {each.code for each in outcome.findings}) is (weight == 0)
