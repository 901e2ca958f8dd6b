"""The reply is appended and roles are normalised; nothing else changes."""

import copy

from chatsquash.core.blocks import Call, Turn
from chatsquash.core.chat import PRIVATE
from chatsquash.core.model import Response
from chatsquash.formats import view
from chatsquash.session.select import select
from chatsquash.session.stages.compose import compose, normalise
from tests.checks.rows import assistant, call, result, tool, user
from tests.conftest import cases
from tests.session.streams import entry, facts, staged, stream, texts


def composed(*messages, reply=None, tools=()):
    return staged(compose(select(stream(entry(*messages, reply=reply, tools=tools))).snapshot))


@cases(
    "message",
    ("a user's message", user()),
    ("a system message", {"role": "system", "content": "s"}),
    ("a call with its string of arguments", assistant("", call(arguments='{ "b":1,\n"a": 2 }'))),
    ("a call with arguments that are no JSON", assistant("", call(arguments="{'a'"))),
    ("a result", result()),
    ("a legacy call", assistant("", function_call={"name": "grep", "arguments": "{}"})),
    ("another role", {"role": "function", "name": "grep", "content": "x"}),
    ("a role in another case", {"role": "Developer", "content": "x"}),
    ("a developer's name", {"role": "user", "name": "developer", "content": "developer"}),
    ("unknown fields", assistant("a", reasoning="hm", annotations=[], x={"y": [1, 1.0, True]})),
    ("empty values, which are not null", {"role": "assistant", "content": "", "tool_calls": [], "n": 0, "b": False}),
    ("null deeper down", user([None, {"type": "text", "text": None}])),
    ("null in the arguments", assistant("", call(arguments={"a": None}))),
    ("a message with only a role", {"role": "user"}),
)
def test_nothing_changes_in(message):
    before = copy.deepcopy(message)
    assert normalise(message) == before
    conversation, _ = composed(message, reply=message)
    assert conversation.messages == [before, before]
    assert message == before


@cases("message, expected",
    ("developer becomes system", {"role": "developer", "content": "d"}, {"role": "system", "content": "d"}),
    ("null content goes", assistant(None, call()), {"role": "assistant", "tool_calls": [call()]}),
    ("every null field goes", assistant("a", refusal=None, audio=None, function_call=None, x=None), assistant("a")),
    ("only a role is left", {"role": "user", "content": None}, {"role": "user"}),
    ("both, with the keys where they were", {"content": "d", "name": None, "role": "developer", "x": 1}, {"content": "d", "role": "system", "x": 1}),
)  # fmt: skip
def test_roles_and_nulls(message, expected):
    before = copy.deepcopy(message)
    conversation, _ = composed(message, reply=message)
    assert conversation.messages == [expected, expected]
    assert [list(each) for each in conversation.messages] == [list(expected)] * 2
    assert message == before, "messages are shared with the entries around and never changed"


def test_the_reply_comes_last():
    conversation, found = composed(user(), reply=assistant("b"))
    assert conversation.messages == [user(), assistant("b")]
    assert found == []


def test_no_reply_is_made_up():
    conversation, found = composed(user(), reply=Response(problem="the response is an error body"))
    assert conversation.messages == [user()]
    assert facts(found) == [("missing-reply", "warning")]
    assert texts(found, "missing-reply")[0].startswith("no reply appended (the response is an error body)")


def test_a_reply_alone_is_a_record():
    conversation, found = composed(reply=assistant("b"))
    assert conversation.messages == [assistant("b")]
    assert found == []


def test_messages_are_not_merged_or_repeated():
    conversation, _ = composed(user("a"), user("a"), assistant("b"), reply=assistant("b"))
    assert conversation.messages == [user("a"), user("a"), assistant("b"), assistant("b")]


def test_the_entry_keeps_its_messages():
    entries = list(stream(entry(user(), reply=assistant("b"))))
    compose(select(iter(entries)).snapshot)
    assert entries[0].messages == [user()]


def test_tools_come_from_the_snapshot():
    conversation, _ = composed(user(), tools=[{"type": "function", "function": tool()}])
    assert conversation.tools == [tool()]


@cases("reply, codes",
    ("one choice that stopped by itself", Response(assistant(), 1, "stop"), []),
    ("one choice that stopped for calls", Response(assistant(), 1, "tool_calls"), []),
    ("one choice that does not say why it stopped", Response(assistant(), 1, None), []),
    ("length in another case is a reason that nobody knows", Response(assistant(), 1, "LENGTH"), ["reply-truncated"]),
    ("a reply that a filter ended", Response(assistant(), 1, "content_filter"), ["reply-truncated"]),
    ("a reply that an error ended", Response(assistant(), 1, "error"), ["reply-truncated"]),
    ("a reply as Anthropic ends it", Response(assistant(), 1, "end_turn"), []),
    ("two choices", Response(assistant(), 2, "stop"), ["extra-choices"]),
    ("a choice that was cut off", Response(assistant(), 1, "length"), ["reply-truncated"]),
    ("two choices, the first of which was cut off", Response(assistant(), 2, "length"), ["reply-truncated", "extra-choices"]),
    ("two choices, the first without a message", Response(None, 2, None, "it has no message"), ["missing-reply", "extra-choices"]),
    ("a stream that was cut", Response(assistant(), 1, None, cut=True), ["stream-interrupted"]),
    ("a stream that was cut before it said anything", Response(None, 0, None, "it has no message", cut=True), ["missing-reply"]),
    ("no message that could have been cut off", Response(None, 1, "length", "it has no message"), ["missing-reply"]),
)  # fmt: skip
def test_findings_about_the_reply(reply, codes):
    _, found = composed(user(), reply=reply)
    assert facts(found) == [(code, "warning") for code in codes]


# Ids that were made up


def made(call_id):
    """A call whose id no log has."""
    return Call(call_id, "grep", made_up=True)


def speaks(*calls):
    """An assistant's message with calls, of which some got their ids from the reader."""
    if not any(isinstance(each, Call) for each in calls):
        return assistant("", *calls)
    blocks = tuple(each if isinstance(each, Call) else Call(each["id"], "grep") for each in calls)
    return view.message(Turn("assistant", blocks))


def said_ids(conversation):
    return [
        [each["id"] for each in message["tool_calls"]] for message in conversation.messages if "tool_calls" in message
    ]


@cases("messages, reply, ids",
    ("a reply alone", [], speaks(made("call_1")), [["call_1"]]),
    ("behind a call that got one", [speaks(made("call_1"))], speaks(made("call_1")), [["call_1"], ["call_2"]]),
    ("two of them", [speaks(made("call_1"))], speaks(made("call_1"), made("call_2")), [["call_1"], ["call_2", "call_3"]]),
    ("the same made-up call twice", [], speaks(made("call_1"), made("call_1")), [["call_1", "call_2"]]),
    ("behind a logged one of that name", [speaks(call("call_1"))], speaks(made("call_1")), [["call_1"], ["call_2"]]),
    ("behind others", [speaks(call("c1"))], speaks(made("call_1")), [["c1"], ["call_1"]]),
    ("logged ones stay", [speaks(call("c1"))], speaks(call("c1"), made("call_1")), [["c1"], ["c1", "call_1"]]),
    ("a logged one beside it has that name", [], speaks(call("call_1"), made("call_1")), [["call_1", "call_2"]]),
    ("which stands in the request, too", [speaks(call("call_1"))], speaks(call("call_1"), made("call_1")), [["call_1"], ["call_1", "call_2"]]),
)  # fmt: skip
def test_made_up_ids_of_the_reply_go_on_from_those_of_the_request(messages, reply, ids):
    before = copy.deepcopy(reply)
    conversation, _ = composed(*messages, reply=reply)
    assert said_ids(conversation) == ids
    assert reply == before


def test_a_member_of_the_log_does_not_make_an_id_ours():
    reply = assistant("", {**call("call_1"), PRIVATE: {"synthetic_id": True}})
    conversation, _ = composed(assistant("", call("call_1")), reply=reply)
    assert said_ids(conversation) == [["call_1"], ["call_1"]]
