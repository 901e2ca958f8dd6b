"""What messages carry privately reaches no record; what is lost with it is noted."""

import copy
import json

import pytest

from chatsquash.core.blocks import Call, HostedCall, HostedResult, Media, Other, Reasoning, Result, Text, Turn
from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.model import Conversation
from chatsquash.session.stages import public as stage
from tests.checks.rows import assistant, call, result, tool, user
from tests.conftest import cases
from tests.session.streams import facts, staged, texts


def public(*messages, tools=()):
    kept, found = staged(stage.drop_unsupported(Conversation(list(messages), list(tools), has_private=True)))
    return stage.remove_private(kept)[0], found


def held(message, *blocks, **more):
    """A message with the turn that it was made of, of which it does not say all."""
    return {**message, PRIVATE: Turn(message["role"], blocks, **more)}


X, Y = Other("openai", {"type": "x"}), Other("openai", {"type": "y"})
CACHED = {"anthropic": {"cache_control": {}}}
MADE_UP = Call("c1", "grep", made_up=True)


@cases("message, expected",
    ("what one provider knows", held(user(), Text("hi", native=CACHED)), user()),
    ("and of a turn", held(user(), Text("hi"), native=CACHED), user()),
    ("that an id was made up", held(assistant("a", call()), Text("a"), MADE_UP), assistant("a", call())),
    ("a failed result", held(result(), Result("c1", outcome="failed")), result()),
    ("thinking", held(assistant("a", reasoning_content="hm"), Reasoning("hm", "x", "s"), Text("a")), assistant("a", reasoning_content="hm")),
    ("a member of that name in a log", {**user(), PRIVATE: {"native": [1]}}, {**user(), PRIVATE: {"native": [1]}}),
    ("one in a call", assistant("a", {**call(), PRIVATE: 5}), assistant("a", {**call(), PRIVATE: 5})),
    ("calls that are none", assistant("a", tool_calls=[None, "x"]), assistant("a", tool_calls=[None, "x"])),
    ("calls that are no list", assistant("a", tool_calls={"a": 1}), assistant("a", tool_calls={"a": 1})),
)  # fmt: skip
def test_nothing_private_is_left_in(message, expected):
    before = copy.deepcopy(message)
    conversation, found = public(message)
    assert conversation.messages == [expected]
    assert message == before, "messages are shared with the entries around and never changed"
    assert found == []


def test_nothing_private_is_left_in_tools():
    tools = [tool(), {**tool("ls"), PRIVATE: Private(CACHED)}, {**tool("cat"), PRIVATE: 1}, "odd"]
    conversation, _ = public(tools=tools)
    assert conversation.tools == [tool(), tool("ls"), {**tool("cat"), PRIVATE: 1}, "odd"]


def test_what_carries_nothing_stays_the_same_object():
    conversation = Conversation([user(), assistant("a", call())], [tool()], has_private=True)
    bare, _ = stage.remove_private(stage.drop_unsupported(conversation)[0])
    assert all(a is b for a, b in zip(bare.messages, conversation.messages, strict=True))
    assert bare.tools is conversation.tools


@pytest.mark.parametrize("act", [stage.drop_unsupported, stage.add_media, stage.remove_private])
def test_a_conversation_that_was_not_loaded_carries_nothing_and_stays_as_it_is(act):
    picture = Media("image", "image/png", "AA==")
    conversation = Conversation([held(user(""), Call("c1", "f"), picture)], [tool()])
    kept, found = staged(act(conversation))
    assert kept is conversation
    assert found == []


@cases("blocks, text",
    ("blocks that name themselves", [Other("x", {"type": "server_tool_use"}), X, X], "1 'server_tool_use', 2 'x'"),
    ("blocks by their first member", [Other("google", {"executableCode": {}})], "1 'executableCode'"),
    ("a type that is no text", [Other("x", {"type": 5, "x": 1})], "1 'type'"),
    ("what is not an object", [Other("x", 5), Other("x", {})], "2 'block'"),
    ("tools that the provider ran", [HostedCall("s", "f"), HostedResult("s", "f")], "1 'hosted_call', 1 'hosted_result'"),
    ("text behind calls", [Call("c", "f"), Text("b"), Text("c")], "2 'text after calls'"),
    ("what a log says", [Other("x", {"type": "a\x1b[2J"})], "1 'a\\x1b[2J'"),
)  # fmt: skip
def test_blocks_that_have_no_place_are_noted_with_their_message(blocks, text):
    conversation, found = public(user(), held(assistant("a"), Text("a"), *blocks))
    assert conversation.messages == [user(), assistant("a")]
    assert facts(found) == [("unsupported-content", "warning")]
    assert found[0].at == 1
    assert texts(found, "unsupported-content")[0].endswith(f": {text}")


@cases(
    "message",
    ("a system prompt", {"role": "system", "content": None}),
    ("an empty text", user("")),
    ("no parts", user([])),
    ("only a role", {"role": "assistant"}),
)
def test_a_message_that_held_nothing_else_goes(message):
    conversation, found = public(held(message, X), held(user(), Text("hi"), Y))
    assert conversation.messages == [user()]
    assert [each.at for each in found] == [None, 0]


@cases(
    "message",
    ("a system prompt", {"role": "system", "content": "s"}),
    ("a call", {"role": "assistant", "content": None, "tool_calls": [call()]}),
    ("reasoning", {"role": "assistant", "reasoning_content": "hm"}),
    ("a refusal", {"role": "assistant", "content": None, "refusal": "no"}),
    ("an empty result", result("")),
)
def test_a_message_that_says_something_stays(message):
    conversation, found = public(held(message, X))
    assert conversation.messages == [message]
    assert [each.at for each in found] == [0]


def test_an_empty_message_that_held_nothing_stays():
    assert public(user(""))[0].messages == [user("")]


def test_a_record_is_plain_json():
    messages = [held(user(), Text("hi"), X), held(assistant("a", call()), Text("a"), MADE_UP)]
    conversation, _ = public(*messages, tools=[{**tool(), PRIVATE: Private(CACHED)}])
    assert PRIVATE not in json.dumps([conversation.messages, conversation.tools])
