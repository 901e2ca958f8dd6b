"""Ollama's messages, tools, answers and streams as canonical ones."""

from __future__ import annotations

import base64
import copy
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.chat import PRIVATE
from chatsquash.formats import ollama
from chatsquash.formats.base import TurnError
from chatsquash.model import Reply, WrongType

PIXEL = "iVBORw0KGgoAAAANSUhEUgAA"


def load(*turns):
    messages, state = [], ollama.START
    for turn in turns:
        loaded = ollama.load(turn, state)
        messages, state = messages + loaded.messages, loaded.state
    return messages + ollama.close(state)


def turn(role, content="", **more):
    return {"role": role, "content": content, **more}


def call(name="look", arguments=None, **more):
    return {"function": {"name": name, "arguments": {} if arguments is None else arguments}, **more}


def calls(*each):
    return turn("assistant", tool_calls=list(each))


def made(number, name="look", arguments="{}", **held):
    function = {"name": name, "arguments": arguments}
    return {"id": f"call_{number}", "type": "function", "function": function, PRIVATE: {**held, "synthetic_id": True}}


def real(ident, name="look", arguments="{}"):
    return {"id": ident, "type": "function", "function": {"name": name, "arguments": arguments}}


def said(content, **more):
    return {"role": "assistant", "content": content, **more}


def answer(ident, content="ok", name=None, **held):
    message = {"role": "tool", "tool_call_id": ident, **({"name": name} if name else {}), "content": content}
    return {**message, PRIVATE: held} if held else message


def image(url):
    return {"type": "image_url", "image_url": {"url": url}}


def data(head):
    return base64.b64encode(head.ljust(12, b"\0")).decode()


TURNS = [
    ([turn("user", "hi")], [turn("user", "hi")], "a message is what it is"),
    ([turn("system", "be kind")], [turn("system", "be kind")], "so is the system prompt, wherever it stands"),
    ([turn("developer", "be kind")], [turn("developer", "be kind")], "the server takes developers, too"),
    ([turn("Assistant", "hi")], [said("hi")], "the server reads roles in lower case"),
    ([{"role": "user"}], [turn("user")], "no content is an empty one"),
    ([{"role": "assistant", "content": None}], [said("")], "so is null"),
    # Images
    (
        [turn("user", "see", images=[PIXEL])],
        [turn("user", [{"type": "text", "text": "see"}, image(f"data:image/png;base64,{PIXEL}")])],
        "images stand behind the text",
    ),
    (
        [turn("user", images=["data:image/png;base64,AA"])],
        [turn("user", [image("data:image/png;base64,AA")])],
        "an empty text is none beside them",
    ),
    (
        [turn("user", "see", images=["cat.png", 7, "AAAA"])],
        [turn("user", "see", _x={"native": [{"images": ["cat.png", 7, "AAAA"]}]})],
        "what is no image is kept as logged",
    ),
    # Reasoning
    (
        [turn("assistant", "hi", thinking="hm")],
        [said("hi", reasoning_content="hm", _x={"thinking": [{"text": "hm"}]})],
        "thinking is reasoning",
    ),
    ([turn("assistant", "hi", thinking="")], [said("hi")], "there is no empty reasoning"),
    (
        [turn("assistant", "<think>hm</think>hi")],
        [said("<think>hm</think>hi")],
        "tags in the text are left alone",
    ),
    # Calls
    (
        [calls(call(arguments={"b": 1, "a": "ü"}))],
        [said(None, tool_calls=[made(1, arguments='{"b":1,"a":"ü"}')])],
        "arguments are compact JSON in their own order",
    ),
    (
        [calls(call(arguments='{"a":  1'))],
        [said(None, tool_calls=[made(1, arguments='{"a":  1')])],
        "arguments that are text, which the server refuses, stay as they are",
    ),
    (
        [calls(call(arguments={"INVALID_JSON": "{"}))],
        [said(None, tool_calls=[made(1, arguments="{")])],
        "arguments that could not be parsed are what they were",
    ),
    ([calls({"function": {"name": "look"}})], [said(None, tool_calls=[made(1)])], "no arguments are an empty object"),
    (
        [calls({"function": {}})],
        [said(None, tool_calls=[{**made(1), "function": {"arguments": "{}"}}])],
        "no name is made up",
    ),
    (
        [calls({"id": "c9", "function": {"index": 1, "name": "look", "arguments": {}}})],
        [said(None, tool_calls=[real("c9")])],
        "ids are kept; an index says no more than the order",
    ),
    (
        [calls(call(novelty=1))],
        [said(None, tool_calls=[made(1, native=[{"novelty": 1}])])],
        "what a call has beyond the canonical form is kept",
    ),
    (
        [calls("look", call())],
        [said(None, tool_calls=[made(1)], _x={"native": [{"tool_calls": ["look"]}]})],
        "what is no call is kept as logged",
    ),
    (
        [calls(call("a")), turn("tool", "ok", tool_name="a"), calls(call("a"))],
        [
            said(None, tool_calls=[made(1, "a")]),
            answer("call_1", name="a", synthetic_id=True),
            said(None, tool_calls=[made(2, "a")]),
        ],
        "made-up ids are numbered over the whole conversation",
    ),
    (
        [turn("assistant", "let me see", tool_calls=[call()])],
        [said("let me see", tool_calls=[made(1)])],
        "text beside calls is content",
    ),
    # Results
    (
        [calls(call("a", id="x"), call("a", id="y")), turn("tool", "ok", tool_call_id="y", tool_name="a")],
        [said(None, tool_calls=[real("x", "a"), real("y", "a")]), answer("y", name="a")],
        "a result has its call's id",
    ),
    (
        [
            calls(call("a"), call("b"), call("a")),
            turn("tool", "1", tool_name="b"),
            turn("tool", "2", name="a"),
            turn("tool", "3"),
        ],
        [
            said(None, tool_calls=[made(1, "a"), made(2, "b"), made(3, "a")]),
            answer("call_2", "1", "b", synthetic_id=True),
            answer("call_1", "2", "a", synthetic_id=True),
            answer("call_3", "3", synthetic_id=True),
        ],
        "without an id the name decides, and without that the position",
    ),
    (
        [calls(call("a", id="x")), turn("tool", "ok")],
        [said(None, tool_calls=[real("x", "a")]), answer("x", synthetic_id=True)],
        "the call may have an id where the result has none",
    ),
    (
        [calls(call("a")), calls(call("b")), turn("tool", "1", tool_name="a"), turn("tool", "2", tool_name="b")],
        [
            said(None, tool_calls=[made(1, "a")]),
            said(None, tool_calls=[made(2, "b")]),
            answer("call_1", "1", "a", synthetic_id=True),
            answer("call_2", "2", "b", synthetic_id=True),
        ],
        "parallel calls that were split into messages still find their results",
    ),
    (
        [calls(call("a")), turn("user", "no"), turn("assistant", "ok"), turn("tool", "1", tool_name="a")],
        [
            said(None, tool_calls=[made(1, "a")]),
            turn("user", "no"),
            said("ok"),
            answer("orphan_1", "1", "a", synthetic_id=True),
        ],
        "a call that is not the nearest assistant's is not answered",
    ),
    (
        [turn("tool", "1"), turn("tool", "2"), turn("tool", "3", tool_call_id="z")],
        [answer("orphan_1", "1", synthetic_id=True), answer("orphan_2", "2", synthetic_id=True), answer("z", "3")],
        "orphans are numbered, and an id of its own is never replaced",
    ),
    (
        [turn("tool", {"a": 1}, tool_call_id="z")],
        [answer("z", '{"a":1}', json=True)],
        "a result that is no text becomes JSON, and that is remembered",
    ),
    ([turn("tool", '{"a": 1}', tool_call_id="z")], [answer("z", '{"a": 1}')], "text that looks like JSON is text"),
    ([turn("tool", "ERROR: no", tool_call_id="z")], [answer("z", "ERROR: no")], "no prefix is taken off"),
    (
        [turn("tool", "see", tool_call_id="z", images=[PIXEL])],
        [answer("z", [{"type": "text", "text": "see"}, image(f"data:image/png;base64,{PIXEL}")])],
        "a result may have images",
    ),
    ([turn("user", "hi", novelty=1)], [turn("user", "hi", _x={"native": [{"novelty": 1}]})], "other members are kept"),
]


@pytest.mark.parametrize("turns, expected, sentence", TURNS, ids=[row[2] for row in TURNS])
def test_a_turn_is_loaded(turns, expected, sentence):
    before = copy.deepcopy(turns)

    assert load(*turns) == expected

    assert turns == before


@pytest.mark.parametrize(
    "head, mime",
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"BM", "image/bmp"),
        (b"II*\0", "image/tiff"),
    ],
)
def test_the_kind_of_an_image_is_what_its_first_bytes_say(head, mime):
    [message] = load(turn("user", images=[data(head)]))

    assert message["content"] == [image(f"data:{mime};base64,{data(head)}")]


def test_images_may_be_written_in_the_alphabet_for_urls():
    standard = data(b"\xff\xd8\xff\xe0")
    for_urls = standard.replace("/", "_").replace("+", "-")

    [message] = load(turn("user", images=[for_urls]))

    assert for_urls != standard
    assert message["content"] == [image(f"data:image/jpeg;base64,{standard}")]


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        ("hi", "is no object"),
        ({"content": "hi"}, "has no role"),
        ({"role": 1}, "has no role"),
        ({"role": "function", "content": "hi"}, 'has the role "function", which is none of Ollama\'s'),
        ({"role": "user", "content": [{"type": "text", "text": "hi"}]}, "has a content that is no text"),
        ({"role": "assistant", "content": 1}, "has a content that is no text"),
    ],
)
def test_what_is_no_turn_says_why(wrong, sentence):
    with pytest.raises(TurnError) as raised:
        ollama.load(wrong, ollama.START)

    assert str(raised.value) == sentence


def test_there_is_no_system_prompt_beside_the_turns():
    assert ollama.system("be kind") == []


def test_tools_are_functions_as_they_stand():
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}

    found = ollama.tools([tool, {"function": {"name": "a"}}, {"type": "novelty"}, "x"])

    assert found.functions == [tool, {"type": "function", "function": {"name": "a"}}]
    assert found.hosted == [{"type": "novelty"}, "x"]
    assert ollama.tools(None) == ([], [])
    assert ollama.tools(tool) == ([tool], [])


# Answers


def body(content="", reason="stop", **more):
    return {"model": "m", "message": turn("assistant", content, **more), "done": True, "done_reason": reason}


@pytest.mark.parametrize(
    "logged, expected",
    [
        (body("hi"), (said("hi"), 1, "stop")),
        (body("hi", "length"), (said("hi"), 1, "length")),
        (body("hi", "novelty"), (said("hi"), 1, "novelty")),
        (body("hi", None), (said("hi"), 1, None)),
        (body(tool_calls=[call()]), (said(None, tool_calls=[made(1)]), 1, "tool_calls")),
        (body("", "length", tool_calls=[call()]), (said(None, tool_calls=[made(1)]), 1, "length")),
        ([{"message": turn("assistant", "h"), "done": False}, body("i")], (said("hi"), 1, "stop")),
    ],
)
def test_an_answer_is_its_message(logged, expected):
    assert ollama.reply(logged) == Reply(*expected)


@pytest.mark.parametrize(
    "wrong, problem",
    [
        (None, "there is no response"),
        (1, "response is a number"),
        ([], "the response has no message"),
        ({"error": "model not found"}, "the response is an error body"),
        ({"model": "m", "response": "hi", "done": True}, "the response has no message"),
        ({"message": "hi", "done": True}, "response.message is a string"),
        ({"message": {"role": "assistant", "content": []}}, "response.message.content is a list"),
        (body("", "load"), "the response's message is empty"),
    ],
)
def test_no_answer_says_why(wrong, problem):
    reply = ollama.reply(wrong)

    assert (reply.message, reply.problem) == (None, problem)


def test_a_wrong_type_is_named():
    assert ollama.reply({"message": True}).wrong == WrongType("response.message", "a boolean")


# Streams


def chunk(content="", done=False, **more):
    return {"model": "m", "created_at": "t", "message": turn("assistant", content, **more), "done": done}


def test_a_stream_is_put_together():
    events = [
        chunk(thinking="h"),
        chunk(thinking="m"),
        chunk("a"),
        chunk(tool_calls=[call("x")]),
        chunk(tool_calls=[call("x"), call("y")]),
        {"status": "novelty"},
        {**chunk("b", done=True), "done_reason": "stop", "eval_count": 3},
    ]
    before = copy.deepcopy(events)

    found = ollama.assemble(events)

    message = turn("assistant", "ab", thinking="hm", tool_calls=[call("x"), call("x"), call("y")])
    rest = {"model": "m", "created_at": "t", "done": True, "done_reason": "stop", "eval_count": 3}
    assert found == ({**rest, "message": message}, True)
    assert events == before


def test_a_stream_without_its_last_line_is_cut():
    assert ollama.assemble([chunk("a")]).whole is False
    assert ollama.assemble([]) == ({}, False)


def test_an_error_in_a_stream_is_its_body():
    assert ollama.assemble([chunk("a"), {"error": "no"}]) == ({"error": "no"}, True)


# Recognition


@pytest.mark.parametrize(
    "messages, more, ranks, sentence",
    [
        ([turn("user", "hi"), turn("tool", "ok", tool_name="a")], {}, [7], "tool_name in any turn"),
        ([turn("assistant", "hi", thinking="hm")], {}, [7], "thinking beside the content"),
        ([turn("user", "hi", images=["AAAA"])], {}, [7], "a list of images"),
        ([turn("user", "hi", images=[{"url": "x"}])], {}, [], "images of another kind"),
        ([calls(call())], {}, [7], "arguments that are objects, without ids"),
        ([calls(call(id="x"))], {}, [], "with ids these are not Ollama's alone"),
        (
            [calls({"id": "x", "function": {"index": 0, "name": "a", "arguments": {}}})],
            {},
            [7],
            "unless indexed inside",
        ),
        ([calls(call(), call(arguments="{}"))], {}, [], "one that is text is one too many"),
        ([turn("user", [{"type": "text", "text": "a"}]), turn("tool", "ok", tool_name="a")], {}, [], "lists of parts"),
        ([turn("user", "hi")], {"options": {}}, [8], "options"),
        ([turn("user", "hi")], {"keep_alive": -1}, [8], "keep_alive"),
        ([turn("user", "hi")], {"think": False}, [8], "think"),
        ([], {"options": {}}, [], "options without messages are another endpoint's"),
        ([turn("user", '{"tool_name": "a"}')], {}, [], "strings are not looked into"),
    ],
)
def test_a_request_is_told_by(messages, more, ranks, sentence):
    request = {"model": "m", "messages": messages, **more}

    assert [mark.rank for mark in ollama.marks.request if mark.test(request)] == ranks


@pytest.mark.parametrize(
    "response, is_one",
    [
        (body("hi"), True),
        (chunk("hi"), True),
        ({"response": "hi", "done": True}, False),
        ({"message": turn("assistant"), "done": 1}, False),
        ({"message": "hi", "done": True}, False),
    ],
)
def test_a_response_is_told_by_done_and_message(response, is_one):
    assert any(mark.test(response) for mark in ollama.marks.response) is is_one
    assert any(mark.test(response) for mark in ollama.marks.event) is is_one


# Anything

KEYS = st.sampled_from(
    "role content thinking images tool_calls function name id index arguments tool_name tool_call_id message done "
    "done_reason error messages options keep_alive think type".split()
)
VALUES = st.sampled_from(["user", "assistant", "tool", "stop", PIXEL, "", 0, 1, 1.5, True, None])
JSON = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5))
LIKE_TURNS = st.builds(
    lambda role, content, more: {**more, "role": role, "content": content},
    st.sampled_from(["user", "assistant", "tool"]),
    st.sampled_from(["", "hi", None]),
    st.dictionaries(KEYS, JSON, max_size=4),
)


@given(JSON | LIKE_TURNS)
def test_no_value_raises_anything_else_or_is_changed(value):
    before = json.dumps(value)
    with suppress(TurnError):
        assert ollama.load(value, ollama.START) == ollama.load(json.loads(before), ollama.START)
    ollama.tools(value)
    for response in (value, {"message": value, "done": True}):
        reply = ollama.reply(response)
        assert (reply.message is None) is bool(reply.problem)
    if isinstance(value, dict):
        for mark in (*ollama.marks.request, *ollama.marks.response, *ollama.marks.event):
            assert isinstance(mark.test(value), bool)
            assert isinstance(mark.test({"messages": [value]}), bool)
    assert json.dumps(value) == before


@given(st.lists(JSON | st.fixed_dictionaries({"message": LIKE_TURNS, "done": st.booleans()})))
def test_no_stream_raises_or_is_changed(events):
    before = json.dumps(events)
    ollama.reply(ollama.assemble(events).body)
    assert json.dumps(events) == before


@given(st.lists(LIKE_TURNS, max_size=5))
def test_a_turn_loads_the_same_wherever_the_state_is_the_same(turns):
    seen = []
    state = ollama.START
    for each in turns:
        loaded = ollama.load(each, state)
        for other_state, other_turn, other in seen:
            if other_state == state and json.dumps(other_turn) == json.dumps(each):
                assert other == loaded
        seen.append((state, each, loaded))
        state = loaded.state
