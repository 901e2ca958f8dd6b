"""Members of tool definitions that no provider's definitions have; the known ones are from the types of the SDKs."""

import json

import pytest

from chatsquash import Options, convert
from chatsquash.checks.definition_members import definitions_with_unknown, tool_members, unknown_members
from chatsquash.core.chat import PRIVATE, Private
from tests.conftest import cases, log_line, write_log

SCHEMA = {"type": "object", "properties": {}}
FUNCTION = {"name": "grep", "description": "d", "parameters": SCHEMA}
WRAPPED = {"type": "function", "function": FUNCTION}


def in_function(**more):
    return {"type": "function", "function": {**FUNCTION, **more}}


def private(**own):
    return {**WRAPPED, PRIVATE: Private(own)}


KNOWN = (
    ("OpenAI chat", in_function(strict=True)),
    ("OpenAI chat without a schema", {"type": "function", "function": {"name": "grep"}}),
    ("a custom tool of OpenAI chat", {"type": "custom", "custom": {"name": "sql", "description": "d", "format": {"type": "text"}}}),
    ("OpenAI Responses", {"type": "function", **FUNCTION, "strict": None, "defer_loading": True, "allowed_callers": [], "output_schema": {}}),
    ("a custom tool of OpenAI Responses", {"type": "custom", "name": "sql", "format": {"type": "grammar", "syntax": "lark", "definition": "x"}}),
    ("Anthropic", {"type": "custom", "name": "grep", "input_schema": SCHEMA, "cache_control": {}, "strict": True, "defer_loading": True, "input_examples": [], "allowed_callers": [], "eager_input_streaming": True}),
    ("Anthropic's members next to the function, as gateways have them", {**WRAPPED, "cache_control": {}, "defer_loading": True}),
    ("Gemini", {"name": "grep", "parametersJsonSchema": {}, "response": {}, "responseJsonSchema": {}, "behavior": "BLOCKING"}),
    ("Gemini in Python", {"name": "grep", "parameters_json_schema": {}, "response_json_schema": {}}),
    ("MCP", {"name": "grep", "title": "Grep", "inputSchema": SCHEMA, "outputSchema": {}, "annotations": {}, "_meta": {}}),
    ("Transformers", in_function(**{"return": {"type": "string"}})),
    ("keywords of JSON Schema", in_function(title="x", additionalProperties=False, **{"$schema": "x"})),
    ("any member of a schema", in_function(parameters={"type": "object", "properties": {}, "foo": 1})),
    ("a hosted tool of OpenAI", {"type": "web_search", "user_location": {}, "foo": 1}),
    ("a hosted tool of Anthropic", {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}),
    ("a hosted tool of Gemini", {"googleSearch": {"timeRangeFilter": {}}}),
    ("a tool of Anthropic's that the client runs", private(anthropic={"type": "bash_20250124", "display_width_px": 5})),
    ("a provider's own members", private(anthropic={"cache_control": {}})),
    ("no object", "grep"),
    ("null", None),
)  # fmt: skip


@pytest.mark.parametrize("tool", [tool for _, tool in KNOWN], ids=[name for name, _ in KNOWN])
def test_known_members_are_not_reported(tool):
    assert unknown_members(tool) == []


@cases("tool, expected",
    ("next to the function", {**WRAPPED, "foo": 1}, ["foo"]),
    ("in the function", in_function(foo=1), ["foo"]),
    ("in both", {**in_function(bar=1, foo=1), "foo": 1, "baz": None}, ["bar", "foo", "baz"]),
    ("next to a custom tool", {"type": "custom", "custom": {"name": "sql"}, "foo": 1}, ["foo"]),
    ("in a custom tool", {"type": "custom", "custom": {"name": "sql", "foo": 1}}, ["foo"]),
    ("in a flat definition", {**FUNCTION, "foo": 1}, ["foo"]),
    ("of Anthropic", {"name": "grep", "input_schema": SCHEMA, "foo": 1}, ["foo"]),
    ("of MCP", {"name": "grep", "inputSchema": SCHEMA, "foo": 1}, ["foo"]),
    ("in what only the provider knows", private(anthropic={"foo": 1, "cache_control": {}}), ["foo"]),
    ("a member called like ours", {**WRAPPED, PRIVATE: {"a": {"b": 1}}}, [PRIVATE]),
    ("in another case", in_function(Strict=True), ["Strict"]),
    ("a misspelled member", in_function(params=SCHEMA), ["params"]),
    ("an empty name", in_function(**{"": 1}), [""]),
    ("a function that is no object", {"type": "function", "function": "grep", "foo": 1}, ["foo"]),
)  # fmt: skip
def test_unknown_members_are_named_in_order(tool, expected):
    assert unknown_members(tool) == expected
    assert definitions_with_unknown([None, WRAPPED, tool]) == [(tool, expected)]


def test_a_finding_names_the_tool_and_a_bounded_number_of_members():
    fact = tool_members({**WRAPPED, "foo": 1}, ["foo"])
    assert (fact.code, fact.severity) == ("tool-members", "info")
    assert fact.text.startswith("tool 'grep' has 1 member that no provider defines: 'foo'; check whether")
    many = tool_members({"foo": 1}, [f"{number}\x1b{'x' * 10_000}" for number in range(1200)]).text
    assert many.startswith("a tool without a name has 1,200 members that no provider defines: '0\\x1bxx")
    assert "1,195 more; check" in many
    assert len(many) < 1000
    assert many.isprintable()


ODD = {**in_function(bar=1), "foo": 1}


def findings(folder):
    lines = (folder / "reports/findings.jsonl").read_text().splitlines()
    return [each for each in map(json.loads, lines) if each["code"] == "tool-members"]


def test_a_definition_is_reported_once_in_a_session_and_its_record_does_not_change(here):
    other = {"type": "function", "function": {**FUNCTION, "name": "ls"}, "server": "files"}
    lists = [[WRAPPED], [ODD], [json.loads(json.dumps(ODD)), other], [other, ODD]]
    write_log(here / "logs/a.jsonl", *[log_line(*["hi"] * at, tools=each, at=at) for at, each in enumerate(lists, 1)])
    write_log(here / "logs/b.jsonl", log_line("hi", tools=[ODD]))
    convert("logs", "out", Options(anonymize=False))
    seen = [
        (each["session"], each["line"], each["severity"], each["text"].partition(";")[0])
        for each in findings(here / "out")
    ]
    two = "tool 'grep' has 2 members that no provider defines: 'bar', 'foo'"
    assert seen == [
        ("s1", 2, "info", two),
        ("s1", 3, "info", "tool 'ls' has 1 member that no provider defines: 'server'"),
        ("s1", 1, "info", two),
    ]
    paths = sorted((here / "out").glob("2*.jsonl"))
    records = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    assert [{**FUNCTION, "bar": 1}] in [record["tools"] for record in records]


@cases("request_, response",
    ("Anthropic", {"model": "claude-x", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}], "tools": [{"name": "grep", "input_schema": SCHEMA, "cache_control": {}, "foo": 1}]},
        {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"}),
    ("OpenAI Responses", {"model": "m", "instructions": "x", "input": [{"role": "user", "content": "hi"}], "tools": [{"type": "function", **FUNCTION, "strict": None, "foo": 1}]},
        {"object": "response", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}]}),
    ("Gemini", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "tools": [{"functionDeclarations": [{"name": "grep", "behavior": "BLOCKING", "foo": 1}]}]},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}, "finishReason": "STOP"}]}),
)  # fmt: skip
def test_members_that_a_reader_does_not_take_over_are_reported(here, request_, response):
    line = {"timestamp": "2026-01-13T10:00:00Z", "session_id": "s1", "request": request_, "response": response}
    write_log(here / "logs/a.jsonl", json.dumps(line))
    convert("logs", "out", Options(anonymize=False))
    assert [each["text"].partition(";")[0] for each in findings(here / "out")] == [
        "tool 'grep' has 1 member that no provider defines: 'foo'"
    ]
    (record,) = [json.loads(line) for line in (here / "out/2026-01-13.jsonl").read_text().splitlines()]
    assert "foo" not in record["tools"][0]


def test_existing_datasets_are_checked_in_either_spelling(here, command):
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ok"}]
    records = [{"messages": messages, "tools": [tool]} for tool in (ODD, {**FUNCTION, "foo": 1}, WRAPPED)]
    (here / "data.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    shown = command("check", "data.jsonl")
    assert shown.code == 0
    assert [line.split("\t")[2] for line in shown.out.splitlines() if "[tool-members]" in line] == [
        "input=data.jsonl:1",
        "input=data.jsonl:2",
    ]
