"""What is written for Ollama is what its own types take."""

from __future__ import annotations

import ollama
import pytest
from pydantic import TypeAdapter, ValidationError

from chatsquash.formats.providers import ollama as ours
from tests.conformance.shared import EACH_KIND, RECORDED, tools, written
from tests.conftest import needs_real_exchanges

MESSAGES = TypeAdapter(list[ollama.Message])
MEMBERS = ("role", "content", "thinking", "images", "tool_name")


def wrapped(turn):
    """A turn with its images as the types want them."""
    images = {"images": [ollama.Image(value=image) for image in turn["images"]]} if "images" in turn else {}
    return {**turn, **images}


def known(turn):
    """A turn without ids, which the types do not know, and without what they pass over."""
    functions = [{key: call["function"][key] for key in ("name", "arguments")} for call in turn.get("tool_calls", [])]
    called = {"tool_calls": [{"function": function} for function in functions]} if functions else {}
    return {key: turn[key] for key in MEMBERS if key in turn} | called


WRITTEN = [case for case in written("ollama") if case.id != "images of unknown kinds return"]
"""All but what was logged and is wrong, which is written as it was."""


@pytest.mark.parametrize("conversation", WRITTEN)
def test_what_is_written_is_what_ollamas_types_take(conversation):
    turns = ours.dump(conversation)["messages"]
    held = MESSAGES.validate_python([wrapped(turn) for turn in turns])
    assert [each.model_dump(exclude_none=True) for each in held] == [known(turn) for turn in turns]


@EACH_KIND
def test_every_result_names_a_call_before_it(conversation):
    """By its id, and by its tool's name for those who know no ids."""
    called = {}
    for turn in ours.dump(conversation)["messages"]:
        called |= {call["id"]: call["function"]["name"] for call in turn.get("tool_calls", [])}
        if turn["role"] == "tool" and turn["tool_call_id"] != "call_gone":
            assert called[turn["tool_call_id"]] == turn["tool_name"]


@pytest.mark.parametrize("conversation", tools("ollama"))
def test_tools_are_what_ollamas_types_take(conversation):
    dumped = ours.dump(conversation)["tools"][0]
    assert ollama.Tool.model_validate(dumped).model_dump(exclude_none=True) == dumped


@needs_real_exchanges
@pytest.mark.parametrize("name, conversation", RECORDED)
def test_a_recorded_request_of_any_format_is_written(name, conversation):
    test_what_is_written_is_what_ollamas_types_take(conversation)
    for tool in ours.dump(conversation).get("tools", []):
        ollama.Tool.model_validate(tool)


def test_the_types_refuse_what_is_wrong():
    """Else there would be no check at all."""
    with pytest.raises(ValidationError):
        MESSAGES.validate_python(
            [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}]
        )
    with pytest.raises(ValidationError):
        MESSAGES.validate_python([{"role": "user", "content": [{"type": "text", "text": "a"}]}])
