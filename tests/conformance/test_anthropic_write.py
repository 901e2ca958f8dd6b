"""What is written for Anthropic is what the types of its SDK take, read to the last block."""

from __future__ import annotations

import pytest
from anthropic.types.beta import BetaMessageParam, BetaTextBlockParam, BetaToolUnionParam
from pydantic import TypeAdapter, ValidationError

from chatsquash.formats import bodies, get_format
from chatsquash.formats.providers import anthropic as ours
from chatsquash.translate import losses
from tests.conformance.shared import EACH_KIND, RECORDED, forced, tools, written
from tests.conftest import needs_real_exchanges

SYSTEM = TypeAdapter(str | list[BetaTextBlockParam])
TURNS = TypeAdapter(list[BetaMessageParam])
TOOLS = TypeAdapter(list[BetaToolUnionParam])


def of_type(kind, turns):
    blocks = (block for turn in turns if isinstance(turn["content"], list) for block in turn["content"])
    return [block for block in blocks if block["type"] == kind]


@pytest.mark.parametrize("conversation", written("anthropic"))
def test_what_is_written_is_what_the_sdk_takes(conversation):
    body = ours.dump(conversation)
    forced(SYSTEM.validate_python(body.get("system", [])))
    assert len(forced(TURNS.validate_python(body["messages"]))) == len(body["messages"])


@EACH_KIND
def test_every_result_leads_the_turn_behind_the_one_that_calls(conversation):
    turns = ours.dump(conversation)["messages"]
    calls = [block["id"] for block in of_type("tool_use", turns)]
    results = [block["tool_use_id"] for block in of_type("tool_result", turns)]
    assert len(set(calls)) == len(calls)
    for before, turn in zip([{"content": ""}, *turns], turns, strict=False):
        answers = [block["tool_use_id"] for block in of_type("tool_result", [turn])]
        called = [block["id"] for block in of_type("tool_use", [before])]
        if answers and answers != ["call_gone"]:
            assert sorted(answers) == sorted(called)
            assert [block["type"] for block in turn["content"][: len(answers)]] == ["tool_result"] * len(answers)
    assert set(results) - {"call_gone"} <= set(calls)


@pytest.mark.parametrize("conversation", tools("anthropic"))
def test_tools_are_what_the_sdk_takes(conversation):
    assert forced(TOOLS.validate_python(ours.dump(conversation)["tools"]))


@needs_real_exchanges
@pytest.mark.parametrize("name, conversation", RECORDED)
def test_a_recorded_request_of_any_format_is_written(name, conversation):
    test_what_is_written_is_what_the_sdk_takes(conversation)
    forced(TOOLS.validate_python(ours.dump(conversation).get("tools", [])))
    if name == ours.NAME:
        back = bodies.load(get_format("anthropic"), ours.dump(conversation))
        assert losses.differences(conversation, back) == []
        assert back.tools == conversation.tools


def test_the_types_refuse_what_is_wrong():
    """Else there would be no check at all."""
    call = {"type": "tool_use", "id": "a", "name": "f", "input": "{}"}
    with pytest.raises(ValidationError):
        forced(TURNS.validate_python([{"role": "assistant", "content": [call]}]))
    with pytest.raises(ValidationError):
        forced(TURNS.validate_python([{"role": "developer", "content": "a"}]))
