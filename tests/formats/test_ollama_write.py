"""Conversations written as requests to Ollama."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given

from chatsquash import jsonio
from chatsquash.formats import bodies, ollama
from chatsquash.formats.ollama import dump
from chatsquash.model import Conversation
from tests.formats.kinds import KINDS, PDF, PNG, call, image, private, result, said, settled, system, text, user
from tests.formats.odd import CONVERSATIONS, links

LOST = {
    "text part bounds": "content is one text",
    "image between text": "images stand behind the text",
    "image url": "images are data",
    "audio": "there are no sounds",
    "pdf": "there are no files",
    "args raw spacing": "arguments are objects",
    "text after call": "the text is one, before the call",
    "result json obj": "the text stays, that it is JSON does not",
    "result json list": "the text stays, that it is JSON does not",
    "result parts": "content is one text",
    "is_error": "it is told in the text",
    "anthropic signature": "the reasoning stays",
    "anthropic redacted": "nobody else can read it",
    "openai encrypted": "the reasoning stays",
    "gemini call sig": "the call stays",
    "refusal": "it is a text",
    "custom tool call": "it is a function with an input",
}
TWO = (call("a", "{}", "f"), call("b", "{}", "g"))


def made(number):
    return private(call(f"call_{number}", "{}", "f"), synthetic_id=True)


def answered(number, content="x"):
    return private(result(content, f"call_{number}"), synthetic_id=True)


def use(call_id="call_abc", given=None, name="weather"):
    function = {"name": name, "arguments": {"city": "Paris"} if given is None else given}
    return {**({"id": call_id} if call_id else {}), "function": function}


def turn(role, content="", **more):
    return {"role": role, "content": content, **more}


def calls(*each, content=""):
    return turn("assistant", content, tool_calls=list(each))


def answer(content, name="", **more):
    return turn("tool", content, **({"tool_name": name} if name else {}), **more)


WRITTEN = [
    ([system("a"), user("b"), system("c")], [turn("system", "a"), turn("user", "b"), turn("system", "c")], "every message is a turn at its place"),
    ([{"role": "developer", "content": "a"}], [turn("developer", "a")], "the server takes developers, too"),
    ([user(None), said(None)], [turn("user"), turn("assistant")], "content is a text"),
    ([user([text("a"), text("b")])], [turn("user", "a\nb")], "several texts are one, on lines of their own"),
    ([user([text("a"), image(), text("b"), image()])], [turn("user", "a\nb", images=[PNG, PNG])], "images stand beside it, without their type"),
    ([user([image()])], [turn("user", "", images=[PNG])], "even if there is none"),
    ([user([text("a"), image("https://x/y.png"), image("data:image/png;base64,?")])], [turn("user", "a")], "what is elsewhere and what is no data is left out"),
    ([user([text("a"), {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}"}}])], [turn("user", "a")], "so are files"),
    ([private(user("a"), native=[{"images": ["AAAA", "cat.png", 7]}, {"images": 5}, 5])], [turn("user", "a", images=["AAAA"])], "images of unknown kinds return"),
    # Assistants
    ([said("a", call())], [calls(use(), content="a")], "arguments are an object, since the server refuses a string"),
    ([said(None, call(arguments='{"a":{"b":[1.0]}}'))], [calls(use(given={"a": {"b": [1.0]}}))], "however deep"),
    ([said(None, call(arguments="{bad"))], [calls(use(given={"INVALID_JSON": "{bad"}))], "malformed ones are kept in one"),
    ([said(None, call(arguments="[1]"))], [calls(use(given={"INVALID_JSON": "[1]"}))], "so are those that are none"),
    ([said(None, call(arguments=""))], [calls(use(given={}))], "no arguments are none"),
    ([private(said("A", call()), after=["B"])], [calls(use(), content="A\nB")], "texts around a call are one, but not AB"),
    ([private(said(None, call()), after=["B"])], [calls(use(), content="B")], "or the one that there is"),
    ([said("a", reasoning_content="r")], [turn("assistant", "a", thinking="r")], "reasoning is thinking"),
    ([said(None, refusal="no")], [turn("assistant", "no")], "a refusal is a text"),
    ([said([{"type": "refusal", "refusal": "no"}])], [turn("assistant", "no")], "so is one among the parts"),
    ([private(said("a"), native=[{"type": "web_search_call"}, {"executableCode": {}}])], [turn("assistant", "a")], "what other providers did is left out"),
    ([said(None, {"id": "c", "function": 1})], [calls(use("c", {}, ""))], "a call without a name has an empty one"),
    # Results
    ([said(None, *TWO), result("1", "b"), result("2", "a")], [calls(use("a", {}, "f"), use("b", {}, "g")), answer("1", "g", tool_call_id="b"), answer("2", "f", tool_call_id="a")], "results have the ids and the names of their calls"),
    ([result("x", "gone", name="f")], [answer("x", "f", tool_call_id="gone")], "one without its call keeps both"),
    ([private(result("no"), is_error=True)], [answer("ERROR: no", tool_call_id="call_abc")], "an error is told in the text"),
    ([private(result("ERROR: no"), is_error=True)], [answer("ERROR: no", tool_call_id="call_abc")], "once"),
    ([result("ERROR: no")], [answer("ERROR: no", tool_call_id="call_abc")], "a text that says so stays as it is"),
    ([private(result('{"a":1}'), json=True)], [answer('{"a":1}', tool_call_id="call_abc")], "JSON is text"),
    ([result([text("a"), image()])], [answer("a", tool_call_id="call_abc", images=[PNG])], "images stand beside it"),
    # Ids
    ([said(None, made(1), made(2)), answered(1), answered(2)], [calls(use("", {}, "f"), use("", {}, "f")), answer("x", "f"), answer("x", "f")], "ids that the reader makes up just so are left out"),
    ([said(None, made(1), made(2)), answered(2), answered(1)], [calls(use("", {}, "f"), use("", {}, "f")), answer("x", "f", tool_call_id="call_2"), answer("x", "f")], "that of a result is written where the order would not tell"),
    ([said(None, made(2))], [calls(use("call_2", {}, "f"))], "an id that would become another is written"),
    ([said(None, made(1)), result("x", "call_1")], [calls(use("call_1", {}, "f")), answer("x", "f", tool_call_id="call_1")], "and one that a result names"),
    ([said(None, call("")), result("x", "")], [calls(use("")), answer("x", "weather")], "a missing id stays missing"),
    ([{"role": "critic", "content": "a"}], [], "a role that nobody knows has no turn"),
]  # fmt: skip


@pytest.mark.parametrize("messages, expected, sentence", WRITTEN, ids=[row[2] for row in WRITTEN])
def test_turns(messages, expected, sentence):
    assert dump(Conversation(messages, [])) == {"messages": expected}, sentence


FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
TOOLS = [
    (FUNCTION, FUNCTION, "a function stays as it is"),
    ({"function": {"name": "f"}}, {"type": "function", "function": {"name": "f"}}, "with its type"),
    (private(FUNCTION, native=[1]), FUNCTION, "without what another format said of it"),
    ({"name": "f"}, {"type": "function", "function": {"name": "f"}}, "a flat definition is wrapped"),
    ({"type": "custom", "custom": {"name": "f"}}, {"type": "function", "function": {"name": "f", "parameters": TEXT}}, "a custom tool takes its text"),
]  # fmt: skip


@pytest.mark.parametrize("tool, expected, sentence", TOOLS, ids=[row[2] for row in TOOLS])
def test_a_tool(tool, expected, sentence):
    assert dump(Conversation([], [tool])) == {"messages": [], "tools": [expected]}, sentence


@pytest.mark.parametrize("tool", [{"type": "web_search"}, {"type": "function", "function": 1}, {"custom": 1}, 5, None])
def test_what_is_no_tool_is_left_out(tool):
    assert dump(Conversation([], [tool])) == {"messages": []}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_comes_back_but_for_what_has_no_place(kind):
    before = copy.deepcopy(KINDS[kind])
    back = bodies.load(ollama, json.loads(json.dumps(dump(KINDS[kind]))))
    assert KINDS[kind] == before, "the conversation is not changed"
    assert (settled(back.messages) == settled(before.messages)) is (kind not in LOST), LOST.get(kind)


def test_what_was_read_of_ollama_is_written_again():
    turns = [
        turn("user", "a", images=["iVBORw0KGgo=", "AAAA"]),
        {"role": "assistant", "content": "b", "thinking": "r", "tool_calls": [use("", {}), use("x", {}, "g")]},
        answer("1", "weather"),
        {"role": "tool", "tool_call_id": "x", "tool_name": "g", "content": "2"},
    ]
    assert dump(bodies.load(ollama, {"messages": turns}))["messages"] == turns


@given(CONVERSATIONS)
def test_any_conversation_is_written(conversation):
    before = jsonio.dumps([conversation.messages, conversation.tools])
    body = dump(conversation)
    assert jsonio.dumps([conversation.messages, conversation.tools]) == before
    json.dumps(body, allow_nan=False)
    back = bodies.load(ollama, jsonio.loads(jsonio.dumps(body)))
    again = bodies.load(ollama, jsonio.loads(jsonio.dumps(dump(back))))
    assert links(again.messages) == links(back.messages)
    assert [each["content"] for each in again.messages] == [each["content"] for each in back.messages]
