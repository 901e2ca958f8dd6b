"""The functions for one conversation, whatever its format: load, load_all, dump, losses, recognise."""

import copy
import doctest
import json
from pathlib import Path

import pytest

import chatsquash
from chatsquash import chat
from chatsquash.errors import UsageError
from chatsquash.formats.calls import call_name
from chatsquash.model import Conversation
from chatsquash.translate import conversations
from chatsquash.translate.conversations import dump, known, load, load_all, losses, recognise, writable
from tests.formats.kinds import KINDS, call, image, private, result, said, system, text, user

SAMPLES = Path(__file__).parents[2] / "sample_logs" / "documents"
EXCHANGES = ("gemini", "openai_responses", "anthropic", "ollama", "openai_chat")
READ_ONLY = ("atif", "claude_code", "codex", "gemini_cli", "goose", "openhands", "otel")
TEXT_ONLY = ("oumi_history",)
WRITTEN = ("clippy", "oumi", "portable", "pydantic_ai", "vercel_ai")
TOOL = {
    "type": "function",
    "function": {"name": "weather", "description": "The weather", "parameters": {"type": "object", "properties": {}}},
}
TALK = Conversation([system(), user(), said("I look.", call()), result(), said()], [TOOL])
TALK_WITHOUT_TOOLS = Conversation(TALK.messages, [])
HAS_TOOLS = (*EXCHANGES, "oumi")


def sample(name):
    (path, *_) = sorted(path for path in SAMPLES.iterdir() if path.stem.startswith(f"{name}-"))
    data = path.read_text("utf-8")
    return list(map(json.loads, data.splitlines())) if path.suffix == ".jsonl" else [json.loads(data)]


def bare(messages):
    """Messages without private members and without the names of results, which their calls tell."""
    names = {"_x", "name"}
    stripped = [{key: value for key, value in each.items() if key not in names} for each in messages]
    for each in stripped:
        if "tool_calls" in each:
            each["tool_calls"] = [{k: v for k, v in held.items() if k != "_x"} for held in each["tool_calls"]]
    return stripped


def test_the_formats():
    assert set(known()) == {*EXCHANGES, *READ_ONLY, *WRITTEN, *TEXT_ONLY}
    assert set(writable()) == {*EXCHANGES, *WRITTEN, *TEXT_ONLY}


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
    assert all(each.messages for each in told)
    assert {m["role"] for each in told for m in each.messages} <= {"system", "user", "assistant", "tool"}
    assert objects == before, "what was given is not changed"


@pytest.mark.parametrize("name", [*EXCHANGES, *WRITTEN])
def test_what_was_written_is_told_and_loaded(name):
    document = json.loads(json.dumps(dump(TALK, name)))
    again = load(document, name)
    assert bare(again.messages) == bare(TALK.messages)
    assert again.tools == ([TOOL] if name in HAS_TOOLS else [])


@pytest.mark.parametrize("name", [*EXCHANGES, *WRITTEN, *TEXT_ONLY])
def test_what_was_written_shows_its_format(name):
    assert recognise([json.loads(json.dumps(dump(TALK, name)))]) == name


def test_a_list_of_turns_is_a_body():
    for name in EXCHANGES:
        body = dump(TALK_WITHOUT_TOOLS, name)
        turns = body[conversations.module(name).TURNS]
        assert bare(load(turns, name).messages)[-1] == said(), name


def test_an_exchange_is_its_request_and_the_reply():
    for name in ("openai_chat", "ollama"):
        body = dump(Conversation(TALK.messages[:-1], [TOOL]), name)
        response = {"openai_chat": {"choices": [{"message": said()}]}, "ollama": {"message": said(), "done": True}}[
            name
        ]
        found = load({"request": body, "response": response}, name)
        assert bare(found.messages) == bare(TALK.messages), name


def test_an_exchange_without_a_reply_is_its_request():
    body = {"messages": [user()]}
    for response in (None, {"error": {"message": "no"}}, {}):
        assert load({"request": body, "response": response}).messages == [user()]


def test_of_several_conversations_load_gives_the_first_and_load_all_each():
    values = sample("oumi")
    assert load_all(values)[0] == load(values[0])
    assert len(load_all(values)) == 2


WRONG_INPUT = [
    (
        "nothing known",
        {"x": 1},
        None,
        'no known format: .* the keys "x".*documents that are known: .*; choose with --from',
    ),
    ("a number", 3, None, "no known format"),
    ("no value at all", None, None, "no known format"),
    ("a format that is none", {"messages": []}, "nope", "nope: no known format; known are gemini, "),
    ("another format than is said", {"messages": [user()]}, "gemini", "not gemini: has no list of contents"),
    ("a turn that is none", {"messages": [user(), 3]}, None, r"not openai_chat: messages\[1\]"),
    (
        "a document that is broken",
        {"schema_version": "ATIF-v1.6", "steps": 3},
        None,
        "not atif: entry 1 has steps that",
    ),
    ("a document that is none", {"x": 1}, "portable", "not portable: is an object, not a list"),
    ("a document with no conversation", [], "atif", "atif: "),
]  # fmt: skip


@pytest.mark.parametrize("sentence, value, name, expected", WRONG_INPUT, ids=[row[0] for row in WRONG_INPUT])
def test_wrong_input(sentence, value, name, expected):
    with pytest.raises(UsageError, match=expected):
        load(value, name)


def test_a_file_without_a_conversation_is_an_error():
    with pytest.raises(UsageError, match=r"^codex: there is no conversation in it$"):
        load_all([{"timestamp": "t", "type": "session_meta", "payload": {"id": "s"}}])


def test_nothing_is_guessed_between_two_formats():
    line = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "hi"}}
    with pytest.raises(UsageError, match=r"two formats at once: claude_code \(.*\) and gemini_cli \(.*--from"):
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


@pytest.mark.parametrize("name", READ_ONLY)
def test_a_format_that_is_only_read_is_not_written(name):
    with pytest.raises(UsageError, match=f"^{name}: is read only; written are gemini, .*vercel_ai$"):
        dump(TALK, name)


def test_a_format_that_is_none_is_not_written():
    with pytest.raises(UsageError, match=r"^nope: no known format; known are "):
        dump(TALK, "nope")


# Losses


@pytest.mark.parametrize("name", [*EXCHANGES, *WRITTEN])
def test_a_plain_talk_with_a_call_is_held_by_all(name):
    assert losses(TALK_WITHOUT_TOOLS, name) == []


@pytest.mark.parametrize("name", [*EXCHANGES, *WRITTEN])
def test_tools_are_held_or_told_to_be_lost(name):
    assert losses(TALK, name) == ([] if name in HAS_TOOLS else ["tools[0]"])


LOST = [
    ("portable", [user(), said(reasoning_content="hm")], ["messages[1].reasoning_content"], "reasoning"),
    ("portable", [user([text("a"), image()]), said()], ["messages[0].content"], "an image"),
    ("ollama", [user(), said("a")], [], "a text is held"),
    ("openai_responses", [user(), said(reasoning_content="hm")], [], "a summary is held"),
    ("anthropic", [user(), private(said(None, call()), after=["b"]), result()], [], "text behind a call is held"),
]


@pytest.mark.parametrize("name, messages, expected, sentence", LOST, ids=[f"{row[0]}: {row[3]}" for row in LOST])
def test_losses_are_paths(name, messages, expected, sentence):
    assert losses(Conversation(messages, []), name) == expected, sentence


def test_losses_of_a_format_that_is_only_read_are_not_told():
    with pytest.raises(UsageError, match="is read only"):
        losses(TALK, "goose")


@pytest.mark.parametrize("name", [*EXCHANGES, *WRITTEN])
@pytest.mark.parametrize("source", [*READ_ONLY, *WRITTEN, *TEXT_ONLY])
def test_from_any_document_to_any_format_calls_and_results_stay_linked(name, source):
    for found in load_all(sample(source)):
        again = load(json.loads(json.dumps(dump(found, name))), name)
        assert links(again.messages) == links(found.messages)


def links(messages):
    """For each call its name and the place of its result among all results."""
    results = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    calls = [each for message in messages for each in message.get("tool_calls", [])]
    return [(call_name(each), results.index(each["id"])) for each in calls]
