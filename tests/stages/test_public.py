"""What messages carry privately reaches no record; what is lost with it is noted."""

import copy
import json

import pytest

from chatsquash.chat import PRIVATE, Private
from chatsquash.model import Conversation
from chatsquash.stages import public as stage
from tests.checks.rows import assistant, call, result, tool, user
from tests.stages.streams import facts, ledger, texts


def public(conversation, book, line):
    return stage.public(stage.leave_out(conversation, book, line))


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
    before, book = copy.deepcopy(message), ledger()
    found = public(Conversation([message], []), book, 7)
    assert found.messages == [expected]
    assert message == before, "messages are shared with the entries around and never changed"
    assert facts(book) == []


def test_nothing_private_is_left_in_tools():
    tools = [tool(), held(tool("ls"), cache_control={}), {**tool("cat"), PRIVATE: 1}, "odd"]
    found = public(Conversation([], tools), ledger(), 1)
    assert found.tools == [tool(), tool("ls"), {**tool("cat"), PRIVATE: 1}, "odd"]


def test_what_carries_nothing_stays_the_same_object():
    conversation = Conversation([user(), assistant("a", call())], [tool()])
    found = public(conversation, ledger(), 1)
    assert all(a is b for a, b in zip(found.messages, conversation.messages, strict=True))
    assert found.tools is conversation.tools


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
    book = ledger()
    found = public(
        Conversation([user(), held(assistant("a"), native=blocks, after=[] if blocks else ["b", "c"])], []), book, 7
    )
    assert found.messages == [user(), assistant("a")]
    assert facts(book) == [(7, "not-held", "warning")]
    assert book.facts[0][1].at == 1
    assert texts(book, "not-held")[0].endswith(f": {text}")


EMPTY = [
    ("a system prompt", {"role": "system", "content": None}),
    ("an empty text", user("")),
    ("no parts", user([])),
    ("only a role", {"role": "assistant"}),
]


@pytest.mark.parametrize(("sentence", "message"), EMPTY, ids=[row[0] for row in EMPTY])
def test_a_message_that_held_nothing_else_goes(sentence, message):
    book = ledger()
    found = public(
        Conversation([held(message, native=[{"type": "x"}]), held(user(), native=[{"type": "y"}])], []), book, 1
    )
    assert found.messages == [user()]
    assert [fact.at for _, fact in book.facts] == [None, 0]


SAYING = [
    ("a system prompt", {"role": "system", "content": "s"}),
    ("a call", {"role": "assistant", "content": None, "tool_calls": [call()]}),
    ("reasoning", {"role": "assistant", "reasoning_content": "hm"}),
    ("a refusal", {"role": "assistant", "content": None, "refusal": "no"}),
    ("an empty result", result("")),
]


@pytest.mark.parametrize(("sentence", "message"), SAYING, ids=[row[0] for row in SAYING])
def test_a_message_that_says_something_stays(sentence, message):
    book = ledger()
    assert public(Conversation([held(message, native=[{"type": "x"}])], []), book, 1).messages == [message]
    assert [fact.at for _, fact in book.facts] == [0]


def test_an_empty_message_that_held_nothing_stays():
    assert public(Conversation([user("")], []), ledger(), 1).messages == [user("")]


def test_a_record_is_plain_json():
    messages = [held(user(), a=1), held(assistant("a", SYNTHETIC), native=[1])]
    found = public(Conversation(messages, [held(tool(), a=1)]), ledger(), 1)
    assert PRIVATE not in json.dumps([found.messages, found.tools])
