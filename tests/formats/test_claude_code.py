"""Claude Code's session files as conversations."""

from __future__ import annotations

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.formats.agents import claude_code
from chatsquash.formats.base import TurnError


def line(uuid, parent, kind, content, message_id=None, **more):
    message = {
        "role": kind,
        "content": content,
        **({"id": message_id, "usage": {"output_tokens": 1}} if message_id else {}),
    }
    return {"sessionId": "s", "uuid": uuid, "parentUuid": parent, "type": kind, "message": message, **more}


def user(uuid, parent, content="go on", **more):
    return line(uuid, parent, "user", content, **more)


def assistant(uuid, parent, *blocks, message_id=None, **more):
    return line(uuid, parent, "assistant", list(blocks), message_id or f"msg_{uuid}", **more)


def text(said):
    return {"type": "text", "text": said}


def call(ident):
    return {"type": "tool_use", "id": ident, "name": "ls", "input": {"path": "."}}


def result(uuid, parent, ident, content="ok", **more):
    return user(uuid, parent, [{"type": "tool_result", "tool_use_id": ident, "content": content, **more}])


def other(kind, uuid=None, parent=None, **more):
    placed = {"uuid": uuid, "parentUuid": parent} if uuid else {}
    return {"sessionId": "s", "type": kind, **placed, **more}


def told(found):
    """What is told, one text per message: role and content, and the ids of calls and of what results answer."""
    return [[_told(message) for message in each.messages] for each in claude_code.conversations(found)]


def _told(message):
    ids = [each["id"] for each in message.get("tool_calls", [])] + [
        message[k] for k in ("tool_call_id",) if k in message
    ]
    return " ".join([message["role"], *([message["content"]] if message["content"] else []), *ids])


QUESTION = user("u1", None, "hi")
ANSWER = assistant("a1", "u1", text("hello"))
FIRST = ["user hi", "assistant hello"]

BRANCHES = [
    ([QUESTION, ANSWER], [FIRST], "lines are turns"),
    (
        [
            QUESTION,
            assistant("a1", "u1", {"type": "thinking", "thinking": "hm", "signature": "s"}, message_id="m"),
            assistant("a2", "a1", text("I look"), message_id="m"),
            assistant("a3", "a2", call("t1"), message_id="m"),
            result("r1", "a3", "t1"),
        ],
        [["user hi", "assistant I look t1", "tool ok t1"]],
        "the blocks of one message stand on several lines",
    ),
    (
        [
            QUESTION,
            assistant("a1", "u1", call("t1"), message_id="m"),
            result("r1", "a1", "t1"),
            assistant("a2", "a1", call("t2"), message_id="m"),
            result("r2", "a2", "t2"),
            assistant("a3", "r2", text("done")),
        ],
        [["user hi", "assistant t1 t2", "tool ok t1", "tool ok t2", "assistant done"]],
        "calls that were made at once fork the tree, and are one message with both results all the same",
    ),
    ([QUESTION, ANSWER, QUESTION, ANSWER], [FIRST], "a line that is repeated counts once"),
    (
        [QUESTION, ANSWER, user("u2", "a1", "no"), user("u3", "a1", "yes"), assistant("a3", "u3", text("fine"))],
        [[*FIRST, "user yes", "assistant fine"]],
        "a prompt that was edited before it was answered is gone",
    ),
    (
        [
            QUESTION,
            ANSWER,
            user("u2", "a1", "no"),
            assistant("a2", "u2", text("well")),
            user("u3", "a1", "yes"),
            assistant("a3", "u3", text("fine")),
        ],
        [[*FIRST, "user yes", "assistant fine"], [*FIRST, "user no", "assistant well"]],
        "one that was answered is a conversation of its own, behind the current one",
    ),
    (
        [
            QUESTION,
            ANSWER,
            user("s1", None, "find it", isSidechain=True),
            assistant("s2", "s1", text("found"), isSidechain=True),
        ],
        [FIRST, ["user find it", "assistant found"]],
        "so is a sidechain",
    ),
    (
        [
            user("s1", None, "find it", isSidechain=True, agentId="a"),
            assistant("s2", "s1", text("found"), isSidechain=True, agentId="a"),
        ],
        [["user find it", "assistant found"]],
        "which may have a file of its own",
    ),
    (
        [
            QUESTION,
            ANSWER,
            other("system", "c1", None, subtype="compact_boundary", logicalParentUuid="a1"),
            user("u2", "c1", "In short: greetings.", isCompactSummary=True, isVisibleInTranscriptOnly=True),
            user("u3", "u2", "more"),
            assistant("a3", "u3", text("of course")),
        ],
        [[*FIRST, "user more", "assistant of course"]],
        "a conversation goes on behind a compaction, without the summary",
    ),
    (
        [
            user("u3", "gone", [{"type": "tool_result", "tool_use_id": "t9", "content": "ok"}]),
            assistant("a3", "u3", text("done")),
        ],
        [["tool ok t9", "assistant done"]],
        "a result whose call is gone stays",
    ),
    (
        [
            other("summary", leafUuid="a1", summary="Greetings"),
            {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
            user("m1", None, "Caveat: not for you", isMeta=True),
            user("u1", "m1", "hi"),
            other("progress", "p1", "u1", data={}),
            assistant("e1", "p1", text("API Error"), isApiErrorMessage=True),
            line("e2", "e1", "assistant", [text("No response requested.")], "e")
            | {"message": {"model": "<synthetic>", "content": []}},
            assistant("a1", "e2", text("hello")),
            other("queue-operation", operation="enqueue", content="hi"),
        ],
        [FIRST],
        "what the client wrote for itself is passed over, and joins what stands around it",
    ),
    (
        [user("", None, "hi"), assistant("", None, text("hello"), message_id="m")],
        [FIRST],
        "without ids, lines follow each other",
    ),
    ([other("summary", leafUuid="a1", summary="Greetings")], [], "where nothing is said there is no conversation"),
]


@pytest.mark.parametrize(
    ("found", "expected", "rule"), BRANCHES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_branches(found, expected, rule):
    before = copy.deepcopy(found)
    assert told(found) == expected, rule
    assert found == before
    assert claude_code.fits(found)


def test_messages_are_those_of_anthropic():
    found = [
        user(
            "u1",
            None,
            [text("see"), {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}],
        ),
        assistant("a1", "u1", {"type": "thinking", "thinking": "hm", "signature": "s"}, call("t1")),
        result("r1", "a1", "t1", "no such file", is_error=True) | {"toolUseResult": {"stderr": "no such file"}},
    ]
    [conversation] = claude_code.conversations(found)
    assert conversation.messages == [
        {
            "role": "user",
            "content": [text("see"), {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}],
        },
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "ls", "arguments": '{"path":"."}'}}],
            "_x": {"thinking": [{"text": "hm", "signature": "s"}]},
        },
        {"role": "tool", "tool_call_id": "t1", "content": "no such file", "_x": {"is_error": True}},
    ]
    assert conversation.tools == []


BROKEN = [
    ([QUESTION, 7], "entry 2 is no object", "a line is an object"),
    ([QUESTION, other("assistant", "a1", "u1")], "entry 2 has no message", "what is said is a message"),
    (
        [QUESTION, line("a1", "u1", "assistant", 7)],
        "entry 2 has a content that is a number, not text or a list of blocks",
        "the place of a broken message is told",
    ),
    ([user("u1", "u2"), user("u2", "u1")], "entry 2 follows itself by its parentUuid", "nothing follows itself"),
]


@pytest.mark.parametrize(("found", "problem", "rule"), BROKEN)
def test_broken_files(found, problem, rule):
    with pytest.raises(TurnError) as raised:
        claude_code.conversations(found)
    assert str(raised.value) == problem, rule


FITS = [
    ([QUESTION, ANSWER], "sessionId and uuid in 2 of 2 lines", "lines name their session and themselves"),
    ([QUESTION, {}, {}], None, "most of them do"),
    ([{"sessionId": "s", "projectHash": "p", "uuid": "u"}], None, "a project's hash is Gemini CLI's"),
    ([{"sessionId": "s", "request": {}}], None, "a log may name a session, too"),
    ([], None, "no lines are nothing"),
]


@pytest.mark.parametrize(("found", "evidence", "rule"), FITS)
def test_recognition(found, evidence, rule):
    assert claude_code.fits(found) == evidence, rule


KEYS = st.sampled_from(
    "uuid parentUuid logicalParentUuid type isSidechain isMeta message role content id text name input tool_use_id sessionId".split()
)
VALUES = st.sampled_from(
    ["user", "assistant", "system", "a", "b", "tool_use", "tool_result", "text", "", 0, 1.5, True, None]
)
JSON = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5))
BLOCKS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "tool_use", "tool_result"])},
        optional={"id": VALUES, "tool_use_id": VALUES, "text": VALUES},
    ),
    max_size=3,
)
LINES = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system"]), "uuid": VALUES, "parentUuid": VALUES},
    optional={
        "message": st.fixed_dictionaries({"content": BLOCKS | JSON}, optional={"id": VALUES, "role": VALUES}),
        "isSidechain": VALUES,
    },
)


@given(st.lists(LINES | JSON, max_size=6))
def test_no_file_raises_anything_else_or_is_changed(found):
    before = json.dumps(found)
    claude_code.fits(found)
    with suppress(TurnError):
        json.dumps([each.messages for each in claude_code.conversations(found)])
    assert json.dumps(found) == before
