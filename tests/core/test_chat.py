"""What is read off messages: text, parts, calls, tokens."""

from chatsquash.core import chat
from tests.checks.rows import assistant, call, result, user
from tests.conftest import cases

IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}


@cases(
    "part, text",
    ("a text part", {"type": "text", "text": "a"}, "a"),
    ("a text part with other fields", {"type": "text", "text": "a", "cache_control": {}}, "a"),
    ("a text part that is empty", {"type": "text", "text": ""}, ""),
    ("a part without a type", {"text": "a"}, "a"),
    ("a bare string", "a", "a"),
    ("a part with a null type", {"type": None, "text": "a"}, None),
    ("an image", IMAGE, None),
    ("text of another type", {"type": "thinking", "text": "a"}, None),
    ("a text part without text", {"type": "text"}, None),
    ("a text part whose text is a number", {"type": "text", "text": 5}, None),
    ("null", None, None),
    ("a number", 5, None),
    ("a list", ["a"], None),
    ("an empty object", {}, None),
)
def test_the_text_of_a_part(part, text):
    assert chat.part_text(part) == text


@cases(
    "content, text, others",
    ("a string", "a", "a", []),
    ("an empty string", "", "", []),
    ("text parts joined with nothing between", [{"type": "text", "text": "a"}, "b", {"text": "c"}], "abc", []),
    ("an empty list", [], "", []),
    ("an image is no text", [IMAGE], "", [IMAGE]),
    ("images are left out of the text", ["a", IMAGE, "b", None], "ab", [IMAGE, None]),
    ("null", None, None, []),
    ("a number", 5, None, [5]),
    ("false", False, None, [False]),
    ("an object", {"type": "text", "text": "a"}, None, [{"type": "text", "text": "a"}]),
)
def test_the_text_of_a_message_and_what_is_no_text(content, text, others):
    assert chat.text(user(content)) == text
    assert chat.other_parts(user(content)) == others


def test_a_message_without_content_has_no_text():
    assert chat.text({"role": "user"}) is None
    assert chat.other_parts({"role": "user"}) == []


@cases(
    "message, token",
    ("system", {"role": "system", "content": "a"}, "system"),
    ("developer counts as system", {"role": "developer", "content": "a"}, "system"),
    ("user", user(), "user"),
    ("tool", result(), "tool"),
    ("another role is itself", {"role": "function"}, "function"),
    ("an empty role is itself", {"role": ""}, ""),
    ("a role in another case is another role", {"role": "Assistant", "content": "a"}, "Assistant"),
    ("text", assistant("a"), "Ac"),
    ("text in parts", assistant([IMAGE, {"type": "text", "text": "a"}]), "Ac"),
    ("calls", assistant(None, call()), "At"),
    ("calls beside white space", assistant(" \n", call()), "At"),
    ("a legacy call", assistant(None, function_call={"name": "a"}), "At"),
    ("calls of the wrong type are calls", assistant(None, tool_calls={"a": 1}), "At"),
    ("both", assistant("a", call()), "Act"),
    ("neither", assistant(""), "A"),
    ("white space is no text", assistant(" \n\u00a0"), "A"),
    ("an image is no text", assistant([IMAGE]), "A"),
    ("null is no text", assistant(None), "A"),
    ("missing content is no text", {"role": "assistant"}, "A"),
    ("an empty list of calls is no call", assistant("a", tool_calls=[]), "Ac"),
    ("null is no call", assistant("a", tool_calls=None, function_call=None), "Ac"),
    ("a user calls nothing", {**user(), "tool_calls": [call()]}, "user"),
)
def test_the_token_of_a_message(message, token):
    assert chat.role_token(message) == token


@cases(
    "message, count",
    ("no calls", assistant("a"), 0),
    ("native calls", assistant("a", call(), call("c2")), 2),
    ("native calls that are no objects", assistant("a", None, "x"), 2),
    ("a legacy call", assistant("a", function_call={"name": "a"}), 1),
    ("native calls go before a legacy one", assistant("a", call(), call("c2"), function_call={"name": "a"}), 2),
    ("a legacy call goes before tags", assistant("<tool_call><tool_call>", function_call={"name": "a"}), 1),
    ("tags in the text", assistant("<tool_call>{}</tool_call>\n<tool_call>{}</tool_call>"), 2),
    ("tags in parts", assistant([{"type": "text", "text": "<tool_call>"}, IMAGE]), 1),
    ("tags beside an empty list of calls", assistant("<tool_call>", tool_calls=[]), 1),
    ("tags of a user", user("<tool_call>"), 0),
    ("calls of a user", {**user(), "tool_calls": [call()]}, 0),
)
def test_the_number_of_calls(message, count):
    assert chat.call_count(message) == count


def test_calls_are_the_objects_in_an_assistants_list():
    assert chat.calls(assistant("", call(), None, "x", call("c2"))) == [call(), call("c2")]
    assert chat.calls(assistant("", tool_calls={"id": "c1"})) == []
    assert chat.calls({**user(), "tool_calls": [call()]}) == []


def test_a_call_has_a_name_if_its_function_has_one_in_letters():
    names = [chat.call_name(call(name=name)) for name in ("grep", "", None, 5)]
    assert names == ["grep", None, None, None]
    assert [chat.call_name(each) for each in ({}, {"function": None}, {"function": "a"}, {"name": "a"})] == [None] * 4


def test_a_tool_has_a_name_if_it_is_an_object_with_one_in_letters():
    tools = [{"name": "grep"}, {"name": ""}, {"name": 5}, {}, "grep", None, ["grep"]]
    assert [chat.tool_name(tool) for tool in tools] == ["grep", *[None] * 6]


def test_a_trace_counts_repetitions():
    talk = [{"role": "developer"}, user(), assistant("a", call()), result(), result(), result(), assistant("b")]
    assert chat.trace(talk) == "system user Act tool*3 Ac"
    assert chat.trace([]) == ""
    assert chat.trace([user(), user(), assistant("a"), user()]) == "user*2 Ac user"
