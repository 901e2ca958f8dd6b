"""Logged feedback: the scores of replies and sessions, by the service or format that logged them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chatsquash import Options, convert
from chatsquash.core import jsonio
from chatsquash.reading.envelopes import PLAIN, envelopes, scores_of
from tests.conftest import cases, user
from tests.outputs import put, report

ALL = Options(anonymize=False, trace_replies=True, conversations="all")


def scores(out: str = "out") -> tuple[list[Any], list[Any]]:
    """The scores of each reply, and of each record."""
    records = [row["scores"] for row in report("sessions.jsonl", out)]
    return [row.get("scores") for row in report("replies.jsonl", out)], [
        json.loads(each) if each else None for each in records
    ]


def exchange(says: str, *before: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    request = {"model": "gpt-5", "messages": [*before, user("When is low tide?")]}
    reply = {"role": "assistant", "content": says}
    choices = [{"index": 0, "message": reply, "finish_reason": "stop"}]
    return request, {"id": f"r-{says}", "model": "gpt-5", "choices": choices}


# Gateways and tracing


def helicone(says: str, **more: Any) -> dict[str, Any]:
    request, response = exchange(says)
    times = {"request_created_at": "2026-05-07T10:00:01Z", "response_status": 200}
    return {**times, "request_body": request, "response_body": response, **more}


def langfuse(**more: Any) -> dict[str, Any]:
    request, _ = exchange("14:20")
    row = {"id": "o1", "trace_id": "t1", "type": "GENERATION", "start_time": "2026-05-08 10:00:01.000000"}
    return {**row, "input": json.dumps(request), "output": "At 14:20.", "provided_model_name": "gpt-5", **more}


def langsmith(**more: Any) -> dict[str, Any]:
    request, _ = exchange("14:20")
    row = {"id": "b", "run_type": "llm", "trace_id": "t1", "start_time": "2026-05-09T10:00:01"}
    return {**row, "inputs": request, "outputs": {"role": "assistant", "content": "At 14:20."}, **more}


def score(**members: Any) -> dict[str, Any]:
    return {
        "id": "s",
        "observation_id": "o1",
        "trace_id": "t1",
        "comment": "Ring Jo",
        "source": "ANNOTATION",
        **members,
    }


@cases(
    "row, of_reply, of_record",
    # Helicone's getRequests and getRequestsClickhouse: valhalla/jawn/src/lib/stores/request/request.ts at 0003b753.
    (
        "Helicone, from Postgres",
        helicone("a", feedback_rating=False, scores={"tone": {"value": 7, "valueType": "number"}, "safe": {"value": 1, "valueType": "boolean"}}),
        {"feedback_rating": False, "tone": 7, "safe": True},
        {"feedback_rating": False, "tone": 7, "safe": True},
    ),
    (
        "Helicone, from ClickHouse",
        helicone("a", scores={"helicone-score-feedback": 0, "tone": 7}),
        {"helicone-score-feedback": False, "tone": 7},
        {"helicone-score-feedback": False, "tone": 7},
    ),
    # The members of Langfuse's scores: packages/shared/src/server/repositories/scores.ts and domain/scores.ts at 62751446.
    (
        "Langfuse, as exported",
        langfuse(scores=[score(name="ok", value=1, data_type="BOOLEAN", string_value="True"), score(name="tone", value=0, data_type="CATEGORICAL", string_value="rude"), score(name="length", value=0.5, data_type="NUMERIC")]),
        {"ok": True, "tone": "rude", "length": 0.5},
        {"ok": True, "tone": "rude", "length": 0.5},
    ),
    (
        "Langfuse, as the API returns them",
        langfuse(scores=[{"name": "ok", "value": 0, "dataType": "BOOLEAN", "stringValue": "False", "observationId": "o1"}]),
        {"ok": False},
        {"ok": False},
    ),
    (
        "Langfuse, of the trace, of another observation, and free text",
        langfuse(scores=[score(name="goal", value=1, observation_id=None), score(name="other", value=1, observation_id="o9"), score(name="note", value=0, data_type="TEXT", string_value="Well done")]),
        None,
        {"goal": 1},
    ),
    # langsmith 0.15.1: Run.feedback_stats, of which the client itself reads "avg"; FeedbackBase.key, score and value.
    (
        "LangSmith, averages",
        langsmith(feedback_stats={"thumbs": {"n": 2, "avg": 0.5}, "tone": {"n": 1, "avg": None, "values": {"kind": 1}}, "note": {"n": 1, "avg": None, "comments": ["x"]}}),
        {"thumbs": 0.5, "tone": "kind"},
        {"thumbs": 0.5, "tone": "kind"},
    ),
    (
        "LangSmith, rows",
        langsmith(feedback=[{"key": "thumbs", "score": True, "value": None}, {"key": "tone", "score": None, "value": "kind"}]),
        {"thumbs": True, "tone": "kind"},
        {"thumbs": True, "tone": "kind"},
    ),
    ("no scores", helicone("a", scores={}), None, None),
)  # fmt: skip
def test_scores_of_gateways_are_columns(here, row, of_reply, of_record):
    put("logs/s.jsonl", row)
    convert("logs", "out", ALL)
    assert scores() == ([of_reply], [of_record])


def test_comments_and_free_text_are_not_written(here):
    put("logs/s.jsonl", langfuse(scores=[score(name="note", value=0, data_type="TEXT", string_value="Call Jo")]))
    convert("logs", "out", ALL)
    written = b"".join(path.read_bytes() for path in Path("out").rglob("*.json*"))
    assert b"Call Jo" not in written
    assert b"Ring Jo" not in written


HOSTILE = [
    None,
    7,
    "x",
    [],
    [[]],
    {"a": {"value": {}}},
    {"a": 10**400},
    [{"name": 3}],
    {"x" * 999: 1},
    [None],
    {"a": [1]},
]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: str(value)[:20])
def test_members_of_any_type_are_no_scores(value):
    for envelope in envelopes():
        for name in envelope.SCORES:
            rows = (helicone("a"), langfuse(), langsmith())
            for row in rows:
                line = jsonio.dumps({**row, json.loads(name): value})
                assert all(each.name and len(each.name) < 999 for each in scores_of(line, envelope))
    assert scores_of(b'{"scores":{"a":1}}', PLAIN) == ()


def test_many_scores_are_limited(here):
    put("logs/s.jsonl", helicone("a", scores={f"s{number}": number for number in range(100_000)}))
    convert("logs", "out", ALL)
    assert len(scores()[0][0]) == 100


def test_scores_stay_with_their_replies_in_a_session_that_grows(here):
    first, one = exchange("14:20")
    second, two = exchange("02:40", *first["messages"], one["choices"][0]["message"])
    common = {"request_created_at": "2026-05-07T10:00:01Z", "request_properties": {"Helicone-Session-Id": "h"}}
    put(
        "logs/s.jsonl",
        {**common, "request_body": first, "response_body": one, "scores": {"tone": 1}},
        {**common, "request_body": second, "response_body": two, "feedback_rating": True},
    )
    convert("logs", "out", Options(anonymize=False, trace_replies=True))
    assert scores() == ([{"tone": 1}, {"feedback_rating": True}], [{"feedback_rating": True}])
    convert("logs", "plain", Options(anonymize=False))
    assert json.loads(report("sessions.jsonl", "plain")[0]["scores"]) == {"feedback_rating": True}
    assert report("sessions.jsonl", "plain")[0]["scores_evidence"] == "Helicone, of the last reply"


# OpenTelemetry: gen_ai.evaluation.result in model/gen-ai/events.yaml of semantic-conventions-genai


def span(name: str, *events: Any) -> dict[str, Any]:
    messages = [{"role": "user", "parts": [{"type": "text", "content": f"Tide in {name}?"}]}]
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "14:20"}], "finish_reason": "stop"}]
    attributes = {"gen_ai.input.messages": json.dumps(messages), "gen_ai.output.messages": json.dumps(answer)}
    values = {**attributes, "gen_ai.response.id": f"r-{name}"}
    return {"spanId": f"span-{name}", "name": "chat", "attributes": attributes_of(values), "events": list(events)}


def attributes_of(values: dict[str, Any]) -> list[Any]:
    kinds = {str: "stringValue", float: "doubleValue", int: "intValue"}
    return [{"key": name, "value": {kinds[type(value)]: value}} for name, value in values.items()]


def evaluation(value: Any, **more: Any) -> dict[str, Any]:
    name = "gen_ai.evaluation.score.label" if isinstance(value, str) else "gen_ai.evaluation.score.value"
    values = {"gen_ai.evaluation.name": "Relevance", name: value, "gen_ai.evaluation.explanation": "too long"}
    attributes = {**values, **more.pop("attributes", {})}
    return {"name": "gen_ai.evaluation.result", "attributes": attributes_of(attributes), **more}


@cases(
    "spans, records, expected",
    ("an event of the span", [span("Brest", evaluation(0.5)), span("Calais")], [], [{"Relevance": 0.5}, None]),
    ("a record with the id of the span", [span("Brest"), span("Calais")], [evaluation("pass", spanId="span-Calais")], [None, {"Relevance": "pass"}]),
    ("a record with the id of the response", [span("Brest"), span("Calais")], [evaluation(1.0, attributes={"gen_ai.response.id": "r-Brest"})], [{"Relevance": 1.0}, None]),
    ("a span below the evaluated one", [span("Brest"), evaluation(0.5, spanId="e", parentSpanId="span-Brest")], [], [{"Relevance": 0.5}]),
    ("a record about an unknown span", [span("Brest")], [evaluation(0.5, spanId="other")], [None]),
)  # fmt: skip
def test_evaluations_belong_to_the_span_that_they_name(here, spans, records, expected):
    payloads = [{"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}]
    payloads += [{"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}] if records else []
    put("logs/otel.jsonl", *payloads)
    convert("logs", "out", ALL)
    assert scores() == (expected, expected)


# Documents


def test_named_rewards_of_harbor_are_scores_of_the_trajectory(here):
    """VerifierResult.rewards of harbor maps names to numbers."""
    steps = [{"step_id": 1, "source": "user", "message": "Hi"}, {"step_id": 2, "source": "agent", "message": "Hello"}]
    trajectory = {"schema_version": "ATIF-v1.7", "session_id": "t", "agent": {"name": "a"}, "steps": steps}
    put("logs/trial-1/agent/trajectory.json", trajectory)
    put("logs/trial-1/result.json", {"verifier_result": {"rewards": {"reward": 1, "style": 0.25, "none": None}}})
    convert("logs", "out", ALL)
    (row,) = report("sessions.jsonl")
    assert (row["reward"], json.loads(row["scores"])) == (1.0, {"reward": 1, "style": 0.25})
    assert row["scores_evidence"] == "rewards of the result.json, of the conversation"
    assert scores()[0] == [None]


def test_scores_are_metadata_and_a_column_for_conditions(here):
    put("logs/a.jsonl", helicone("a", feedback_rating=True))
    put("logs/b.jsonl", helicone("b", feedback_rating=False))
    keeps = {"where": """scores LIKE '%"feedback_rating":true%'""", "metadata": True, "format": "jsonl"}
    assert convert("logs", "out", Options(anonymize=False, **keeps)).written == 1
    (record,) = (json.loads(line) for path in Path("out/data").iterdir() for line in path.read_text().splitlines())
    assert record["scores"] == '{"feedback_rating":true}'
