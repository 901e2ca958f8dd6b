from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsquash import chat
from chatsquash.formats import openai_responses as responses
from chatsquash.formats.base import Loaded, Stream, Tools, TurnError
from chatsquash.model import Reply, WrongType


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def output_text(text: str, **more: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": [part], **more}


def call(call_id: Any = "c1", name: str = "add", arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **more}


def result(call_id: Any = "c1", output: Any = "3", **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output, **more}


def thought(text: str = "", **more: Any) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": text}] if text else []
    return {"type": "reasoning", "id": "rs_1", "summary": summary, **more}


def bare(**more: Any) -> dict[str, Any]:
    """An item without the members that are ``None``."""
    return {key: value for key, value in more.items() if value is not None}


USER = {"role": "user", "content": "go on"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}


def x(**held: Any) -> chat.Private:
    return chat.Private(held)


def made(call_id: str = "c1", name: str = "add", arguments: str = "{}", **more: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def read(turns: list[Any]) -> list[Any]:
    messages, state = [], responses.START
    for turn in turns:
        loaded, state = responses.load(turn, state)
        messages += loaded
    return messages + responses.close(state)


def assistant(content: Any = None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def tool(content: Any, call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


WAV = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
CITED = {"type": "url_citation", "url": "https://example.org", "start_index": 0, "end_index": 2, "title": "t"}

ONE_MESSAGE = [
    ("hi", user("hi"), "a plain string as input is a user message"),
    ({"role": "user", "content": "hi"}, user("hi"), "the type of a message is optional"),
    (
        {"type": "message", "role": "developer", "content": "x"},
        {"role": "developer", "content": "x"},
        "so it may be there",
    ),
    ({"role": "system", "content": "x"}, {"role": "system", "content": "x"}, "a system message stays where it is"),
    (
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        user("hi", _x=x(content_list=True)),
        "one text block is a plain string",
    ),
    (
        {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]},
        user([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        "several text blocks stay a list",
    ),
    ({"role": "user", "content": []}, user(None, _x=x(content_list=True)), "an empty content list is no text"),
    (
        {
            "role": "user",
            "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"}],
        },
        user([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}}]),
        "an image keeps its place and its detail",
    ),
    (
        {
            "role": "user",
            "content": [{"type": "input_file", "file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf"}],
        },
        user([{"type": "file", "file": {"file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf"}}]),
        "a file is a file part",
    ),
    (
        {"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]},
        user([{"type": "file", "file": {"file_id": "file-1"}}]),
        "a file that was uploaded is a file part, too",
    ),
    ({"role": "user", "content": [WAV]}, user([WAV]), "audio is the same in both"),
    (
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "a"},
                {"type": "input_file", "file_url": "https://example.org/a"},
            ],
        },
        user([{"type": "text", "text": "a"}, {"type": "file", "file": {"file_url": "https://example.org/a"}}]),
        "and so is one that is only a URL",
    ),
    (
        {"role": "user", "content": [{"type": "input_image", "file_id": "file-1"}]},
        user(None, _x=x(content_list=True, native=[{"type": "input_image", "file_id": "file-1"}])),
        "an image that is only an id is kept as logged",
    ),
    (
        {"role": "user", "content": [{"type": "input_new", "y": 1}, 5]},
        user(None, _x=x(content_list=True, native=[{"type": "input_new", "y": 1}, 5])),
        "an unknown block is kept as logged",
    ),
    (
        {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "add"}]},
        {
            "role": "developer",
            "content": None,
            "_x": x(
                native=[
                    {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "add"}]}
                ]
            ),
        },
        "tools that come later stand in a message of their own, as logged",
    ),
]

ASSISTANT = [
    ([said("hi")], assistant("hi"), "the easy form of an assistant's message"),
    ([output_text("hi")], assistant("hi", _x=x(content_list=True)), "its full form"),
    ([said("")], assistant(""), "an empty text stays empty, which is not missing"),
    (
        [said("a"), said("b")],
        assistant([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], _x=x(breaks=[1])),
        "there is no turn between two items of the assistant",
    ),
    ([call()], assistant(tool_calls=[made()]), "a call alone has no content"),
    (
        [call("c1"), call("c2", "sub"), call("c3")],
        assistant(tool_calls=[made("c1"), made("c2", "sub"), made("c3")]),
        "parallel calls stay apart and in order, where others give all of them index 0",
    ),
    (
        [thought("why"), said("text"), call()],
        assistant("text", reasoning_content="why", tool_calls=[made()], _x=x(thinking=[{"text": "why"}])),
        "reasoning, text and calls are one message, where others drop the reasoning",
    ),
    (
        [said("a"), call(), said("b"), said("c")],
        assistant("a", tool_calls=[made()], _x=x(after=["b", "c"], order="mcmm")),
        "text behind a call is kept apart",
    ),
    (
        [call(), said("b")],
        assistant(tool_calls=[made()], _x=x(after=["b"], order="cm")),
        "text behind a call is no content, even if it is the only text",
    ),
    (
        [thought("a"), thought(), thought("b")],
        assistant(reasoning_content="a\n\nb", _x=x(thinking=[{"text": "a"}, {}, {"text": "b"}])),
        "the texts of several reasoning items are joined",
    ),
    ([thought()], assistant(), "reasoning without text or ciphertext is no reasoning, and never an empty string"),
    (
        [thought(encrypted_content="gAAA")],
        assistant(_x=x(thinking=[{"encrypted": "gAAA", "id": "rs_1"}])),
        "encrypted reasoning keeps its id",
    ),
    (
        [bare(**thought("sum", content=[{"type": "reasoning_text", "text": "raw"}]))],
        assistant(
            reasoning_content="raw",
            _x=x(
                thinking=[{"text": "raw", "item": thought("sum", content=[{"type": "reasoning_text", "text": "raw"}])}]
            ),
        ),
        "the reasoning itself comes before its summary, which is kept with the item",
    ),
    (
        [
            {
                "type": "reasoning",
                "id": "r",
                "content": None,
                "summary": [{"type": "summary_text", "text": t} for t in "ab"],
            }
        ],
        assistant(
            reasoning_content="a\n\nb",
            _x=x(
                thinking=[
                    {
                        "text": "a\n\nb",
                        "item": {
                            "type": "reasoning",
                            "id": "r",
                            "content": None,
                            "summary": [{"type": "summary_text", "text": t} for t in "ab"],
                        },
                    }
                ]
            ),
        ),
        "the parts of a summary are joined, and kept with the item",
    ),
    (
        [said("<think>\nno\n</think>"), said("yes")],
        assistant(
            [{"type": "text", "text": "<think>\nno\n</think>"}, {"type": "text", "text": "yes"}], _x=x(breaks=[1])
        ),
        "thinking that was logged as text stays text",
    ),
    (
        [thought("a"), SEARCH, thought("b"), output_text("found")],
        assistant(
            "found",
            reasoning_content="a\n\nb",
            _x=x(content_list=True, thinking=[{"text": "a"}, {"text": "b"}], native=[SEARCH], order="rnrm"),
        ),
        "what the service did in between is kept as logged, and the text behind it is content",
    ),
    (
        [{"type": "tool_search_call", "call_id": None}, {"type": "tool_search_output", "tools": []}, call()],
        assistant(
            tool_calls=[made()],
            _x=x(
                native=[{"type": "tool_search_call", "call_id": None}, {"type": "tool_search_output", "tools": []}],
                order="nnc",
            ),
        ),
        "what the service's own tool gave closes nothing",
    ),
    ([{"id": "msg_1"}], assistant(_x=x(native=[{"id": "msg_1"}])), "nothing but an id is a reference"),
    ([{"type": "new"}], assistant(_x=x(native=[{"type": "new"}])), "an item of an unknown type is kept as logged"),
    (
        [output_text("a", content=[{"type": "refusal", "refusal": "no"}])],
        assistant(refusal="no", _x=x(content_list=True)),
        "a refusal is no content",
    ),
    (
        [output_text("a", phase="commentary"), output_text("b", phase="final_answer")],
        assistant(
            [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            _x=x(phase=["commentary", "final_answer"], breaks=[1]),
        ),
        "phases are kept",
    ),
    (
        [output_text("a", content=[{"type": "output_text", "text": "ab", "annotations": [CITED]}])],
        assistant("ab", _x=x(content_list=True, annotations=[[CITED]])),
        "citations are kept",
    ),
    (
        [
            output_text(
                "a", content=[{"type": "function_call", "name": "add"}, {"type": "input_image", "image_url": "u"}]
            )
        ],
        assistant(
            _x=x(
                content_list=True,
                native=[{"type": "function_call", "name": "add"}, {"type": "input_image", "image_url": "u"}],
            )
        ),
        "a call that another converter put into a message, and an image, are kept as logged",
    ),
    (
        [call(namespace="crm", caller={"type": "direct"})],
        assistant(tool_calls=[made(_x=x(namespace="crm", caller={"type": "direct"}))]),
        "a call keeps its namespace and its caller",
    ),
    (
        [{"type": "custom_tool_call", "call_id": "c1", "name": "shell", "input": "ls"}],
        assistant(tool_calls=[{"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls"}}]),
        "a custom call stays one",
    ),
    (
        [thought("a", role="user"), call(role="user")],
        assistant(reasoning_content="a", tool_calls=[made()], _x=x(thinking=[{"text": "a"}])),
        "whatever role they name, reasoning and calls are the assistant's",
    ),
    ([call(status=None, id="fc_1")], assistant(tool_calls=[made()]), "status and item id of a call say nothing"),
]

ARGUMENTS = [
    ('{ "a" :1.0}', '{ "a" :1.0}', "a string is kept to the byte"),
    ("", "", "even the empty one"),
    ('{"a":', '{"a":', "even one that is no JSON"),
    ('{"n":12345678901234567890}', '{"n":12345678901234567890}', "digits stay"),
    ({"b": 1, "a": "ü"}, '{"b":1,"a":"ü"}', "an object is compact text, in its order"),
    ([1], "[1]", "so is what is no object"),
    (None, "{}", "null is no arguments"),
    ({"INVALID_JSON": "{oops"}, "{oops", "an object that wraps what was no object is unwrapped"),
    ({"INVALID_JSON": 1}, '{"INVALID_JSON":1}', "but only that one"),
    ('{"INVALID_JSON":"a"}', '{"INVALID_JSON":"a"}', "and not in a string"),
]

OUTPUTS = [
    ("3", "3", {}, "text is text"),
    ("", "", {}, "so is the empty one"),
    ('{"a":1}', '{"a":1}', {}, "text that looks like JSON stays text, unmarked"),
    ("ERROR: no", "ERROR: no", {}, "a prefix is never taken for an error"),
    ('{"error":"no"}', '{"error":"no"}', {}, "nor is a wrapper"),
    ({"a": 1}, '{"a":1}', {"json": True}, "an object is marked JSON"),
    ([1, 2], "[1,2]", {"json": True}, "so is a list of what are no blocks"),
    (None, "null", {"json": True}, "so is null"),
    ([], "", {"content_list": True}, "an empty list of blocks is an empty text"),
    ([{"type": "input_text", "text": "a"}], "a", {"content_list": True}, "one text block is a string"),
    (
        [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "u"}],
        [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}],
        {},
        "texts and images stay in their order",
    ),
    (
        [{"type": "input_file", "file_url": "u", "filename": "n"}],
        [{"type": "file", "file": {"file_url": "u", "filename": "n"}}],
        {},
        "a file that is elsewhere is a part",
    ),
    (
        [{"type": "input_file", "filename": "n"}],
        "",
        {"content_list": True, "native": [{"type": "input_file", "filename": "n"}]},
        "what is no part is kept as logged",
    ),
]

CONVERSATIONS = [
    (
        [USER, call(), result(), said("done")],
        [USER, assistant(tool_calls=[made()]), tool("3"), assistant("done")],
        "a result closes what the assistant said",
    ),
    (
        [call("c1"), call("c2"), result("c2", "2"), result("c1", "1")],
        [assistant(tool_calls=[made("c1"), made("c2")]), tool("2", "c2"), tool("1", "c1")],
        "results stay in their order",
    ),
    (
        [call("c1"), result("c1"), call("c2"), result("c2")],
        [assistant(tool_calls=[made("c1")]), tool("3"), assistant(tool_calls=[made("c2")]), tool("3", "c2")],
        "calls with a result between them are two messages",
    ),
    (
        [call(), result(), USER, result("zz")],
        [assistant(tool_calls=[made()]), tool("3"), USER, tool("3", "zz")],
        "a result that answers nothing keeps its id",
    ),
    (
        [call("c0"), result("c0", "1"), call("c0"), result("c0", "2")],
        [assistant(tool_calls=[made("c0")]), tool("1", "c0"), assistant(tool_calls=[made("c0")]), tool("2", "c0")],
        "ids that come again stay as they are",
    ),
    (
        [said("a"), {"role": "developer", "content": "x"}, said("b")],
        [assistant("a"), {"role": "developer", "content": "x"}, assistant("b")],
        "anybody else closes what the assistant said",
    ),
    (
        [
            {"type": "custom_tool_call", "call_id": "c1", "name": "sh", "input": "ls"},
            {"type": "custom_tool_call_output", "call_id": "c1", "output": "a"},
        ],
        [assistant(tool_calls=[{"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]), tool("a")],
        "a custom call's result is a result",
    ),
    (
        [call(), result(name="add")],
        [assistant(tool_calls=[made()]), tool("3", name="add")],
        "a result keeps the name that it was logged with",
    ),
]

LOST = x(synthetic_id=True)
MISSING_IDS = [
    (
        [call(None), call(""), result(None, "1"), result(None, "2"), call(5)],
        [
            assistant(tool_calls=[made("call_1", _x=LOST), made("call_2", _x=LOST)]),
            tool("1", "call_1", _x=LOST),
            tool("2", "call_2", _x=LOST),
            assistant(tool_calls=[made("call_3", _x=LOST)]),
        ],
        "missing ids are numbered over the whole conversation, and results take them in their order",
    ),
    (
        [call(None, "add"), call(None, "sub"), result(None, "s", name="sub"), result(None, "a")],
        [
            assistant(tool_calls=[made("call_1", _x=LOST), made("call_2", "sub", _x=LOST)]),
            tool("s", "call_2", name="sub", _x=LOST),
            tool("a", "call_1", _x=LOST),
        ],
        "a result with a name answers the first call of that name",
    ),
    (
        [call("c1"), call("c2"), result("c1"), result(None, "4")],
        [assistant(tool_calls=[made("c1"), made("c2")]), tool("3"), tool("4", "c2", _x=LOST)],
        "a result without an id answers a call that has none yet",
    ),
    (
        [result(None), call("c1", "add"), result(None, name="other"), result("c1"), result(None)],
        [
            tool("3", "orphan_1", _x=LOST),
            assistant(tool_calls=[made("c1")]),
            tool("3", "orphan_2", name="other", _x=LOST),
            tool("3"),
            tool("3", "orphan_3", _x=LOST),
        ],
        "a result that no call waits for is an orphan, and so is one whose name no call has",
    ),
    (
        [call("c1"), said("x"), USER, said("done"), result(None)],
        [
            assistant(tool_calls=[made("c1")], _x=x(after=["x"], order="cm")),
            USER,
            assistant("done"),
            tool("3", "orphan_1", _x=LOST),
        ],
        "only the calls of the assistant's last message wait",
    ),
]


def cases(rows):
    return [pytest.param(*row[:-1], id=row[-1]) for row in rows]


@pytest.mark.parametrize("turn, expected", cases(ONE_MESSAGE))
def test_an_item_of_somebody_else_is_a_message(turn, expected):
    assert responses.load(turn, responses.START) == Loaded([expected], responses.START)


@pytest.mark.parametrize("items, expected", cases(ASSISTANT))
def test_the_assistants_items_are_one_message(items, expected):
    assert read([*items, USER]) == [expected, USER]
    assert read(items) == [expected], "at the end of the input, too"
    assert list(read(items)[0]) == list(expected), "the members come in this order"


@pytest.mark.parametrize("arguments, expected", cases(ARGUMENTS))
def test_arguments_are_text(arguments, expected):
    [message] = read([call(arguments=arguments)])
    assert message["tool_calls"][0]["function"]["arguments"] == expected


def test_missing_members_of_a_call_are_not_invented():
    [message] = read([{"type": "function_call"}, {"type": "custom_tool_call"}])
    assert message["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": {"arguments": "{}"}, "_x": LOST},
        {"id": "call_2", "type": "custom", "custom": {"input": ""}, "_x": LOST},
    ]


@pytest.mark.parametrize("output, content, private", cases(OUTPUTS))
def test_a_result_is_text_or_parts(output, content, private):
    [message] = read([result(output=output)])
    assert message == tool(content, **({"_x": x(**private)} if private else {}))


def test_a_result_without_output_is_empty():
    assert read([{"type": "function_call_output", "call_id": "c1"}]) == [tool("")]


@pytest.mark.parametrize("turns, expected", cases(CONVERSATIONS + MISSING_IDS))
def test_a_conversation(turns, expected):
    assert read(turns) == expected


def test_what_is_private_is_told_from_a_member_of_that_name():
    [message] = read([call(namespace="a", call_id=None)])
    assert isinstance(message["tool_calls"][0]["_x"], chat.Private)


@pytest.mark.parametrize(
    "turn, problem",
    cases(
        [
            (None, "is no object", "null"),
            ([], "is no object", "a list"),
            ({}, "has no role", "an empty object"),
            ({"content": "x"}, "has no role", "no role"),
            ({"type": "message", "content": "x"}, "has no role", "a message without a role"),
            (
                {"role": "tool", "content": "x"},
                "has a role that is none of user, assistant, system, developer",
                "chat's role",
            ),
            ({"role": ["user"]}, "has a role that is none of user, assistant, system, developer", "a list as role"),
            ({"type": 1, "role": "user"}, "has a type that is a number, not a text", "a number as type"),
            (
                {"role": "user", "content": 1},
                "has content that is a number, not a text or a list",
                "a number as content",
            ),
            (
                {"role": "user", "content": {}},
                "has content that is an object, not a text or a list",
                "an object as content",
            ),
            (
                {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
                "has calls inside a message, which this format has not",
                "chat's calls are not lost silently",
            ),
        ]
    ),
)
def test_what_is_no_item_is_refused(turn, problem):
    with pytest.raises(TurnError) as caught:
        responses.load(turn, responses.START)
    assert str(caught.value) == problem


FROM = x(**{"from": "instructions"})


@pytest.mark.parametrize(
    "value, expected",
    cases(
        [
            (None, [], "null is none"),
            ("", [], "nor is the empty text"),
            ([], [], "nor an empty list"),
            ("be kind", [{"role": "system", "content": "be kind", "_x": FROM}], "a text is a system message"),
            (
                [{"role": "developer", "content": [{"type": "input_text", "text": "a"}]}, said("b")],
                [
                    {"role": "developer", "content": "a", "_x": x(content_list=True, **FROM)},
                    assistant("b", _x=FROM),
                ],
                "items keep their roles",
            ),
        ]
    ),
)
def test_instructions(value, expected):
    assert responses.system(value) == expected


@pytest.mark.parametrize("value", [1, True, {}, {"role": "user"}])
def test_instructions_of_another_type_are_refused(value):
    with pytest.raises(TurnError, match="not a text or a list of items"):
        responses.system(value)


PARAMETERS = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "tools, functions, hosted",
    cases([
        (
            [{"type": "function", "name": "add", "description": "d", "parameters": PARAMETERS, "strict": False}],
            [{"type": "function", "function": {"name": "add", "description": "d", "parameters": PARAMETERS, "strict": False}}],
            [],
            "a function is nested",
        ),
        (
            [{"type": "function", "name": "add", "description": None, "parameters": None, "strict": None}],
            [{"type": "function", "function": {"name": "add"}}],
            [],
            "null is nothing",
        ),
        (
            [{"type": "function", "name": "add", "defer_loading": True}],
            [{"type": "function", "function": {"name": "add"}, "_x": x(defer_loading=True)}],
            [],
            "what a function tool has no place for is kept",
        ),
        (
            [{"type": "function", "function": {"name": "add"}}],
            [{"type": "function", "function": {"name": "add"}}],
            [],
            "one that is nested already stays",
        ),
        (
            [{"type": "custom", "name": "sh", "format": {"type": "grammar", "syntax": "lark", "definition": "x"}}],
            [{"type": "custom", "custom": {"name": "sh", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "x"}}}}],
            [],
            "a custom tool, and its grammar, are nested",
        ),
        (
            [{"type": "namespace", "name": "crm", "description": "d", "tools": [{"type": "function", "name": "add"}, 1]}],
            [{"type": "function", "function": {"name": "add"}, "_x": x(namespace="crm")}],
            [1],
            "the tools of a namespace are tools",
        ),
        ([{"type": "web_search"}, "x"], [], [{"type": "web_search"}, "x"], "the service's own are left as logged"),
        (None, [], [], "null is none"),
        ({"type": "function", "name": "add"}, [{"type": "function", "function": {"name": "add"}}], [], "one tool is one"),
    ]),
)  # fmt: skip
def test_tools(tools, functions, hosted):
    assert responses.tools(tools) == Tools(functions, hosted)


@pytest.mark.parametrize("kind", ["additional_tools", "tool_search_output"])
def test_an_item_brings_tools(kind):
    item = {"type": kind, "role": "developer", "tools": [{"type": "function", "name": "add"}]}
    assert responses.turn_tools(item) == Tools([{"type": "function", "function": {"name": "add"}}], [])


@pytest.mark.parametrize("turn", ["x", None, {}, {"type": "mcp_list_tools", "tools": [{"name": "a"}]}])
def test_another_item_brings_no_tools(turn):
    assert responses.turn_tools(turn) == Tools([], [])


# Replies


def body(*output: Any, **more: Any) -> dict[str, Any]:
    return {"object": "response", "id": "resp_1", "status": "completed", "error": None, "output": list(output), **more}


@pytest.mark.parametrize(
    "response, message, reason",
    cases(
        [
            (body(output_text("hi")), assistant("hi", _x=x(content_list=True)), "stop", "a text"),
            (body(said("let me"), call()), assistant("let me", tool_calls=[made()]), "tool_calls", "a call"),
            (
                body(said("a"), SEARCH, said("b")),
                assistant([{"type": "text", "text": t} for t in "ab"], _x=x(native=[SEARCH], order="mnm", breaks=[1])),
                "stop",
                "several messages with the service's own calls between them are one message",
            ),
            (
                body(call(), result(), said("done")),
                assistant(tool_calls=[made()], _x=x(after=["done"], native=[result()], order="cnm")),
                "tool_calls",
                "a result inside a response closes nothing",
            ),
            (
                body({"type": "message", "content": "hi"}),
                assistant("hi"),
                "stop",
                "a message without a role is the assistant's",
            ),
            (
                body(call(arguments='{"a'), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
                assistant(tool_calls=[made(arguments='{"a')]),
                "length",
                "out of tokens",
            ),
            (
                body(said("a"), status="incomplete", incomplete_details={"reason": "content_filter"}),
                assistant("a"),
                "content_filter",
                "filtered",
            ),
            (body(said("a"), status="incomplete"), assistant("a"), "incomplete", "incomplete for no reason"),
            (body(said("a"), status="in_progress"), assistant("a"), None, "not ended"),
            (body(said("a"), status="cancelled"), assistant("a"), "cancelled", "an unknown status is kept"),
            ({"output": [said("a")]}, assistant("a"), None, "no status"),
        ]
    ),
)
def test_a_reply(response, message, reason):
    assert responses.reply(response) == Reply(message, 1, reason)


@pytest.mark.parametrize(
    "response, problem, wrong",
    cases(
        [
            (None, "there is no response", None, "null"),
            ([], "response is a list", WrongType("response", "a list"), "a list"),
            (True, "response is a boolean", WrongType("response", "a boolean"), "a boolean"),
            ({}, "the response has no output", None, "an empty object"),
            (body(), "the response has no output", None, "no output"),
            ({"error": {"message": "no"}}, "the response is an error body", None, "an error"),
            (body(said("a"), error={"code": "x"}), "the response is an error body", None, "an error beside output"),
            (body(said("a"), status="failed"), "the response failed", None, "failed"),
            (body(USER, object="response.compaction"), "the response is a compaction", None, "a compaction"),
            (
                {"output": "x"},
                "response.output is a string",
                WrongType("response.output", "a string"),
                "a string as output",
            ),
            (
                {"output": [1.5]},
                "response.output[0] is a number",
                WrongType("response.output[0]", "a number"),
                "no item",
            ),
        ]
    ),
)
def test_no_reply(response, problem, wrong):
    assert responses.reply(response) == Reply(problem=problem, wrong=wrong)


# Streams


def event(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **more}


CREATED = event("created", response=body(status="in_progress"))
ADDED = event("output_item.added", output_index=0, item=output_text("", id="msg_1", content=[]))
HEL, LO = (event("output_text.delta", output_index=0, item_id="msg_1", content_index=0, delta=t) for t in ("hel", "lo"))
CALL_ADDED = event("output_item.added", output_index=1, item=call("c1", arguments="", id="fc_1"))
ARGS = [event("function_call_arguments.delta", output_index=1, item_id="fc_1", delta=t) for t in ("{", "}")]


def test_the_last_event_has_the_response():
    whole = body(output_text("hello"))
    assert responses.assemble([CREATED, ADDED, HEL, event("completed", response=whole)]) == Stream(whole, True)


@pytest.mark.parametrize("end", ["completed", "incomplete", "failed"])
def test_a_last_event_without_output_takes_the_items_that_came(end):
    done = event("output_item.done", output_index=0, item=output_text("hello"))
    found = responses.assemble([CREATED, done, event(end, response=body(status=end))])
    assert found == Stream(body(output_text("hello"), status=end), True)


def test_items_that_are_done_come_in_the_order_of_their_index():
    events = [event("output_item.done", output_index=at, item=said(str(at))) for at in (10, 2, 0)]
    found = responses.assemble([CREATED, *events])
    assert found == Stream(body(said("0"), said("2"), said("10"), status="in_progress"), False)


def test_what_came_of_a_stream_that_was_cut_off():
    found = responses.assemble([CREATED, ADDED, HEL, LO, CALL_ADDED, *ARGS])
    assert not found.whole
    assert responses.reply(found.body) == Reply(
        assistant("hello", tool_calls=[made()], _x=x(content_list=True)), 1, None
    )


def test_a_whole_text_is_not_added_to_its_pieces():
    done = event("output_text.done", output_index=0, item_id="msg_1", content_index=0, text="hello")
    [item] = responses.assemble([CREATED, ADDED, HEL, LO, done, done]).body["output"]
    assert item["content"] == [{"type": "output_text", "text": "hello"}]


def test_a_repeated_start_neither_repeats_ids_and_names_nor_drops_what_came():
    events = [CREATED, CALL_ADDED, ARGS[0], CALL_ADDED, ARGS[1]]
    assert responses.assemble(events).body["output"] == [call("c1", arguments="{}", id="fc_1")]


def test_calls_that_are_mixed_are_told_apart():
    second = event("output_item.added", output_index=2, item=call("c2", "sub", "", id="fc_2"))
    other = event("function_call_arguments.delta", output_index=2, item_id="fc_2", delta="[]")
    found = responses.assemble([CALL_ADDED, second, ARGS[0], other, ARGS[1]]).body["output"]
    assert [item["arguments"] for item in found] == ["{}", "[]"]


def test_ids_that_change_on_the_way_are_not_heeded():
    events = [{**each, "item_id": f"scrambled_{at}"} for at, each in enumerate([HEL, LO])]
    assert responses.assemble([ADDED, *events]).body["output"][0]["content"][0]["text"] == "hello"


def test_items_are_told_apart_by_id_where_there_is_no_index():
    events = [{key: each[key] for key in each if key != "output_index"} for each in (ADDED, HEL, CALL_ADDED, *ARGS, LO)]
    message = responses.reply(responses.assemble(events).body).message
    assert message == assistant("hello", tool_calls=[made()], _x=x(content_list=True))


@pytest.mark.parametrize(
    "kind, more, item",
    cases([
        ("output_text", {}, {"type": "message", "content": [{"type": "output_text", "text": "ab"}]}, "text"),
        ("refusal", {}, {"type": "message", "content": [{"type": "refusal", "refusal": "ab"}]}, "refusal"),
        ("reasoning_text", {}, {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "ab"}]}, "reasoning"),
        ("reasoning_summary_text", {}, {"type": "reasoning", "summary": [{"type": "summary_text", "text": "ab"}]}, "summary"),
        ("function_call_arguments", {}, {"type": "function_call", "arguments": "ab"}, "arguments"),
        ("custom_tool_call_input", {}, {"type": "custom_tool_call", "input": "ab"}, "input of a custom tool"),
        ("mcp_call_arguments", {}, {"type": "mcp_call", "arguments": "ab"}, "arguments of an MCP tool"),
        ("code_interpreter_call_code", {}, {"type": "code_interpreter_call", "code": "ab"}, "code"),
    ]),
)  # fmt: skip
def test_a_stream_that_lost_its_beginning(kind, more, item):
    events = [event(f"{kind}.delta", output_index=0, delta=t, **more) for t in "ab"]
    assert responses.assemble(events) == Stream({"object": "response", "output": [item]}, False)


def test_parts_come_in_their_order():
    events = [
        event("reasoning_summary_text.delta", output_index=0, summary_index=at, delta=text)
        for at, text in [(1, "b"), (0, "a"), (1, "b")]
    ]
    [item] = responses.assemble(events).body["output"]
    assert [part["text"] for part in item["summary"]] == ["a", "bb"]


@pytest.mark.parametrize(
    "events, error",
    cases([
        ([CREATED, {"type": "error", "code": "x", "message": "no", "sequence_number": 2}], {"code": "x", "message": "no"}, "flat"),
        ([CREATED, {"type": "error", "error": {"message": "no"}}], {"message": "no"}, "nested"),
        ([{"error": {"message": "no"}}], {"message": "no"}, "a chunk without a type"),
    ]),
)  # fmt: skip
def test_an_error_in_a_stream_gives_an_error_body(events, error):
    found = responses.assemble(events)
    assert found == Stream({"error": error}, True)
    assert responses.reply(found.body).problem == "the response is an error body"


@pytest.mark.parametrize("events", [[], [1, None, "x", []], [{"type": "ping"}], [{"type": ["x"]}]])
def test_a_stream_of_nothing(events):
    assert responses.assemble(events) == Stream(None, False)


# Recognition


REQUESTS = [
    ({"input": [USER]}, 6, "a list of messages"),
    ({"input": [call()]}, 6, "a list of items"),
    ({"input": [{"type": "shell_call_output"}]}, 6, "an item of a service's own tool"),
    ({"input": "hi", "instructions": "x"}, 6, "a text with instructions"),
    ({"input": [], "previous_response_id": "resp_1"}, 6, "nothing new in a chain"),
    ({"input": "hi", "tools": [{"type": "function", "name": "add"}]}, 6, "a text with flat tools"),
    ({"input": [{"content": [{"type": "input_text", "text": "x"}]}]}, 7, "parts of the format"),
    ({"input": [1, {"type": "reasoning"}], "messages": []}, 7, "items beside messages"),
    ({"input": "hi", "model": "m"}, None, "a text alone may be for embeddings"),
    ({"input": ["hi"], "model": "m"}, None, "texts are for embeddings"),
    ({"input": "hi", "store": True, "encoding_format": "float"}, None, "so are these"),
    ({"input": "hi", "instructions": "slowly", "voice": "v"}, None, "this is for speech"),
    ({"input": [{"type": "text", "text": "x"}], "model": "moderation"}, None, "this is for moderation"),
    ({"input": "hi", "tools": [{"type": "function", "function": {"name": "add"}}]}, None, "chat's tools are no sign"),
    ({"messages": [USER]}, None, "chat"),
    ({"input": '[{"type":"function_call"}]'}, None, "nothing is looked for in strings"),
    ({"input": {"role": "user"}}, None, "an object is no list"),
    ({}, None, "nothing"),
]


def rank(marks, value):
    return min((mark.rank for mark in marks if mark.test(value)), default=None)


@pytest.mark.parametrize("request_body, expected", cases(REQUESTS))
def test_a_request_is_recognised(request_body, expected):
    assert rank(responses.marks.request, request_body) == expected


@pytest.mark.parametrize(
    "response, expected",
    cases(
        [
            (body(said("a")), 4, "a response"),
            ({"object": "response.compaction", "output": []}, 4, "a compaction"),
            ({"object": "chat.completion", "output": []}, None, "another object"),
            ({"object": "response"}, None, "no output"),
            ({"object": ["response"], "output": []}, None, "a list as object"),
        ]
    ),
)
def test_a_response_is_recognised(response, expected):
    assert rank(responses.marks.response, response) == expected


@pytest.mark.parametrize(
    "one, expected",
    cases(
        [
            (CREATED, 3, "a beginning"),
            ({"type": "response.output_text.delta", "delta": "a"}, 3, "old logs have no sequence number"),
            ({"type": "error", "message": "no", "sequence_number": 1}, 3, "an error"),
            ({"type": "error", "error": {}}, None, "an error of another format"),
            ({"type": "message_start", "sequence_number": 1}, None, "another format's event"),
            ({"type": "response.x"}, None, "a name alone"),
        ]
    ),
)
def test_an_event_is_recognised(one, expected):
    assert rank(responses.marks.event, one) == expected


# Laws


KEYS = [
    *("type", "role", "content", "text", "id", "call_id", "name", "arguments", "input", "output", "summary", "tools"),
    *("refusal", "image_url", "file_data", "input_audio", "item", "item_id", "output_index", "content_index", "delta"),
    *("response", "error", "status", "incomplete_details", "object", "instructions", "format", "custom", "function"),
]
WORDS = [
    *("message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"),
    *(
        "user",
        "assistant",
        "tool",
        "web_search_call",
        "input_text",
        "output_text",
        "refusal",
        "input_image",
        "namespace",
    ),
    *("input_file", "input_audio", "additional_tools", "item_reference", "custom", "function", "grammar", "error", ""),
    *("response.output_text.delta", "response.output_item.added", "response.output_item.done", "response.completed"),
    *("response.function_call_arguments.done", "incomplete", "failed", "response", "c1", "\ud800"),
]
LEAVES = (
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats(allow_nan=False) | st.sampled_from(WORDS) | st.text()
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=25,
)
TURNS = VALUES | st.sampled_from([USER, call(), call(None), result(), result(None), thought("a"), SEARCH, said("a")])


@settings(max_examples=400, deadline=None)
@given(st.lists(TURNS, max_size=6))
def test_no_turn_raises_anything_else_or_is_changed_and_equal_states_load_equally(turns):
    state = again = responses.START
    before = deepcopy(turns)
    for turn in turns:
        try:
            loaded = responses.load(turn, state)
        except TurnError:
            continue
        assert loaded == responses.load(deepcopy(turn), again)
        state, again = loaded.state, deepcopy(loaded.state)
        assert state == again
        assert responses.close(state) == responses.close(again)
    assert turns == before


@settings(max_examples=400, deadline=None)
@given(VALUES)
def test_nothing_raises_on_any_json(value):
    before = deepcopy(value)
    found = responses.reply(value)
    assert (found.message is None) == (found.problem is not None)
    responses.tools(value)
    responses.turn_tools(value)
    try:
        responses.system(value)
    except TurnError:
        pass
    for mark in [*responses.marks.request, *responses.marks.response, *responses.marks.event]:
        if isinstance(value, dict):
            assert mark.test(value) in (True, False)
            assert mark.test({"input": value, "tools": value, "object": value, "output": value}) in (True, False)
    assert value == before


@settings(max_examples=400, deadline=None)
@given(st.lists(VALUES | st.sampled_from([CREATED, ADDED, HEL, LO, CALL_ADDED, *ARGS]), max_size=8))
def test_no_stream_raises_or_is_changed(events):
    before = deepcopy(events)
    found = responses.assemble(events)
    responses.reply(found.body)
    assert found == responses.assemble(events)
    assert events == before


def test_a_state_tells_one_from_true():
    one, true, real = (responses.load({"type": "new", "n": n}, responses.START).state for n in (1, True, 1.0))
    assert one != true
    assert one != real
    assert one == responses.load({"type": "new", "n": 1}, responses.START).state


def test_the_state_of_a_turn_can_be_gone_on_from_twice():
    state = responses.load(said("a"), responses.START).state
    responses.load(said("b"), state)
    responses.load(USER, state)
    assert responses.close(state) == [assistant("a")]
    assert responses.load(call(), state).state != responses.load(result(), state).state
