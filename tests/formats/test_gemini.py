"""Gemini's contents, tools, answers and streams as canonical ones."""

from __future__ import annotations

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.chat import PRIVATE, Private, private
from chatsquash.formats import gemini
from chatsquash.formats.base import TurnError
from chatsquash.model import Reply, WrongType

PIXEL = "iVBORw0KGgo="


def load(*turns):
    messages, state = [], gemini.START
    for turn in turns:
        loaded = gemini.load(turn, state)
        messages, state = messages + loaded.messages, loaded.state
    return messages + gemini.close(state)


def turn(role, *parts):
    return {"role": role, "parts": list(parts)}


def text(value, **more):
    return {"text": value, **more}


def call(name="look", args=None, **more):
    return {"functionCall": {"name": name, **({} if args is None else {"args": args}), **more}}


def result(name="look", response=None, **more):
    return {"functionResponse": {"name": name, "response": {"output": "ok"} if response is None else response, **more}}


def made(number, name="look", arguments="{}", **held):
    function = {"name": name, "arguments": arguments}
    return {"id": f"call_{number}", "type": "function", "function": function, PRIVATE: {**held, "synthetic_id": True}}


def said(content, **more):
    return {"role": "assistant", "content": content, **more}


def answer(ident, content="ok", name="look", **held):
    message = {"role": "tool", "tool_call_id": ident, "name": name, "content": content}
    return {**message, PRIVATE: held} if held else message


def user(content, **held):
    return {"role": "user", "content": content, **({PRIVATE: held} if held else {})}


TURNS = [
    ([turn("user", text("hi"))], [user("hi")], "one text is a string"),
    ([{"parts": [text("hi")]}], [user("hi")], "a turn without a role is the user's"),
    ([{"role": None, "parts": [text("hi")]}], [user("hi")], "null is no role"),
    ([{"parts": [call()]}], [said(None, tool_calls=[made(1)])], "only the model calls, whether it says so or not"),
    ([turn("model", text("hi"))], [said("hi")], "the model is the assistant"),
    ([{"role": "model"}], [said("")], "a turn may have no parts, as an answer cut at once has none"),
    ([turn("user", "hi")], [user("hi")], "a part may be a bare text"),
    ([{"role": "user", "parts": {"text": "hi"}}], [user("hi")], "an only part may stand without its list"),
    (
        [turn("user", text("a"), text("b"))],
        [user([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])],
        "texts stay apart",
    ),
    ([turn("model", text("a"), text(""))], [said("a")], "an empty text beside another is nothing"),
    (
        [turn("user", {"text": "hi", "inline_data": None, "thought": None, "function_call": None})],
        [user("hi")],
        "members that are null are not there, as in dumps of the SDK's objects",
    ),
    # Reasoning
    (
        [turn("model", text("hm", thought=True), text("hi"))],
        [said("hi", reasoning_content="hm", _x={"thinking": [{"text": "hm"}]})],
        "a thought is reasoning and no text",
    ),
    (
        [turn("model", text("a", thought=True, thought_signature="s"), text("b", thought=True), text("c"))],
        [said("c", reasoning_content="a\n\nb", _x={"thinking": [{"text": "a", "signature": "s"}, {"text": "b"}]})],
        "thoughts are joined by an empty line, and stay apart in private",
    ),
    (
        [turn("model", text("", thought=True, thoughtSignature="s"), text("c"))],
        [said("c", _x={"thinking": [{"text": "", "signature": "s"}]})],
        "a thought with only a signature is no reasoning",
    ),
    (
        [turn("model", text("c", thoughtSignature="s"))],
        [said("c", _x={"thinking": [{"signature": "s"}]})],
        "the signature of a text is kept, and the text is not repeated as reasoning",
    ),
    (
        [turn("model", {"thoughtSignature": "s"})],
        [said("", _x={"thinking": [{"signature": "s"}]})],
        "a signature may be all that a part has",
    ),
    # Calls
    (
        [turn("model", call(args={"a": 1, "ü": [1.0]}))],
        [said(None, tool_calls=[made(1, arguments='{"a":1,"ü":[1.0]}')])],
        "arguments are compact JSON in their own order",
    ),
    (
        [turn("model", call(args={"my_key": 1, "file_data": {"mime_type": "x"}, "functionCall": None}))],
        [said(None, tool_calls=[made(1, arguments='{"my_key":1,"file_data":{"mime_type":"x"},"functionCall":null}')])],
        "no key inside arguments is renamed or dropped",
    ),
    (
        [turn("model", call(args={"n": 12345678901234567890}))],
        [said(None, tool_calls=[made(1, arguments='{"n":12345678901234567890}')])],
        "large integers keep their digits",
    ),
    (
        [turn("model", call(args={"INVALID_JSON": '{"a": '}))],
        [said(None, tool_calls=[made(1, arguments='{"a": ')])],
        "arguments that could not be parsed are what they were",
    ),
    (
        [turn("model", call(args={"INVALID_JSON": "x", "b": 1}))],
        [said(None, tool_calls=[made(1, arguments='{"INVALID_JSON":"x","b":1}')])],
        "only exactly that one member is unwrapped",
    ),
    (
        [turn("model", call(args='{"a":  1}'))],
        [said(None, tool_calls=[made(1, arguments='{"a":  1}')])],
        "text stays as it is",
    ),
    (
        [turn("model", {"functionCall": {"args": {}}})],
        [said(None, tool_calls=[{**made(1), "function": {"arguments": "{}"}}])],
        "no name is made up",
    ),
    (
        [turn("model", {"function_call": {"name": "look", "id": "c9"}, "thought_signature": "s"})],
        [
            said(
                None,
                tool_calls=[
                    {
                        "id": "c9",
                        "type": "function",
                        "function": {"name": "look", "arguments": "{}"},
                        PRIVATE: {"signature": "s"},
                    }
                ],
            )
        ],
        "snake case is read too, and a call keeps its signature",
    ),
    (
        [turn("model", call("a")), turn("user", result("a")), turn("model", call("b"), call("b"))],
        [
            said(None, tool_calls=[made(1, "a")]),
            answer("call_1", name="a", synthetic_id=True),
            said(None, tool_calls=[made(2, "b"), made(3, "b")]),
        ],
        "made-up ids are numbered over the whole conversation",
    ),
    (
        [turn("model", text("a"), call(), text("b"), call(), text("c"))],
        [said("a", tool_calls=[made(1), made(2)], _x={"after": ["b", "c"]})],
        "text before the first call is content; what follows is kept apart, not joined",
    ),
    (
        [turn("model", call(willContinue=True))],
        [said(None, tool_calls=[made(1, native=[{"functionCall": {"willContinue": True}}])])],
        "what a call has beyond the canonical form is kept",
    ),
    # Results
    (
        [turn("model", call("a", id="x")), turn("user", result("a", id="x"))],
        [
            said(
                None, tool_calls=[{"id": "x", "type": "function", "function": {"name": "a", "arguments": "{}"}}]
            ),
            answer("x", name="a"),
        ],
        "ids are kept",
    ),
    (
        [turn("model", call("a"), call("b"), call("a")), turn("user", result("b"), result("a", {"output": "1"}), result("a"))],
        [
            said(None, tool_calls=[made(1, "a"), made(2, "b"), made(3, "a")]),
            answer("call_2", name="b", synthetic_id=True),
            answer("call_1", "1", name="a", synthetic_id=True),
            answer("call_3", name="a", synthetic_id=True),
        ],
        "results without ids answer the calls of their name, first come first served",
    ),
    (
        [turn("model", call("a"), call("b")), turn("user", result("x"), result("a"))],
        [
            said(None, tool_calls=[made(1, "a"), made(2, "b")]),
            answer("call_2", name="x", synthetic_id=True),
            answer("call_1", name="a", synthetic_id=True),
        ],
        "names are matched before positions are",
    ),
    (
        [turn("model", call("a")), turn("model", call("b")), turn("user", result("a")), turn("user", result("b"))],
        [
            said(None, tool_calls=[made(1, "a")]),
            said(None, tool_calls=[made(2, "b")]),
            answer("call_1", name="a", synthetic_id=True),
            answer("call_2", name="b", synthetic_id=True),
        ],
        "parallel calls that were split into turns, and results too, still find each other",
    ),
    (
        [turn("model", call("a")), turn("user", text("no")), turn("model", text("ok")), turn("user", result("a"))],
        [
            said(None, tool_calls=[made(1, "a")]),
            user("no"),
            said("ok"),
            answer("orphan_1", name="a", synthetic_id=True),
        ],
        "a call that is not the nearest assistant's is not answered",
    ),
    (
        [turn("user", result("a"), result("a")), turn("function", result("b", id="z"))],
        [
            answer("orphan_1", name="a", synthetic_id=True),
            answer("orphan_2", name="a", synthetic_id=True),
            answer("z", name="b"),
        ],
        "orphans are numbered, and an id of its own is never replaced; roles of old may bring results",
    ),
    (
        [turn("user", result("a", id="z"), text(""))],
        [answer("z", name="a")],
        "an empty text beside results is nothing",
    ),
    (
        [turn("user", result("a", id="z"), text("and?"))],
        [answer("z", name="a"), user("and?", same_turn=True)],
        "text beside results is a message of its own that knows where it stood",
    ),
    (
        [turn("user", text("so"), result("a", id="y"), result("a", id="z"), text("and?"))],
        [
            answer("y", name="a"),
            answer("z", name="a"),
            user([{"type": "text", "text": "so"}, {"type": "text", "text": "and?"}], same_turn=True),
        ],
        "results come first",
    ),
    (
        [turn("user", result("a", id="y"), text("and?"), result("a", id="z"))],
        [answer("y", name="a"), user("and?", same_turn=True), answer("z", name="a", same_turn=True)],
        "text between results stays between them",
    ),
    (
        [
            turn(
                "user",
                {"function_response": {"id": "z", "name": "a", "response": {"output": "see"},
                                       "parts": [{"inline_data": {"mime_type": "image/png", "data": PIXEL}}]}},
            )
        ],
        [
            answer(
                "z",
                [
                    {"type": "text", "text": "see"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
                ],
                name="a",
            )
        ],
        "media of a result stand behind its text",
    ),
    # What has no place
    (
        [turn("model", {"executableCode": {"code": "1", "language": "PYTHON"}}, text("hi"), {"novelty": 1}, 7)],
        [said("hi", _x={"native": [{"executableCode": {"code": "1", "language": "PYTHON"}}, {"novelty": 1}, 7]})],
        "parts of other kinds are kept as logged",
    ),
    (
        [turn("user", text("hi", videoMetadata={"fps": 1}))],
        [user("hi", native=[{"videoMetadata": {"fps": 1}}])],
        "so are the members beside what is read",
    ),
    (
        [turn("user", call())],
        [user("", native=[call()])],
        "a user does not call",
    ),
    (
        [turn("model", result())],
        [said("", _x={"native": [result()]})],
        "a model does not answer calls",
    ),
    (
        [{"role": "user", "parts": [text("hi")], "cache": 1}],
        [user("hi", native=[{"cache": 1}])],
        "members of a turn that nobody knows are kept",
    ),
]  # fmt: skip


@pytest.mark.parametrize("turns, expected, sentence", TURNS, ids=[row[2] for row in TURNS])
def test_a_turn_is_loaded(turns, expected, sentence):
    before = copy.deepcopy(turns)

    assert load(*turns) == expected

    assert turns == before


@pytest.mark.parametrize(
    "response, content, held, sentence",
    [
        ({"output": "a"}, "a", {}, "output is the text"),
        ({"error": "a"}, "a", {"is_error": True}, "error is one"),
        ({"output": [1, "ü"]}, '[1,"ü"]', {"json": True}, "output may be anything"),
        ({"output": {"a": 1}}, '{"a":1}', {"json": True}, "even an object"),
        ({"output": '{"a": 1}'}, '{"a": 1}', {}, "text that looks like JSON is text"),
        ({"output": "a", "exit": 0}, '{"output":"a","exit":0}', {"json": True}, "with more members the object counts"),
        ({"output": "a", "error": "b"}, '{"output":"a","error":"b"}', {"json": True}, "both together are neither"),
        ({"error": {"code": 4}}, '{"error":{"code":4}}', {"json": True}, "only a text is the documented error"),
        ({"error": None}, '{"error":null}', {"json": True}, "no error is none"),
        ({"result": "a"}, '{"result":"a"}', {"json": True}, "wrappers of clients are not unwrapped"),
        ({"return_value": "a"}, '{"return_value":"a"}', {"json": True}, "whichever they are"),
        ({"output": "ERROR: a"}, "ERROR: a", {}, "no prefix is taken off"),
        ({"output": ""}, "", {}, "a result may be empty"),
        ({}, "{}", {"json": True}, "an empty object is one"),
        ([1], "[1]", {"json": True}, "what is no object is read, too"),
        ("a", "a", {}, "so is a bare text"),
        (0, "0", {"json": True}, "and a number"),
    ],
)
def test_a_response_is_text_or_json(response, content, held, sentence):
    [message] = load(turn("user", {"functionResponse": {"id": "z", "name": "look", "response": response}}))

    assert message == answer("z", content, **held)


@pytest.mark.parametrize(
    "part, expected, sentence",
    [
        ({"inlineData": {"mimeType": "image/png", "data": PIXEL}},
         {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}, "an image is a data URL"),
        ({"inline_data": {"mime_type": "audio/mpeg", "data": "-_-_"}},
         {"type": "input_audio", "input_audio": {"data": "+/+/", "format": "mp3"}},
         "sound is sound, in the standard alphabet"),
        ({"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}},
         {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, "so is the other kind"),
        ({"inlineData": {"mimeType": "application/pdf", "data": "AAAA", "displayName": "a.pdf"}},
         {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}},
         "a document is a file"),
        ({"inline_data": {"mimeType": "video/mp4", "data": "AAAA"}},
         {"type": "file", "file": {"file_data": "data:video/mp4;base64,AAAA"}}, "and so is all else"),
        ({"fileData": {"fileUri": "https://a.example/v"}},
         {"type": "file", "file": {"file_url": "https://a.example/v"}}, "an address of an unknown kind is a file's"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("role", ["user", "model"])
def test_media_are_parts_of_content(role, part, expected, sentence):
    [message] = load(turn(role, text("see"), part))

    assert message["content"] == [{"type": "text", "text": "see"}, expected]
    assert not private(message)


def test_the_kind_of_an_image_at_an_address_is_kept():
    [message] = load(turn("user", {"file_data": {"file_uri": "gs://a/b", "mime_type": "image/png"}}))

    assert message["content"] == [{"type": "image_url", "image_url": {"url": "gs://a/b"}}]
    assert private(message) == {"native": [{"fileData": {"mimeType": "image/png"}}]}


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        ("hi", "is no object"),
        (None, "is no object"),
        ({"role": "user", "content": "hi"}, "has no parts"),
        ({"role": "user", "parts": 1}, "has parts that are no list"),
        ({"role": "assistant", "parts": []}, 'has the role "assistant", and Gemini\'s are user and model'),
        ({"role": 1, "parts": []}, "has the role 1, and Gemini's are user and model"),
        ({"role": [], "parts": []}, "has the role [], and Gemini's are user and model"),
    ],
)
def test_what_is_no_turn_says_why(wrong, sentence):
    with pytest.raises(TurnError) as raised:
        gemini.load(wrong, gemini.START)

    assert str(raised.value) == sentence


@pytest.mark.parametrize(
    "value, expected, sentence",
    [
        ({"parts": [text("be kind")], "role": "user"}, [{"role": "system", "content": "be kind"}], "a content"),
        ("be kind", [{"role": "system", "content": "be kind"}], "its text alone"),
        (text("be kind"), [{"role": "system", "content": "be kind"}], "an only part"),
        ({"parts": [text("a"), text("b")]},
         [{"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}], "parts"),
        ({"parts": []}, [], "nothing"),
        ({"parts": [text("")]}, [], "nothing said"),
        (None, [], "null"),
    ],
)  # fmt: skip
def test_a_system_instruction_is_a_message(value, expected, sentence):
    assert gemini.system(value) == expected


@pytest.mark.parametrize("key", ["parametersJsonSchema", "parameters_json_schema"])
def test_a_json_schema_is_kept_as_it_is(key):
    schema = {"type": "object", "properties": {"any_of": {"type": "STRING"}}}

    found = gemini.tools([{"functionDeclarations": [{"name": "look", "description": "d", key: schema}]}])

    expected = {"type": "function", "function": {"name": "look", "description": "d", "parameters": schema}}
    assert found == ([expected], [])


def test_types_of_the_subset_are_in_lower_case_and_nothing_else_is():
    parameters = {
        "type": "OBJECT",
        "properties": {
            "type": {"type": "STRING", "enum": ["STRING"], "default": {"type": "OBJECT"}},
            "l": {"type": "ARRAY", "items": {"anyOf": [{"type": "NUMBER"}]}},
        },
    }
    before = copy.deepcopy(parameters)

    [found] = gemini.tools({"function_declarations": [{"name": "look", "parameters": parameters}]}).functions

    assert found["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "type": {"type": "string", "enum": ["STRING"], "default": {"type": "OBJECT"}},
            "l": {"type": "array", "items": {"anyOf": [{"type": "number"}]}},
        },
    }
    assert parameters == before


def test_what_a_declaration_has_besides_is_kept():
    [found] = gemini.tools([{"functionDeclarations": [{"name": "look", "behavior": "BLOCKING"}]}]).functions

    assert found == {"type": "function", "function": {"name": "look"}, PRIVATE: {"native": [{"behavior": "BLOCKING"}]}}
    assert isinstance(found[PRIVATE], Private)


@pytest.mark.parametrize(
    "value, hosted, sentence",
    [
        ([{"googleSearch": {}}, {"codeExecution": {}}], [{"googleSearch": {}}, {"codeExecution": {}}], "as logged"),
        ([{"functionDeclarations": [], "googleSearch": {}}], [{"googleSearch": {}}], "beside functions"),
        ({"urlContext": {}}, [{"urlContext": {}}], "an only one"),
        (None, [], "none"),
        ("x", ["x"], "what is no tool at all"),
    ],
)
def test_other_tools_are_the_providers(value, hosted, sentence):
    assert gemini.tools(value) == ([], hosted)


# Answers


def body(*parts, reason="STOP", **more):
    return {"candidates": [{"content": turn("model", *parts), "finishReason": reason, **more}]}


@pytest.mark.parametrize(
    "logged, reason",
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("BLOCKLIST", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("SPII", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "MALFORMED_FUNCTION_CALL"),
        (None, None),
    ],
)
def test_why_an_answer_stopped_is_said_in_canonical_words(logged, reason):
    assert gemini.reply(body(text("hi"), reason=logged)) == Reply(said("hi"), 1, reason)


def test_an_answer_with_calls_stopped_for_them():
    assert gemini.reply(body(call())) == Reply(said(None, tool_calls=[made(1)]), 1, "tool_calls")
    assert gemini.reply(body(call(), reason="MAX_TOKENS")).finish_reason == "length"


def test_the_first_of_several_candidates_counts():
    several = {"candidates": body(text("a"))["candidates"] + body(text("b"))["candidates"]}

    assert gemini.reply(several) == Reply(said("a"), 2, "stop")


def test_what_an_answer_cites_is_kept():
    cited = {"groundingMetadata": {"webSearchQueries": ["q"]}}

    assert gemini.reply(body(text("a"), **cited, citationMetadata={})).message == said("a", _x={"native": [cited]})


def test_snake_case_is_an_answer_too():
    snake = {"candidates": [{"content": {"parts": [text("a")]}, "finish_reason": "STOP"}], "usage_metadata": {}}

    assert gemini.reply(snake) == Reply(said("a"), 1, "stop")


def test_a_list_of_chunks_is_an_answer():
    assert gemini.reply([body(text("a"), reason=None), body(text("b"))]) == Reply(said("ab"), 1, "stop")


@pytest.mark.parametrize(
    "wrong, problem",
    [
        (None, "there is no response"),
        (1, "response is a number"),
        ("x", "response is a string"),
        (True, "response is a boolean"),
        ([], "the response has no candidates"),
        ({}, "the response has no candidates"),
        ({"error": {"code": 400, "message": "no"}}, "the response is an error body"),
        ([{"error": {"code": 400}}], "the response is an error body"),
        ({"candidates": {}}, "response.candidates is an object"),
        ({"candidates": []}, "the response has no candidates"),
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "the prompt was blocked"),
        ({"candidates": [None]}, "response.candidates[0] is null"),
        ({"candidates": [{"finishReason": "SAFETY"}]}, "the first candidate has no content"),
        ({"candidates": [{"content": "hi"}]}, "response.candidates[0].content is a string"),
        ({"candidates": [{"content": {"parts": 1}}]}, "the first candidate's content has parts that are no list"),
        (
            {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]},
            "the first candidate is empty",
        ),
        (body(text("")), "the first candidate is empty"),
        (body(text("", thoughtSignature="s"), groundingMetadata={"a": 1}), "the first candidate is empty"),
    ],
)
def test_no_answer_says_why(wrong, problem):
    reply = gemini.reply(wrong)

    assert (reply.message, reply.problem) == (None, problem)
    assert reply.wrong is None or problem == f"{reply.wrong.what} is {reply.wrong.seen}"


def test_a_wrong_type_is_named():
    assert gemini.reply({"candidates": 5}).wrong == WrongType("response.candidates", "a number")
    assert gemini.reply({"candidates": [{"finishReason": "SAFETY"}]}).finish_reason == "content_filter"


# Streams


def chunk(*parts, reason=None, **more):
    return body(*parts, **more) if reason is None else body(*parts, reason=reason, **more)


def parts(*events):
    return gemini.assemble([{"candidates": [{"content": turn("model", *each)}]} for each in events]).body["candidates"][
        0
    ]["content"]["parts"]


@pytest.mark.parametrize(
    "events, expected, sentence",
    [
        ([[text("a")], [text("b")]], [text("ab")], "neighbouring texts are one"),
        ([[text("a", thought=True)], [text("b", thought=True)], [text("c")]],
         [text("ab", thought=True), text("c")], "thoughts and texts are not"),
        ([[text("a", thoughtSignature="s")], [text("b")]], [text("ab", thoughtSignature="s")],
         "a signature on the first piece is the text's"),
        ([[text("a")], [text("", thought_signature="s")]], [text("a", thoughtSignature="s")],
         "so is one on an empty last piece"),
        ([[text("a", thoughtSignature="s")], [text("b", thoughtSignature="t")]],
         [text("a", thoughtSignature="s"), text("b", thoughtSignature="t")], "every signature is kept"),
        ([[text("a")], [call("x"), call("x")], [text("b")]], [text("a"), call("x"), call("x"), text("b")],
         "calls come whole, and two of one name are two"),
        ([[text("a")], [{"executableCode": {}}], [text("b")]], [text("a"), {"executableCode": {}}, text("b")],
         "other parts stand where they came"),
        ([[{"text": ["a"]}], [text("b")]], [{"text": ["a"]}, text("b")], "what is no text is left as it is"),
    ],
)  # fmt: skip
def test_parts_of_a_stream_follow_each_other(events, expected, sentence):
    before = copy.deepcopy(events)

    assert parts(*events) == expected

    assert events == before


def bit(path, more=False, **value):
    return {"jsonPath": path, **value, **({"willContinue": True} if more else {})}


def going(*bits, more=True, **value):
    return {"functionCall": {**value, "partialArgs": list(bits), **({"willContinue": True} if more else {})}}


@pytest.mark.parametrize(
    "events, args, sentence",
    [
        ([going(name="f"), going(bit("$.a", True, stringValue="x")), going(bit("$.a", stringValue="y"), more=False)],
         {"a": "xy"}, "pieces of a string follow each other"),
        ([going(bit("$.a.b[0].c", numberValue=1), bit("$.a.b[1]", boolValue=False), name="f"), {"functionCall": {}}],
         {"a": {"b": [{"c": 1}, False]}}, "paths lead into objects and lists"),
        ([going(bit("$['a b']", nullValue="NULL_VALUE"), name="f", more=False)], {"a b": None}, "null is a value"),
        ([{"functionCall": {"name": "f", "will_continue": True}}, {"functionCall": {}}], {}, "there may be none"),
    ],
)  # fmt: skip
def test_arguments_that_come_bit_by_bit_are_put_together(events, args, sentence):
    assert parts(*[[each] for each in events]) == [{"functionCall": {"name": "f", "args": args}}]


def test_a_bit_that_has_no_place_is_kept():
    lost = [bit("$.a[99999]", numberValue=1), bit("a", numberValue=1), bit("$", numberValue=1), "x", bit("$.a")]

    assert parts([going(*lost, name="f", more=False)]) == [
        {"functionCall": {"name": "f", "args": {}, "partialArgs": lost}}
    ]


def test_calls_that_come_bit_by_bit_one_after_the_other_stay_apart():
    first, second = (going(bit("$.a", stringValue=name), name=name) for name in "fg")

    assert [part["functionCall"]["name"] for part in parts([first], [{"functionCall": {}}], [second])] == ["f", "g"]
    assert [part["functionCall"]["name"] for part in parts([first], [second])] == ["f", "g"]


def test_a_stream_is_whole_when_every_candidate_stopped():
    stop, go = {"index": 0, "finishReason": "STOP"}, {"index": 1, "content": turn("model", text("b"))}

    assert gemini.assemble([{"candidates": [stop, go]}]).whole is False
    assert gemini.assemble([{"candidates": [go]}, {"candidates": [{**go, **stop, "index": 1}]}]).whole is True
    assert gemini.assemble([]) == ({}, False)
    assert gemini.assemble([{"promptFeedback": {"blockReason": "OTHER"}}]).whole is True


def test_candidates_are_told_apart_by_their_index():
    events = [
        {"candidates": [{"index": i, "content": turn("model", text(t))}]} for i, t in [(1, "x"), (0, "a"), (1, "y")]
    ]

    found = gemini.assemble(events).body["candidates"]

    assert [candidate["content"]["parts"] for candidate in found] == [[text("a")], [text("xy")]]


def test_the_last_of_other_members_counts():
    events = [
        {**chunk(text("a")), "usageMetadata": {"n": 1}, "modelVersion": "m"},
        {"usage_metadata": {"n": 2}},
        {"x": 1},
    ]

    assert gemini.assemble(events).body == {**body(text("a")), "usageMetadata": {"n": 2}, "modelVersion": "m"}


def test_an_error_in_a_stream_is_its_body():
    assert gemini.assemble([chunk(text("a")), {"error": {"code": 5}}]) == ({"error": {"code": 5}}, True)


# Recognition


@pytest.mark.parametrize(
    "request_body, ranks, sentence",
    [
        ({"contents": []}, [6], "contents"),
        ({"contents": "hi"}, [], "text is no list of turns"),
        ({"messages": [{"role": "user", "content": "x"}, {"role": "user", "parts": [text("a")]}]}, [7], "any turn"),
        ({"messages": [{"role": "user", "parts": [{"type": "text", "text": "a"}]}]}, [], "typed parts are others'"),
        ({"messages": [{"role": "user", "content": '{"parts": [{"text": 1}]}'}]}, [], "strings are not looked into"),
    ],
)
def test_a_request_is_told_by(request_body, ranks, sentence):
    assert [mark.rank for mark in gemini.marks.request if mark.test(request_body)] == ranks


@pytest.mark.parametrize(
    "response, is_one",
    [
        (body(text("a")), True),
        ({"candidates": [{"finish_reason": "STOP"}]}, True),
        ({"usageMetadata": {}}, True),
        ({"prompt_feedback": {}}, True),
        ({"candidates": ["x"]}, False),
        ({"candidates": [{"content": "x"}]}, False),
        ({"choices": []}, False),
    ],
)
def test_a_response_is_told_by_candidates_or_metadata(response, is_one):
    assert any(mark.test(response) for mark in gemini.marks.response) is is_one
    assert any(mark.test(response) for mark in gemini.marks.event) is is_one


# Anything

KEYS = st.sampled_from(
    "role parts text thought thoughtSignature functionCall function_call functionResponse name id args response output "
    "error inlineData mimeType data fileData fileUri candidates content finishReason index partialArgs jsonPath stringValue "
    "willContinue promptFeedback usageMetadata messages contents tools functionDeclarations parameters type properties".split()
)
VALUES = st.sampled_from(["user", "model", "STOP", "image/png", "$.a[0].b", "$.a", "OBJECT", "", 0, 1, 1.5, True, None])
JSON = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5))
PARTS = st.lists(st.dictionaries(KEYS, JSON, max_size=3), max_size=4)


@given(JSON | st.fixed_dictionaries({"role": st.sampled_from(["user", "model"]), "parts": PARTS}))
def test_no_value_raises_anything_else_or_is_changed(value):
    before = json.dumps(value)
    for read in (gemini.system, lambda each: gemini.load(each, gemini.START)):
        with suppress(TurnError):
            assert read(value) == read(json.loads(before))
    gemini.tools(value)
    reply = gemini.reply(value)
    assert (reply.message is None) is bool(reply.problem)
    if isinstance(value, dict):
        for mark in (*gemini.marks.request, *gemini.marks.response, *gemini.marks.event):
            assert isinstance(mark.test(value), bool)
    assert json.dumps(value) == before


@given(
    st.lists(
        JSON
        | st.fixed_dictionaries(
            {"candidates": st.lists(st.fixed_dictionaries({"content": JSON | PARTS.map(lambda each: {"parts": each})}))}
        )
    )
)
def test_no_stream_raises_or_is_changed(events):
    before = json.dumps(events)
    gemini.reply(gemini.assemble(events).body)
    assert json.dumps(events) == before


def test_a_value_nested_deeply_is_read():
    deep = {"type": "OBJECT"}
    for _ in range(5000):
        deep = {"type": "OBJECT", "properties": {"a": deep}}

    [tool] = gemini.tools([{"functionDeclarations": [{"name": "f", "parameters": deep}]}]).functions

    assert tool["function"]["parameters"]["properties"]["a"]["type"] == "object"
    assert load(turn("model", call(args=deep)))[0]["tool_calls"]


@given(st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "model"]), "parts": PARTS}), max_size=5))
def test_a_turn_loads_the_same_wherever_the_state_is_the_same(turns):
    seen = []
    state = gemini.START
    for each in turns:
        loaded = gemini.load(each, state)
        for other_state, other_turn, other in seen:
            if other_state == state and json.dumps(other_turn) == json.dumps(each):
                assert other == loaded
        seen.append((state, each, loaded))
        state = loaded.state
