"""Conversations written as OpenAI chat."""

import copy
import json

import pytest
from hypothesis import given

from chatsquash.chat import Private
from chatsquash.formats import bodies, openai_chat
from chatsquash.formats.base import TurnError
from chatsquash.formats.openai_chat import dump
from chatsquash.model import Conversation
from tests.formats.kinds import KINDS, ODD, call, image, private, result, said, settled, text, user

LOST = {
    "text after call": "the text is the last part of the content",
    "result json obj": "the text stays, that it is JSON does not",
    "result json list": "the text stays, that it is JSON does not",
    "result image": "results are text",
    "is_error": "there is no place for it, and the text stays as it is",
    "anthropic signature": "the reasoning stays",
    "anthropic redacted": "nobody else can read it",
    "openai encrypted": "the reasoning stays",
    "gemini call sig": "the call stays",
}
CACHED = {"cache_control": {"type": "ephemeral"}}
VIDEO = {"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}}
FLAC = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "flac"}}
LINKED = {"type": "file", "file": {"file_url": "https://example.com/a.pdf"}}
ORIGINAL = {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "original"}}

WRITTEN = [
    ([user()], [user()], "a message of OpenAI's own stays as it is"),
    ([{"role": "developer", "content": "a"}], [{"role": "developer", "content": "a"}], "developer stays developer"),
    ([user() | {"name": "n"}], [user() | {"name": "n"}], "a name stays"),
    ([user() | {"name": None}], [user()], "what is null is left out"),
    ([user(None)], [user("")], "only the assistant's content may be null"),
    ([said(None)], [said(None)], "and it stays null, although an empty text says the same"),
    ([said("")], [said("")], "an empty text stays one, too"),
    ([user(5)], [user("")], "content that is neither text nor parts cannot be held"),
    ([result({"a": 1})], [result('{"a":1}')], "a result that is no text is JSON"),
    ([user([text("a")])], [user("a")], "a single text is a string"),
    ([user([text("a"), text("b")])], [user([text("a"), text("b")])], "several texts stay apart"),
    ([private(user("a"), part=CACHED)], [user([text("a") | CACHED])], "what stood beside a text in its part returns to it"),
    ([user([text("a"), VIDEO, FLAC])], [user("a")], "parts that the schema lacks are left out"),
    ([user([ORIGINAL])], [user([image("https://example.com/a.png")])], "so is a detail that only Responses has"),
    ([user([text("a"), LINKED])], [user([text("a"), LINKED])], "a file that is only an address has no other place, and stays"),
    ([said([text("a"), image()])], [said("a")], "an assistant shows nothing"),
    ([said([image()])], [said(None)], "so that he may have said nothing"),
    ([said([text("a"), {"type": "refusal", "refusal": "no"}])], [said([text("a"), {"type": "refusal", "refusal": "no"}])], "a refusal is a part of his"),
    ([result([text("a"), image()])], [result("a")], "an image in a result has no place, and others' schema errors are not written"),
    ([result([image()])], [result("")], "so that the result may be empty"),
    ([result([text("a"), text("b")])], [result([text("a"), text("b")])], "texts in a result stay apart"),
    ([private(said("A", call()), after=["B", "C"])], [said([text("A"), text("B"), text("C")], call())], "text around a call is never one text, where others write ABC"),
    ([private(said(None, call()), after=["B"])], [said("B", call())], "text behind a call alone is the content"),
    ([said("a", reasoning_content="r")], [said("a", reasoning_content="r")], "reasoning stays where most vendors have it"),
    ([private(said("a", reasoning_content="r"), thinking=[{"text": "r", "signature": "s"}])], [said("a", reasoning_content="r")], "its signature does not"),
    ([private(result("no"), is_error=True)], [result("no")], "the text of an error gets no prefix"),
    ([private(said(None, private(call(), signature="s")), native=[{"type": "x"}])], [said(None, call())], "nothing private is written, on no level"),
    ([user() | {"_x": {"a": 1}}], [user()], "a member of that name neither"),
    ([result("a", name="weather")], [result("a", name="weather")], "the name of a result's tool stays"),
    ([said(None, call(arguments="{bad")), result("a")], [said(None, call(arguments="{bad")), result("a")], "malformed arguments stay what they are, where others write {}"),
    ([said(None, call(arguments=' {"a": 1.0}'))], [said(None, call(arguments=' {"a": 1.0}'))], "no byte of arguments changes"),
    ([said(None, private(call("call_1"), synthetic_id=True)), result("a", "call_1")], [said(None, call("call_1")), result("a", "call_1")], "an id that was made up is written, since every call needs one"),
    ([said(None, {"type": "function", "function": {"name": "f"}}), {"role": "tool", "content": "a"}], [said(None, call("call_1", "{}", "f")), result("a", "call_1")], "missing ids are made up and linked"),
    ([said(None, {"id": "c", "type": "function", "function": {"arguments": "{}"}})], [said(None, call("c", "{}", ""))], "a call without a name has an empty one"),
    ([said(None, {"id": "c", "type": "mcp", "mcp": {}})], [said(None)], "a call of a type that the schema lacks is left out"),
    ([said("a") | {"tool_calls": []}], [said("a")], "an empty list of calls is none"),
    ([said("a") | {"audio": {"id": "audio_1"}}], [said("a") | {"audio": {"id": "audio_1"}}], "audio is its id"),
    ([said("a") | {"audio": {"data": "AA=="}}], [said("a")], "so audio without one is left out"),
    ([said("a") | {"prefix": True}], [said("a") | {"prefix": True}], "members that nobody knows travel along"),
    ([{"role": "critic", "content": [VIDEO]}], [{"role": "critic", "content": ""}], "of a role that nobody knows nothing is asked but content"),
    ([user("a"), user("b"), said("c"), said("d")], [user("a"), user("b"), said("c"), said("d")], "neighbours of a role stay apart"),
]  # fmt: skip


@pytest.mark.parametrize("messages, expected, sentence", WRITTEN, ids=[row[2] for row in WRITTEN])
def test_messages(messages, expected, sentence):
    written = dump(Conversation(messages, []))
    assert json.dumps(written["messages"], sort_keys=True) == json.dumps(expected, sort_keys=True), sentence


SCHEMA = {"type": "object", "properties": {}}
TOOLS = [
    ({"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA, "strict": True}}, None, "a definition stays as it is"),
    ({"type": "custom", "custom": {"name": "f", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "x"}}}}, None, "so does a custom tool"),
    ({"name": "f", "parameters": SCHEMA}, {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}, "a flat definition is wrapped"),
    (private({"type": "function", "function": {"name": "f"}}, cache_control={}), {"type": "function", "function": {"name": "f"}}, "what another format said of it is left out"),
    ({"type": "function", "function": {"name": "f", "description": None, "parameters": None}}, {"type": "function", "function": {"name": "f"}}, "what is null is left out"),
    ({"type": "function", "function": {"name": "f", "parameters": "p", "description": 1}}, {"type": "function", "function": {"name": "f"}}, "so is what has another type"),
    ({"type": "x", "function": {"name": "f"}}, {"type": "function", "function": {"name": "f"}}, "the type says what the member says"),
]  # fmt: skip


@pytest.mark.parametrize("tool, expected, sentence", TOOLS, ids=[row[2] for row in TOOLS])
def test_a_tool(tool, expected, sentence):
    assert dump(Conversation([], [tool])) == {"messages": [], "tools": [expected or tool]}, sentence


@pytest.mark.parametrize("tool", [{"type": "web_search"}, {"type": "function", "function": {}}, {"custom": 1}, 5, None])
def test_what_is_no_tool_with_a_name_is_left_out_and_an_empty_list_is_never_written(tool):
    assert dump(Conversation([], [tool])) == {"messages": []}


@pytest.mark.parametrize(
    "message, problem", [({}, "has no role"), ("hi", "is no object"), ({"role": 1}, "has no role")]
)
def test_what_is_no_message_is_refused_with_its_place(message, problem):
    with pytest.raises(TurnError, match=rf"^messages\[1\] {problem}$"):
        dump(Conversation([user(), message], []))


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_comes_back_but_for_what_the_schema_has_no_place_for(kind):
    before = copy.deepcopy(KINDS[kind])
    back = bodies.load(openai_chat, json.loads(json.dumps(dump(KINDS[kind]))))
    assert KINDS[kind] == before, "the conversation is not changed"
    assert (settled(back.messages) == settled(before.messages)) is (kind not in LOST), LOST.get(kind)


def test_what_is_lost_of_a_kind():
    def back(kind):
        return bodies.load(openai_chat, dump(KINDS[kind])).messages

    assert back("text after call")[1]["content"] == [text("I look."), text("Wait.")]
    assert back("result image")[2]["content"] == "A picture:"
    for kind in LOST.keys() - {"text after call", "result image"}:
        bare = [{key: value for key, value in message.items() if key != "_x"} for message in KINDS[kind].messages]
        calls = [[{k: v for k, v in each.items() if k != "_x"} for each in m.get("tool_calls", [])] for m in bare]
        bare = [{**m, "tool_calls": made} if made else m for m, made in zip(bare, calls, strict=True)]
        assert back(kind) == bare, "no more than the private slots"


def has_private(value):
    if isinstance(value, dict):
        return isinstance(value, Private) or any(map(has_private, value.values()))
    return isinstance(value, list) and any(map(has_private, value))


@given(ODD)
def test_odd_values_never_stop_it_and_it_changes_nothing(conversation):
    before = copy.deepcopy(conversation)
    written = dump(conversation)
    assert conversation == before
    assert written == dump(conversation), "the same each time"
    assert not has_private(written)
    back = bodies.load(openai_chat, json.loads(json.dumps(written)))
    assert [message["role"] for message in back.messages] == [message["role"] for message in conversation.messages]
    assert dump(back) == written, "what was written is held whole"
