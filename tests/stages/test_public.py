"""What messages carry privately reaches no record; what is lost with it is noted."""

import copy
import json

import pytest

from chatsquash.chat import PRIVATE, Private
from chatsquash.model import Conversation
from chatsquash.stages import public as stage
from tests.checks.rows import assistant, call, result, tool, user
from tests.stages.streams import facts, staged, texts


def public(*messages, tools=()):
    kept, found = staged(stage.leave_out(Conversation(list(messages), list(tools), loaded=True)))
    return stage.public(kept)[0], found


def held(holder, **extra):
    return {**holder, PRIVATE: Private(extra)}


SYNTHETIC = held(call(), synthetic_id=True, signature="x")

BARE = [
    ("a message", held(user(), same_turn=True), user()),
    ("a call", assistant("a", SYNTHETIC), assistant("a", call())),
    ("one call of two", assistant("a", call("c0"), SYNTHETIC), assistant("a", call("c0"), call())),
    ("a message and its call", held(assistant("a", SYNTHETIC), order="call"), assistant("a", call())),
    ("a failed result", held(result(), is_error=True), result()),
    ("thinking", held(assistant("a", reasoning_content="hm"), thinking=[{"signature": "s"}]), assistant("a", reasoning_content="hm")),
    ("a member of that name in a log", {**user(), PRIVATE: {"native": [1]}}, {**user(), PRIVATE: {"native": [1]}}),
    ("one in a call", assistant("a", {**call(), PRIVATE: 5}), assistant("a", {**call(), PRIVATE: 5})),
    ("calls that are none", assistant("a", tool_calls=[None, "x"]), assistant("a", tool_calls=[None, "x"])),
    ("calls that are no list", assistant("a", tool_calls={"a": 1}), assistant("a", tool_calls={"a": 1})),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "message", "expected"), BARE, ids=[row[0] for row in BARE])
def test_nothing_private_is_left_in(sentence, message, expected):
    before = copy.deepcopy(message)
    conversation, found = public(message)
    assert conversation.messages == [expected]
    assert message == before, "messages are shared with the entries around and never changed"
    assert found == []


def test_nothing_private_is_left_in_tools():
    tools = [tool(), held(tool("ls"), cache_control={}), {**tool("cat"), PRIVATE: 1}, "odd"]
    conversation, _ = public(tools=tools)
    assert conversation.tools == [tool(), tool("ls"), {**tool("cat"), PRIVATE: 1}, "odd"]


def test_what_carries_nothing_stays_the_same_object():
    conversation = Conversation([user(), assistant("a", call())], [tool()], loaded=True)
    bare, _ = stage.public(stage.leave_out(conversation)[0])
    assert all(a is b for a, b in zip(bare.messages, conversation.messages, strict=True))
    assert bare.tools is conversation.tools


@pytest.mark.parametrize("act", [stage.leave_out, stage.with_media, stage.public])
def test_a_conversation_that_was_not_loaded_carries_nothing_and_stays_as_it_is(act):
    conversation = Conversation([held(user(""), native=[{"type": "image_url", "image_url": {}}])], [tool()])
    kept, found = staged(act(conversation))
    assert kept is conversation
    assert found == []


NATIVE = [
    ("blocks that name themselves", [{"type": "server_tool_use"}, {"type": "x"}, {"type": "x"}], "1 'server_tool_use', 2 'x'"),
    ("blocks by their first member", [{"executableCode": {}}], "1 'executableCode'"),
    ("a type that is no text", [{"type": 5, "x": 1}], "1 'type'"),
    ("what is no object", [5, {}], "2 'block'"),
    ("text behind calls", [], "2 'text behind calls'"),
    ("what a log says", [{"type": "a\x1b[2J"}], "1 'a\\x1b[2J'"),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "blocks", "text"), NATIVE, ids=[row[0] for row in NATIVE])
def test_blocks_that_have_no_place_are_noted_with_their_message(sentence, blocks, text):
    conversation, found = public(user(), held(assistant("a"), native=blocks, after=[] if blocks else ["b", "c"]))
    assert conversation.messages == [user(), assistant("a")]
    assert facts(found) == [("not-held", "warning")]
    assert found[0].at == 1
    assert texts(found, "not-held")[0].endswith(f": {text}")


EMPTY = [
    ("a system prompt", {"role": "system", "content": None}),
    ("an empty text", user("")),
    ("no parts", user([])),
    ("only a role", {"role": "assistant"}),
]


@pytest.mark.parametrize(("sentence", "message"), EMPTY, ids=[row[0] for row in EMPTY])
def test_a_message_that_held_nothing_else_goes(sentence, message):
    conversation, found = public(held(message, native=[{"type": "x"}]), held(user(), native=[{"type": "y"}]))
    assert conversation.messages == [user()]
    assert [each.at for each in found] == [None, 0]


SAYING = [
    ("a system prompt", {"role": "system", "content": "s"}),
    ("a call", {"role": "assistant", "content": None, "tool_calls": [call()]}),
    ("reasoning", {"role": "assistant", "reasoning_content": "hm"}),
    ("a refusal", {"role": "assistant", "content": None, "refusal": "no"}),
    ("an empty result", result("")),
]


@pytest.mark.parametrize(("sentence", "message"), SAYING, ids=[row[0] for row in SAYING])
def test_a_message_that_says_something_stays(sentence, message):
    conversation, found = public(held(message, native=[{"type": "x"}]))
    assert conversation.messages == [message]
    assert [each.at for each in found] == [0]


def test_an_empty_message_that_held_nothing_stays():
    assert public(user(""))[0].messages == [user("")]


def test_a_record_is_plain_json():
    messages = [held(user(), a=1), held(assistant("a", SYNTHETIC), native=[1])]
    conversation, _ = public(*messages, tools=[held(tool(), a=1)])
    assert PRIVATE not in json.dumps([conversation.messages, conversation.tools])
