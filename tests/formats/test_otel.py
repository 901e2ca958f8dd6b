"""What is particular to OpenTelemetry: the spellings of a span; ``rows/otel.json`` has what all documents have."""

import json

import pytest

from chatsquash.formats.base import TurnError
from chatsquash.formats.exports import otel
from chatsquash.formats.providers.openai_chat.read import turns_of
from tests.formats.table import built, conversation, rows

SPANS = [
    row
    for row in rows("files", "otel")
    if "refused" not in row.expected and all(span.get("attributes") and "events" not in span for span in row.given)
]


def otlp(*spans):
    """Spans as a collector writes them, their attributes as typed values."""
    made = [{**span, "attributes": typed(span["attributes"])["kvlistValue"]["values"]} for span in spans]
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
    return built(turns_of(found)), found.tools


@pytest.mark.parametrize("row", SPANS, ids=[row.sentence for row in SPANS])
def test_however_spans_are_spelled_they_say_the_same(row):
    expected = [told(conversation(held)) for held in row.expected]
    as_text = [
        {**span, "attributes": {key: json.dumps(value) for key, value in span["attributes"].items()}}
        for span in row.given
    ]
    bare = [span["attributes"] for span in row.given]
    for spelled in (
        as_text,
        bare,
        [row.given],
        [otlp(*row.given)],
        [otlp(*as_text)],
        [otlp(span) for span in row.given],
    ):
        assert list(map(told, otel.conversations(spelled))) == expected
        assert otel.fits(spelled)


def test_an_export_without_spans_holds_nothing():
    assert otel.conversations([{"resourceSpans": []}]) == otel.conversations([{"resourceLogs": []}]) == []
    scopes = [{"scope": {}, "spans": []}, {"scope": {}}]
    assert otel.conversations([{"resourceSpans": [{"resource": {}, "scopeSpans": scopes}]}]) == []


@pytest.mark.parametrize("value", [3, [3], [{"scopeSpans": 3}], [{"scopeSpans": [{"spans": [3]}]}]])
def test_what_is_no_span_is_not_taken_for_none(value):
    with pytest.raises(TurnError, match="no attribute contains messages"):
        otel.conversations([{"resourceSpans": value}])


def test_what_is_nested_too_deeply_is_said_so():
    value = {}
    for _ in range(5000):
        value = {"arrayValue": {"values": [value]}}
    found = [{"attributes": [{"key": "gen_ai.input.messages", "value": value}]}]
    assert otel.fits(found) is None
    with pytest.raises(TurnError, match="nested too deeply"):
        otel.conversations(found)


# Spans from before the conventions. The attributes are those that opentelemetry-instrumentation-openai and -anthropic
# 0.40.14 (OpenLLMetry) and the npm package ai 6.0.326 wrote when they were run with invented texts.

SCHEMA = {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}
FUNCTION = {
    "llm.request.functions.0.name": "tide",
    "llm.request.functions.0.description": "Looks up the tide.",
    "llm.request.functions.0.parameters": json.dumps(SCHEMA),
}
OPENLLMETRY_OF_OPENAI = {
    "gen_ai.system": "OpenAI",
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "Be brief.",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": "High water at Leith?",
    "gen_ai.prompt.2.role": "assistant",
    "gen_ai.prompt.2.content": "One moment.",
    "gen_ai.prompt.2.tool_calls.0.id": "call_1",
    "gen_ai.prompt.2.tool_calls.0.name": "tide",
    "gen_ai.prompt.2.tool_calls.0.arguments": '{"port":"Leith"}',
    "gen_ai.prompt.3.role": "tool",
    "gen_ai.prompt.3.content": "half past nine",
    "gen_ai.prompt.3.tool_call_id": "call_1",
    **FUNCTION,
    "gen_ai.response.model": "m-1",
    "gen_ai.completion.0.finish_reason": "stop",
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": "At half past nine.",
}
OPENLLMETRY_OF_ANTHROPIC = {
    "gen_ai.system": "Anthropic",
    "gen_ai.prompt.0.content": "Be brief.",
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.1.content": "High water at Leith?",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.2.content": json.dumps(
        [
            {"type": "thinking", "thinking": "I need the table.", "signature": "c2ln"},
            {"type": "text", "text": "One moment."},
            {"type": "tool_use", "id": "call_1", "name": "tide", "input": {"port": "Leith"}},
        ]
    ),
    "gen_ai.prompt.2.role": "assistant",
    "gen_ai.prompt.3.content": json.dumps(
        [
            {"type": "tool_result", "tool_use_id": "call_1", "content": "half past nine"},
        ]
    ),
    "gen_ai.prompt.3.role": "user",
    **FUNCTION,
    "gen_ai.completion.0.role": "thinking",
    "gen_ai.completion.0.content": "It says half past nine.",
    "gen_ai.completion.1.role": "assistant",
    "gen_ai.completion.1.content": "At half past nine.",
}
AI_MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "High water at Leith?"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": "I need the table."},
            {"type": "text", "text": "One moment."},
            {"type": "tool-call", "toolCallId": "call_1", "toolName": "tide", "input": {"port": "Leith"}},
        ],
    },
    {
        "role": "tool",
        "content": [
            {
                "type": "tool-result",
                "toolCallId": "call_1",
                "toolName": "tide",
                "output": {"type": "text", "value": "half past nine"},
            }
        ],
    },
]
AI_TOOLS = {"ai.prompt.tools": [json.dumps({"type": "function", "name": "tide", "inputSchema": SCHEMA})]}
AI_FIRST = {
    "ai.prompt.messages": json.dumps(AI_MESSAGES[:2]),
    **AI_TOOLS,
    "ai.response.finishReason": "tool-calls",
    "ai.response.text": "One moment.",
    "ai.response.reasoning": "I need the table.",
    "ai.response.toolCalls": json.dumps([{"toolCallId": "call_1", "toolName": "tide", "input": '{"port":"Leith"}'}]),
}
AI_SECOND = {
    "ai.prompt.messages": json.dumps(AI_MESSAGES),
    **AI_TOOLS,
    "ai.response.finishReason": "stop",
    "ai.response.text": "At half past nine.",
}
AI_OUTER = {
    "ai.prompt": json.dumps({"system": "Be brief.", "prompt": "High water at Leith?"}),
    "ai.response.text": "At half past nine.",
}
OLDER = {
    "OpenLLMetry of OpenAI": [OPENLLMETRY_OF_OPENAI],
    "OpenLLMetry of Anthropic": [OPENLLMETRY_OF_ANTHROPIC],
    "the AI SDK": [AI_FIRST, AI_SECOND],
    "the AI SDK, with the span around its steps": [AI_FIRST, AI_SECOND, AI_OUTER],
    "the AI SDK, with a span that was cut": [{**AI_FIRST, "ai.prompt.messages": '[{"role": "us'}, AI_SECOND],
}


@pytest.mark.parametrize("name", OLDER)
@pytest.mark.parametrize("spelled", ["objects", "bare attributes", "OTLP"])
def test_spans_from_before_the_conventions_have_messages_too(name, spelled):
    spans = [{"attributes": attributes} for attributes in OLDER[name]]
    given = {"objects": spans, "bare attributes": OLDER[name], "OTLP": [otlp(*spans)]}[spelled]
    assert otel.fits(given)
    (found,) = otel.conversations(given)
    roles = ["system", "user", "assistant", "tool", "assistant"]
    assert [each["role"] for each in found.messages] == roles
    texts = ["Be brief.", "High water at Leith?", "One moment.", "half past nine", "At half past nine."]
    assert [each["content"] for each in found.messages] == texts
    (call,) = found.messages[2]["tool_calls"]
    assert (call["id"], call["function"]) == ("call_1", {"name": "tide", "arguments": '{"port":"Leith"}'})
    assert found.messages[3]["tool_call_id"] == "call_1"
    thoughts = [each.get("reasoning_content") for each in found.messages if each["role"] == "assistant"]
    assert thoughts[0] == (None if "OpenAI" in name else "I need the table.")
    assert thoughts[1] == ("It says half past nine." if "of Anthropic" in name else None)
    (tool,) = found.tools
    assert tool["function"]["name"] == "tide"
    assert tool["function"]["parameters"] == SCHEMA


def test_the_span_around_the_steps_of_the_ai_sdk_counts_where_there_are_no_others():
    (found,) = otel.conversations([{"attributes": AI_OUTER}])
    assert [each["content"] for each in found.messages] == ["Be brief.", "High water at Leith?", "At half past nine."]


def test_a_reply_keeps_its_reasoning_where_the_next_request_lacks_it():
    history = [each for each in AI_MESSAGES[2]["content"] if each["type"] != "reasoning"]
    messages = [*AI_MESSAGES[:2], {"role": "assistant", "content": history}, AI_MESSAGES[3]]
    (found,) = otel.conversations([AI_FIRST, {**AI_SECOND, "ai.prompt.messages": json.dumps(messages)}])
    assert found.messages[2]["reasoning_content"] == "I need the table."
    assert [reply.at for reply in found.origin.replies] == [2, 4]
