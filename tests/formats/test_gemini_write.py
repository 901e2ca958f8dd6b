"""Conversations written as requests to Gemini."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given

from chatsquash import jsonio
from chatsquash.formats import bodies, gemini, ollama
from chatsquash.formats.gemini import dump
from chatsquash.model import Conversation
from tests.formats.kinds import (
    KINDS,
    PDF,
    PNG,
    SIGNATURE,
    WAV,
    call,
    image,
    private,
    result,
    said,
    settled,
    system,
    text,
    user,
)
from tests.formats.odd import CONVERSATIONS, links

LOST = {
    "developer role": "there is no developer, but the system",
    "args raw spacing": "arguments are objects",
    "result parts": "a result has one text",
    "anthropic redacted": "nobody else can read it",
    "openai encrypted": "the reasoning stays",
    "refusal": "it is a text",
    "custom tool call": "it is a function with an input",
}
SIGNED = {"thoughtSignature": SIGNATURE}
MARKED = {"partMetadata": {"role": "system"}}
TWO = (call("a", "{}", "f"), call("b", "{}", "g"))


def made(number, **more):
    return private(call(f"call_{number}", "{}", "f"), synthetic_id=True, **more)


def answered(number, content="x"):
    return private(result(content, f"call_{number}"), synthetic_id=True)


def t(said, **more):
    return {"text": said, **more}


def use(call_id="call_abc", given=None, name="weather"):
    known = {"id": call_id} if call_id else {}
    return {"functionCall": {**known, "name": name, "args": {"city": "Paris"} if given is None else given}}


def answer(response, call_id="call_abc", name="", **more):
    known = {**({"id": call_id} if call_id else {}), **({"name": name} if name else {})}
    return {"functionResponse": {**known, "response": response, **more}}


def data(mime, encoded, **more):
    return {"inlineData": {"mimeType": mime, "data": encoded, **more}}


def link(uri, mime=None):
    return {"fileData": {"fileUri": uri, **({"mimeType": mime} if mime else {})}}


def asked(*parts):
    return {"role": "user", "parts": list(parts)}


def model(*parts):
    return {"role": "model", "parts": list(parts)}


def file(**members):
    return {"type": "file", "file": members}


def audio(data, kind):
    return {"type": "input_audio", "input_audio": {"data": data, "format": kind}}


CALLED = model(use("a", {}, "f"), use("b", {}, "g"))

WRITTEN = [
    ([user("a")], [asked(t("a"))], "a text is a part"),
    ([user([text("a"), text(""), text("b")])], [asked(t("a"), t("b"))], "texts stay apart, empty ones say nothing"),
    ([user(None), said("")], [asked(t("")), model(t(""))], "but a turn has a part"),
    ([user("a"), user("b")], [asked(t("a")), asked(t("b"))], "neighbours of a role are not merged"),
    ([user("a"), system("b")], [asked(t("a")), asked(t("<system>b</system>", **MARKED))], "a later system message is a user's, marked"),
    ([user("a"), {"role": "developer", "content": "b"}], [asked(t("a")), asked(t("<system>b</system>", **MARKED))], "so is a developer's, which is not dropped"),
    ([user("<system>a</system>")], [asked(t("<system>a</system>"))], "what a user says that looks like it is not"),
    # Media
    ([user([image()])], [asked(data("image/png", PNG))], "an image is its data"),
    ([user([image("https://x/y.jpg?z")])], [asked(link("https://x/y.jpg?z", "image/jpeg"))], "one that is elsewhere is what its address says"),
    ([user([image("https://x/y")])], [asked(link("https://x/y", "image/*"))], "but an image"),
    ([user([text("a"), image("data:nonsense")])], [asked(t("a"))], "what is neither is left out"),
    ([user([audio(WAV, "wav")])], [asked(data("audio/wav", WAV))], "a sound is its data"),
    ([user([file(file_data=f"data:application/pdf;base64,{PDF}", filename="a.pdf")])], [asked(data("application/pdf", PDF, displayName="a.pdf"))], "so is a file, with its name"),
    ([user([file(file_url="https://x/a.pdf")])], [asked(link("https://x/a.pdf", "application/pdf"))], "a file that is elsewhere is its address"),
    ([user([file(file_url="https://x/a.png")])], [asked(link("https://x/a.png"))], "a file is no image, whatever its name"),
    ([user([file(file_id="f")])], [asked(link("f"))], "an id is an address, too"),
    ([user([file(file_data="AA==")])], [asked(data("application/octet-stream", "AA=="))], "data may be of no known type"),
    ([private(user([file(file_url="f")]), native=[{"fileData": {"mimeType": "text/x"}}])], [asked(link("f", "text/x"))], "a type that was logged returns"),
    ([user([{"type": "video_url", "video_url": {"url": "https://x/a.mp4"}}])], [asked(link("https://x/a.mp4", "video/mp4"))], "a video is a file"),
    # The model
    ([said("a", call())], [model(t("a"), use())], "the text stands before the call"),
    ([private(said("A", call()), after=["B"])], [model(t("A"), use(), t("B"))], "and what stood behind it behind it"),
    ([said("a", reasoning_content="r")], [model(t("r", thought=True), t("a"))], "reasoning is a thought, and no visible text"),
    ([private(said("a", reasoning_content="r"), thinking=[{"text": "r", "signature": SIGNATURE}])], [model(t("r", thought=True, **SIGNED), t("a"))], "a signature stays with its thought"),
    ([private(said("a", reasoning_content="x"), thinking=[{"text": "r", "signature": SIGNATURE}])], [model(t("x", thought=True), t("a"))], "but with no other text"),
    ([private(said("a", reasoning_content="r"), thinking=[{"text": "r", "signature": "no base64"}])], [model(t("r", thought=True), t("a"))], "a signature is base64"),
    ([private(said("a"), thinking=[{"signature": SIGNATURE}])], [model(t("a", **SIGNED))], "one of no thought is the text's"),
    ([private(said(None, call()), thinking=[{"signature": SIGNATURE}])], [model(t("", **SIGNED), use())], "or that of an empty one"),
    ([said(None, private(call(), signature=SIGNATURE), call("b"))], [model({**use(), **SIGNED}, use("b"))], "a call keeps its own"),
    ([private(said("a"), thinking=[{"redacted": "d"}, {"encrypted": "e"}])], [model(t("a"))], "what others encrypted is left out"),
    ([said(None, refusal="no")], [model(t("no"))], "a refusal is a text"),
    ([said(None, call(arguments="{bad"))], [model(use(given={"INVALID_JSON": "{bad"}))], "malformed arguments are kept, where others write {}"),
    ([said(None, call(arguments='{"INVALID_JSON":"a"}'))], [model(use(given={"INVALID_JSON": '{"INVALID_JSON":"a"}'}))], "so are those that look like it"),
    ([said(None, call(arguments=""))], [model(use(given={}))], "no arguments are none"),
    ([said(None, {"id": "c", "function": {}})], [model({"functionCall": {"id": "c", "args": {}}})], "a name that is missing stays missing"),
    ([private(said("a"), native=[{"executableCode": {"code": "1"}}, {"type": "x"}, {"thoughtSignature": "s"}])], [model(t("a"), {"executableCode": {"code": "1"}})], "what Gemini runs itself returns, what others did does not"),
    # Results
    ([said(None, *TWO), result("1", "a"), result("2", "b"), user("c")], [CALLED, asked(answer({"output": "1"}, "a", "f"), answer({"output": "2"}, "b", "g")), asked(t("c"))], "all results of a turn are one content, with the names of their calls, where others write one each, and no names"),
    ([said(None, *TWO), result("1", "a"), private(user("c"), same_turn=True), result("2", "b")], [CALLED, asked(answer({"output": "1"}, "a", "f"), answer({"output": "2"}, "b", "g"), t("c"))], "results lead what was said with them"),
    ([result("1", "a"), private(user(""), same_turn=True)], [asked(answer({"output": "1"}, "a")), asked(t(""))], "what is said must say something for that"),
    ([result('{"a":1}')], [asked(answer({"output": '{"a":1}'}))], "a text that looks like JSON stays text, where others make an object of it"),
    ([private(result('{"a":1}'), json=True)], [asked(answer({"a": 1}))], "what was an object is one"),
    ([private(result('["a",1]'), json=True)], [asked(answer({"output": ["a", 1]}))], "what was a list is one, in an object, since nothing else is a response"),
    ([private(result('{"output":1}'), json=True)], [asked(answer({"output": {"output": 1}}))], "an object that looks like ours is in one"),
    ([private(result('{"error":"x"}'), json=True)], [asked(answer({"output": {"error": "x"}}))], "so is one that looks like an error"),
    ([private(result("null"), json=True)], [asked(answer({"output": "null"}))], "null is a text, since no output is an empty one"),
    ([private(result('{ "a": 1}'), json=True)], [asked(answer({"output": '{ "a": 1}'}))], "so is what would be written otherwise"),
    ([private(result("no"), is_error=True)], [asked(answer({"error": "no"}))], "an error is one"),
    ([result("")], [asked(answer({"output": ""}))], "an empty result is an empty text"),
    ([result([text("a"), text("b"), image()])], [asked(answer({"output": "a\nb"}, parts=[data("image/png", PNG)]))], "texts are one, media stand beside them"),
    ([result("x", "gone", name="f")], [asked(answer({"output": "x"}, "gone", "f"))], "a result without its call keeps id and name"),
    # Ids
    ([said(None, made(1), made(2)), answered(1), answered(2)], [model(use("", {}, "f"), use("", {}, "f")), asked(answer({"output": "x"}, "", "f"), answer({"output": "x"}, "", "f"))], "ids that the reader makes up just so are left out"),
    ([said(None, made(1), made(2)), answered(2), answered(1)], [model(use("", {}, "f"), use("", {}, "f")), asked(answer({"output": "x"}, "call_2", "f"), answer({"output": "x"}, "call_1", "f"))], "those of results are written where their order would not tell"),
    ([said(None, made(2))], [model(use("call_2", {}, "f"))], "an id that would become another is written"),
    ([said(None, made(1)), result("x", "call_1")], [model(use("call_1", {}, "f")), asked(answer({"output": "x"}, "call_1", "f"))], "and one that a result names"),
    ([said(None, call("")), result("x", "")], [model(use("")), asked(answer({"output": "x"}, "", "weather"))], "a missing id stays missing"),
    ([{"role": "critic", "content": "a"}], [], "a role that nobody knows has no content"),
]  # fmt: skip


@pytest.mark.parametrize("messages, expected, sentence", WRITTEN, ids=[row[2] for row in WRITTEN])
def test_contents(messages, expected, sentence):
    assert dump(Conversation(messages, [])) == {"contents": expected}, sentence


SYSTEM = [
    ([system("a"), user("b")], {"systemInstruction": {"parts": [t("a")]}, "contents": [asked(t("b"))]}, "the system prompt stands beside the contents"),
    ([system("a"), system("b")], {"systemInstruction": {"parts": [t("a")]}, "contents": [asked(t("<system>b</system>", **MARKED))]}, "the first one, and no later one replaces it"),
    ([system("")], {"contents": [asked(t("<system></system>", **MARKED))]}, "an empty one is no instruction"),
]  # fmt: skip


@pytest.mark.parametrize("messages, expected, sentence", SYSTEM, ids=[row[2] for row in SYSTEM])
def test_a_system_prompt(messages, expected, sentence):
    assert dump(Conversation(messages, [])) == expected, sentence


MARKS = [
    (asked(t("<system>a</system>", **MARKED)), [system("a")], "a marked turn is a system message"),
    (asked(t("<system>a</system>", part_metadata={"role": "system"})), [system("a")], "in either case"),
    (asked(t("<system>a</system>", **MARKED), t("b", **MARKED)), [system([text("a"), text("b")])], "tags are taken off where they are"),
    (asked(t("<system>a</system>")), [user("<system>a</system>")], "tags alone mark nothing"),
    (asked(t("<system>a</system>", **MARKED), t("b")), [user([text("<system>a</system>"), text("b")])], "neither does one part of several"),
]  # fmt: skip


@pytest.mark.parametrize("content, expected, sentence", MARKS, ids=[row[2] for row in MARKS])
def test_a_marked_system_message_is_read(content, expected, sentence):
    assert settled(bodies.load(gemini, {"contents": [content]}).messages)[0] | {"_x": 0} == expected[0] | {"_x": 0}


SCHEMA = {"type": ["object", "null"], "properties": {"a": {"$ref": "#/x"}}}
TOOLS = [
    ({"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA, "strict": True}}, {"name": "f", "description": "d", "parametersJsonSchema": SCHEMA}, "a schema is a JSON Schema, since parameters refuse references and lists of types"),
    ({"type": "function", "function": {"name": "f"}}, {"name": "f"}, "there may be none"),
    ({"name": "f", "parameters": {}}, {"name": "f", "parametersJsonSchema": {}}, "a flat definition is one, too"),
    (private({"type": "function", "function": {"name": "f"}}, native=[{"response": {"type": "STRING"}, "x": 1}]), {"name": "f", "response": {"type": "STRING"}}, "what Gemini's have beside returns"),
    ({"type": "custom", "custom": {"name": "f"}}, {"name": "f", "parametersJsonSchema": {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}}, "a custom tool takes its text"),
]  # fmt: skip


@pytest.mark.parametrize("tool, expected, sentence", TOOLS, ids=[row[2] for row in TOOLS])
def test_a_tool(tool, expected, sentence):
    assert dump(Conversation([], [tool])) == {"contents": [], "tools": [{"functionDeclarations": [expected]}]}, sentence


@pytest.mark.parametrize("tool", [{"type": "web_search"}, {"type": "function", "function": {}}, {"custom": 1}, 5, None])
def test_what_is_no_tool_with_a_name_is_left_out(tool):
    assert dump(Conversation([], [tool])) == {"contents": []}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_comes_back_but_for_what_has_no_place(kind):
    before = copy.deepcopy(KINDS[kind])
    back = bodies.load(gemini, json.loads(json.dumps(dump(KINDS[kind]))))
    assert KINDS[kind] == before, "the conversation is not changed"
    assert (settled(back.messages) == settled(before.messages)) is (kind not in LOST), LOST.get(kind)


NATIVE = [
    ([asked(t("a")), model(t("r", thought=True, **SIGNED), t("a"), {**use(""), **SIGNED}, use("")), asked(answer({"a": 1}, "", "weather"), answer({"error": "x"}, "", "weather"), t("b"))], "calls and results without ids, signatures, what was said with results"),
    ([asked(link("https://x/files/a", "application/pdf"), link("https://x/files/b", "audio/ogg"))], "types that no address tells"),
    ([model(t("a"), {"executableCode": {"language": "PYTHON", "code": "1"}}, {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}})], "code that Gemini runs"),
    ([asked(answer({"output": "a"}, "", "f", parts=[data("image/png", PNG)]))], "media in results"),
]  # fmt: skip


@pytest.mark.parametrize("contents, sentence", NATIVE, ids=[row[1] for row in NATIVE])
def test_what_was_read_of_gemini_is_written_again(contents, sentence):
    assert dump(bodies.load(gemini, {"contents": contents}))["contents"] == contents, sentence


def test_ids_that_another_reader_made_up_are_left_out_where_ours_makes_up_the_same():
    turns = [
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
        {"role": "tool", "content": "x", "tool_name": "f"},
    ]
    written = dump(bodies.load(ollama, {"messages": turns}))
    assert written["contents"] == [model(use("", {}, "f")), asked(answer({"output": "x"}, "", "f"))]


@given(CONVERSATIONS)
def test_any_conversation_is_written(conversation):
    before = jsonio.dumps([conversation.messages, conversation.tools])
    body = dump(conversation)
    assert jsonio.dumps([conversation.messages, conversation.tools]) == before
    json.dumps(body, allow_nan=False)
    back = bodies.load(gemini, jsonio.loads(jsonio.dumps(body)))
    again = bodies.load(gemini, jsonio.loads(jsonio.dumps(dump(back))))
    assert links(again.messages) == links(back.messages)
    assert [each["content"] for each in again.messages] == [each["content"] for each in back.messages]
