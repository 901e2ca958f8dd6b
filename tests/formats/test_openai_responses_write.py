"""Conversations written as OpenAI Responses."""

import copy
import json

import pytest
from hypothesis import given

from chatsquash.formats import bodies, openai_responses, recognise
from chatsquash.formats.base import TurnError
from chatsquash.formats.openai_responses import dump
from chatsquash.model import Conversation
from tests.formats.kinds import KINDS, ODD, call, image, private, result, said, settled, system, text, user

LOST = {
    "audio": "there is no part for it",
    "result json obj": "the text stays, that it is JSON does not",
    "result json list": "the text stays, that it is JSON does not",
    "is_error": "there is no place for it, and the text stays as it is",
    "asst asst": "there is no boundary between two items of the assistant",
    "anthropic signature": "the reasoning stays",
    "anthropic redacted": "nobody else can read it",
    "gemini call sig": "the call stays",
}

SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}
LATE_TOOLS = {"type": "additional_tools", "role": "developer", "tools": []}
CITED = {"type": "url_citation", "url": "https://example.org", "start_index": 0, "end_index": 2, "title": "t"}
RAW = {"type": "reasoning", "id": "rs_9", "summary": [], "content": [{"type": "reasoning_text", "text": "r"}]}
IMAGE_ID = {"type": "input_image", "file_id": "file-1"}
FILE_URL = {"type": "input_file", "file_url": "https://example.org/a"}
NAMED = {"type": "input_file", "filename": "n"}


def easy(said):
    return {"role": "assistant", "content": said}


def full(*blocks, number=1):
    return {
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": list(blocks),
        "id": f"msg_{number}",
    }


def out(said, *notes):
    return {"type": "output_text", "text": said, "annotations": list(notes)}


def told(said):
    return {"type": "input_text", "text": said}


def called(call_id="call_abc", arguments='{"city":"Paris"}', name="weather", **more):
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **more}


def output(said, call_id="call_abc", **more):
    return {"type": "function_call_output", "call_id": call_id, "output": said, **more}


def thought(said=None, number=1, **more):
    summary = [{"type": "summary_text", "text": said}] if said else []
    return {"type": "reasoning", "summary": summary, "id": f"rs_{number}", **more}


REFUSED = {"type": "refusal", "refusal": "no"}
CUSTOM = {"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
DETAILED = {"type": "image_url", "image_url": {"url": "u", "detail": "low"}}
MADE_UP = {"type": "image_url", "image_url": {"url": "u", "detail": "tiny"}}
IMAGE_OUT = {"type": "input_image", "image_url": image()["image_url"]["url"]}
IMAGE_IN = {**IMAGE_OUT, "detail": "auto"}

WRITTEN = [
    ([user("a")], [user("a")], "a message has its easy form"),
    ([{"role": "developer", "content": "a"}, user("b"), system("c")], [{"role": "developer", "content": "a"}, user("b"), system("c")], "developer and system messages stay where they are"),
    ([user("a") | {"name": "n"}], [user("a")], "there is no name"),
    ([user([text("a"), image(), text("b")])], [user([told("a"), IMAGE_IN, told("b")])], "parts stay in their order; a message's image must say its detail"),
    ([user([DETAILED])], [user([{"type": "input_image", "image_url": "u", "detail": "low"}])], "and keeps one that it has"),
    ([user([MADE_UP])], [user([{"type": "input_image", "image_url": "u", "detail": "auto"}])], "if there is such a one"),
    ([user([{"type": "file", "file": {"file_data": "d", "filename": "n"}}])], [user([{"type": "input_file", "file_data": "d", "filename": "n"}])], "a file is a file"),
    ([user([{"type": "file", "file": {"file_url": "https://example.org/a"}}])], [user([FILE_URL])], "also if it is elsewhere"),
    ([user([text("a"), {"type": "file", "file": {"filename": "n"}}])], [user([told("a")])], "but not if it is only a name"),
    ([private(user("a"), native=[IMAGE_ID, NAMED, {"type": "x"}])], [user([told("a"), {"detail": "auto", **IMAGE_ID}, NAMED])], "blocks that have no canonical part are written as they were logged"),
    ([user(None)], [user([])], "content that is null is an empty list"),
    ([private({"role": "developer", "content": None}, native=[LATE_TOOLS])], [LATE_TOOLS], "an item that stood in place of a message is written as it was logged"),
    ([private({"role": "developer", "content": None}, native=[{"type": "x", "role": "developer"}])], [{"role": "developer", "content": []}], "unless it is none of this format's"),
    ([said("a")], [easy("a")], "an assistant's text has its easy form"),
    ([said("")], [easy("")], "also if it is empty"),
    ([said(None)], [{"role": "assistant", "content": []}], "and one who says nothing is still there"),
    ([said([text("a"), text("b")])], [full(out("a"), out("b"))], "several texts are the parts of one message in its full form"),
    ([private(said([text("a"), text("b")]), order="mnm", native=[SEARCH])], [easy("a"), SEARCH, easy("b")], "unless they were logged as so many messages"),
    ([private(said([text("a"), text("b")]), phase=["commentary", "final_answer"])], [easy("a") | {"phase": "commentary"}, easy("b") | {"phase": "final_answer"}], "as their phases tell"),
    ([private(said("a"), phase=["other"])], [easy("a")], "of which there are two"),
    ([private(said("a"), annotations=[[CITED]])], [full(out("a", CITED))], "annotations need the full form"),
    ([private(said("a"), annotations=[[CITED], None])], [easy("a")], "those of other texts are left out"),
    ([said(None, refusal="no")], [full(REFUSED)], "so do refusals"),
    ([said("a", refusal="no")], [full(out("a"), REFUSED)], "which stand behind the text"),
    ([said([text("a"), image()])], [easy("a")], "an assistant shows no images"),
    ([said("a", call())], [easy("a"), called()], "calls are items of their own, not parts of a message as others write them"),
    ([said(None, call()), result("s")], [called(), output("s")], "and so are results"),
    ([said(None, call("a"), call("b"))], [called("a"), called("b")], "parallel calls stay apart and in order"),
    ([said(None, call(arguments="{bad"))], [called(arguments="{bad")], "malformed arguments stay what they are, where others write {}"),
    ([said(None, call(arguments=' {"a": 1.0}'))], [called(arguments=' {"a": 1.0}')], "no byte of arguments changes"),
    ([said(None, private(call("call_1"), synthetic_id=True))], [called("call_1")], "an id that was made up is written, since every call needs one"),
    ([said(None, {"function": {"name": "f"}}), {"role": "tool", "content": "s"}], [called("call_1", "{}", "f"), output("s", "call_1")], "missing ids are made up and linked"),
    ([said(None, {"id": "c", "type": "mcp", "mcp": {}})], [{"role": "assistant", "content": []}], "a call of another type is none"),
    ([said(None, private(call(), namespace="n", caller={"type": "direct"}, signature="s"))], [called(namespace="n", caller={"type": "direct"})], "namespace and caller of a call are this format's own, signatures are not"),
    ([said(None, CUSTOM), result("s", "c"), result("t", "d")], [{"type": "custom_tool_call", "call_id": "c", "name": "sh", "input": "ls"}, {"type": "custom_tool_call_output", "call_id": "c", "output": "s"}, output("t", "d")], "a custom call's result is of its own type"),
    ([said(None, CUSTOM), result([image()], "c")], [{"type": "custom_tool_call", "call_id": "c", "name": "sh", "input": "ls"}, {"type": "custom_tool_call_output", "call_id": "c", "output": [IMAGE_IN]}], "in which an image must say its detail"),
    ([result("s", name="weather")], [output("s", name="weather")], "a result keeps the name of its tool"),
    ([result([text("a"), image()])], [output([told("a"), IMAGE_OUT])], "a result's image need not say its detail"),
    ([result("")], [output("")], "an empty result is an empty text"),
    ([result([])], [output("")], "so is one of no parts"),
    ([private(result('{"a":1}'), json=True)], [output('{"a":1}')], "JSON stays a text, as the library wants it"),
    ([private(result("no"), is_error=True)], [output("no")], "the text of an error stays as it is"),
    ([private(said("A", call()), after=["B", "C"])], [easy("A"), called(), easy("B"), easy("C")], "text behind a call stays behind it"),
    ([private(said("A", call()), after=["B"], order="cmm")], [easy("A"), called(), easy("B")], "an order that does not fit does not count"),
    ([private(said("A", call(), reasoning_content="r"), order="mrc")], [easy("A"), thought("r", 2), called()], "one that fits does"),
    ([said("a", call(), reasoning_content="r")], [thought("r"), easy("a"), called()], "reasoning is an item of its own, never text in think tags and never dropped"),
    ([private(said("a", reasoning_content="r\n\ns"), thinking=[{"text": "r"}, {"text": "s"}])], [thought("r"), thought("s", 2), easy("a")], "one for each block"),
    ([private(said("a", reasoning_content="new"), thinking=[{"text": "old", "encrypted": "e"}])], [thought("new"), easy("a")], "unless the blocks say something else than the message"),
    ([private(said("a", reasoning_content="r"), thinking=[{"encrypted": "e", "id": "rs_5"}])], [thought("r"), {**thought(), "id": "rs_5", "encrypted_content": "e"}, easy("a")], "or nothing at all"),
    ([private(said("a"), thinking=[{"encrypted": "e"}])], [thought(encrypted_content="e"), easy("a")], "encrypted reasoning gets an id if it has none"),
    ([private(said("a"), thinking=[{"encrypted": "e", "format": "anthropic-claude-v1"}, {"redacted": "d"}])], [easy("a")], "what others encrypted is left out"),
    ([private(said("a", reasoning_content="r"), thinking=[{"text": "r", "item": RAW}])], [RAW, easy("a")], "an item of which the text tells too little is written as it was logged"),
    ([private(said("a", reasoning_content="x"), thinking=[{"text": "x", "item": RAW}])], [thought("x"), easy("a")], "unless it says something else"),
    ([private(said("a"), thinking=[{}])], [thought(), easy("a")], "an empty item of reasoning stays one"),
    ([private(said("a"), native=[SEARCH])], [easy("a"), SEARCH], "what the service did is written as it was logged"),
    ([private(said("a"), native=[{"type": "server_tool_use", "id": "s"}, {"executableCode": {}}, called(), 5])], [easy("a")], "what other services did is not"),
    ([private(said("a"), native=[{"type": "compaction", "encrypted_content": "e"}, {"type": "compaction", "content": "c"}])], [easy("a"), {"type": "compaction", "encrypted_content": "e"}], "also where the name is the same"),
]  # fmt: skip


@pytest.mark.parametrize("messages, expected, sentence", WRITTEN, ids=[row[2] for row in WRITTEN])
def test_items(messages, expected, sentence):
    assert dump(Conversation(messages, [])) == {"input": expected}, sentence


@pytest.mark.parametrize(
    "message, body",
    [
        (private(system("a"), **{"from": "instructions"}), {"instructions": "a", "input": [user("b")]}),
        (private(system("a"), **{"from": "system"}), {"input": [system("a"), user("b")]}),
        (private(system(""), **{"from": "instructions"}), {"input": [system(""), user("b")]}),
        (private({"role": "developer", "content": "a"}, **{"from": "instructions"}), {"input": [{"role": "developer", "content": "a"}, user("b")]}),
    ],
)  # fmt: skip
def test_only_what_were_instructions_are_such_again_and_only_as_text(message, body):
    assert dump(Conversation([message, user("b")], [])) == body


SCHEMA = {"type": "object", "properties": {}}
GRAMMAR = {"syntax": "lark", "definition": "x"}
TOOLS = [
    ({"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA, "strict": False}}, {"type": "function", "name": "f", "description": "d", "parameters": SCHEMA, "strict": False}, "a definition is flat"),
    ({"type": "function", "function": {"name": "f"}}, {"type": "function", "name": "f", "parameters": None, "strict": None}, "what the library wants is there, and null where nothing is known"),
    (private({"type": "function", "function": {"name": "f"}}, defer_loading=True, cache_control={}), {"type": "function", "name": "f", "parameters": None, "strict": None, "defer_loading": True}, "what this format has, too, is kept of what another one said"),
    ({"type": "custom", "custom": {"name": "f", "format": {"type": "grammar", "grammar": GRAMMAR}}}, {"type": "custom", "name": "f", "format": {"type": "grammar", **GRAMMAR}}, "so is a custom tool and its grammar"),
    ({"type": "custom", "custom": {"name": "f", "description": "d", "format": {"type": "text"}}}, {"type": "custom", "name": "f", "description": "d", "format": {"type": "text"}}, "free text has none"),
]  # fmt: skip


@pytest.mark.parametrize("tool, expected, sentence", TOOLS, ids=[row[2] for row in TOOLS])
def test_a_tool(tool, expected, sentence):
    written = dump(Conversation([], [tool]))
    assert written == {"input": [], "tools": [expected]}, sentence
    bare = {key: value for key, value in tool.items() if key != "_x"}
    assert [
        {key: value for key, value in back.items() if key != "_x"}
        for back in bodies.load(openai_responses, written).tools
    ] == [bare]


@pytest.mark.parametrize("tool", [{"type": "web_search"}, {"type": "function", "function": {}}, 5, None])
def test_what_is_no_tool_with_a_name_is_left_out(tool):
    assert dump(Conversation([], [tool])) == {"input": []}


@pytest.mark.parametrize("message, problem", [({}, "has no role"), ("hi", "is no object"), ({"role": "critic"}, 'has the role "critic", which OpenAI Responses has not')])  # fmt: skip
def test_what_is_no_message_of_a_known_role_is_refused_with_its_place(message, problem):
    with pytest.raises(TurnError, match=rf"^messages\[1\] {problem}$"):
        dump(Conversation([user(), message], []))


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_comes_back_but_for_what_this_format_has_no_place_for(kind):
    before = copy.deepcopy(KINDS[kind])
    written = json.loads(json.dumps(dump(KINDS[kind])))
    assert KINDS[kind] == before, "the conversation is not changed"
    assert recognise(written, None, None).name == "openai_responses"
    back = bodies.load(openai_responses, written)
    assert (settled(back.messages) == settled(before.messages)) is (kind not in LOST), LOST.get(kind)


def test_what_is_lost_of_a_kind():
    def back(kind):
        return bodies.load(openai_responses, dump(KINDS[kind])).messages

    assert back("asst asst")[1]["content"] == [text("It is sunny."), text("It is warm.")]
    assert back("audio")[0]["content"] == "What is said?"
    for kind in LOST.keys() - {"audio", "asst asst"}:
        bare = [
            {key: value for key, value in message.items() if key != "_x"} for message in settled(KINDS[kind].messages)
        ]
        calls = [[{k: v for k, v in each.items() if k != "_x"} for each in m.get("tool_calls", [])] for m in bare]
        bare = [{**m, "tool_calls": made} if made else m for m, made in zip(bare, calls, strict=True)]
        assert [{key: value for key, value in m.items() if key != "_x"} for m in back(kind)] == bare, (
            "no more than markers"
        )


INPUT = [
    system("be brief"), user("a"), thought("r", 3), easy("b"), SEARCH, full(out("c", CITED), number=6), called("c1"), called("c2"), easy("d"),
    output("s", "c2"), output([told("t"), IMAGE_OUT], "c1"), LATE_TOOLS, {**thought(), "id": "rs_9", "encrypted_content": "e"}, RAW,
    easy("e") | {"phase": "final_answer"}, user([told("f"), FILE_URL]),
]  # fmt: skip


def test_what_this_format_logged_is_written_as_it_was():
    loaded = bodies.load(openai_responses, {"instructions": "i", "input": INPUT})
    assert dump(loaded) == {"instructions": "i", "input": INPUT}


@given(ODD)
def test_odd_values_never_stop_it_and_it_changes_nothing(conversation):
    before = copy.deepcopy(conversation)
    written = dump(conversation)
    assert conversation == before
    assert written == dump(conversation), "the same each time"
    back = bodies.load(openai_responses, json.loads(json.dumps(written)))
    turns = [message["role"] for message in conversation.messages]
    merged = [role for at, role in enumerate(turns) if role != "assistant" or at == 0 or turns[at - 1] != "assistant"]
    assert [message["role"] for message in back.messages] == merged


@given(ODD)
def test_calls_and_results_are_linked_as_they_were(conversation):
    from chatsquash.formats import openai_chat

    links = []
    for form in (openai_chat, openai_responses):
        messages = bodies.load(form, form.dump(conversation)).messages
        calls = [
            each["id"]
            for message in messages
            for each in message.get("tool_calls", [])
            if message["role"] == "assistant"
        ]
        links.append((calls, [message["tool_call_id"] for message in messages if message["role"] == "tool"]))
    assert links[0] == links[1]
