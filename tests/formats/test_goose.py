"""goose's sessions as conversations."""

from __future__ import annotations

import copy
import json
import sqlite3
from contextlib import closing, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.formats.agents import goose
from chatsquash.formats.base import TurnError

HEADER = {"working_dir": "/work", "description": "a talk", "message_count": 2}


def message(role, *content, **more):
    return {"id": "m", "role": role, "created": 1, "content": list(content), **more}


def text(said, **more):
    return {"type": "text", "text": said, **more}


def request(ident, arguments=None, **more):
    called = {"name": "developer__shell", "arguments": arguments or {}}
    return {"type": "toolRequest", "id": ident, "toolCall": {"status": "success", "value": called}, **more}


def response(ident, value):
    return {"type": "toolResponse", "id": ident, "toolResult": {"status": "success", "value": value}}


def call(ident, arguments="{}", **held):
    function = {"name": "developer__shell", "arguments": arguments}
    return {"id": ident, "type": "function", "function": function, **({"_x": held} if held else {})}


def loaded(*messages):
    found = goose.conversations([HEADER, *messages])
    assert all(each.tools == [] for each in found)
    return [message for each in found for message in each.messages]


def result(ident, content, **held):
    return {"role": "tool", "tool_call_id": ident, "content": content, **({"_x": held} if held else {})}


MESSAGES = [
    ([message("user", text("hi"))], [{"role": "user", "content": "hi"}], "a text is a text"),
    (
        [message("user", text("see"), {"type": "image", "data": "AA==", "mimeType": "image/png"})],
        [
            {
                "role": "user",
                "content": [text("see"), {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}],
            }
        ],
        "an image is its data",
    ),
    (
        [message("assistant", text("I look"), request("t1", {"command": "ls"}))],
        [{"role": "assistant", "content": "I look", "tool_calls": [call("t1", '{"command":"ls"}')]}],
        "a request is a call",
    ),
    (
        [message("assistant", request("t1", thoughtSignature="s"))],
        [{"role": "assistant", "content": None, "tool_calls": [call("t1", signature="s")]}],
        "the signature of a call stands where Gemini's do",
    ),
    (
        [
            message(
                "assistant",
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redactedThinking", "data": "r"},
                text("ok"),
            )
        ],
        [
            {
                "role": "assistant",
                "content": "ok",
                "reasoning_content": "hm",
                "_x": {"thinking": [{"text": "hm", "signature": "s"}, {"redacted": "r"}]},
            }
        ],
        "thinking is reasoning, and what is hidden stays hidden",
    ),
    ([message("user", response("t1", {"content": [text("ok")]}))], [result("t1", "ok")], "a response is a result"),
    ([message("user", response("t1", [text("ok")]))], [result("t1", "ok")], "an old one is a bare list"),
    (
        [
            message(
                "user",
                response(
                    "t1",
                    {
                        "content": [
                            text("for you", annotations={"audience": ["user"]}),
                            text("for it", annotations={"audience": ["assistant"]}),
                        ]
                    },
                ),
            )
        ],
        [result("t1", "for it")],
        "what is for the user alone is not the model's",
    ),
    (
        [message("user", response("t1", {"content": [text("no")], "isError": True}))],
        [result("t1", "no", is_error=True)],
        "a tool says that it failed",
    ),
    (
        [
            message(
                "user", {"type": "toolResponse", "id": "t1", "toolResult": {"status": "error", "error": "timed out"}}
            )
        ],
        [result("t1", "timed out", is_error=True)],
        "or could not be called",
    ),
    (
        [message("user", response("t1", {"content": [], "structuredContent": {"a": 1}}))],
        [result("t1", '{"a":1}', json=True)],
        "structured content alone is JSON",
    ),
    (
        [message("assistant", {"type": "toolRequest", "id": "t1", "toolCall": {"status": "error", "error": "bad"}})],
        [
            {
                "role": "assistant",
                "content": "",
                "_x": {
                    "native": [{"type": "toolRequest", "id": "t1", "toolCall": {"status": "error", "error": "bad"}}]
                },
            }
        ],
        "a call that could not be parsed has no name, and gets none",
    ),
    (
        [
            message("user", text("old"), metadata={"userVisible": True, "agentVisible": False}),
            message("user", text("hi"), metadata={"userVisible": True, "agentVisible": True}),
        ],
        [{"role": "user", "content": "hi"}],
        "only what the agent sees counts",
    ),
    (
        [
            message("assistant", {"type": "systemNotification", "msg": "compacting"}),
            message("user", {"type": "conversationCompacted", "msg": "done"}),
            message("assistant", {"type": "actionRequired"}, text("ok")),
        ],
        [{"role": "assistant", "content": "ok"}],
        "what goose shows the user is no part of it",
    ),
    (
        [message("user", {"type": "hologram"})],
        [{"role": "user", "content": "", "_x": {"native": [{"type": "hologram"}]}}],
        "what is not known is kept",
    ),
]


@pytest.mark.parametrize(("messages", "expected", "rule"), MESSAGES)
def test_messages(messages, expected, rule):
    before = copy.deepcopy(messages)
    assert loaded(*messages) == expected, rule
    assert messages == before


def test_an_exported_session_holds_its_messages():
    messages = [message("user", text("hi")), message("assistant", text("hello"))]
    exported = {"id": "s", "working_dir": "/work", "name": "a talk", "conversation": messages}
    assert goose.conversations([exported]) == goose.conversations([HEADER, *messages])


def test_a_session_without_messages_is_no_conversation():
    assert goose.conversations([HEADER]) == goose.conversations([{**HEADER, "conversation": None}]) == []


BROKEN = [
    ([HEADER, 7], "entry 2 is no object", "a line is an object"),
    (
        [{**HEADER, "conversation": {}}],
        "entry 1 has a conversation that is an object, not a list",
        "a conversation is a list",
    ),
    ([{**HEADER, "conversation": [7]}], "conversation[0] is no object", "of objects"),
    ([HEADER, {"role": "user"}], "entry 2 has a content that is null, not a list", "with content"),
    (
        [HEADER, message("robot", text("hi"))],
        """entry 2 has the role "robot", which is none of Anthropic's""",
        "and a role",
    ),
]


@pytest.mark.parametrize(("found", "problem", "rule"), BROKEN)
def test_broken_files(found, problem, rule):
    with pytest.raises(TurnError) as raised:
        goose.conversations(found)
    assert str(raised.value) == problem, rule


FITS = [
    ([HEADER, message("user", text("hi"))], "working_dir and message_count", "the first line has the metadata"),
    (
        [{"working_dir": "/work", "conversation": []}],
        "working_dir and conversation",
        "an exported session has a conversation",
    ),
    ([{"working_dir": "/work"}], None, "a directory alone is none"),
    (
        [message("user", text("hi"), metadata={"agentVisible": True})],
        "metadata.agentVisible or content such as toolRequest in 1 lines",
        "messages alone have flags",
    ),
    (
        [message("assistant", request("t"))],
        "metadata.agentVisible or content such as toolRequest in 1 lines",
        "or tags",
    ),
    ([message("user", text("hi"))], None, "without any they are anybody's"),
    ([], None, "no lines are nothing"),
]


@pytest.mark.parametrize(("found", "evidence", "rule"), FITS)
def test_recognition(found, evidence, rule):
    assert goose.fits(found) == evidence, rule


# The database


def database(path, *rows):
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE sessions (id TEXT, description TEXT, working_dir TEXT, created_at TIMESTAMP)")
        made.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT, "
            "content_json TEXT, created_timestamp INTEGER, timestamp TIMESTAMP, tokens INTEGER, metadata_json TEXT)"
        )
        made.executemany(
            "INSERT INTO sessions VALUES (?, ?, ?, ?)", [("s2", "later", "/b", 2), ("s1", "a talk", "/a", 1)]
        )
        made.executemany(
            "INSERT INTO messages (session_id, role, content_json, metadata_json) VALUES (?, ?, ?, ?)", rows
        )
        made.commit()
    return path.read_bytes()


def test_each_session_of_a_database_is_a_conversation(tmp_path):
    hidden = json.dumps({"agentVisible": False})
    data = database(
        tmp_path / "sessions #1.db",
        ("s1", "user", json.dumps([text("hi")]), None),
        ("s2", "user", json.dumps([text("you")]), "{}"),
        ("s1", "assistant", json.dumps([text("old")]), hidden),
        ("s1", "assistant", json.dumps([text("hello")]), "{}"),
    )
    found = goose.from_database(data)
    assert goose.fits(found) == "working_dir and conversation"
    told = [[message["content"] for message in each.messages] for each in goose.conversations(found)]
    assert told == [["hi", "hello"], ["you"]]


def test_a_database_that_is_written_to_by_several_is_read_as_well(tmp_path):
    path = tmp_path / "a.db"
    database(path, ("s1", "user", json.dumps([text("hi")]), None))
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("PRAGMA journal_mode = WAL")
    assert path.read_bytes()[18:20] == b"\2\2"
    assert len(goose.conversations(goose.from_database(path.read_bytes()))) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["a.db"], "nothing is written beside it"


def test_a_database_of_anybody_else_is_none(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.db")) as made:
        made.execute("CREATE TABLE sessions (id TEXT)")
        made.commit()
    assert goose.from_database((tmp_path / "a.db").read_bytes()) is None


def test_a_database_that_is_cut_says_so(tmp_path):
    data = database(tmp_path / "a.db", ("s1", "user", json.dumps([text("hi")]), None))
    with pytest.raises(TurnError, match="is no database of goose"):
        goose.from_database(data[: len(data) // 2])


def test_a_broken_row_is_named(tmp_path):
    data = database(tmp_path / "a.db", ("s1", "user", "[", None))
    with pytest.raises(TurnError, match=r"^message 1 of session s1 has a content_json that is no JSON$"):
        goose.from_database(data)


def test_lines_of_several_sessions_are_several_conversations():
    exports = [{"working_dir": "/a", "conversation": [message("user", text(said))]} for said in ("a", "b")]
    assert [each.messages[0]["content"] for each in goose.conversations(exports)] == ["a", "b"]


KEYS = st.sampled_from(
    "role content type text id toolCall toolResult status value error arguments name isError metadata agentVisible working_dir conversation".split()
)
VALUES = st.sampled_from(
    [
        "user",
        "assistant",
        "text",
        "toolRequest",
        "toolResponse",
        "image",
        "error",
        "success",
        "",
        0,
        1,
        False,
        True,
        None,
    ]
)
JSON = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5))
MESSAGE = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant"]),
        "content": st.lists(st.dictionaries(KEYS, JSON, max_size=4), max_size=3),
    }
)


@given(st.lists(MESSAGE | JSON, max_size=5))
def test_no_file_raises_anything_else_or_is_changed(found):
    before = json.dumps(found)
    goose.fits(found)
    with suppress(TurnError):
        json.dumps([each.messages for each in goose.conversations(found)])
    assert json.dumps(found) == before
