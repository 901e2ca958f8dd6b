"""What is known of plain conversations is what is measured by writing them and reading them back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core.blocks import Block, Call, Reasoning, Result, Text, Turn
from chatsquash.core.model import Conversation
from chatsquash.formats.base import TurnError
from chatsquash.translate import conversations, plain
from tests.formats.kinds import ODD, VALUES, asks, calling, conversation, gives, says
from tests.formats.odd import CONVERSATIONS

HOLDING = [name for name in conversations.writable() if name != "oumi_history"]
"""The formats that hold a plain conversation; the other has no calls."""
TEXTS = st.text(min_size=1) | st.sampled_from([
    *("<think>a</think>b", "{}", '{"a": 1}', "[1]", "null", "<system>a</system>", " a\n", "a\r\n", "\ud800"),
    *("Tool call execution denied.", "<tool_call>", "ERROR: a"),
])  # fmt: skip
ARGUMENTS = st.sampled_from([
    *("{}", '{ "a" : 1 }', "{bad", '{"a":12345678901234567890123,"b":1.0,"c":1e400}', '{"a":1,"a":2}', '{"a":NaN}'),
    *('{"input":"a"}', '{"output":1}', '{"a":"\\ud800"}', '{"日":"é"}', '{"INVALID_JSON":"a"}', "[1]", ""),
]) | VALUES.filter(lambda value: isinstance(value, dict)).map(json.dumps)  # fmt: skip


@st.composite
def plain_ones(draw: Any) -> Conversation:
    turns = [Turn("system", (Text(draw(TEXTS)),))] if draw(st.booleans()) else []
    turns.append(asks(draw(TEXTS)))
    for number in range(draw(st.integers(0, 4))):
        blocks: list[Block] = [Reasoning(draw(TEXTS))] if draw(st.booleans()) else []
        ids = [f"{draw(st.sampled_from(['call', 'toolu']))}_{number}_{at}" for at in range(draw(st.integers(0, 2)))]
        blocks += [Text(draw(TEXTS))] if draw(st.booleans()) or not ids else []
        named = st.sampled_from(["f", "a.b", "g h", "web_search"])
        turns.append(says(*blocks, *(Call(each, draw(named), draw(ARGUMENTS)) for each in ids)))
        if ids:
            turns.append(Turn("tool", tuple(_result(draw, each) for each in ids)))
        if not ids or draw(st.booleans()):
            turns.append(asks(draw(TEXTS)))
    return Conversation([], draw(st.lists(TOOLS, max_size=2)), turns=tuple(turns))


def _result(draw: Any, call: str) -> Result:
    return Result(call, content=(Text(draw(TEXTS)),) if draw(st.booleans()) else ())


TOOLS = st.fixed_dictionaries({
    "type": st.just("function"),
    "function": st.fixed_dictionaries(
        {"name": st.sampled_from("fgh")},
        optional={"description": TEXTS, "strict": st.booleans(), "parameters": st.just({"type": "object"}) | VALUES},
    ),
})  # fmt: skip


@pytest.mark.parametrize("name", conversations.writable())
@given(told=plain_ones() | CONVERSATIONS | ODD)
def test_what_is_known_is_what_is_measured(name, told):
    form = conversations.module(name)
    try:
        document = form.dump(told)
    except TurnError:
        return
    known, measured = (
        conversations.lost_of_dump([told], document, name),
        conversations.lost_of_all([told], document, name),
    )
    assert known == measured
    assert known[0].kept_for_chatsquash == measured[0].kept_for_chatsquash


USUAL = conversation(asks(), says(Reasoning("b"), "c", calling()), Turn("tool", (gives(),)), says())


@pytest.mark.parametrize("name", conversations.writable())
def test_of_a_plain_conversation_it_is_known(name):
    drops = name in {"anthropic", "openai_responses", "portable"}
    expected = (["turns[1].blocks[0]"] if drops else []) if name in HOLDING else None
    assert plain.lost(USUAL, conversations.module(name)) == expected


@pytest.mark.parametrize("more", [
    says(calling(), "text behind"), says(calling(), calling()), says(calling(arguments="")), says(Reasoning("alone")),
    asks("two", "texts"), Turn("tool", (gives(),)), Turn("critic", (Text("a"),)), says(Text("a", native={"a": {"b": 1}})),
    says(""), Turn("user", (Text(""),)), says(Reasoning("a", "anthropic", "c2ln"), "b"), Turn("system", (Text("late"),)), Turn("assistant"),
])  # fmt: skip
def test_of_any_other_it_is_not(more):
    assert plain.lost(conversation(asks(), more), conversations.module("openai_chat")) is None
