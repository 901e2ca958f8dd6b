"""Spans of OpenTelemetry as conversations."""

from __future__ import annotations

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.formats.agents import otel
from chatsquash.formats.base import TurnError

IN, OUT, SYSTEM, TOOLS = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
)


def text(said):
    return {"type": "text", "content": said}


def message(role, *parts, **more):
    return {"role": role, "parts": [text(part) if isinstance(part, str) else part for part in parts], **more}


def call(ident, arguments=None):
    return {"type": "tool_call", "id": ident, "name": "ls", "arguments": {} if arguments is None else arguments}


def response(ident, said="ok", member="response"):
    return {"type": "tool_call_response", "id": ident, member: said}


def span(**attributes):
    names = {"told": IN, "said": OUT, "system": SYSTEM, "tools": TOOLS}
    return {"name": "chat", "attributes": {names[key]: value for key, value in attributes.items()}}


def otlp(*spans):
    """Spans as a collector writes them, their attributes as typed values."""
    made = [
        {**each, "attributes": [{"key": key, "value": typed(value)} for key, value in each["attributes"].items()]}
        for each in spans
    ]
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": made}]}]}


def typed(value):
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": typed(each)} for key, each in value.items()]}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(each) for each in value]}}
    if value is None or isinstance(value, bool):
        return {} if value is None else {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def told(found):
    return [[_told(each) for each in conversation.messages] for conversation in otel.conversations(found)]


def _told(said):
    ids = [each["id"] for each in said.get("tool_calls", [])] + [said[k] for k in ("tool_call_id",) if k in said]
    return " ".join([said["role"], *([said["content"]] if said["content"] else []), *ids])


HI, HELLO = message("user", "hi"), message("assistant", "hello", finish_reason="stop")
FIRST = span(told=[HI], said=[HELLO])
SECOND = span(told=[HI, HELLO, message("user", "more")], said=[message("assistant", "fine")])

SPANS = [
    ([FIRST], [["user hi", "assistant hello"]], "input, then output"),
    ([span(told=[HI])], [["user hi"]], "there may be no output"),
    (
        [span(system=[text("Be brief.")], told=[HI])],
        [["system Be brief.", "user hi"]],
        "system instructions stand first",
    ),
    (
        [
            span(
                told=[
                    HI,
                    message("assistant", "I look", call("c1"), call("c2")),
                    message("tool", response("c1"), response("c2", "no")),
                ]
            )
        ],
        [["user hi", "assistant I look c1 c2", "tool ok c1", "tool no c2"]],
        "a result is a message of its own",
    ),
    (
        [span(told=[message("user", response("c1"), "go on")])],
        [["tool ok c1", "user go on"]],
        "some put results into the user's",
    ),
    (
        [span(told=[message("tool", response("c1", "ok", "result"))])],
        [["tool ok c1"]],
        "some write result in place of response",
    ),
    ([span(told=[message("tool", response("c1", None))])], [["tool c1"]], "a result may be empty"),
    (
        [FIRST, SECOND],
        [["user hi", "assistant hello", "user more", "assistant fine"]],
        "a span that another one goes on from is a part of that",
    ),
    (
        [SECOND, FIRST, SECOND],
        [["user hi", "assistant hello", "user more", "assistant fine"]],
        "in any order, and once",
    ),
    (
        [span(told=[HI], said=[HELLO, message("assistant", "good day")])],
        [["user hi", "assistant hello"], ["user hi", "assistant good day"]],
        "each choice of the model is a conversation",
    ),
    (
        [span(told=[message("assistant", call("c1")), message("tool", response("c1"))], said=[])],
        [["assistant c1", "tool ok c1"]],
        "an output may be empty",
    ),
    (
        [FIRST, span(told=[message("user", "else")])],
        [["user hi", "assistant hello"], ["user else"]],
        "spans that have nothing in common stay apart",
    ),
]


@pytest.mark.parametrize(
    ("found", "expected", "rule"), SPANS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_spans(found, expected, rule):
    before = copy.deepcopy(found)
    as_text = [
        {**each, "attributes": {key: json.dumps(value) for key, value in each["attributes"].items()}} for each in found
    ]
    bare = [each["attributes"] for each in found]
    for spelled in (found, as_text, bare, [found], [otlp(*found)], [otlp(*as_text)], [otlp(each) for each in found]):
        assert told(spelled) == expected, rule
        assert otel.fits(spelled)
    assert found == before


def test_events_and_log_records_hold_messages_too():
    attributes = FIRST["attributes"]
    event = {"name": "chat", "attributes": {}, "events": [{"name": "details", "attributes": attributes}]}
    record = {"eventName": "details", **otlp(FIRST)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]}
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    for found in ([event], [logs]):
        assert told(found) == [["user hi", "assistant hello"]]
        assert otel.fits(found)


def test_messages():
    tools = [{"type": "function", "name": "ls", "description": "List.", "parameters": {"type": "object"}}]
    parts = [
        "see",
        {"type": "uri", "modality": "image", "uri": "https://example.com/a.png"},
        {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "AA=="},
        {"type": "blob", "modality": "audio", "mime_type": "audio/wav", "content": "AA=="},
        {"type": "file", "modality": "document", "file_id": "f"},
        {"type": "hologram"},
    ]
    said = message(
        "assistant",
        {"type": "reasoning", "content": "hm"},
        call("c1", {"b": 1, "a": "ü"}),
        "wait",
        {"type": "server_tool_call", "id": "s"},
    )
    results = message("tool", response("c1", {"files": 2}))
    [conversation] = otel.conversations([span(told=[message("user", *parts), said, results], tools=tools)])
    assert conversation.tools == [
        {"type": "function", "function": {key: tools[0][key] for key in ("name", "description", "parameters")}}
    ]
    assert conversation.messages == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
                {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
                {"type": "file", "file": {"file_id": "f"}},
            ],
            "_x": {"native": [{"type": "hologram"}]},
        },
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"b":1,"a":"ü"}'}}
            ],
            "_x": {"after": ["wait"], "native": [{"type": "server_tool_call", "id": "s"}]},
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"files":2}', "_x": {"json": True}},
    ]


def test_arguments_that_are_text_stay_as_they_are():
    [conversation] = otel.conversations([span(said=[message("assistant", call("c1", '{ "a" : 1 }'))])])
    assert conversation.messages[0]["tool_calls"][0]["function"]["arguments"] == '{ "a" : 1 }'


def test_instructions_may_be_plain_text():
    assert told([span(system="Be brief.", told=[HI])]) == [["system Be brief.", "user hi"]]


BROKEN = [
    (
        [{"gen_ai.request.model": "m"}],
        "no attribute holds messages: gen_ai.input.messages and gen_ai.output.messages were not recorded",
        "content may not have been recorded",
    ),
    (
        [span(told='[{"role": "us')],
        "entry 1 has gen_ai.input.messages that is no JSON; it may have been cut",
        "an attribute may have been cut",
    ),
    ([span(told={"role": "user"})], "entry 1, gen_ai.input.messages is an object, not a list", "messages are a list"),
    ([FIRST, span(told=[HI, 7])], "entry 2, gen_ai.input.messages[1] is a number, not an object", "of objects"),
    (
        [span(told=[{"role": "user", "parts": 7}])],
        "entry 1, gen_ai.input.messages[0] has parts that are a number, not a list",
        "with parts",
    ),
    (
        [otlp(span(told=[message(None, "hi")]))],
        "entry 1, resourceSpans[0], scopeSpans[0], spans[0], gen_ai.input.messages[0] has no role",
        "and a role, at a place that is told",
    ),
]


@pytest.mark.parametrize(("found", "problem", "rule"), BROKEN)
def test_broken_files(found, problem, rule):
    with pytest.raises(TurnError) as raised:
        otel.conversations(found)
    assert str(raised.value) == problem, rule


FITS = [
    ([otlp()], "resourceSpans", "spans are OpenTelemetry's"),
    ([{"attributes": {"gen_ai.system": "a"}}], "the attribute gen_ai.system", "an attribute is named after GenAI"),
    ([{"name": "a", "attributes": {"http.method": "GET"}}], None, "others are not"),
    ([{"role": "user", "parts": [text("hi")]}], None, "a message alone is none"),
    ([], None, "no lines are nothing"),
]


@pytest.mark.parametrize(("found", "evidence", "rule"), FITS)
def test_recognition(found, evidence, rule):
    assert otel.fits(found) == evidence, rule


def test_what_is_nested_too_deeply_is_said_so():
    value = {}
    for _ in range(5000):
        value = {"arrayValue": {"values": [value]}}
    found = [{"attributes": [{"key": IN, "value": value}]}]
    assert otel.fits(found) is None
    with pytest.raises(TurnError, match="nested too deeply"):
        otel.conversations(found)


KEYS = st.sampled_from(
    [
        IN,
        OUT,
        SYSTEM,
        TOOLS,
        *"attributes key value stringValue arrayValue values kvlistValue role parts type content id name arguments response events resourceSpans".split(),
    ]
)
VALUES = st.sampled_from(
    [
        "user",
        "assistant",
        "tool",
        "text",
        "tool_call",
        "tool_call_response",
        "reasoning",
        "[",
        "[]",
        "",
        0,
        1,
        True,
        None,
    ]
)
JSON = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5))
PART = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_call", "tool_call_response", "reasoning"])},
    optional={"content": JSON, "id": VALUES, "arguments": JSON, "response": JSON},
)
FOUND = st.dictionaries(
    KEYS,
    st.lists(st.fixed_dictionaries({"role": VALUES, "parts": st.lists(PART | JSON, max_size=3)}), max_size=3),
    max_size=3,
)


@given(st.lists(FOUND | JSON, max_size=3))
def test_no_file_raises_anything_else_or_is_changed(found):
    before = json.dumps(found)
    otel.fits(found)
    with suppress(TurnError):
        json.dumps([each.messages for each in otel.conversations(found)])
    assert json.dumps(found) == before
