"""Conversations written as requests to Anthropic."""

from __future__ import annotations

import base64
import copy
import json

import pytest
from hypothesis import given

from chatsquash import jsonio
from chatsquash.formats import anthropic, bodies
from chatsquash.formats.anthropic import dump
from chatsquash.model import Conversation
from tests.formats.kinds import (
    KINDS,
    PDF,
    PNG,
    SIGNATURE,
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
    "audio": "there are no sounds",
    "args raw spacing": "arguments are objects",
    "result json obj": "the text stays, that it is JSON does not",
    "result json list": "the text stays, that it is JSON does not",
    "orphan result": "results have no names",
    "openai encrypted": "the reasoning stays",
    "gemini call sig": "the call stays",
    "refusal": "it is a text",
    "custom tool call": "it is a function with an input",
}
BREAK = {"cache_control": {"type": "ephemeral"}}
SERVER = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
TWO = (call("a", "{}", "f"), call("b", "{}", "g"))


def use(call_id="call_abc", given=None, name="weather", **more):
    return {
        "type": "tool_use",
        "id": call_id,
        "name": name,
        "input": {"city": "Paris"} if given is None else given,
        **more,
    }


def answer(content="sunny, 21 degrees", call_id="call_abc", **more):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def thinks(thought="r", signature=""):
    return {"type": "thinking", "thinking": thought, "signature": signature}


def turn(role, *blocks):
    return {"role": role, "content": list(blocks)}


def plain(role, content):
    return {"role": role, "content": content}


def file(**members):
    return {"type": "file", "file": members}


def document(source, **more):
    return {"type": "document", "source": source, **more}


WRITTEN = [
    ([user("a")], [plain("user", "a")], "a text is a string"),
    ([private(user("a"), content_list=True)], [turn("user", text("a"))], "a text that was logged as a block is one"),
    ([user([text("a"), text("b")])], [turn("user", text("a"), text("b"))], "texts stay apart"),
    ([user([text(""), text("b")])], [turn("user", text("b"))], "there are no empty text blocks, which the API refuses"),
    ([user(None)], [plain("user", "")], "no content is an empty one, since there must be one"),
    ([user([])], [plain("user", "")], "and so is no part"),
    ([user("a"), user("b")], [plain("user", "a"), plain("user", "b")], "neighbours of a role are not merged"),
    ([user(), system("a")], [plain("user", user()["content"]), plain("system", "a")], "a system message stays at its place"),
    ([user("a"), {"role": "developer", "content": "b"}], [plain("user", "a"), plain("system", "b")], "a developer is the system, and not dropped"),
    # Media
    ([user([image()])], [turn("user", {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}})], "OpenAI's image parts are converted, not passed on"),
    ([user([image("https://x/y")])], [turn("user", {"type": "image", "source": {"type": "url", "url": "https://x/y"}})], "an address stays one"),
    ([user([text("a"), image("data:image/tiff;base64,AA==")])], [turn("user", text("a"))], "an image of a kind that is refused is left out"),
    ([user([image("data:image/jpg;base64,AA==")])], [turn("user", {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AA=="}})], "image/jpg is what some call image/jpeg"),
    ([user([file(file_data=f"data:application/pdf;base64,{PDF}", filename="a.pdf")])], [turn("user", document({"type": "base64", "media_type": "application/pdf", "data": PDF}, title="a.pdf"))], "a PDF is a document, its name the title"),
    ([user([file(file_data="data:text/markdown;base64,w7w=")])], [turn("user", document({"type": "text", "media_type": "text/plain", "data": "ü"}))], "a file of text is a document of text"),
    ([user([text("a"), file(file_data="data:application/zip;base64,AA==")])], [turn("user", text("a"))], "there are no other files"),
    ([user([file(file_url="https://x/a.pdf")])], [turn("user", document({"type": "url", "url": "https://x/a.pdf"}))], "a file that is elsewhere is its address"),
    ([user([file(file_url="a.pdf")])], [turn("user", document({"type": "url", "url": "a.pdf"}))], "whatever that looks like"),
    ([user([file(file_id="file_1")])], [turn("user", document({"type": "file", "file_id": "file_1"}))], "or its id"),
    # Assistants
    ([said("a", call())], [turn("assistant", text("a"), use())], "the text stands before the call"),
    ([said("", call())], [turn("assistant", use())], "an empty text does not"),
    ([private(said("A", call()), after=["B"])], [turn("assistant", text("A"), use(), text("B"))], "texts around a call stay apart, where others write AB"),
    ([said("a", call(), reasoning_content="r")], [turn("assistant", thinks(), text("a"), use())], "thinking, text and calls follow each other; unsigned thinking has an empty signature"),
    ([private(said("a", reasoning_content="r"), thinking=[{"text": "r", "signature": "s"}])], [turn("assistant", thinks("r", "s"), text("a"))], "a signature stays with its thought"),
    ([private(said("a", reasoning_content="x"), thinking=[{"text": "r", "signature": "s"}])], [turn("assistant", thinks("x"), text("a"))], "but with no other text"),
    ([private(said("a"), thinking=[{"text": "", "signature": "s"}])], [turn("assistant", thinks("", "s"), text("a"))], "a thought may be a signature alone"),
    ([private(said("a"), thinking=[{"redacted": "d"}])], [turn("assistant", {"type": "redacted_thinking", "data": "d"}, text("a"))], "redacted thinking stays"),
    ([private(said("a"), thinking=[{"encrypted": "d"}, {"signature": "s"}])], [plain("assistant", "a")], "what OpenAI encrypted and Gemini signed does not"),
    ([said(None, refusal="no")], [plain("assistant", "no")], "a refusal is a text"),
    ([said(None, call(arguments="{bad"))], [turn("assistant", use(given={"INVALID_JSON": "{bad"}))], "malformed arguments are kept, where others write {}"),
    ([said(None, call(arguments="[1]"))], [turn("assistant", use(given={"INVALID_JSON": "[1]"}))], "so are those that are no object"),
    ([said(None, call(arguments='{"INVALID_JSON":"a"}'))], [turn("assistant", use(given={"INVALID_JSON": '{"INVALID_JSON":"a"}'}))], "and those that look like it"),
    ([said(None, call(arguments=""))], [turn("assistant", use(given={}))], "no arguments are none"),
    ([said(None, private(call(), block={"caller": {"type": "direct"}, "x": 1}))], [turn("assistant", use(caller={"type": "direct"}))], "what Anthropic's calls have beside that returns"),
    # Results
    ([said(None, *TWO), result("1", "a"), result("2", "b"), user("c")], [turn("assistant", use("a", {}, "f"), use("b", {}, "g")), turn("user", answer("1", "a"), answer("2", "b")), plain("user", "c")], "all results of a turn are one, another message is none of it"),
    ([said(None, TWO[0]), result("1", "a"), private(user("c"), same_turn=True)], [turn("assistant", use("a", {}, "f")), turn("user", answer("1", "a"), text("c"))], "but what the user said with them is"),
    ([said(None, *TWO), result("1", "a"), private(user("c"), same_turn=True), result("2", "b")], [turn("assistant", use("a", {}, "f"), use("b", {}, "g")), turn("user", answer("1", "a"), answer("2", "b"), text("c"))], "results lead, as the API wants them to"),
    ([private(result("no"), is_error=True)], [turn("user", answer("no", is_error=True))], "an error is marked, its text stays as it is"),
    ([result([text("a"), image("https://x/y")])], [turn("user", answer([text("a"), {"type": "image", "source": {"type": "url", "url": "https://x/y"}}]))], "images stay in their result"),
    ([private(result('[{"type":"a"}]'), json=True)], [turn("user", answer('[{"type":"a"}]'))], "JSON is text"),
    ([private(result("{bad"), json=True)], [turn("user", answer("{bad"))], "even if it is none"),
    ([result("")], [turn("user", answer(""))], "a result may be empty"),
    ([private(result("a"), block=BREAK)], [turn("user", answer("a", **BREAK))], "a breakpoint of the cache returns to its result"),
    # Ids
    ([said(None, call("a.b:0"), call("a_b_0"), call("a b 0")), result("x", "a.b:0"), result("y", "a b 0")], [turn("assistant", use("a_b_0_2"), use("a_b_0"), use("a_b_0_3")), turn("user", answer("x", "a_b_0_2"), answer("y", "a_b_0_3"))], "ids that are refused become others, each its own"),
    ([said(None, private(call("call_1"), synthetic_id=True)), result("x", "call_1")], [turn("assistant", use("call_1")), turn("user", answer("x", "call_1"))], "an id that was made up is written, since there must be one"),
    ([said(None, call(""), call(None)), result("x", ""), result("y", None)], [turn("assistant", use("call_1"), use("call_2")), turn("user", answer("x", "call_1"), answer("y", "call_2"))], "missing ids are made up and linked"),
    # What only Anthropic has
    ([private(said("a"), native=[SERVER, FOUND], order=["native", "native", "content"])], [turn("assistant", SERVER, FOUND, text("a"))], "its own blocks return to their places"),
    ([private(said("a"), native=[SERVER], order=["native", "native", "content"])], [turn("assistant", text("a"), SERVER)], "in an order that does not fit they stand behind all others"),
    ([private(said("a"), native=[{"type": "web_search_call", "id": "ws"}, {"executableCode": {}}])], [plain("assistant", "a")], "those of other providers are left out"),
    ([private(user([text("a"), text("b")]), members=[{"at": 1, "rest": BREAK}])], [turn("user", text("a"), {**text("b"), **BREAK})], "a breakpoint of the cache returns to its block"),
    ([private(user([text("a"), text("b")]), members=[{"at": 7, "rest": BREAK}])], [turn("user", text("a"), text("b"))], "or to none"),
    ([private(user("a"), turn={"id": 1})], [{"role": "user", "content": "a", "id": 1}], "what a turn was logged with returns"),
    ([{"role": "critic", "content": "a"}], [], "a role that nobody knows has no turn"),
]  # fmt: skip


@pytest.mark.parametrize("messages, expected, sentence", WRITTEN, ids=[row[2] for row in WRITTEN])
def test_turns(messages, expected, sentence):
    assert dump(Conversation(messages, [])) == {"messages": expected}, sentence


SYSTEM = [
    ([system("a"), user("b")], {"system": "a", "messages": [plain("user", "b")]}, "the system prompt stands beside the turns"),
    ([system([text("a"), text("b")])], {"system": [text("a"), text("b")], "messages": []}, "its parts are blocks"),
    ([private(system("a"), members=[{"at": 0, "rest": BREAK}])], {"system": [{**text("a"), **BREAK}], "messages": []}, "with their breakpoints"),
    ([system("a"), system("b")], {"system": "a", "messages": [plain("system", "b")]}, "the first one counts, and no later one replaces it"),
    ([system("")], {"messages": [plain("system", "")]}, "an empty one is none, and stays a turn"),
    ([private(system("a"), turn={"id": 1})], {"messages": [{"role": "system", "content": "a", "id": 1}]}, "one that was a turn stays one"),
]  # fmt: skip


@pytest.mark.parametrize("messages, expected, sentence", SYSTEM, ids=[row[2] for row in SYSTEM])
def test_a_system_prompt(messages, expected, sentence):
    assert dump(Conversation(messages, [])) == expected, sentence


SCHEMA = {"properties": {"a": {}}, "type": "object"}
TOOLS = [
    ({"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA, "strict": True}}, {"name": "f", "description": "d", "strict": True, "input_schema": SCHEMA}, "a schema stays as it is"),
    ({"type": "function", "function": {"name": "f"}}, {"name": "f", "input_schema": {"type": "object"}}, "a tool without one takes an object, where others write {}"),
    ({"type": "function", "function": {"name": "f", "parameters": {}}}, {"name": "f", "input_schema": {"type": "object"}}, "so does an empty one"),
    ({"name": "f", "parameters": SCHEMA}, {"name": "f", "input_schema": SCHEMA}, "a flat definition is one, too"),
    (private({"type": "function", "function": {"name": "f", "parameters": SCHEMA}}, **BREAK, native=[1]), {"name": "f", "input_schema": SCHEMA, **BREAK}, "a breakpoint of the cache returns"),
    (private({"type": "function", "function": {"name": "bash"}}, type="bash_20250124"), {"name": "bash", "type": "bash_20250124"}, "Anthropic's own tools have no schema"),
    ({"type": "custom", "custom": {"name": "f"}}, {"name": "f", "input_schema": {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}}, "a custom tool takes its text"),
]  # fmt: skip


@pytest.mark.parametrize("tool, expected, sentence", TOOLS, ids=[row[2] for row in TOOLS])
def test_a_tool(tool, expected, sentence):
    assert dump(Conversation([], [tool])) == {"messages": [], "tools": [expected]}, sentence


@pytest.mark.parametrize("tool", [{"type": "web_search"}, {"type": "function", "function": {}}, {"custom": 1}, 5, None])
def test_what_is_no_tool_with_a_name_is_left_out(tool):
    assert dump(Conversation([], [tool])) == {"messages": []}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_comes_back_but_for_what_has_no_place(kind):
    before = copy.deepcopy(KINDS[kind])
    back = bodies.load(anthropic, json.loads(json.dumps(dump(KINDS[kind]))))
    assert KINDS[kind] == before, "the conversation is not changed"
    assert (settled(back.messages) == settled(before.messages)) is (kind not in LOST), LOST.get(kind)


PACKED = "openrouter.reasoning:" + base64.b64encode(b'{"text": "plain"}').decode()
CITED = {
    "type": "char_location",
    "cited_text": "b",
    "document_index": 0,
    "document_title": "t",
    "start_char_index": 0,
    "end_char_index": 1,
}
SEARCHED = {"type": "search_result", "source": "s", "title": "t", "content": [text("a"), text("b")]}
NATIVE = [
    ([turn("assistant", thinks("r", "s"), {"type": "redacted_thinking", "data": PACKED}, use(), text("b"))], "reasoning, calls and text behind them"),
    ([turn("assistant", text("a"), SERVER, FOUND, {**text("b"), "citations": [CITED]}, use(caller={"type": "direct"}))], "blocks of tools that Anthropic runs, and citations"),
    ([turn("assistant", use(), {"type": "image", "source": {"type": "url", "url": "u"}})], "an image behind a call"),
    ([turn("user", {"type": "image", "source": {"type": "file", "file_id": "f"}}, text("a"))], "an uploaded image"),
    ([turn("user", document({"type": "text", "media_type": "text/plain", "data": "words"}, title="t", context="c"))], "a document of text"),
    ([turn("user", SEARCHED, {**text("c"), **BREAK})], "a search result, which is two texts, and what follows it"),
    ([turn("user", document({"type": "content", "content": [text("a")]}, citations={"enabled": True}))], "a document of blocks"),
    ([turn("user", document({"type": "base64", "media_type": "application/pdf", "data": "AA==", "x": 1}, context="c"))], "a source with more members"),
    ([turn("assistant", use()), turn("user", answer([{**text("a"), **BREAK}, {"type": "tool_reference", "tool_name": "f"}], **BREAK), {**text("c"), **BREAK})], "breakpoints in and beside results"),
    ([turn("user", answer([{"type": "tool_reference", "tool_name": "f"}]))], "a result that only names tools"),
    ([turn("system", {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "read"}})], "tools that come later"),
    ([{**plain("user", "a"), "id": "m"}, plain("assistant", "")], "what else turns hold"),
]  # fmt: skip


@pytest.mark.parametrize("turns, sentence", NATIVE, ids=[row[1] for row in NATIVE])
def test_what_was_read_of_anthropic_is_written_again(turns, sentence):
    assert dump(bodies.load(anthropic, {"messages": turns}))["messages"] == turns, sentence


@given(CONVERSATIONS)
def test_any_conversation_is_written_once_and_for_all(conversation):
    before = jsonio.dumps([conversation.messages, conversation.tools])
    body = dump(conversation)
    assert jsonio.dumps([conversation.messages, conversation.tools]) == before
    json.dumps(body, allow_nan=False)
    back = bodies.load(anthropic, jsonio.loads(jsonio.dumps(body)))
    again = bodies.load(anthropic, jsonio.loads(jsonio.dumps(dump(back))))
    assert settled(again.messages) == settled(back.messages)
    assert links(again.messages) == links(back.messages)
    assert all(jsonio.dumps(each) == jsonio.dumps(other) for each, other in zip(back.tools, again.tools, strict=True))


def test_the_signature_of_another_provider_is_carried():
    assert dump(KINDS["anthropic signature"])["messages"][1]["content"][0]["signature"] == SIGNATURE
