"""Each side of an exchange is read by its own evidence, whatever format the other side has and however it is wrapped.

The bodies in ``sides.json`` are those of the types of openai 3.57.0 and anthropic 2.14.0, with invented texts: requests
were validated by ``CompletionCreateParams``, ``ResponseCreateParams`` and ``MessageCreateParams``, responses are dumps of
``ChatCompletion``, ``Response`` and ``Message``.
"""

import json
from itertools import product
from pathlib import Path

import pytest

from chatsquash import Options, convert_session
from tests.reading.exchanges import EXCHANGES, MESSAGES, http, plain, sse

SIDES = json.loads((Path(__file__).parent / "sides.json").read_text(encoding="utf-8"))
FORMATS = tuple(SIDES["requests"])
COMBINATIONS = list(product(FORMATS, FORMATS))
TIME = "2026-01-13T10:00:00Z"


def litellm(request, response):
    turns = {"messages": request.get("messages", request.get("input"))}
    beside = {name: request[name] for name in ("tools", "system", "instructions", "max_tokens") if name in request}
    call_type = "aresponses" if "input" in request else "anthropic_messages" if "system" in request else "acompletion"
    row = {"call_type": call_type, **turns, "response": response, "model_parameters": beside, "status": "success"}
    return {"id": "1", "session_id": "s1", "startTime": 1768298400.0, "model": "m-1", **row}


def langfuse(request, response):
    row = {"id": "o1", "trace_id": "t1", "session_id": "s1", "type": "GENERATION", "start_time": TIME}
    return {**row, "input": json.dumps(request), "output": json.dumps(response)}


def langsmith(request, response):
    row = {"id": "r1", "run_type": "llm", "trace_id": "s1", "start_time": TIME, "extra": {}, "error": None}
    return {**row, "inputs": request, "outputs": response}


def phoenix(request, response):
    values = {"input": {"value": json.dumps(request)}, "output": {"value": json.dumps(response)}}
    attributes = {"openinference": {"span": {"kind": "LLM"}}, "session": {"id": "s1"}, **values}
    return {"name": "x", "start_time": TIME, "span_kind": "LLM", "attributes": attributes}


def helicone(request, response):
    row = {"request_created_at": TIME, "response_status": 200}
    row["request_properties"] = {"Helicone-Session-Id": "s1"}
    return {**row, "request_body": request, "response_body": response}


WRAPS = {
    "plain": plain,
    "HTTP pairs": lambda request, response: http(request, {"status": 200, "body": response}),
    "LiteLLM": litellm,
    "Langfuse": langfuse,
    "LangSmith": langsmith,
    "Phoenix": phoenix,
    "Helicone": helicone,
}


def converted(*lines, **options):
    (outcome,) = convert_session([json.dumps(line) for line in lines], Options(anonymize=False, **options))
    return outcome


def calls(message):
    called = [(each["id"], each["function"]["name"], each["function"]["arguments"]) for each in message["tool_calls"]]
    return [(own, name, json.loads(spelled)) for own, name, spelled in called]


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize(("asked", "answered"), COMBINATIONS)
def test_both_sides_of_an_exchange_come_through_in_any_combination(asked, answered, wrap):
    request, response = SIDES["requests"][asked], SIDES["responses"][answered]
    outcome = converted(WRAPS[wrap](request, response))
    record = json.loads(outcome.record)
    messages = record["messages"]
    assert [each["role"] for each in messages] == ["system", "user", "assistant", "tool", "user", "assistant"]
    texts = ["Be brief.", "High water at Leith?", "One moment.", "half past nine", "And at Crail?", "I look again."]
    assert [each["content"] for each in messages] == texts
    assert calls(messages[2]) == [("call_1", "tide", {"port": "Leith"})]
    assert messages[3]["tool_call_id"] == "call_1"
    assert calls(messages[5]) == [("call_2", "tide", {"port": "Crail"})]
    assert messages[5]["reasoning_content"] == "Another port."
    assert messages[2].get("reasoning_content") == (None if asked == "openai_chat" else "I need the table.")
    (tool,) = record["tools"]
    assert (tool["name"], tool["description"]) == ("tide", "Looks up the tide.")
    assert tool["parameters"]["properties"] == {"port": {"type": "string"}}
    found = {each.code for each in outcome.findings}
    assert not found & {"unknown-format", "mixed-formats", "missing-reply", "wrong-type", "hosted-tools"}


TOOL = {"name": "tide", "description": "Looks up the tide."}
SCHEMA = {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}
DEFINITIONS = {
    "nested": {"type": "function", "function": {**TOOL, "parameters": SCHEMA}},
    "flat": {"type": "function", **TOOL, "parameters": SCHEMA},
    "flat without a type": {**TOOL, "parameters": SCHEMA},
    "input_schema": {**TOOL, "input_schema": SCHEMA},
    "input_schema of a custom tool": {"type": "custom", **TOOL, "input_schema": SCHEMA},
}


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize(("asked", "answered"), COMBINATIONS)
def test_a_definition_keeps_its_schema_in_whichever_spelling(asked, answered, definition):
    request = {**SIDES["requests"][asked], "tools": [DEFINITIONS[definition]]}
    record = json.loads(converted(litellm(request, SIDES["responses"][answered])).record)
    (tool,) = record["tools"]
    assert (tool["name"], tool["description"], tool["parameters"]) == ("tide", "Looks up the tide.", SCHEMA)
    assert len(record["messages"]) == 6


@pytest.mark.parametrize("events", [sse, list], ids=["server-sent events", "a list of events"])
@pytest.mark.parametrize(("asked", "answered"), COMBINATIONS)
def test_a_streamed_response_is_read_by_its_own_events(asked, answered, events):
    response = events(EXCHANGES[answered].events)
    messages = json.loads(converted(plain(SIDES["requests"][asked], response)).record)["messages"]
    assert (len(messages), messages[-1]["content"], calls(messages[-1])) == (6, "looking", [("a", "grep", {})])


@pytest.mark.parametrize(("asked", "answered"), COMBINATIONS)
def test_a_conversation_continues_from_a_reply_in_another_format(asked, answered):
    """What was sampled in one format and is sent back in another is one reply, which is trained on once."""
    request, response = SIDES["requests"][asked], SIDES["responses"][answered]
    again = {
        "openai_chat": [
            {**SIDES["responses"]["openai_chat"]["choices"][0]["message"]},
            {"role": "tool", "tool_call_id": "call_2", "content": "noon"},
        ],
        "openai_responses": [
            *SIDES["responses"]["openai_responses"]["output"],
            {"type": "function_call_output", "call_id": "call_2", "output": "noon"},
        ],
        "anthropic": [
            {"role": "assistant", "content": SIDES["responses"]["anthropic"]["content"]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_2", "content": "noon"}]},
        ],
    }[asked]
    turns = "input" if asked == "openai_responses" else "messages"
    first = plain(request, response)
    second = plain({**request, turns: [*request[turns], *again]}, response)
    second["timestamp"] = "2026-01-13T10:00:05Z"
    outcome = converted(first, second, conversations="all", loss="weight")
    record = json.loads(outcome.record)
    assert [each["role"] for each in record["messages"]][-3:] == ["assistant", "tool", "assistant"]
    assert [each["weight"] for each in record["messages"] if each["role"] == "assistant"] == [0, 1, 1]
    assert outcome.account.counts.superseded == 1


def test_a_session_of_plain_chat_stays_as_logged_among_lines_of_other_clients():
    """A gateway's log of several clients: content of other formats in one line changes no record of another session."""
    odd = {"role": "assistant", "content": [{"type": "text", "text": "One.", "n": 1}], "name": "x", "other": [1.50]}
    asked = {"model": "m", "messages": [{"role": "user", "content": "Count."}, odd, {"role": "user", "content": "On."}]}
    ours = [plain(asked, SIDES["responses"]["openai_chat"])] * 2
    alone = converted(*ours).record
    theirs = plain(SIDES["requests"]["anthropic"], SIDES["responses"]["openai_chat"]) | {"session_id": "s2"}
    mixed = {
        **SIDES["requests"]["anthropic"],
        "messages": [*asked["messages"], *SIDES["requests"]["anthropic"]["messages"]],
    }
    mixed = plain(
        {**mixed, "messages": [*mixed["messages"], {"role": "tool", "tool_call_id": "x", "content": "y"}]}, None
    )
    for order in ([ours[0], theirs, ours[1]], [theirs, *ours], [ours[0], mixed | {"session_id": "s3"}, ours[1]]):
        lines = [json.dumps(line) for line in order]
        records = {each.session: each for each in convert_session(lines, Options(anonymize=False, sessions_by="id"))}
        assert records["s1"].record == alone


# Formats of other providers, as ``exchanges`` has them

AMBIGUOUS = {("anthropic", "ollama"), ("bedrock", "ollama"), ("gemini_interactions", "openai_responses")}
"""What is read in the format of the response alone, whose members the request has."""


@pytest.mark.parametrize("wrap", ["plain", "HTTP pairs", "Langfuse", "LangSmith", "Helicone"])
@pytest.mark.parametrize("asked, answered", [pair for pair in product(EXCHANGES, EXCHANGES) if pair not in AMBIGUOUS])
def test_each_side_of_any_provider_is_read_by_its_own_evidence(wrap, asked, answered):
    line = WRAPS[wrap](EXCHANGES[asked].request, EXCHANGES[answered].response)
    (outcome,) = convert_session([json.dumps(line)], Options(anonymize=False))
    record = json.loads(outcome.record)
    assert [(each["role"], each.get("content") or "") for each in record["messages"]] == [
        (each["role"], each.get("content") or "") for each in MESSAGES
    ]
    assert [tool["name"] for tool in record["tools"]] == ["grep"]
