"""What Anthropic's turns, tools, responses and streams give."""

from __future__ import annotations

import base64
import json
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import chat
from chatsquash.chat import Private
from chatsquash.formats import anthropic
from chatsquash.formats.anthropic import START
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import State
from chatsquash.model import WrongType


def call(call_id="toolu_1", name="read", arguments="{}", **private):
    made = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {**made, "_x": Private(private)} if private else made


def use(call_id="toolu_1", name="read", **members):
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}, **members}


def result(call_id="toolu_1", content="ok", **members):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **members}


def tool(call_id="toolu_1", content="ok", **private):
    message = {"role": "tool", "tool_call_id": call_id, "content": content}
    return {**message, "_x": Private(private)} if private else message


def said(role, content, private=None, **members):
    message = {"role": role, "content": content, **members}
    return {**message, "_x": Private(private)} if private else message


def text(words="hi", **members):
    return {"type": "text", "text": words, **members}


def source(**members):
    return {"type": "image", "source": members}


def document(source, **members):
    return {"type": "document", "source": source, **members}


def file(**members):
    return {"type": "file", "file": members}


def image(url):
    return {"type": "image_url", "image_url": {"url": url}}


SERVER = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
PACKED = "openrouter.reasoning:" + base64.b64encode(b'{"text": "plain"}').decode()
BASE64 = {"type": "base64", "media_type": "application/pdf", "data": "AA=="}
SEARCHED = {"type": "search_result", "source": "s", "title": "t", "content": [text("a"), text("b")]}
ADDED = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "read"}}


# Turns of text and media

USER = [
    ("hi", said("user", "hi"), "a string is the content"),
    (None, said("user", None), "null stays for the checks"),
    ([], said("user", ""), "no block is no text"),
    ([text()], said("user", "hi", {"content_list": True}), "one text block becomes a string, which is noted"),
    ([text("a"), text("b")], said("user", [text("a"), text("b")]), "several texts stay apart"),
    (["a", text("b")], said("user", [text("a"), text("b")]), "a bare string is text"),
    (
        [source(type="base64", media_type="image/png", data="AA=="), text()],
        said("user", [image("data:image/png;base64,AA=="), text()]),
        "image data becomes a data URL, in its place",
    ),
    ([source(type="url", url="https://x/y")], said("user", [image("https://x/y")]), "an image's URL stays one"),
    (
        [source(type="file", file_id="f1")],
        said("user", [file(file_id="f1")], {"members": [{"at": 0, "rest": {"type": "image"}}]}),
        "an uploaded image is a file, and what it was is kept",
    ),
    (
        [document(BASE64, title="a.pdf")],
        said("user", [file(file_data="data:application/pdf;base64,AA==", filename="a.pdf")]),
        "a PDF is a file with its title for a name",
    ),
    (
        [document({"type": "url", "url": "https://x/a.pdf"}, context="c")],
        said("user", [file(file_url="https://x/a.pdf")], {"members": [{"at": 0, "rest": {"context": "c"}}]}),
        "a document that is elsewhere is a file with its address",
    ),
    (
        [document({"type": "text", "media_type": "text/plain", "data": "words"}, title="t")],
        said(
            "user",
            "words",
            {
                "content_list": True,
                "members": [
                    {
                        "at": 0,
                        "rest": {
                            "type": "document",
                            "title": "t",
                            "source": {"type": "text", "media_type": "text/plain"},
                        },
                    }
                ],
            },
        ),
        "a document of text is text, not hidden in base64",
    ),
    (
        [SEARCHED],
        said("user", [text("a"), text("b")], {"members": [{"at": 0, "rest": SEARCHED}]}),
        "a search result is its texts",
    ),
    (
        [text("a"), text("b", cache_control={"type": "ephemeral"})],
        said(
            "user",
            [text("a"), text("b")],
            {"members": [{"at": 1, "rest": {"cache_control": {"type": "ephemeral"}}}]},
        ),
        "cache_control is private",
    ),
    (
        [{"type": "container_upload", "file_id": "f"}, text()],
        said(
            "user",
            "hi",
            {
                "content_list": True,
                "native": [{"type": "container_upload", "file_id": "f"}],
                "order": ["native", "content"],
            },
        ),
        "a block that has no place is kept as it is, and where it stood",
    ),
    (
        [text(), {"type": "new"}, 5, None],
        said("user", "hi", {"content_list": True, "native": [{"type": "new"}, 5, None]}),
        "an unknown block is kept as it is",
    ),
    (
        [source(type="base64", data=5)],
        said("user", "", {"native": [source(type="base64", data=5)]}),
        "a broken image is kept as it is",
    ),
    (
        [use(), {"type": "thinking", "thinking": "hm"}],
        said("user", "", {"native": [use(), {"type": "thinking", "thinking": "hm"}]}),
        "users neither call nor think",
    ),
]


@pytest.mark.parametrize(("content", "expected", "sentence"), USER, ids=[row[-1] for row in USER])
def test_user(content, expected, sentence):
    assert anthropic.load({"role": "user", "content": content}, START) == ([expected], START)


SYSTEM = [
    (None, [], "no system prompt is no message"),
    ("", [], "an empty system prompt is no message"),
    ([], [], "a system prompt without blocks is no message"),
    ("Be brief.", [said("system", "Be brief.", {"from": "system"})], "the system prompt leads"),
    (
        [text("Be brief.")],
        [said("system", "Be brief.", {"content_list": True, "from": "system"})],
        "one block is a string",
    ),
    (
        [text("a", cache_control={"type": "ephemeral"}), text("b")],
        [
            said(
                "system",
                [text("a"), text("b")],
                {"members": [{"at": 0, "rest": {"cache_control": {"type": "ephemeral"}}}], "from": "system"},
            )
        ],
        "one message with a part per block",
    ),
]


@pytest.mark.parametrize(("value", "expected", "sentence"), SYSTEM, ids=[row[-1] for row in SYSTEM])
def test_system(value, expected, sentence):
    assert anthropic.system(value) == expected


def test_a_system_prompt_that_is_neither_text_nor_blocks_is_refused():
    with pytest.raises(TurnError, match="is a number, not text or a list of blocks"):
        anthropic.system(5)


def test_a_system_turn_stays_at_its_place():
    waiting = State(open=(("a", "read"),))
    assert anthropic.load({"role": "system", "content": [text()]}, waiting) == (
        [said("system", "hi", {"content_list": True})],
        waiting,
    )
    added = anthropic.load({"role": "system", "content": [ADDED]}, START)
    assert added.messages == [said("system", "", {"native": [ADDED]})]


# Assistants

ASSISTANT = [
    ("hi", said("assistant", "hi"), "a string is the content"),
    ([], said("assistant", ""), "an empty turn stays a turn"),
    (
        [text(), use(input={"b": 1, "a": "é"})],
        said("assistant", "hi", {"content_list": True}, tool_calls=[call(arguments='{"b":1,"a":"é"}')]),
        "an input is written without spaces and escapes, order kept",
    ),
    ([use()], said("assistant", None, tool_calls=[call()]), "calls without text have no content"),
    (
        [use("a"), use("b")],
        said("assistant", None, tool_calls=[call("a"), call("b")]),
        "parallel calls are one message's",
    ),
    (
        [text("A"), use("a"), text("B"), use("b"), text("C")],
        said(
            "assistant",
            "A",
            {"content_list": True, "after": ["B", "C"], "order": ["content", "call", "after", "call", "after"]},
            tool_calls=[call("a"), call("b")],
        ),
        "text around calls is not joined, as litellm does",
    ),
    (
        [text("A"), use(), text("B")],
        said("assistant", "A", {"content_list": True, "after": ["B"]}, tool_calls=[call()]),
        "text behind the calls is private",
    ),
    (
        [use(input='{"a": 1')],
        said("assistant", None, tool_calls=[call(arguments='{"a": 1')]),
        "a string as input stays as it is, and does not become {}",
    ),
    (
        [use(input={"INVALID_JSON": '{"a": 1'})],
        said("assistant", None, tool_calls=[call(arguments='{"a": 1')]),
        "wrapped bad JSON is unwrapped",
    ),
    (
        [use(input={"INVALID_JSON": "x", "a": 1})],
        said("assistant", None, tool_calls=[call(arguments='{"INVALID_JSON":"x","a":1}')]),
        "only exactly that is unwrapped",
    ),
    ([use(input=None)], said("assistant", None, tool_calls=[call()]), "no input is {}"),
    (
        [use(input={"n": 12345678901234567890, "f": 1.0})],
        said("assistant", None, tool_calls=[call(arguments='{"n":12345678901234567890,"f":1.0}')]),
        "numbers keep their digits",
    ),
    (
        [use(input=[1])],
        said("assistant", None, tool_calls=[call(arguments="[1]")]),
        "an input that is no object stays what it is",
    ),
    (
        [use(caller={"type": "direct"}, cache_control=None)],
        said("assistant", None, tool_calls=[call(block={"caller": {"type": "direct"}})]),
        "other members of a call are private, and null is none",
    ),
    (
        [{"type": "tool_use", "id": "a"}],
        said("assistant", None, tool_calls=[{"id": "a", "type": "function", "function": {"arguments": "{}"}}]),
        "no name is made up",
    ),
    (
        [{"type": "thinking", "thinking": "hm", "signature": "s"}, text()],
        said(
            "assistant",
            "hi",
            {"content_list": True, "thinking": [{"text": "hm", "signature": "s"}]},
            reasoning_content="hm",
        ),
        "thinking is reasoning, never text",
    ),
    (
        [{"type": "thinking", "thinking": "a"}, {"type": "thinking", "thinking": "b"}],
        said("assistant", "", {"thinking": [{"text": "a"}, {"text": "b"}]}, reasoning_content="a\n\nb"),
        "blocks of thinking are joined",
    ),
    (
        [{"type": "thinking", "thinking": "", "signature": "s"}, text()],
        said("assistant", "hi", {"content_list": True, "thinking": [{"text": "", "signature": "s"}]}),
        "thinking that is only a signature is kept, and is no empty reasoning",
    ),
    (
        [{"type": "redacted_thinking", "data": "zz"}, text()],
        said("assistant", "hi", {"content_list": True, "thinking": [{"redacted": "zz"}]}),
        "redacted thinking is kept",
    ),
    (
        [{"type": "redacted_thinking", "data": PACKED}],
        said("assistant", "", {"thinking": [{"text": "plain", "redacted": PACKED}]}, reasoning_content="plain"),
        "plain reasoning that OpenRouter packed is unpacked",
    ),
    (
        [{"type": "redacted_thinking", "data": "openrouter.reasoning:!"}],
        said("assistant", "", {"thinking": [{"redacted": "openrouter.reasoning:!"}]}),
        "what cannot be unpacked is redacted thinking as any other",
    ),
    (
        [use(), {"type": "thinking", "thinking": "hm"}],
        said(
            "assistant",
            None,
            {"thinking": [{"text": "hm"}], "order": ["call", "thinking"]},
            reasoning_content="hm",
            tool_calls=[call()],
        ),
        "an order that is none of the usual is kept",
    ),
    (
        [{"type": "thinking", "thinking": [text()]}],
        said("assistant", "", {"native": [{"type": "thinking", "thinking": [text()]}]}),
        "thinking that is no text is none of Anthropic's",
    ),
    (
        [text("a"), SERVER, FOUND, text("b", citations=[{"url": "u"}])],
        said(
            "assistant",
            [text("a"), text("b")],
            {
                "native": [SERVER, FOUND],
                "members": [{"at": 3, "rest": {"citations": [{"url": "u"}]}}],
                "order": ["content", "native", "native", "content"],
                "breaks": [1],
            },
        ),
        "what the server did is kept as it is, and is no call; what it stood between is known",
    ),
    (
        [use(), source(type="url", url="u")],
        said("assistant", None, {"native": [source(type="url", url="u")]}, tool_calls=[call()]),
        "what is no text behind calls is kept as it is",
    ),
]


@pytest.mark.parametrize(("content", "expected", "sentence"), ASSISTANT, ids=[row[-1] for row in ASSISTANT])
def test_assistant(content, expected, sentence):
    assert anthropic.load({"role": "assistant", "content": content}, START).messages == [expected]


def test_a_turn_s_own_members_are_private():
    turn = {"role": "assistant", "content": [text()], "id": "msg_1", "model": None}
    assert anthropic.load(turn, START).messages == [
        said("assistant", "hi", {"content_list": True, "turn": {"id": "msg_1"}})
    ]


# Results

RESULTS = [
    ([result()], [tool()], "a result is a message"),
    ([result(content=None)], [tool(content="")], "no content is empty text"),
    ([result(content=[])], [tool(content="")], "no block is empty text, too"),
    ([result(content=[text("ok")])], [tool(content_list=True)], "one text block becomes a string, which is noted"),
    ([result(content=[text("a"), text("b")])], [tool(content=[text("a"), text("b")])], "several texts stay apart"),
    (
        [result(content=[text("a"), source(type="base64", media_type="image/png", data="AA==")])],
        [tool(content=[text("a"), image("data:image/png;base64,AA==")])],
        "images stay in the result",
    ),
    ([result(is_error=True)], [tool(is_error=True)], "a failure is noted, and the text stays as it is"),
    ([result(is_error=False)], [tool()], "no failure is the normal case"),
    ([result(content='{"a": 1}')], [tool(content='{"a": 1}')], "text that looks like JSON stays text"),
    ([result(content={"a": [1]})], [tool(content='{"a":[1]}', json=True)], "an object becomes JSON"),
    ([result(content=[1, "x"])], [tool(content='[1,"x"]', json=True)], "so does a list of anything but blocks"),
    (
        [result(content=[text("ok"), {"type": "tool_reference", "tool_name": "read"}])],
        [tool(content_list=True, native=[{"type": "tool_reference", "tool_name": "read"}])],
        "a block without a place is kept",
    ),
    (
        [result(content=[{"type": "tool_reference", "tool_name": "read"}])],
        [tool(content='[{"type":"tool_reference","tool_name":"read"}]', json=True)],
        "blocks without a place alone are JSON, since the result would seem empty",
    ),
    (
        [result(cache_control={"type": "ephemeral"})],
        [tool(block={"cache_control": {"type": "ephemeral"}})],
        "other members of a result are private",
    ),
    ([result("b"), result("a")], [tool("b"), tool("a")], "results keep their order"),
    (
        [result("a"), result("b"), text("and?")],
        [tool("a"), tool("b"), said("user", "and?", {"content_list": True, "same_turn": True})],
        "what else the turn says follows",
    ),
    (
        [text("so:"), result("a"), result("b"), text("and?")],
        [tool("a"), tool("b"), said("user", [text("so:"), text("and?")], {"same_turn": True})],
        "what leads a turn follows its first results",
    ),
    (
        [result("a"), text("and"), result("b")],
        [tool("a"), said("user", "and", {"content_list": True, "same_turn": True}), tool("b")],
        "what stands between results stays there",
    ),
    (
        [result("a"), source(type="url", url="u")],
        [tool("a"), said("user", [image("u")], {"same_turn": True})],
        "an image beside results is not dropped",
    ),
]


@pytest.mark.parametrize(("content", "expected", "sentence"), RESULTS, ids=[row[-1] for row in RESULTS])
def test_results(content, expected, sentence):
    assert anthropic.load({"role": "user", "content": content}, START).messages == expected


# Ids


def loaded(*turns):
    messages, state = [], START
    for role, content in turns:
        more, state = anthropic.load({"role": role, "content": content}, state)
        messages += more
    return messages + anthropic.close(state)


def idless(name="read", **members):
    return {"type": "tool_use", "name": name, "input": {}, **members}


def answer(content, **members):
    return {"type": "tool_result", "content": content, **members}


def ids(messages):
    return [
        [call["id"] for call in message["tool_calls"]] if "tool_calls" in message else message["tool_call_id"]
        for message in messages
        if "tool_calls" in message or "tool_call_id" in message
    ]


IDS = [
    (
        [("assistant", [idless()]), ("user", [answer("1")]), ("assistant", [idless()]), ("user", [answer("2")])],
        [["call_1"], "call_1", ["call_2"], "call_2"],
        "numbers run over the whole conversation, so that no link of one turn is another's",
    ),
    (
        [("assistant", [idless("a"), idless("b")]), ("user", [answer("1", name="b"), answer("2", name="a")])],
        [["call_1", "call_2"], "call_2", "call_1"],
        "results without ids go by name",
    ),
    (
        [("assistant", [idless("a"), idless("a")]), ("user", [answer("1", name="a"), answer("2", name="a")])],
        [["call_1", "call_2"], "call_1", "call_2"],
        "the same tool twice is answered in order",
    ),
    (
        [("assistant", [use("x"), use("y")]), ("user", [answer("1"), result("x")])],
        [["x", "y"], "y", "x"],
        "a call that an id answers is not answered by place",
    ),
    (
        [("assistant", [idless(), idless()]), ("user", [answer("1")]), ("user", [answer("2")])],
        [["call_1", "call_2"], "call_1", "call_2"],
        "results may come turn by turn",
    ),
    ([("user", [answer("1"), answer("2")])], ["orphan_1", "orphan_2"], "a result that answers nothing is an orphan"),
    (
        [("assistant", [idless()]), ("assistant", "no"), ("user", [answer("1")])],
        [["call_1"], "orphan_1"],
        "only the nearest assistant's calls are answered",
    ),
    ([("user", [result("gone")])], ["gone"], "an id that no call has is kept"),
    ([("assistant", [use(""), use(7)])], [["call_1", "call_2"]], "an empty id and a number are none"),
]


@pytest.mark.parametrize(("turns", "expected", "sentence"), IDS, ids=[row[-1] for row in IDS])
def test_ids(turns, expected, sentence):
    assert ids(loaded(*turns)) == expected


def test_made_up_ids_are_marked_on_both_sides():
    said, answered = loaded(("assistant", [idless(id=7)]), ("user", [answer("1")]))
    assert said["tool_calls"] == [call("call_1", synthetic_id=True, block={"id": 7})]
    assert answered == tool("call_1", "1", synthetic_id=True)


# What is no turn

REFUSED = [
    (None, "is no object"),
    ([], "is no object"),
    ("hi", "is no object"),
    ({"content": "hi"}, "has no role"),
    ({"role": None, "content": "hi"}, "has no role"),
    ({"role": "user"}, "has no content"),
    ({"role": "tool", "content": "hi"}, 'has the role "tool", which is none of Anthropic\'s'),
    ({"role": ["user"], "content": "hi"}, 'has the role ["user"], which is none of Anthropic\'s'),
    ({"role": "user", "content": 5}, "has a content that is a number, not text or a list of blocks"),
    ({"role": "user", "content": text()}, "has a content that is an object, not text or a list of blocks"),
    (
        {"role": "assistant", "content": "", "tool_calls": [call()]},
        "has tool_calls, which turns of Anthropic have not",
    ),
]


@pytest.mark.parametrize(("turn", "expected"), REFUSED, ids=[str(row[0]) for row in REFUSED])
def test_what_is_no_turn_is_refused(turn, expected):
    with pytest.raises(TurnError) as refused:
        anthropic.load(turn, START)
    assert str(refused.value) == expected


# Tools

SCHEMA = {"type": "object", "properties": {}}


def function(private=None, **members):
    made = {"type": "function", "function": members}
    return {**made, "_x": Private(private)} if private else made


TOOLS = [
    (None, [], [], "no tools"),
    (
        [{"name": "read", "description": "d", "input_schema": SCHEMA}],
        [function(name="read", description="d", parameters=SCHEMA)],
        [],
        "a schema is the parameters",
    ),
    (
        [{"type": "custom", "name": "read", "input_schema": SCHEMA, "strict": True, "cache_control": {"type": "e"}}],
        [
            function(
                {"type": "custom", "cache_control": {"type": "e"}},
                name="read",
                parameters=SCHEMA,
                strict=True,
            )
        ],
        [],
        "strict is the function's, all else is private",
    ),
    ([{"name": "read"}], [function(name="read")], [], "no parameters are made up"),
    (
        [{"type": "bash_20250124", "name": "bash"}],
        [function({"type": "bash_20250124"}, name="bash")],
        [],
        "a tool that the client runs is a function",
    ),
    (
        [{"type": "web_search_20250305", "name": "web_search"}, {"name": "read", "input_schema": SCHEMA}],
        [function(name="read", parameters=SCHEMA)],
        [{"type": "web_search_20250305", "name": "web_search"}],
        "a tool that the server runs is hosted",
    ),
    ([5, {}, None], [], [5, {}, None], "what is no definition is kept as logged"),
    ({"read": 1}, [], [{"read": 1}], "what is no list is kept as logged"),
]


@pytest.mark.parametrize(("value", "functions", "hosted", "sentence"), TOOLS, ids=[row[-1] for row in TOOLS])
def test_tools(value, functions, hosted, sentence):
    assert anthropic.tools(value) == (functions, hosted)


# Responses


def body(*content, stop="end_turn", **members):
    return {"type": "message", "role": "assistant", "content": list(content), "stop_reason": stop, **members}


REASONS = [
    ("end_turn", "stop"),
    ("stop_sequence", "stop"),
    ("pause_turn", "stop"),
    ("tool_use", "tool_calls"),
    ("max_tokens", "length"),
    ("model_context_window_exceeded", "length"),
    ("refusal", "content_filter"),
    ("brand_new", "brand_new"),
    (None, None),
    (5, None),
]


@pytest.mark.parametrize(("logged", "expected"), REASONS)
def test_why_a_response_stopped(logged, expected):
    assert anthropic.reply(body(text(), stop=logged)).finish_reason == expected


def test_a_response_with_calls_stopped_for_them_unless_it_was_cut():
    assert anthropic.reply(body(use())).finish_reason == "tool_calls"
    assert anthropic.reply(body(use(), stop="max_tokens")).finish_reason == "length"


def test_a_reply_is_loaded_as_a_turn_is():
    content = [{"type": "thinking", "thinking": "hm", "signature": "s"}, text(), use(), text("B")]
    reply = anthropic.reply(body(*content))
    assert [reply.message] == anthropic.load({"role": "assistant", "content": content}, START).messages
    assert (reply.choices, reply.problem, reply.wrong) == (1, None, None)


PROBLEMS = [
    (None, "response is null"),
    ([], "response is a list"),
    ({}, "the response has no content"),
    ({"type": "error", "error": {"type": "overloaded_error"}}, "the response is an error body"),
    ({"error": "bad gateway"}, "the response is an error body"),
    (body(), "the response has an empty content"),
    (body() | {"content": 5}, "response.content is a number"),
    (body(text()) | {"role": "user"}, "the response is not the assistant's"),
]


@pytest.mark.parametrize(("logged", "problem"), PROBLEMS, ids=[row[1] for row in PROBLEMS])
def test_a_response_without_a_reply_says_why(logged, problem):
    reply = anthropic.reply(logged)
    assert (reply.message, reply.problem) == (None, problem)


def test_a_wrong_type_is_named():
    assert anthropic.reply({"content": True}).wrong == WrongType("response.content", "a boolean")


# Streams


def start(index, **block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index, kind, **members):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **members}}


def stop(index):
    return {"type": "content_block_stop", "index": index}


def json_delta(index, piece):
    return delta(index, "input_json_delta", partial_json=piece)


BEGIN = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 3, "output_tokens": 1},
    },
}
END = [
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 9},
    },
    {"type": "message_stop"},
]
EMPTY_USE = {"type": "tool_use", "id": "a", "name": "read", "input": {}}

STREAMS = [
    ([start(0, **text("")), delta(0, "text_delta", text="h"), delta(0, "text_delta", text="i")], [text()], "text"),
    ([start(0, **text("h")), delta(0, "text_delta", text="i")], [text()], "text that begins with its block"),
    (
        [start(0, **EMPTY_USE), json_delta(0, ""), json_delta(0, '{"a"'), json_delta(0, ": 1.0}")],
        [EMPTY_USE | {"input": {"a": 1.0}}],
        "input",
    ),
    ([start(0, **EMPTY_USE), json_delta(0, "")], [EMPTY_USE], "no input is an empty object"),
    ([start(0, **EMPTY_USE), json_delta(0, " ")], [EMPTY_USE], "white space is no input"),
    ([start(0, **EMPTY_USE | {"input": ""})], [EMPTY_USE], "neither is empty text"),
    ([start(0, **EMPTY_USE | {"input": {"a": 1}})], [EMPTY_USE | {"input": {"a": 1}}], "input that comes whole"),
    (
        [start(0, **EMPTY_USE), json_delta(0, '{"a": "x')],
        [EMPTY_USE | {"input": '{"a": "x'}],
        "input that was cut stays as it came, and is not completed",
    ),
    ([start(0, **EMPTY_USE), json_delta(0, '"x"')], [EMPTY_USE | {"input": '"x"'}], "input that is JSON text"),
    ([start(0, **EMPTY_USE), json_delta(0, "null")], [EMPTY_USE | {"input": "null"}], "input that is null"),
    ([start(0, **EMPTY_USE), json_delta(0, "NaN")], [EMPTY_USE | {"input": "NaN"}], "input that is no JSON"),
    (
        [
            start(0, type="thinking", thinking="", signature=""),
            delta(0, "thinking_delta", thinking="h"),
            delta(0, "thinking_delta", thinking="m"),
            delta(0, "signature_delta", signature="s"),
        ],
        [{"type": "thinking", "thinking": "hm", "signature": "s"}],
        "thinking, whose signature comes whole",
    ),
    (
        [start(0, **text("")), delta(0, "citations_delta", citation=1), delta(0, "citations_delta", citation=2)],
        [text("", citations=[1, 2])],
        "citations",
    ),
    (
        [start(0, type="compaction"), delta(0, "compaction_delta", content="c", encrypted_content="e")],
        [{"type": "compaction", "content": "c", "encrypted_content": "e"}],
        "compaction",
    ),
    (
        [
            start(0, **text("")),
            start(1, **EMPTY_USE),
            json_delta(1, "{}"),
            delta(0, "text_delta", text="hi"),
            json_delta(1, " "),
        ],
        [text(), EMPTY_USE],
        "deltas go by index",
    ),
    (
        [start(0, **EMPTY_USE), start(0, **EMPTY_USE), json_delta(0, '{"a":1}')],
        [EMPTY_USE | {"input": {"a": 1}}],
        "a start that is repeated makes no second call",
    ),
    (
        [start(0, **EMPTY_USE), json_delta(0, "{}"), start(0, **EMPTY_USE | {"id": "b"}), json_delta(0, '{"b":1}')],
        [EMPTY_USE, EMPTY_USE | {"id": "b", "input": {"b": 1}}],
        "another call with the same index is not merged",
    ),
    (
        [start(0, **text("a")), stop(0), start(0, **text("b"))],
        [text("a"), text("b")],
        "a block behind one that stopped is another",
    ),
    ([delta(0, "text_delta", text="hi")], [text()], "text whose start is missing is not lost"),
    (
        [start(0, **SERVER | {"input": {}}), json_delta(0, '{"query": "x"}'), start(1, **FOUND)],
        [SERVER, FOUND],
        "what the server did",
    ),
    (
        [start(0, **text("hi")), delta(0, "new_delta", text="x"), {"type": "ping"}, {"type": "new"}, None, 5],
        [text()],
        "what is not known is passed over",
    ),
]


@pytest.mark.parametrize(("events", "content", "sentence"), STREAMS, ids=[row[-1] for row in STREAMS])
def test_streams(events, content, sentence):
    before = deepcopy(events)
    stream = anthropic.assemble([BEGIN, *events, *END])
    assert events == before
    assert stream.body["content"] == content
    assert json.dumps(stream.body["content"]) == json.dumps(content)
    assert stream.whole


def test_a_stream_gives_the_body_of_a_whole_response():
    assert anthropic.assemble([BEGIN, start(0, **text("")), delta(0, "text_delta", text="hi"), stop(0), *END]) == (
        {
            "type": "message",
            "role": "assistant",
            "id": "msg_1",
            "content": [text()],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 3, "output_tokens": 9},
        },
        True,
    )


def test_a_stream_that_was_cut_is_not_whole():
    cut = anthropic.assemble([BEGIN, start(0, **text("")), delta(0, "text_delta", text="h")])
    assert (cut.body["content"], cut.whole) == ([text("h")], False)
    assert anthropic.assemble([]) == ({}, False)


def test_a_stream_is_whole_with_a_reason_or_its_last_event():
    assert anthropic.assemble([BEGIN, start(0, **text("hi")), END[0]]).whole
    assert anthropic.assemble([BEGIN, start(0, **text("hi")), END[1]]).whole


def test_an_error_event_is_the_body():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    body, whole = anthropic.assemble([BEGIN, start(0, **text("h")), error])
    assert (body, whole) == (error, True)
    assert anthropic.reply(body).problem == "the response is an error body"


# Recognition


def ranks(marks, value):
    return sorted({mark.rank for mark in marks if mark.test(value)})


def request(*blocks, role="user", **members):
    return {"messages": [{"role": "user", "content": "hi"}, {"role": role, "content": list(blocks)}], **members}


REQUESTS = [
    (request(use()), 7, "a call in any turn"),
    (request(result()), 7, "a result"),
    (request({"type": "thinking", "thinking": "hm"}), 7, "thinking that is text"),
    (request({"type": "thinking", "thinking": [text()]}), None, "thinking of Mistral's"),
    (request(source(type="url", url="u")), 7, "an image with a source"),
    (request({"type": "image", "image": "u"}), None, "an image of another's"),
    (request(FOUND), 7, "a server's result"),
    (request(text()), None, "text alone"),
    (request(text('{"type": "tool_use"}')), None, "what only stands in a string"),
    ({"messages": [{"role": "tool", "content": [use()]}]}, None, "roles of OpenAI's"),
    ({"messages": [{"role": "assistant", "content": [use()], "tool_calls": [call()]}]}, None, "calls of OpenAI's"),
    (request(tools=[{"name": "read", "input_schema": {}}]), 8, "tools with a schema"),
    (request(tools=[{"type": "web_search_20250305", "name": "web_search"}]), 8, "dated tools"),
    (request(tools=[{"type": "function", "function": {}}], max_tokens=5, model="claude-x"), None, "tools of OpenAI's"),
    (request(system=[text()]), 8, "a system list"),
    (request(system="s", max_tokens=5), 8, "a system text with max_tokens"),
    (request(system="s"), None, "a system text alone"),
    (request(stop_sequences=["x"]), 8, "stop_sequences"),
    (request(thinking={"type": "enabled"}), 8, "thinking"),
    (request(model="claude-x", max_tokens=5), 8, "a model"),
    ({"input": [use()], "system": [text()]}, None, "no messages"),
]


@pytest.mark.parametrize(("value", "rank", "sentence"), REQUESTS, ids=[row[-1] for row in REQUESTS])
def test_a_request_is_told_by(value, rank, sentence):
    assert min(ranks(anthropic.marks.request, value), default=None) == rank


def test_a_response_and_an_event_are_told():
    assert ranks(anthropic.marks.response, body(text())) == [4]
    assert ranks(anthropic.marks.response, {"type": "message", "role": "assistant", "content": [], "status": "x"}) == []
    assert ranks(anthropic.marks.response, {"type": "error", "error": {}}) == [8]
    assert ranks(anthropic.marks.event, BEGIN) == [3]
    assert ranks(anthropic.marks.event, {"type": "response.created"}) == []


# Laws

WORDS = """assistant user system text tool_use tool_result thinking redacted_thinking image document search_result
base64 url content file custom error message message_start message_delta content_block_start content_block_delta
content_block_stop text_delta input_json_delta thinking_delta signature_delta citations_delta compaction_delta
end_turn read call_1 openrouter.reasoning: openrouter.reasoning:e30= {} [""".split()
KEYS = """role content type text thinking signature data id name input tool_use_id is_error source media_type url
file_id title citations cache_control delta index content_block partial_json citation stop_reason usage message
error input_schema tools messages system model max_tokens tool_calls encrypted_content""".split()
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.just(2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(WORDS)
    | st.text(st.characters(exclude_categories=()), max_size=3)
)


def nested(inner):
    return st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)


JSON = st.recursive(LEAVES, nested, max_leaves=25)
BLOCK_TYPES = """text thinking redacted_thinking tool_use tool_result image document search_result
container_upload""".split()
BLOCKS = st.builds(
    lambda kind, members: {**members, "type": kind},
    st.sampled_from(BLOCK_TYPES),
    st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6),
)
TURNS = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system"]), "content": st.lists(BLOCKS | JSON, max_size=4) | JSON}
)
EVENT_TYPES = [word for word in WORDS if word.startswith(("message_", "content_block_"))]
EVENTS = st.builds(
    lambda kind, members, delta: {**members, "type": kind, "delta": delta},
    st.sampled_from(EVENT_TYPES),
    st.fixed_dictionaries({"index": st.integers(0, 1) | JSON, "content_block": BLOCKS | JSON, "message": JSON}),
    st.dictionaries(st.sampled_from(KEYS), JSON, max_size=4) | JSON,
)


def refused_or(function, *values):
    before = deepcopy(values)
    try:
        return function(*values)
    except TurnError:
        return None
    finally:
        assert repr(values) == repr(before), "the input is changed"


@given(st.lists(TURNS | JSON, max_size=4))
def test_any_turn_is_loaded_or_refused_and_equal_turns_give_equal_messages(turns):
    state = START
    for turn in turns:
        found = refused_or(anthropic.load, turn, state)
        assert found == refused_or(anthropic.load, deepcopy(turn), State(*state))
        for message in found.messages if found else []:
            assert isinstance(chat.private(message), dict)
            assert message["role"] in ("user", "assistant", "system", "tool")
            assert all(isinstance(call["function"]["arguments"], str) for call in chat.calls(message))
            assert message.get("reasoning_content") != ""
        state = found.state if found else state
    assert anthropic.close(state) == []


@given(JSON | BLOCKS | st.lists(BLOCKS))
def test_any_value_is_read_without_an_exception(value):
    refused_or(anthropic.system, value)
    refused_or(anthropic.tools, value)
    for each in (value, {"content": value}, {"type": "message", "content": value}):
        reply = refused_or(anthropic.reply, each)
        assert (reply.message is None) == (reply.problem is not None)


@given(st.lists(EVENTS | JSON, max_size=6))
def test_any_stream_is_put_together(events):
    stream = refused_or(anthropic.assemble, events)
    refused_or(anthropic.reply, stream.body)


@given(st.dictionaries(st.sampled_from(KEYS), JSON | st.lists(TURNS | BLOCKS)))
def test_marks_take_any_object(value):
    for mark in (*anthropic.marks.request, *anthropic.marks.response, *anthropic.marks.event):
        assert isinstance(mark.test(value), bool)
