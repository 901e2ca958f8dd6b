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
    with pytest.raises(TurnError, match="no attribute holds messages"):
        otel.conversations([{"resourceSpans": value}])


def test_what_is_nested_too_deeply_is_said_so():
    value = {}
    for _ in range(5000):
        value = {"arrayValue": {"values": [value]}}
    found = [{"attributes": [{"key": "gen_ai.input.messages", "value": value}]}]
    assert otel.fits(found) is None
    with pytest.raises(TurnError, match="nested too deeply"):
        otel.conversations(found)
