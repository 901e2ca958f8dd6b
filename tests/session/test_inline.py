"""Calls and results as markup in the text."""

import copy
import json

import pytest

from chatsquash.core.model import Conversation
from chatsquash.session.stages.reasoning import inline_calls
from tests.checks.rows import assistant, call, result, tool, user
from tests.conftest import cases
from tests.session.streams import facts, staged, texts

IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}


def part(text):
    return {"type": "text", "text": text}


def block(arguments, name='"grep"'):
    return f'<tool_call>{{"name": {name}, "arguments": {arguments}}}</tool_call>'


BLOCK = block("{}")


def inlined(*messages):
    conversation, found = staged(inline_calls(Conversation(list(messages), [])))
    return conversation.messages, found


ARGUMENTS = [
    ("an object in a string is parsed", '{"a":1,"b":[true,null]}', '{"a": 1, "b": [true, null]}'),
    ("white space in the string goes", ' {\n "a" : 1 } ', '{"a": 1}'),
    ("the order of keys stays", '{"b":1,"a":2}', '{"b": 1, "a": 2}'),
    ("the last of equal keys counts", '{"a":1,"a":2}', '{"a": 2}'),
    ("a list in a string is parsed", "[1,2]", "[1, 2]"),
    ("a string in a string is parsed", '"a"', '"a"'),
    ("a number in a string is parsed", "5", "5"),
    ("null in a string is parsed", "null", "null"),
    ("JSON within JSON stays a string", '{"a":"{\\"b\\":1}"}', '{"a": "{\\"b\\":1}"}'),
    ("1, 1.0 and true stay what they are", "[1,1.0,true]", "[1, 1.0, true]"),
    ("floats are spelled as Python does", "[1e5,1E16,1.50,-0.0,5e-324]", "[100000.0, 1e+16, 1.5, -0.0, 5e-324]"),
    ("integers keep all digits", "123456789012345678901234567890", "123456789012345678901234567890"),
    ("letters are not escaped", '"\\u00e9 \\ud83d\\ude00 日"', '"é 😀 日"'),
    ("a lone surrogate stays one", '"\\ud800"', '"\ud800"'),
    ("control characters are escaped", '"\\u0000\\n"', '"\\u0000\\n"'),
    ("a string that is no JSON stays a string", "{'a': 1}", '"{\'a\': 1}"'),
    ("half an object stays a string", '{"a": ', '"{\\"a\\": "'),
    ("an empty string stays a string", "", '""'),
    ("white space stays a string", " ", '" "'),
    ("NaN is no JSON", '{"a":NaN}', '"{\\"a\\":NaN}"'),
    ("a number that would be Infinity is none", "[1e999]", '"[1e999]"'),
    ("two values are no JSON", "{} {}", '"{} {}"'),
    ("an object is kept", {"a": 1}, '{"a": 1}'),
    ("a list is kept", [1, {"b": "x"}], '[1, {"b": "x"}]'),
    ("a number is kept", 5, "5"),
    ("true is kept", True, "true"),
    ("null is kept", None, "null"),
    ("an object of strings that are JSON is kept", {"a": "{}"}, '{"a": "{}"}'),
    ("other tags stay", '{"html":"<b>x</b> a<b <tool_call> <tool_result>"}', '{"html": "<b>x</b> a<b <tool_call> <tool_result>"}'),
    ("a closing tag of a call escapes every <", '{"html":"<b></tool_call>"}', '{"html": "\\u003cb>\\u003c/tool_call>"}'),
    ("a closing tag of a result does too", '{"html":"<b></tool_result>"}', '{"html": "\\u003cb>\\u003c/tool_result>"}'),
    ("a closing tag in a key does too", '{"</tool_call>":"<"}', '{"\\u003c/tool_call>": "\\u003c"}'),
    ("a closing tag in arguments that are an object does too", {"a": "</tool_call>"}, '{"a": "\\u003c/tool_call>"}'),
    ("a closing tag in arguments that are no JSON does too", "rm </tool_call>", '"rm \\u003c/tool_call>"'),
    ("a closing tag spelled with an escape is one", '"\\u003c/tool_call>"', '"\\u003c/tool_call>"'),
]  # fmt: skip


@cases(
    "message",
    ("a user's message", user()),
    ("an assistant without calls", assistant("a")),
    ("white space around the text of an assistant without calls", assistant(" a\n")),
    ("an empty list of calls", assistant("a", tool_calls=[])),
    ("calls that are no list", assistant("a", tool_calls={"function": {"name": "grep"}})),
    ("calls that are a string", assistant("a", tool_calls="grep")),
    ("a call that is not an object", assistant("a", call(), "grep")),
    ("a null call", assistant("a", tool_calls=[None])),
    ("a call without a function", assistant("a", {"id": "c1", "type": "function"})),
    ("a call whose function is null", assistant("a", {"id": "c1", "function": None})),
    ("a call whose function is a string", assistant("a", {"id": "c1", "function": "grep"})),
    ("a call without a name", assistant("a", {"id": "c1", "function": {"arguments": "{}"}})),
    ("a call with an empty name", assistant("a", call(name=""))),
    ("a call with a null name", assistant("a", call(name=None))),
    ("a call with a number for a name", assistant("a", call(name=5))),
    ("a call with its name in the wrong place", assistant("a", {"id": "c1", "name": "grep", "arguments": "{}"})),
    ("a call with a name beside one without", assistant("a", call(), call("c2", name=None))),
    ("images beside a call without a name", assistant([IMAGE], call(name=None))),
    ("calls of a user", {**user(), "tool_calls": [call()]}),
    ("calls of a tool", {"role": "tool", "content": "a", "tool_calls": [call()]}),
    ("a legacy call", assistant("a", function_call={"name": "grep", "arguments": "{}"})),
    ("a result without an id", {"role": "tool", "content": "a"}),
    ("a result without an id in parts", {"role": "tool", "content": [part("a"), IMAGE]}),
    ("a legacy result", {"role": "function", "name": "grep", "content": "a"}),
    ("the id of a user", {**user(), "tool_call_id": "c1"}),
    ("the id of an assistant", assistant("a", tool_call_id="c1")),
    ("a user's content list", user([part("a"), IMAGE, part("b")])),
    ("an assistant's content list without calls", assistant([part("a"), IMAGE])),
    ("a system message's content list", {"role": "system", "content": [part("a")]}),
    ("text that contains tags", user("<tool_call>{}</tool_call>")),
    ("missing content", {"role": "assistant"}),
)
def test_nothing_is_inlined_in(message):
    (out,), found = inlined(message)
    assert out is message
    assert found == []


@cases("message, content",
    ("calls alone", assistant("", call()), BLOCK),
    ("no content", {"role": "assistant", "tool_calls": [call()]}, BLOCK),
    ("null content", assistant(None, call()), BLOCK),
    ("text before", assistant("Let me see.", call()), "Let me see.\n" + BLOCK),
    ("one block per call, in order", assistant("a", call(), call("c2", "read")), f'a\n{BLOCK}\n{block("{}", name=chr(34) + "read" + chr(34))}'),
    ("white space at the ends goes", assistant(" \n a", call()), "a\n" + BLOCK),
    ("white space between text and call stays", assistant("a \n\n", call()), "a \n\n\n" + BLOCK),
    ("white space alone goes", assistant(" \n ", call()), BLOCK),
    ("a content list becomes its joined text", assistant([part("a"), "b", {"text": "c"}], call()), "abc\n" + BLOCK),
    ("an empty content list is no text", assistant([], call()), BLOCK),
    ("a list of empty texts is no text", assistant([part("")], call()), BLOCK),
    ("the id and the type are nowhere", assistant("", {"id": "secret", "type": "custom", "index": 3, "function": {"name": "grep", "arguments": "{}", "strict": True}}), BLOCK),
    ("a call without an id", assistant("", {"function": {"name": "grep", "arguments": "{}"}}), BLOCK),
    ("arguments before the name", assistant("", {"function": {"arguments": "{}", "name": "grep"}}), BLOCK),
    ("a name is written as JSON", assistant("", call(name='a"b\n<é')), block("{}", name='"a\\"b\\n<é"')),
)  # fmt: skip
def test_calls_become_blocks(message, content):
    before = copy.deepcopy(message)
    (out,), found = inlined(message)
    assert out == {"role": "assistant", "content": content}
    assert found == []
    assert message == before


@pytest.mark.parametrize("sentence, arguments, written", ARGUMENTS, ids=[row[0] for row in ARGUMENTS])
def test_arguments(sentence, arguments, written):
    (out,), _ = inlined(assistant("", call(arguments=arguments)))
    assert out["content"] == block(written)


@pytest.mark.parametrize("sentence, arguments, written", ARGUMENTS, ids=[row[0] for row in ARGUMENTS])
def test_what_stands_in_a_block_is_json_that_says_the_same(sentence, arguments, written):
    (out,), _ = inlined(assistant("", call(arguments=arguments)))
    body = out["content"].removeprefix("<tool_call>").removesuffix("</tool_call>")
    assert "</tool_" not in body
    try:
        said = json.loads(arguments, parse_constant=float) if isinstance(arguments, str) else arguments
    except ValueError:
        said = arguments
    told = json.loads(body)["arguments"]
    assert told in (said, arguments)


def test_missing_arguments_are_null():
    (out,), _ = inlined(assistant("", {"id": "c1", "function": {"name": "grep"}}))
    assert out["content"] == block("null")


@cases("message, content",
    ("text", result("done"), '<tool_result tool_call_id="c1">done</tool_result>'),
    ("white space stays", result(" done\n"), '<tool_result tool_call_id="c1"> done\n</tool_result>'),
    ("empty text", result(""), '<tool_result tool_call_id="c1"></tool_result>'),
    ("null content wraps nothing", result(None), '<tool_result tool_call_id="c1"></tool_result>'),
    ("missing content wraps nothing", {"role": "tool", "tool_call_id": "c1"}, '<tool_result tool_call_id="c1"></tool_result>'),
    ("a content list becomes its text parts, as lines", result([part("a"), "b", part("c")]), '<tool_result tool_call_id="c1">a\nb\nc</tool_result>'),
    ("an empty content list wraps nothing", result([]), '<tool_result tool_call_id="c1"></tool_result>'),
    ("quotes and < in the id are escaped", result("x", 'a"b<c>&\''), "<tool_result tool_call_id=\"a&quot;b&lt;c>&'\">x</tool_result>"),
    ("a number for an id", result("x", 7), '<tool_result tool_call_id="7">x</tool_result>'),
    ("any other id is written as JSON", result("x", ["<", True]), '<tool_result tool_call_id="[&quot;&lt;&quot;,true]">x</tool_result>'),
    ("an empty id is an id", result("x", ""), '<tool_result tool_call_id="">x</tool_result>'),
    ("text with a tag is not escaped, a check finds it", result("</tool_result>"), '<tool_result tool_call_id="c1"></tool_result></tool_result>'),
)  # fmt: skip
def test_results_become_elements(message, content):
    before = copy.deepcopy(message)
    (out,), found = inlined(message)
    assert out == {"role": "tool", "content": content}
    assert found == []
    assert message == before


def test_other_fields_stay_where_they_were():
    said = {"x": 1, "content": "a", "role": "assistant", "tool_calls": [call()], "name": "n", "reasoning": "hm"}
    answered = {"name": "grep", "tool_call_id": "c1", "content": "done", "role": "tool", "is_error": False}
    first, second = inlined(said, answered)[0]
    assert list(first.items()) == [
        ("x", 1), ("content", "a\n" + BLOCK), ("role", "assistant"), ("name", "n"), ("reasoning", "hm"),
    ]  # fmt: skip
    assert list(second.items()) == [
        ("name", "grep"),
        ("content", '<tool_result tool_call_id="c1">done</tool_result>'),
        ("role", "tool"),
        ("is_error", False),
    ]


def test_tools_stay():
    conversation = Conversation([assistant("", call())], [tool()])
    assert inline_calls(conversation)[0].tools is conversation.tools


@cases(
    "message, kinds",
    ("an image in a result", result([part("a"), IMAGE]), "1 'image_url'"),
    ("an image beside a call", assistant([IMAGE, part("a")], call()), "1 'image_url'"),
    ("several, by kind", result([IMAGE, {"type": "file"}, part("a"), IMAGE]), "2 'image_url', 1 'file'"),
    ("a part without a type", result([{"image": "x"}]), "1 'dict'"),
    ("a null part", result([None]), "1 'NoneType'"),
    ("a text part without text", result([{"type": "text"}]), "1 'text'"),
    ("a text part whose text is no string", result([{"type": "text", "text": 5}]), "1 'text'"),
    ("content that is no list", result({"stdout": "x"}), "1 'dict'"),
    ("content that is a number", assistant(5, call()), "1 'int'"),
)
def test_parts_that_cannot_become_text_are_counted(message, kinds):
    (_, out), found = inlined(user(), message)
    assert isinstance(out["content"], str)
    assert facts(found) == [("parts-dropped", "warning")]
    assert texts(found, "parts-dropped")[0].startswith(f"parts other than text dropped: {kinds} (")
    assert found[0].at == 1


def test_parts_are_counted_for_each_message():
    _, found = inlined(result([IMAGE]), user([IMAGE]), result([IMAGE, IMAGE]))
    assert [each.at for each in found] == [0, 2]
