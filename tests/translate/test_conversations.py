"""The functions for one conversation, whatever its format: load, load_all, dump, losses, recognise."""

import copy
import doctest
import json
import re
from pathlib import Path

import pytest

import chatsquash
from chatsquash import formats
from chatsquash.core import chat
from chatsquash.core.blocks import Call, Media, Reasoning, Result, Text
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Conversation
from chatsquash.core.options import Options
from chatsquash.formats import documents
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.reading import identify
from chatsquash.sources.open import open_file
from chatsquash.translate import conversations
from chatsquash.translate.conversations import dump, known_formats, load, load_all, losses, recognise, writable_formats
from chatsquash.translate.losses import differences
from tests.conftest import cases
from tests.formats.kinds import (  # fmt: skip
    KINDS,
    PNG,
    answers,
    asks,
    call,
    calling,
    conversation,
    gives,
    image,
    result,
    said,
    says,
    system,
    text,
    turn,
    user,
)
from tests.samples.table import WITH_OTHERS, agents

EXCHANGES = ("gemini", "openai_responses", "anthropic", "ollama", "openai_chat")
LOGGED_ONLY = ("bedrock", "gemini_interactions")
READ_ONLY = tuple(name for name in documents.names() if not documents.get_format(name).dump and name not in WITH_OTHERS)
TEXT_ONLY = ("oumi_history",)
WRITTEN = ("atif", "clippy", "model_messages", "oumi", "portable", "pydantic_ai", "sts", "vercel_ai")
TOOL = {
    "type": "function",
    "function": {"name": "weather", "description": "The weather", "parameters": {"type": "object", "properties": {}}},
}
TURNS = (turn("system", "Be brief."), asks(), says("I look.", calling()), answers(), says())
TALK = conversation(*TURNS, tools=[TOOL])
TALK_WITHOUT_TOOLS = conversation(*TURNS)
PICTURE = Media("image", "image/png", PNG)
CACHED = {"anthropic": {"cache_control": {"type": "ephemeral"}}}
HAS_TOOLS = (*EXCHANGES, "atif", "oumi", "sts")


def sample(name):
    path = next(path for each, path in agents() if each == name)
    with open_file(str(path), Options()) as file:
        return identify.document_content(file).objects


def bare(messages):
    """Messages without the names of results, which their calls tell."""
    return [{key: value for key, value in each.items() if key != "name"} for each in messages]


def test_the_formats():
    assert set(known_formats()) == {*EXCHANGES, *LOGGED_ONLY, *READ_ONLY, *WRITTEN, *TEXT_ONLY, *WITH_OTHERS}
    assert set(writable_formats()) == {*EXCHANGES, *WRITTEN, *TEXT_ONLY}


def test_python_has_these_names():
    assert (chatsquash.load, chatsquash.dump, chatsquash.losses) == (load, dump, losses)


def test_the_examples_in_the_documentation():
    failed, tried = doctest.testmod(conversations)
    assert (failed, tried) == (0, 1)


# Load


@pytest.mark.parametrize("name", [*READ_ONLY, *WRITTEN, *TEXT_ONLY])
def test_every_document_is_told_and_loaded(name):
    objects = sample(name)
    before = copy.deepcopy(objects)
    assert recognise(objects) == name
    told = load_all(objects)
    assert told == load_all(objects, name)
    assert all(turns_of(each) for each in told)
    assert {turn.role for each in told for turn in turns_of(each)} <= {"system", "user", "assistant", "tool"}
    assert objects == before, "what was given is not changed"


@pytest.mark.parametrize("name", [*EXCHANGES, *WRITTEN])
def test_what_was_written_is_told_and_loaded(name):
    document = json.loads(json.dumps(dump(TALK, name)))
    again = load(document, name)
    assert bare(again.messages) == bare(TALK.messages)
    assert [turn.role for turn in turns_of(again)] == ["system", "user", "assistant", "tool", "assistant"]
    assert turns_of(again)[2] == TURNS[2]
    assert again.tools == ([TOOL] if name in HAS_TOOLS else [])


@pytest.mark.parametrize("name", [*EXCHANGES, *WRITTEN, *TEXT_ONLY])
def test_what_was_written_shows_its_format(name):
    assert recognise([json.loads(json.dumps(dump(TALK, name)))]) == name


def test_a_list_of_turns_is_a_body():
    for name in EXCHANGES:
        body = dump(TALK_WITHOUT_TOOLS, name)
        turns = body[conversations.named_format(name).TURNS]
        assert load(turns, name).turns[-1] == says(), name


def test_the_messages_are_those_of_openai_and_the_turns_have_all():
    thought = Reasoning("hm", "anthropic", "c2ln")
    content = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "I look."}]
    call_ = {"type": "tool_use", "id": "call_abc", "name": "weather", "input": {"city": "Paris"}}
    body = {
        "messages": [user(), {"role": "assistant", "content": [*content, call_, {"type": "text", "text": "Wait."}]}]
    }
    found = load(body)
    assert found.messages[0] == user()
    assert found.messages[1] == said([text("I look."), text("Wait.")], call(), reasoning_content="hm")
    assert turns_of(found) == (asks(), says(thought, "I look.", calling(), "Wait."))


def test_messages_have_turns_without_having_been_loaded():
    held = Conversation([system(), user([text("a"), image()]), said("b", call()), result()], [])
    assert turns_of(held) == (turn("system", "Be brief."), asks("a", PICTURE), says("b", calling()), answers())


@cases(
    "messages, expected",
    ("a message that is not an object", [user(), 3], "messages[1]: not an object"),
    ("a message without a role", [{"content": "a"}], "messages[0]: no role"),
    ("content that is none", [user(3)], "messages[0]: content is a number"),
)
def test_messages_that_are_none_are_a_usage_error(messages, expected):
    for use in (dump, losses):
        with pytest.raises(UsageError, match=re.escape(expected)):
            use(Conversation(messages, []), "anthropic")


# Exchanges

REPLY = {"choices": [{"index": 0, "message": said("It is sunny."), "finish_reason": "stop"}]}
CHUNKS = [
    {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "It is "}}]},
    {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"content": "sunny."}, "finish_reason": "stop"}],
    },
]
EVENTS = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in CHUNKS) + "data: [DONE]\n\n"
REQUEST = {"model": "m", "messages": [user()]}
ASKED = {"headers": {"authorization": "Bearer x"}, "body": REQUEST}


@pytest.mark.parametrize("name", [None, "openai_chat"])
@cases(
    "value",
    ("whole", {"request": REQUEST, "response": REPLY}),
    ("streamed as a list", {"request": REQUEST, "response": CHUNKS}),
    ("streamed as events", {"request": REQUEST, "response": EVENTS}),
    ("an HTTP pair", {"request": ASKED, "response": {"status": 200, "body": REPLY}}),
    ("an HTTP pair with a raw body", {"request": ASKED, "response": {"status": 200, "body_raw": json.dumps(REPLY)}}),
    ("an HTTP pair that is streamed", {"request": ASKED, "response": {"status": 200, "body_raw": EVENTS}}),
    ("LiteLLM", {"call_type": "acompletion", "model": "m", "messages": [user()], "response": REPLY, "startTime": 1.0}),
    ("OpenHands", {"messages": [user()], "response": REPLY, "args": [], "kwargs": {}, "timestamp": 1.0}),
)
def test_an_exchange_is_its_request_and_the_reply(value, name):
    before = copy.deepcopy(value)
    assert load(value, name).turns == (asks(), says())
    assert load(value, name).messages == [user(), said()]
    assert value == before


def test_an_exchange_of_every_format_is_its_request_and_the_reply():
    answer = {"role": "model", "parts": [{"text": "It is sunny."}]}
    item = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "It is sunny."}],
    }
    responses = {
        "anthropic": {
            "type": "message",
            "role": "assistant",
            "stop_reason": "end_turn",
            "content": [text("It is sunny.")],
        },
        "gemini": {"candidates": [{"content": answer, "finishReason": "STOP"}]},
        "ollama": {"message": said(), "done": True},
        "openai_chat": REPLY,
        "openai_responses": {"object": "response", "status": "completed", "output": [item]},
    }
    for name, response in responses.items():
        body = dump(conversation(*TURNS[:-1], tools=[TOOL]), name)
        found = load({"request": body, "response": response}, name)
        assert bare(found.messages) == bare(TALK.messages), name
        assert found.tools == [TOOL]


def test_a_reply_is_read_as_turns_are():
    logged = {
        "role": "assistant",
        "content": None,
        "reasoning": "hm",
        "function_call": {"name": "weather", "arguments": "{}"},
    }
    found = load({"request": REQUEST, "response": {"choices": [{"message": logged}]}})
    assert turns_of(found)[1] == says(Reasoning("hm"), Call("call_1", "weather", "{}", made_up=True))
    assert losses(found, "ollama") == []


def test_an_exchange_without_a_reply_is_its_request():
    for response in (None, {"error": {"message": "no"}}, {}):
        assert load({"request": REQUEST, "response": response}).messages == [user()]


def test_of_several_conversations_load_gives_the_first_and_load_all_each():
    values = sample("oumi")
    assert turns_of(load_all(values)[0]) == turns_of(load(values[0]))
    assert len(load_all(values)) == 2


@cases("value, name, expected",
    ("nothing known", {"x": 1}, None, 'no known format: .* the keys "x".*supported documents: .*; choose with --from'),
    ("a number", 3, None, "no known format"),
    ("no value at all", None, None, "no known format"),
    ("a format that is none", {"messages": []}, "nope", "nope: unknown format; expected one of gemini, "),
    ("another format than is said", {"messages": [user()]}, "gemini", "not gemini: no list of contents"),
    ("a turn that is none", {"messages": [user(), 3]}, None, r"not openai_chat: messages\[1\]"),
    ("a document that is broken", {"schema_version": "ATIF-v1.6", "steps": 3}, None, "not atif: entry 1: steps is"),
    ("a document that is none", {"x": 1}, "portable", "not portable: expected a list of entries, not an object"),
    ("a document with no conversation", [], "atif", "atif: "),
)  # fmt: skip
def test_wrong_input(value, name, expected):
    with pytest.raises(UsageError, match=expected):
        load(value, name)


def test_a_file_without_a_conversation_is_an_error():
    with pytest.raises(UsageError, match=r"^codex: no conversation found$"):
        load_all([{"timestamp": "t", "type": "session_meta", "payload": {"id": "s"}}])


def test_nothing_is_guessed_between_two_formats():
    line = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "hi"}}
    with pytest.raises(UsageError, match=r"more than one format matches: claude_code \(.*\) and gemini_cli \(.*--from"):
        load_all([line, line, {"$set": {}}])


@pytest.mark.parametrize("name", [*READ_ONLY, *WRITTEN, *TEXT_ONLY])
@pytest.mark.parametrize("value", [None, 3, "x", True, [], {}, [3], [None], [[]], [{}], {"messages": 3}])
def test_any_value_is_a_conversation_or_a_usage_error(name, value):
    try:
        found = load(value, name)
    except UsageError as problem:
        assert name in str(problem)  # noqa: PT017
    else:
        assert isinstance(found, Conversation)


# Dump


@pytest.mark.parametrize("name", [*EXCHANGES, *WRITTEN])
@pytest.mark.parametrize("kind", KINDS)
def test_a_document_is_json_and_the_conversation_is_not_changed(name, kind):
    before = copy.deepcopy(KINDS[kind])
    document = dump(KINDS[kind], name)
    assert json.loads(json.dumps(document)) == document
    assert before == KINDS[kind]
    assert f'"{chat.PRIVATE}":' not in json.dumps(document), "private members are ours"
    assert KINDS[kind].messages == before.messages


@pytest.mark.parametrize("name", READ_ONLY)
def test_a_format_that_is_only_read_is_not_written(name):
    with pytest.raises(UsageError, match=f"^{name}: can be read but not written; expected one of gemini, .*vercel_ai$"):
        dump(TALK, name)


def test_a_format_that_is_none_is_not_written():
    with pytest.raises(UsageError, match=r"^nope: unknown format; expected one of "):
        dump(TALK, "nope")


# Losses


@pytest.mark.parametrize("name", [*EXCHANGES, *WRITTEN])
def test_a_plain_talk_with_a_call_is_held_by_all(name):
    assert losses(TALK_WITHOUT_TOOLS, name) == []


@pytest.mark.parametrize("name", [*EXCHANGES, *WRITTEN])
def test_tools_are_held_or_told_to_be_lost(name):
    assert losses(TALK, name) == ([] if name in HAS_TOOLS else ["tools[0]"])


LOST = [
    ("portable", [asks(), says(Reasoning("hm"), "a")], ["turns[1].blocks[0]"], "reasoning"),
    ("portable", [asks("a", PICTURE), says()], ["turns[0].blocks[1]"], "an image"),
    ("ollama", [asks(), says("a")], [], "a text is held"),
    ("openai_responses", [asks(), says(Reasoning("hm"), "a")], ["turns[1].blocks[0]"], "reasoning that nobody signed"),
    ("anthropic", [asks(), says(calling(), "b"), answers()], [], "text behind a call is held"),
    ("anthropic", [asks(), says(calling()), answers(gives(json=True))], ["turns[2].blocks[0].json"], "that a result was JSON"),
    ("gemini", [asks(Text("a", native=CACHED))], ["turns[0].blocks[0].native.anthropic.cache_control"], "members of another"),
]  # fmt: skip


@pytest.mark.parametrize("name, turns, expected, sentence", LOST, ids=[f"{row[0]}: {row[3]}" for row in LOST])
def test_losses_are_paths(name, turns, expected, sentence):
    assert losses(conversation(*turns), name) == expected, sentence


@pytest.mark.parametrize("name", ["openai_chat", "openai_responses", "ollama", "portable", "oumi"])
def test_what_we_alone_read_again_is_told_apart(name):
    held = conversation(asks(), says(calling()), answers(gives("no such city", outcome="failed")))
    lost = losses(held, name)
    assert lost == []
    assert lost.kept_for_chatsquash == ["turns[2].blocks[0].outcome", "turns[2].blocks[0].content[0].text"]
    assert differences(held, load(dump(held, name), name)) == []
    assert "ERROR: no such city" in json.dumps(dump(held, name))


@pytest.mark.parametrize("name", ["anthropic", "gemini", "pydantic_ai", "vercel_ai"])
def test_nothing_is_told_apart_where_the_format_has_a_place(name):
    held = conversation(asks(), says(calling()), answers(gives("no such city", outcome="failed")))
    lost = losses(held, name)
    assert (lost, lost.kept_for_chatsquash) == ([], [])


def test_a_prompt_that_stood_beside_is_told_apart():
    held = conversation(turn("system", "s", instructions=True), asks())
    assert losses(held, "openai_chat").kept_for_chatsquash == ["turns[0].instructions"]
    assert load(dump(held, "openai_chat")).turns[0].instructions
    assert losses(held, "openai_responses").kept_for_chatsquash == []


def test_what_says_nothing_is_no_loss():
    logged = {
        "role": "assistant",
        "content": "",
        "refusal": None,
        "annotations": [],
        "tool_calls": [{"index": 0, **call()}],
    }
    found = load({"messages": [user(), logged, {"content": "x", "tool_call_id": "call_abc", "role": "tool"}]})
    for name in EXCHANGES:
        assert losses(found, name) == [], name


def test_losses_of_a_format_that_is_only_read_are_not_told():
    with pytest.raises(UsageError, match="can be read but not written"):
        losses(TALK, "goose")


@pytest.mark.parametrize("name", [*EXCHANGES, *WRITTEN])
@pytest.mark.parametrize("source", [*READ_ONLY, *WRITTEN, *TEXT_ONLY])
def test_from_any_document_to_any_format_calls_and_results_stay_linked(name, source):
    for found in load_all(sample(source)):
        again = load(json.loads(json.dumps(dump(found, name))), name)
        assert links(turns_of(again)) == links(turns_of(found))


def links(turns):
    """For each call its name and the place of its result among all results."""
    blocks = [block for each in turns for block in each.blocks]
    results = [block.id for block in blocks if isinstance(block, Result)]
    return [(block.name, results.index(block.id)) for block in blocks if isinstance(block, Call)]


def test_the_page_on_formats_names_those_of_exchanges_that_are_not_written():
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
    said = page.partition("## The formats")[2].partition("All except ")[2].partition("can be written")[0]
    assert set(re.findall(r"`(\w+)`", said)) == {*formats.names()} - {*conversations.writable_formats()}
