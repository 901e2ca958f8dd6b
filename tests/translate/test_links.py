"""Ids and names that services would refuse, and what becomes of them."""

import copy
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chatsquash
from chatsquash import chat
from chatsquash.formats.links import Names, distinct, renamed, unlinked
from chatsquash.model import Conversation
from tests.formats.kinds import KINDS, ODD, call, result, said, user

TOOL = {"type": "function", "function": {"name": "fs.read", "parameters": {"type": "object"}}}
AGAIN = [
    user(),
    said(None, call("a"), call("a", "{}", "other")),
    result("1", "a"),
    result("2", "a"),
    said(None, call("b")),
    result("3", "b"),
    said(None, call("a")),
    result("4", "a"),
    result("5", "a"),
]
"""An id that stands three times."""


def ids(messages):
    return [chat.calls(m)[0]["id"] if chat.calls(m) else m.get("tool_call_id") for m in messages]


def test_each_call_has_an_id_of_its_own_and_its_results_follow():
    before = copy.deepcopy(AGAIN)
    made = distinct(AGAIN)
    assert before == AGAIN
    assert [each["id"] for message in made for each in chat.calls(message)] == ["a", "a_2", "b", "a_3"]
    assert ids(made) == [None, "a", "a", "a_2", "b", "b", "a_3", "a_3", "a_3"]


def test_an_id_that_is_made_is_nobody_elses():
    made = distinct([said(None, call("a"), call("a"), call("a_2")), result("x", "a_3")])
    assert [each["id"] for each in chat.calls(made[0])] == ["a", "a_4", "a_2"]


def test_messages_without_repeated_ids_are_left():
    for conversation in KINDS.values():
        assert distinct(conversation.messages) is conversation.messages


@pytest.mark.parametrize("name", ["anthropic", "gemini", "portable"])
def test_services_that_refuse_repeated_ids_get_none_and_that_is_a_loss(name):
    conversation = Conversation(AGAIN[:-1], [])
    again = chatsquash.load(chatsquash.dump(conversation, name), name)
    found = [each["id"] for message in again.messages for each in chat.calls(message)]
    answered = [message["tool_call_id"] for message in again.messages if message["role"] == "tool"]
    assert len(set(found)) == len(found) == 4
    assert sorted(answered) == sorted(found)
    assert chatsquash.losses(conversation, name) == [
        "messages[1].tool_calls[1].id",
        "messages[3].tool_call_id",
        "messages[6].tool_calls[0].id",
        "messages[7].tool_call_id",
    ]


@given(st.lists(st.sampled_from([said(None, call("a")), said(None, call("a"), call("b")), result("x", "a"), result("x", "b"), user()]), max_size=8))  # fmt: skip
def test_a_result_answers_the_call_that_it_answered(messages):
    assert unlinked(distinct(messages)).get("calls without a result", 0) >= 0
    made = distinct(messages)
    found = [each["id"] for message in made for each in chat.calls(message)]
    assert len(set(found)) == len(found)
    last = {}
    for before, after in zip(messages, made, strict=True):
        last |= {was["id"]: now["id"] for was, now in zip(chat.calls(before), chat.calls(after), strict=True)}
        if before["role"] == "tool":
            assert after["tool_call_id"] == last.get(before["tool_call_id"], before["tool_call_id"])


# Names

PLAIN = Names(re.compile(r"[^a-z_]"), longest=5, starts=re.compile("[a-z]"))
NAMES = [
    (["read"], ["read"], "an allowed name is left"),
    (["a.b"], ["a_b"], "other letters are underscores"),
    (["a.b", "a_b"], ["a_b_2", "a_b"], "no name is that of another tool"),
    (["a.b", "a b"], ["a_b", "a_b_2"], "nor of another that is changed"),
    (["abcdefg"], ["abcde"], "long ones are cut"),
    (["abcdefg", "abcdefh"], ["abcde", "abc_2"], "and told apart all the same"),
    (["9a"], ["__a"], "a beginning that is not allowed gets another"),
    (["a.b", "a.b"], ["a_b", "a_b"], "one name becomes one name"),
    ([""], [""], "no name is no name"),
]


@pytest.mark.parametrize("names, expected, sentence", NAMES, ids=[row[2] for row in NAMES])
def test_names(names, expected, sentence):
    calls = [call(f"c{at}", "{}", name) for at, name in enumerate(names)]
    made = renamed(Conversation([said(None, *calls)], []), PLAIN)
    assert [chat.call_name(each) or "" for each in chat.calls(made.messages[0])] == expected, sentence


@pytest.mark.parametrize("name, expected", [("anthropic", "fs_read"), ("gemini", "fs.read")])
def test_definitions_calls_and_results_have_one_name(name, expected):
    custom = {"id": "b", "type": "custom", "custom": {"name": "fs.read", "input": "x"}}
    messages = [said(None, call("a", "{}", "fs.read"), custom), result("x", "a", name="fs.read"), result("y", "b")]
    document = str(chatsquash.dump(Conversation(messages, [TOOL]), name))
    assert document.count(f"'{expected}'") >= 3
    assert ("'fs.read'" in document) is (expected == "fs.read")
    lost = chatsquash.losses(Conversation(messages, [TOOL]), name)
    assert ("tools[0].function.name" in lost) is (expected != "fs.read")


@given(ODD)
def test_odd_values_are_renamed_or_left(conversation):
    before = copy.deepcopy(conversation)
    made = renamed(conversation, PLAIN)
    assert conversation == before
    assert renamed(made, PLAIN) is made, "what is allowed is left"


# Links

UNLINKED = [
    (KINDS["parallel calls"].messages, {}),
    (KINDS["unanswered call"].messages, {"calls without a result": 1}),
    (KINDS["orphan result"].messages, {"results without a call": 1}),
    ([said(None, call("")), result("x", "")], {}),
    ([said(None, call("a")), result("x", "a"), result("x", "a")], {"results without a call": 1}),
]


@pytest.mark.parametrize("messages, expected", UNLINKED)
def test_calls_and_results_that_stand_alone(messages, expected):
    assert dict(unlinked(messages)) == expected


LEGAL = {"anthropic": r"[a-zA-Z0-9_-]{1,128}", "gemini": r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}"}


@pytest.mark.parametrize("name", LEGAL)
@given(found=st.lists(st.text(min_size=1, max_size=140), min_size=1, max_size=4, unique=True))
def test_every_name_is_one_that_the_service_takes(name, found):
    calls = [call(f"c{at}", "{}", each) for at, each in enumerate(found)]
    document = chatsquash.dump(Conversation([user(), said(None, *calls)], []), name)
    turn = document["messages"][1]["content"] if name == "anthropic" else document["contents"][1]["parts"]
    written = [each["name"] if name == "anthropic" else each["functionCall"]["name"] for each in turn]
    assert all(re.fullmatch(LEGAL[name], each) for each in written)
    assert len(set(written)) == len(found)
