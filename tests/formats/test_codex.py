"""Codex's rollout files as conversations."""

from __future__ import annotations

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.formats.agents import codex
from chatsquash.formats.base import TurnError


def line(kind, **payload):
    return {"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload}


def item(kind, **members):
    return line("response_item", type=kind, **members)


def event(kind, **members):
    return line("event_msg", type=kind, **members)


def message(role, said):
    return {"role": role, "content": [{"type": "output_text" if role == "assistant" else "input_text", "text": said}]}


def user(said):
    return [item("message", **message("user", said)), event("user_message", message=said)]


def assistant(said):
    return [item("message", **message("assistant", said)), event("agent_message", message=said)]


def call(ident, arguments='{"command": ["ls"]}'):
    return item("function_call", call_id=ident, name="shell", arguments=arguments)


def output(ident, said):
    return item("function_call_output", call_id=ident, output=said)


def told(found):
    return [[_told(each) for each in conversation.messages] for conversation in codex.conversations(found)]


def _told(said):
    ids = [each["id"] for each in said.get("tool_calls", [])] + [said[k] for k in ("tool_call_id",) if k in said]
    return " ".join([said["role"], *([said["content"]] if said["content"] else []), *ids])


META = line("session_meta", id="s", cwd="/work", cli_version="1.0")
OLD = json.dumps({"output": "a.txt\n", "metadata": {"exit_code": 0, "duration_seconds": 0.1}})

FILES = [
    ([META, *user("hi"), *assistant("hello")], [["user hi", "assistant hello"]], "events repeat what items say"),
    (
        [
            META,
            line("turn_context", model="m"),
            *user("hi"),
            call("c1"),
            call("c2"),
            event("token_count"),
            output("c1", "ok"),
            output("c2", "ok"),
            *assistant("done"),
        ],
        [["user hi", "assistant c1 c2", "tool ok c1", "tool ok c2", "assistant done"]],
        "calls in a row are one message",
    ),
    (
        [META, *user("hi"), call("c1"), output("c1", OLD)],
        [["user hi", "assistant c1", f"tool {OLD} c1"]],
        "an old output is the JSON text that the model saw",
    ),
    (
        [META, *user("hi"), call("c1"), output("c1", [{"type": "input_text", "text": "ok"}])],
        [["user hi", "assistant c1", "tool ok c1"]],
        "a new one may be a list",
    ),
    (
        [META, item("message", **message("user", "<environment_context>\n</environment_context>")), *user("hi")],
        [["user <environment_context>\n</environment_context>", "user hi"]],
        "context that was put in is what the model saw",
    ),
    (
        [line("session_meta", id="s", base_instructions={"text": "Be brief."}), *user("hi")],
        [["system Be brief.", "user hi"]],
        "the system prompt may be in the metadata",
    ),
    (
        [
            line("session_meta", id="s", instructions="Use tabs."),
            item("message", **message("user", "<user_instructions>\nUse tabs.")),
            *user("hi"),
        ],
        [["user <user_instructions>\nUse tabs.", "user hi"]],
        "the user's instructions stand in a message, and are not told twice",
    ),
    (
        [line("session_meta", id="s", instructions="Be brief."), *user("hi")],
        [["system Be brief.", "user hi"]],
        "those that no message holds are told",
    ),
    (
        [
            META,
            *user("hi"),
            *assistant("hello"),
            line(
                "compacted",
                message="Greetings.",
                replacement_history=[{"type": "message", **message("user", "In short: greetings.")}],
            ),
            *user("more"),
            *assistant("fine"),
        ],
        [["user In short: greetings.", "user more", "assistant fine"], ["user hi", "assistant hello"]],
        "a compaction replaces the history, and what it was is a conversation of its own",
    ),
    (
        [META, *user("hi"), *assistant("hello"), line("compacted", message="Greetings."), *user("more")],
        [["user hi", "assistant hello", "user more"]],
        "a summary alone replaces nothing",
    ),
    (
        [
            META,
            *user("hi"),
            *assistant("hello"),
            *user("no"),
            *assistant("well"),
            event("thread_rolled_back", num_turns=1),
            *user("yes"),
            *assistant("fine"),
        ],
        [
            ["user hi", "assistant hello", "user yes", "assistant fine"],
            ["user hi", "assistant hello", "user no", "assistant well"],
        ],
        "turns that were taken back are told in a conversation of their own",
    ),
    (
        [META, *user("hi"), event("thread_rolled_back", num_turns=9), *user("yes")],
        [["user yes"]],
        "unless they were not answered",
    ),
    (
        [META, *user("hi"), item("ghost_snapshot", ghost_commit={}), *user("you")],
        [["user hi", "user you"]],
        "what Codex keeps for itself is no item of the assistant's",
    ),
    (
        [
            META,
            item("local_shell_call", call_id="c1", status="completed", action={"type": "exec", "command": ["ls"]}),
            output("c1", "ok"),
        ],
        [["assistant c1", "tool ok c1"]],
        "a call of the local shell is answered like any other",
    ),
    (
        [META, line("world_state"), line("inter_agent_communication_sent", text="hi")],
        [],
        "where nothing is said there is no conversation",
    ),
    (
        [
            {"id": "s", "timestamp": "t", "instructions": None},
            {"record_type": "state"},
            {"type": "message", **message("user", "hi")},
            {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"},
        ],
        [["user hi", "assistant c"]],
        "the oldest files have bare items",
    ),
]


@pytest.mark.parametrize(
    ("found", "expected", "rule"), FILES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_files(found, expected, rule):
    before = copy.deepcopy(found)
    assert told(found) == expected, rule
    assert found == before
    assert codex.fits(found)


def test_messages_are_those_of_responses():
    found = [
        META,
        item("reasoning", id="rs", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="e"),
        item("custom_tool_call", call_id="c", name="apply_patch", input="*** Begin Patch"),
        item("custom_tool_call_output", call_id="c", output="Done"),
    ]
    [conversation] = codex.conversations(found)
    assert conversation.messages == [
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "c", "type": "custom", "custom": {"name": "apply_patch", "input": "*** Begin Patch"}}
            ],
            "_x": {"thinking": [{"text": "hm", "encrypted": "e", "id": "rs"}]},
        },
        {"role": "tool", "tool_call_id": "c", "content": "Done"},
    ]
    assert conversation.tools == []


def test_arguments_stay_as_they_were_spelled():
    [conversation] = codex.conversations([META, call("c", '{ "command" : [] }')])
    assert conversation.messages[0]["tool_calls"][0]["function"]["arguments"] == '{ "command" : [] }'


BROKEN = [
    ([META, 7], "entry 2 is no object", "a line is an object"),
    (
        [META, {"type": "response_item", "payload": 7}],
        "entry 2 has a payload that is a number, not an item",
        "an item is an object",
    ),
    (
        [META, item("message", role="robot", content="hi")],
        "entry 2 has a role that is none of user, assistant, system, developer",
        "the place of a broken item is told",
    ),
    (
        [META, line("compacted", replacement_history=[7])],
        "entry 2, replacement_history[0] has a payload that is a number, not an item",
        "also within a compaction",
    ),
]


@pytest.mark.parametrize(("found", "problem", "rule"), BROKEN)
def test_broken_files(found, problem, rule):
    with pytest.raises(TurnError) as raised:
        codex.conversations(found)
    assert str(raised.value) == problem, rule


FITS = [
    ([META, event("token_count"), {}], "session lines with a payload in 2 of 3 lines", "most lines have a payload"),
    ([{"type": "response_item"}], None, "a type alone is none"),
    ([{"type": "message", "role": "user", "content": "hi"}], None, "bare items are a request's, without a header"),
    ([{"id": 1, "timestamp": 2, "instructions": None}], None, "and a header is nothing without items"),
    ([], None, "no lines are nothing"),
]


@pytest.mark.parametrize(("found", "evidence", "rule"), FITS)
def test_recognition(found, evidence, rule):
    assert codex.fits(found) == evidence, rule


KEYS = st.sampled_from(
    "type role content text call_id name arguments output summary message replacement_history num_turns base_instructions instructions id".split()
)
VALUES = st.sampled_from(
    [
        "user",
        "assistant",
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "thread_rolled_back",
        "user_message",
        "",
        0,
        1,
        True,
        None,
    ]
)
JSON = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5))
LINES = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["session_meta", "response_item", "event_msg", "compacted", "message"]),
        "payload": st.dictionaries(KEYS, JSON, max_size=5) | JSON,
    }
)


@given(st.lists(LINES | JSON, max_size=6))
def test_no_file_raises_anything_else_or_is_changed(found):
    before = json.dumps(found)
    codex.fits(found)
    with suppress(TurnError):
        json.dumps([each.messages for each in codex.conversations(found)])
    assert json.dumps(found) == before
