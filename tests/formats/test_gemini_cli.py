"""Gemini CLI's sessions and checkpoints as conversations."""

from __future__ import annotations

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.formats.agents import gemini_cli
from chatsquash.formats.base import TurnError

HEADER = {"sessionId": "s", "projectHash": "p", "startTime": "t", "lastUpdated": "t"}


def record(key, of, content="", **more):
    return {"id": key, "timestamp": "t", "type": of, "content": content, **more}


def user(key, content):
    return record(key, "user", content)


def model(key, content, **more):
    return record(key, "gemini", content, **more)


def response(ident, said="ok", **more):
    return {"functionResponse": {"id": ident, "name": "ls", "response": {"output": said}, **more}}


def call(ident, *result, **more):
    return {
        "id": ident,
        "name": "ls",
        "args": {"dir": "."},
        "status": "success",
        **({"result": list(result)} if result else {}),
        **more,
    }


def told(found):
    conversations = gemini_cli.conversations(found)
    return [[_told(each) for each in conversation.messages] for conversation in conversations]


def _told(said):
    ids = [each["id"] for each in said.get("tool_calls", [])] + [said[k] for k in ("tool_call_id",) if k in said]
    content = said["content"] if isinstance(said["content"], str | None) else json.dumps(said["content"])
    return " ".join([said["role"], *([content] if content else []), *ids])


FIRST = [HEADER, user("1", "hi"), model("2", "hello")]
LONG = "a" * 60 + "... [truncated]"
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}

FILES = [
    (FIRST, [["user hi", "assistant hello"]], "a line is a message"),
    ([{**HEADER, "messages": FIRST[1:]}], [["user hi", "assistant hello"]], "older sessions are one object"),
    (
        [HEADER, user("1", [{"text": "hi"}]), model("2", ["hel", {"text": "lo"}])],
        [["user hi", 'assistant [{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]']],
        "content is a text, parts or both",
    ),
    (
        [
            *FIRST,
            record("3", "info", "updated"),
            record("4", "error", "no network"),
            record("5", "warning", "slow"),
            user("6", "more"),
        ],
        [["user hi", "assistant hello", "user more"]],
        "what the client tells the user is none of it",
    ),
    (
        [*FIRST, user("3", "no"), model("2", "good day")],
        [["user hi", "assistant good day", "user no"]],
        "the same id again replaces, in its place",
    ),
    (
        [*FIRST, user("3", "no"), model("4", "well"), {"$rewindTo": "3"}, user("5", "yes")],
        [["user hi", "assistant hello", "user yes"]],
        "a rewind takes back a message and what follows it",
    ),
    (
        [*FIRST, {"$rewindTo": "9"}, user("5", "yes")],
        [["user yes"]],
        "one to a message that is not there takes back all, as Gemini CLI does",
    ),
    (
        [*FIRST, {"$set": {"lastUpdated": "t", "summary": "Greetings"}}],
        [["user hi", "assistant hello"]],
        "metadata change nothing",
    ),
    (
        [*FIRST, {"$set": {"messages": [user("1", "hey")]}}, model("3", "ho")],
        [["user hey", "assistant ho"]],
        "messages that are set replace those before",
    ),
    (
        [
            *FIRST,
            {"type": "message_update", "id": "2", "content": "hey"},
            {"type": "message_update", "id": "9", "tokens": 1},
        ],
        [["user hi", "assistant hey"]],
        "an update changes what it names",
    ),
    (
        [
            HEADER,
            user("1", "hi"),
            model("2", "I look", toolCalls=[call("c1", response("c1")), call("c2", response("c2", "no"))]),
            model("3", "done"),
        ],
        [["user hi", "assistant I look c1 c2", "tool ok c1", "tool no c2", "assistant done"]],
        "results stand beside their calls",
    ),
    (
        [
            HEADER,
            model(
                "2",
                "",
                toolCalls=[
                    call("c1", response("c1"), response("c2", "no")),
                    call("c2", response("c1"), response("c2", "no")),
                ],
            ),
        ],
        [["assistant c1 c2", "tool ok c1", "tool no c2"]],
        "each call may have the results of all, which count once",
    ),
    (
        [
            HEADER,
            model(
                "2", [{"functionCall": {"id": "c1", "name": "ls", "args": {}}}], toolCalls=[call("c1", response("c1"))]
            ),
            user("3", [response("c1")]),
            user("4", "go on"),
        ],
        [["assistant c1", "tool ok c1", "user go on"]],
        "a history that was synchronised tells calls and results twice",
    ),
    (
        [
            HEADER,
            model("2", "", toolCalls=[call("c1", {"functionResponse": {"name": "ls", "response": {"output": "ok"}}})]),
        ],
        [["assistant c1", "tool ok c1"]],
        "a result without an id is its call's",
    ),
    ([HEADER, model("2", "", toolCalls=[call("c1", "ok")])], [["assistant c1", "tool ok c1"]], "so is a text"),
    (
        [HEADER, model("2", "", toolCalls=[call("c1", status="cancelled")])],
        [["assistant c1"]],
        "a call may have no result",
    ),
    (
        [HEADER, model("2", "", toolCalls=[call("c1", response("c1", LONG))])],
        [["assistant c1", f"tool {LONG} c1"]],
        "what was cut stays as it was cut",
    ),
    (
        [{"history": [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"text": "hello"}]}]}],
        [["user hi", "assistant hello"]],
        "a checkpoint is a history",
    ),
    ([[{"role": "user", "parts": [{"text": "hi"}]}]], [["user hi"]], "or just its list"),
    ([HEADER, record("1", "info", "updated")], [], "where nothing is said there is no conversation"),
]


@pytest.mark.parametrize(
    ("found", "expected", "rule"), FILES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_files(found, expected, rule):
    before = copy.deepcopy(found)
    assert told(found) == expected, rule
    assert found == before
    assert gemini_cli.fits(found)


def test_messages_are_those_of_gemini():
    thoughts = [
        {"subject": "Looking", "description": "I list files.", "timestamp": "t"},
        {"description": "Then I stop."},
    ]
    failed = {"functionResponse": {"id": "c1", "name": "ls", "response": {"error": "no such folder"}}}
    found = [
        HEADER,
        model("1", "", thoughts=thoughts, toolCalls=[call("c1", failed, IMAGE)], model="m", tokens={"total": 1}),
    ]
    [conversation] = gemini_cli.conversations(found)
    first, second = "**Looking**\n\nI list files.", "Then I stop."
    assert conversation.messages == [
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": f"{first}\n\n{second}",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"dir":"."}'}}],
            "_x": {"thinking": [{"text": first}, {"text": second}]},
        },
        {"role": "tool", "tool_call_id": "c1", "name": "ls", "content": "no such folder", "_x": {"is_error": True}},
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}],
            "_x": {"same_turn": True},
        },
    ]
    assert conversation.tools == []


def test_a_picture_alone_is_a_result():
    [conversation] = gemini_cli.conversations([HEADER, model("1", "", toolCalls=[call("c1", "see", IMAGE)])])
    text, image = conversation.messages[1]["content"]
    assert (text["text"], image["type"]) == ("see", "image_url")


def test_what_the_user_says_beside_results_counts_once():
    parts = [response("c1"), IMAGE]
    found = [HEADER, model("1", "", toolCalls=[call("c1", *parts)]), user("2", [*parts, "go on"])]
    roles = [each["role"] for each in gemini_cli.conversations(found)[0].messages]
    assert roles == ["assistant", "tool", "user", "user"]


BROKEN = [
    ([HEADER, 7], "entry 2 is no object", "a line is an object"),
    ([{**HEADER, "messages": {"a": 1}}], "entry 1 has messages that are an object, not a list", "messages are a list"),
    ([{**HEADER, "messages": [7]}], "entry 1, messages[0] is no object", "of objects"),
    (
        [HEADER, record("1", "robot")],
        "entry 2 has a type that is none of user, gemini, info, error, warning",
        "of known types",
    ),
]


@pytest.mark.parametrize(("found", "problem", "rule"), BROKEN)
def test_broken_files(found, problem, rule):
    with pytest.raises(TurnError) as raised:
        gemini_cli.conversations(found)
    assert str(raised.value) == problem, rule


FITS = [
    (FIRST, "$set or $rewindTo, or sessionId beside projectHash", "a session names its project's hash"),
    (FIRST[1:], "records of the types user and gemini", "records alone have a time"),
    ([{**user("1", "hi"), "message": {}}], None, "and are not like those of others"),
    ([{"history": [{"role": "user", "parts": [{"text": "hi"}]}]}], "a history of contents", "a checkpoint is contents"),
    ([[{"role": "user", "parts": [{"type": "text", "text": "hi"}]}]], None, "whose parts have no types"),
    ([{"history": []}], None, "no contents are nothing"),
    ([], None, "nor are no lines"),
]


@pytest.mark.parametrize(("found", "evidence", "rule"), FITS)
def test_recognition(found, evidence, rule):
    assert gemini_cli.fits(found) == evidence, rule


KEYS = st.sampled_from(
    "id type content toolCalls thoughts result name args text functionCall functionResponse response parts role history $set $rewindTo messages sessionId projectHash".split()
)
VALUES = st.sampled_from(["user", "gemini", "model", "info", "message_update", "a", "", 0, 1, True, None])
JSON = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5))
RECORDS = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "gemini"]), "content": JSON},
    optional={"id": VALUES, "toolCalls": st.lists(st.dictionaries(KEYS, JSON, max_size=4), max_size=3) | JSON},
)


@given(st.lists(RECORDS | JSON, max_size=5))
def test_no_file_raises_anything_else_or_is_changed(found):
    before = json.dumps(found)
    gemini_cli.fits(found)
    with suppress(TurnError):
        json.dumps([each.messages for each in gemini_cli.conversations(found)])
    assert json.dumps(found) == before
