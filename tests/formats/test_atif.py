"""Trajectories of ATIF as conversations."""

from __future__ import annotations

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.formats.agents import atif
from chatsquash.formats.base import TurnError

TOOL = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}


def trajectory(*steps, **more):
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    agent = {"name": "a", "version": "1", "tool_definitions": [TOOL]}
    return {"schema_version": "ATIF-v1.7", "session_id": "s", "agent": agent, "steps": numbered, **more}


def step(source, message="", **more):
    return {"source": source, "message": message, **more}


def call(ident, **arguments):
    return {"tool_call_id": ident, "function_name": "ls", "arguments": arguments}


def observed(*results):
    return {"observation": {"results": list(results)}}


def result(ident, content="ok", **more):
    return {**({"source_call_id": ident} if ident else {}), "content": content, **more}


def told(message):
    ids = [each["id"] for each in message.get("tool_calls", [])] + [
        message[k] for k in ("tool_call_id",) if k in message
    ]
    return " ".join([message["role"], *([message["content"]] if message["content"] else []), *ids])


STEPS = [
    (
        [step("system", "Be brief."), step("user", "hi"), step("agent", "hello")],
        ["system Be brief.", "user hi", "assistant hello"],
        "a step is a message",
    ),
    (
        [
            step("user", "hi"),
            step("agent", "I look", tool_calls=[call("c1"), call("c2")], **observed(result("c2"), result("c1"))),
            step("agent", "done"),
        ],
        ["user hi", "assistant I look c1 c2", "tool ok c2", "tool ok c1", "assistant done"],
        "results stand in the step of their calls, in their own order",
    ),
    (
        [step("agent", tool_calls=[call("c1")], **observed(result(None)))],
        ["assistant c1", "tool ok c1"],
        "a result that names no call answers the first",
    ),
    (
        [step("agent", "ls", **observed(result(None, "a.txt")))],
        ["assistant ls", "user a.txt"],
        "what was observed without a call is told as the user tells it",
    ),
    ([step("agent", tool_calls=[call("c1")])], ["assistant c1"], "a call may have no result"),
    (
        [
            step("user", "old", is_copied_context=True),
            step("agent", "older", is_copied_context=True),
            step("user", "hi"),
            step("agent", "hello"),
        ],
        ["user hi", "assistant hello"],
        "what was copied from another trajectory stands in that one",
    ),
]


@pytest.mark.parametrize(("steps", "expected", "rule"), STEPS)
def test_steps(steps, expected, rule):
    found = [trajectory(*steps)]
    before = copy.deepcopy(found)
    [conversation] = atif.conversations(found)
    assert [told(each) for each in conversation.messages] == expected, rule
    assert conversation.tools == [TOOL]
    assert found == before


def test_messages():
    picture = {"type": "image", "source": {"media_type": "image/png", "path": "images/a.png"}}
    inline = {"type": "image", "source": {"media_type": "image/png", "data": "AA=="}}
    sound = {"type": "audio", "source": {"media_type": "audio/wav", "path": "a.wav"}}
    steps = [
        step("user", [{"type": "text", "text": "see"}, picture, inline, sound]),
        step(
            "agent",
            "",
            reasoning_content="hm",
            tool_calls=[call("c1", b=1, a="ü")],
            **observed(result("c1", "no", extra={"is_error": True})),
        ),
        step(
            "agent",
            "",
            tool_calls=[call("c2")],
            **observed(result("c2", None, subagent_trajectory_ref=[{"session_id": "t"}])),
        ),
    ]
    [conversation] = atif.conversations([trajectory(*steps)])
    urls = [{"type": "image_url", "image_url": {"url": url}} for url in ("images/a.png", "data:image/png;base64,AA==")]
    function = {"name": "ls", "arguments": '{"b":1,"a":"ü"}'}
    assert conversation.messages == [
        {"role": "user", "content": [{"type": "text", "text": "see"}, *urls], "_x": {"native": [sound]}},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "no", "_x": {"is_error": True}},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c2", "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
        },
        {
            "role": "tool",
            "tool_call_id": "c2",
            "content": "",
            "_x": {"native": [{"subagent_trajectory_ref": [{"session_id": "t"}]}]},
        },
    ]


def test_a_subagent_has_a_conversation_of_its_own():
    inner = trajectory(step("user", "c"), subagent_trajectories=[trajectory(step("user", "d"))])
    found = [
        trajectory(step("user", "a"), subagent_trajectories=[trajectory(step("user", "b")), inner]),
        trajectory(step("user", "e")),
    ]
    assert [each.messages[0]["content"] for each in atif.conversations(found)] == list("abcde")


def test_a_trajectory_that_was_copied_whole_is_no_conversation():
    assert atif.conversations([trajectory(step("user", "old", is_copied_context=True))]) == []


BROKEN = [
    ([7], "entry 1 is a number, not an object", "a trajectory is an object"),
    ([{"steps": {}}], "entry 1 has steps that are an object, not a list", "steps are a list"),
    ([{"steps": [7]}], "entry 1, steps[0] is a number, not an object", "of objects"),
    (
        [trajectory(step("robot"))],
        'entry 1, steps[0] has the source "robot"; it is system, user or agent',
        "with a source",
    ),
    (
        [trajectory(step("user", 7))],
        "entry 1, steps[0] has content that is a number",
        "the place of a broken message is told",
    ),
    (
        [{"steps": [], "subagent_trajectories": {"a": 1}}],
        "entry 1 has subagent_trajectories that are an object, not a list",
        "subagents are a list",
    ),
]


@pytest.mark.parametrize(("found", "problem", "rule"), BROKEN)
def test_broken_files(found, problem, rule):
    with pytest.raises(TurnError) as raised:
        atif.conversations(found)
    assert str(raised.value) == problem, rule


FITS = [
    ([trajectory()], "schema_version ATIF-v1.7", "a trajectory names its version"),
    ([trajectory(), {}], None, "and so does each line"),
    ([{"schema_version": "1.0"}], None, "others name other versions"),
    ([], None, "no lines are nothing"),
]


@pytest.mark.parametrize(("found", "evidence", "rule"), FITS)
def test_recognition(found, evidence, rule):
    assert atif.fits(found) == evidence, rule


KEYS = st.sampled_from(
    "source message content tool_calls tool_call_id function_name arguments observation results source_call_id extra is_error type text path agent tool_definitions steps subagent_trajectories".split()
)
VALUES = st.sampled_from(["system", "user", "agent", "image", "text", "", 0, 1, True, None])
JSON = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5))
STEP = st.fixed_dictionaries(
    {"source": st.sampled_from(["system", "user", "agent"])},
    optional={
        "message": JSON,
        "tool_calls": st.lists(st.dictionaries(KEYS, JSON, max_size=3), max_size=2),
        "observation": JSON,
    },
)
FOUND = st.fixed_dictionaries(
    {"steps": st.lists(STEP | JSON, max_size=4)}, optional={"agent": JSON, "subagent_trajectories": JSON}
)


@given(st.lists(FOUND | JSON, max_size=3))
def test_no_file_raises_anything_else_or_is_changed(found):
    before = json.dumps(found)
    atif.fits(found)
    with suppress(TurnError):
        json.dumps([each.messages for each in atif.conversations(found)])
    assert json.dumps(found) == before
