"""OpenHands' events as conversations."""

from __future__ import annotations

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.formats.agents import openhands
from chatsquash.formats.base import TurnError


def told(found):
    return [[_told(each) for each in conversation.messages] for conversation in openhands.conversations(found)]


def _told(said):
    ids = [each["id"] for each in said.get("tool_calls", [])] + [said[k] for k in ("tool_call_id",) if k in said]
    content = said["content"] if isinstance(said["content"], str | None) else json.dumps(said["content"])
    return " ".join([said["role"], *([content] if content else []), *ids])


TOOL = {"type": "function", "function": {"name": "bash", "description": "Run.", "parameters": {"type": "object"}}}

# The second generation


def event(kind, key, source="agent", **more):
    return {"kind": kind, "id": key, "timestamp": "t", "source": source, **more}


def text(said):
    return {"type": "text", "text": said, "cache_prompt": False}


def message(key, role, *content, **more):
    return event(
        "MessageEvent",
        key,
        "user" if role == "user" else "agent",
        llm_message={"role": role, "content": list(content)},
        **more,
    )


def action(key, response, *thought, arguments="{}", **more):
    call = {"id": f"c{key}", "name": "bash", "arguments": arguments, "origin": "completion"}
    return event(
        "ActionEvent",
        key,
        thought=list(thought),
        tool_call=call,
        tool_call_id=f"c{key}",
        tool_name="bash",
        llm_response_id=response,
        **more,
    )


def observation(key, of, content, **more):
    observed = {"kind": "BashObservation", "content": content, **more}
    return event(
        "ObservationEvent",
        key,
        "environment",
        observation=observed,
        tool_name="bash",
        tool_call_id=f"c{of}",
        action_id=of,
    )


PROMPT = event("SystemPromptEvent", "0", system_prompt=text("Be brief."), tools=[TOOL])

V1 = [
    (
        [PROMPT, message("1", "user", text("hi")), message("2", "assistant", text("hello"))],
        ["system Be brief.", "user hi", "assistant hello"],
        "events are messages",
    ),
    (
        [
            message("1", "user", text("hi")),
            action("2", "r", text("I look")),
            action("3", "r"),
            observation("4", "2", [text("ok")]),
            observation("5", "3", "no"),
        ],
        ["user hi", "assistant I look c2 c3", "tool ok c2", "tool no c3"],
        "the actions of one response are one message",
    ),
    (
        [action("2", "r"), observation("4", "2", "ok"), action("3", "r"), observation("5", "3", "ok")],
        ["assistant c2 c3", "tool ok c2", "tool ok c3"],
        "even where the first is answered before the second is logged",
    ),
    ([action("2", "r"), action("3", "q")], ["assistant c2", "assistant c3"], "those of two are two"),
    (
        [message("1", "user", text("hi")), message("1", "user", text("hi"))],
        ["user hi"],
        "an event that is repeated counts once",
    ),
    ([observation("4", "2", "no", is_error=True)], ["tool no c2"], "an observation may be an error"),
    (
        [event("AgentErrorEvent", "4", error="no tool", tool_name="bash", tool_call_id="c2")],
        ["tool no tool c2"],
        "and so may be what the agent says of a call",
    ),
    (
        [
            event(
                "UserRejectObservation",
                "4",
                "user",
                rejection_reason="too risky",
                tool_name="bash",
                tool_call_id="c2",
                action_id="2",
            )
        ],
        ["tool Action rejected: too risky c2"],
        "a refusal is told as the model is told of it",
    ),
    (
        [
            event(
                "ObservationEvent",
                "4",
                "environment",
                observation={"kind": "A", "output": "ok"},
                tool_name="a",
                tool_call_id="c2",
            )
        ],
        ["tool ok c2"],
        "older observations have an output",
    ),
    (
        [
            event(
                "ObservationEvent",
                "4",
                "environment",
                observation={"kind": "A", "path": "a"},
                tool_name="a",
                tool_call_id="c2",
            )
        ],
        ['tool {"path":"a"} c2'],
        "others are JSON",
    ),
    (
        [message("1", "user", text("hi"), extended_content=[text("knowledge")])],
        ['user [{"type": "text", "text": "hi"}, {"type": "text", "text": "knowledge"}]'],
        "context that was added is what the model saw",
    ),
    (
        [
            message("1", "user", text("hi")),
            event("Condensation", "2", "environment", forgotten_event_ids=["1"], summary="Greetings."),
            event("PauseEvent", "3", "user"),
            message("4", "assistant", text("hello")),
        ],
        ["user hi", "assistant hello"],
        "what was condensed stays, and states are passed over",
    ),
]


@pytest.mark.parametrize(("found", "expected", "rule"), V1, ids=lambda value: value if isinstance(value, str) else "")
def test_events(found, expected, rule):
    before = copy.deepcopy(found)
    assert told(found) == told([found]) == [expected], rule
    assert found == before
    assert openhands.fits(found) == "events of OpenHands V1"


def test_messages_of_events():
    thinking = {
        "reasoning_content": "hm",
        "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
    }
    urls = {"type": "image", "image_urls": ["https://example.com/a.png"]}
    found = [
        PROMPT | {"dynamic_context": text("Today is Monday.")},
        message("1", "user", text("see"), urls),
        action("2", "r", arguments='{ "a" : 1 }', **thinking),
        observation("3", "2", "no", is_error=True),
    ]
    [conversation] = openhands.conversations(found)
    assert conversation.tools == [TOOL]
    assert [each["content"] for each in conversation.messages[:2]] == [
        [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Today is Monday."}],
        [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}],
    ]
    assert conversation.messages[2:] == [
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": [{"id": "c2", "type": "function", "function": {"name": "bash", "arguments": '{ "a" : 1 }'}}],
            "_x": {"thinking": [{"text": "hm", "signature": "s"}]},
        },
        {"role": "tool", "tool_call_id": "c2", "name": "bash", "content": "no", "_x": {"is_error": True}},
    ]


def test_encrypted_reasoning_is_kept():
    item = {"id": "rs", "summary": ["hm"], "encrypted_content": "e"}
    [conversation] = openhands.conversations([action("2", "r", responses_reasoning_item=item)])
    [message] = conversation.messages
    assert (message["reasoning_content"], message["_x"]["thinking"]) == (
        "hm",
        [{"text": "hm", "encrypted": "e", "id": "rs"}],
    )


TOOLS = [
    (TOOL, [TOOL], "a definition may be OpenAI's"),
    (
        {"kind": "A", "name": "a", "description": "d", "action_type": "A"},
        [{"type": "function", "function": {"name": "a", "description": "d"}}],
        "OpenHands' own has no schema, and gets none",
    ),
    (
        {"kind": "MCPTool", "mcp_tool": {"name": "a", "inputSchema": {"type": "object"}}},
        [{"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}}],
        "one of another server has that server's",
    ),
    ({"kind": "A", "description": "d"}, [], "without a name it is no definition"),
]


@pytest.mark.parametrize(("tool", "expected", "rule"), TOOLS)
def test_tools(tool, expected, rule):
    [conversation] = openhands.conversations([PROMPT | {"tools": [tool]}])
    assert conversation.tools == expected, rule


# The first generation


def old(key, source, of, name, **more):
    return {"id": key, "timestamp": "t", "source": source, of: name, **more}


def act(key, name, source="agent", **more):
    return old(key, source, "action", name, **more)


def observe(key, name, content, source="agent", **more):
    return old(key, source, "observation", name, content=content, **more)


def metadata(response, of, *ids, said="I look"):
    calls = [
        {"id": each, "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}} for each in ids
    ]
    answer = {
        "id": response,
        "choices": [
            {"message": {"role": "assistant", "content": said, "tool_calls": calls, "provider_specific_fields": {}}}
        ],
    }
    return {
        "tool_call_metadata": {
            "function_name": "bash",
            "tool_call_id": of,
            "model_response": answer,
            "total_calls_in_response": len(ids),
        }
    }


SYSTEM = act(0, "system", args={"content": "Be brief.", "tools": [TOOL]})
BARE = {"tool_call_metadata": {"function_name": "bash", "tool_call_id": "c1", "model_response": None}}

V0 = [
    (
        [SYSTEM, act(1, "message", "user", args={"content": "hi"}), act(2, "message", args={"content": "hello"})],
        ["system Be brief.", "user hi", "assistant hello"],
        "messages are actions",
    ),
    (
        [
            act(1, "run", args={"command": "ls", "thought": "I look"}, **metadata("r", "c1", "c1", "c2")),
            observe(2, "run", "ok", cause=1, **metadata("r", "c1", "c1", "c2")),
            act(3, "run", args={"command": "ls"}, **metadata("r", "c2", "c1", "c2")),
            observe(4, "error", "no", cause=3, **metadata("r", "c2", "c1", "c2")),
        ],
        ["assistant I look c1 c2", "tool ok c1", "tool no c2"],
        "a response stands beside each of its actions, and counts once",
    ),
    (
        [
            act(1, "run", args={"command": "ls", "thought": "I look", "blocking": False}, **BARE),
            observe(2, "run", "ok", cause=1, **BARE),
        ],
        ["assistant I look c1", "tool ok c1"],
        "without the response the action itself is the call",
    ),
    (
        [act(1, "run", args={"command": "ls", "thought": "I look"}), observe(2, "run", "ok", cause=1)],
        ["assistant I look call_1", "tool ok call_1"],
        "an action without any call is one, which its observation answers",
    ),
    (
        [observe(2, "error", "no action", cause=9)],
        ["user no action"],
        "an observation of nothing is told by the user's side",
    ),
    ([act(1, "run", "user", args={"command": "ls"})], ["user ls"], "what the user runs is no call"),
    ([act(1, "finish", args={"final_thought": "done"})], ["assistant done"], "the end is what was said last"),
    (
        [
            act(1, "change_agent_state", "environment", args={}),
            observe(2, "agent_state_changed", "", "environment"),
            act(3, "recall", "user", args={}),
            observe(4, "recall", "Added", "environment"),
            observe(5, "null", ""),
        ],
        [],
        "states are passed over",
    ),
    (
        [act(1, "message", "user", args={"content": "hi"}), act(1, "message", "user", args={"content": "hi"})],
        ["user hi"],
        "an event that is repeated counts once",
    ),
]


@pytest.mark.parametrize(("found", "expected", "rule"), V0, ids=lambda value: value if isinstance(value, str) else "")
def test_actions(found, expected, rule):
    before = copy.deepcopy(found)
    whole = [expected] if expected else []
    assert told(found) == told([found]) == told([{"instance_id": "a", "history": found}]) == whole, rule
    assert told([{"history": found}, {"history": found}]) == whole * 2
    assert found == before
    assert openhands.fits(found) == "events of OpenHands V0"
    assert (
        openhands.fits([found])
        == openhands.fits([{"history": found}])
        == "events with source, action and observation in 1 histories"
    )


def test_messages_of_actions():
    found = [
        SYSTEM,
        act(1, "message", "user", args={"content": "see", "image_urls": ["https://example.com/a.png"]}),
        act(2, "run", args={"command": "ls", "thought": "I look", "blocking": False}, **BARE),
        observe(3, "user_rejected", "no", cause=2, **BARE),
    ]
    [conversation] = openhands.conversations(found)
    assert conversation.tools == [TOOL]
    assert conversation.messages[1]["content"][1]["image_url"]["url"] == "https://example.com/a.png"
    assert conversation.messages[2:] == [
        {
            "role": "assistant",
            "content": "I look",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "bash", "content": "no", "_x": {"outcome": "denied"}},
    ]


BROKEN = [
    ([PROMPT, 7], "event 1 is a number, not an object", "an event is an object"),
    (
        [event("MessageEvent", "1", llm_message=7)],
        "event 0 has an llm_message that is a number, not an object",
        "a message is an object",
    ),
    ([event("ActionEvent", "1", thought=[])], "event 0 has a tool_call that is null, not an object", "so is a call"),
    (
        [event("MessageEvent", "1", llm_message={"content": []})],
        "event 0 has no role",
        "the place of a broken message is told",
    ),
]


@pytest.mark.parametrize(("found", "problem", "rule"), BROKEN)
def test_broken_files(found, problem, rule):
    with pytest.raises(TurnError) as raised:
        openhands.conversations(found)
    assert str(raised.value) == problem, rule


FITS = [
    ([{"kind": "BashObservation", "content": "ok"}], "an event has a source"),
    ([{"source": "agent", "action": "run"}], "and a time"),
    ([{"messages": [], "response": {}, "args": {}, "kwargs": {}}], "a log of completions is an exchange"),
    ([{"history": [{"role": "user", "parts": []}]}], "a history may be another's"),
    ([[]], "no events are nothing"),
    ([], "nor is nothing"),
]


@pytest.mark.parametrize(("found", "rule"), FITS)
def test_what_is_no_history_of_events(found, rule):
    assert openhands.fits(found) is None, rule


KEYS = st.sampled_from(
    "kind id timestamp source action observation args content thought tool_call llm_message role tool_call_metadata model_response choices message tool_calls tools system_prompt text type cause history".split()
)
VALUES = st.sampled_from(
    [
        "MessageEvent",
        "ActionEvent",
        "ObservationEvent",
        "SystemPromptEvent",
        "agent",
        "user",
        "run",
        "message",
        "system",
        "",
        0,
        1,
        True,
        None,
    ]
)
JSON = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5))
EVENTS = st.fixed_dictionaries(
    {"id": VALUES, "timestamp": VALUES, "source": st.sampled_from(["agent", "user"])},
    optional=dict.fromkeys(
        (
            "kind",
            "action",
            "observation",
            "args",
            "llm_message",
            "tool_call",
            "thought",
            "tool_call_metadata",
            "content",
            "tools",
            "system_prompt",
        ),
        JSON,
    ),
)


@given(st.lists(EVENTS | JSON, max_size=5))
def test_no_file_raises_anything_else_or_is_changed(found):
    before = json.dumps(found)
    openhands.fits(found)
    with suppress(TurnError):
        json.dumps([each.messages for each in openhands.conversations(found)])
    assert json.dumps(found) == before
