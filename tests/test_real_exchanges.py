"""Recorded exchanges with real services, where they are at hand; nothing of them is in this repository."""

import io
from collections import Counter
from pathlib import Path

import orjson
import pytest

from chatsquash import Options
from chatsquash.checks import rules
from chatsquash.core.log import Log
from chatsquash.core.model import Entry
from chatsquash.core.outcome import Outcome
from chatsquash.formats import formats
from chatsquash.reading.reader import Reader
from chatsquash.session.converter import Converter
from tests import oracle
from tests.conftest import needs_real_exchanges, real_exchanges

LOGS = real_exchanges()
MIXED = "mixed"
COUNTS = {"anthropic": 40, "gemini": 44, "openai_chat": 74, "openai_responses": 36, MIXED: 3}
REPLIES = 190
"""How many of the exchanges must end in a reply, at least."""
OPTIONS = {
    "native": Options(anonymize=False),
    "inline": Options(anonymize=False, json_tool_calls=True, reasoning="inline", on_invalid="keep"),
    "anonymized": Options(anonymize_key=b"a key for tests", reasoning="drop"),
}
_MATRIX = "test_multimodal_tool_returns_test_multimodal_tool_return_matrix"
WITHOUT_REPLY = {
    "anthropic/test_model_name_suggestions_test_model_name_suggestion_anthropic_": "with status 404",
    f"gemini/{_MATRIX}_direct-url-image-google_vertex_": "with status 400",
    f"gemini/{_MATRIX}_tool_return_content-url-image-google_vertex_": "with status 400",
    f"openai_chat/{_MATRIX}_tool_return_content-url_force_download-audio-openai_chat_": "with status 400",
    "openai_chat/test_openrouter_test_openrouter_errors_raised": "with status 429",
    f"openai_responses/{_MATRIX}_tool_return_content-url-audio-openai_responses_": "with status 400",
}
"""The exchanges whose last response is an error body, and what is said of it."""

pytestmark = needs_real_exchanges


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


each_log = pytest.mark.parametrize("path", LOGS, ids=name)


def job(path: Path) -> Log:
    return Log(str(path), path.name, path.name, path.stat().st_size)


def converted(path: Path, options: Options = OPTIONS["native"]) -> Outcome:
    return Converter(options).read(io.BytesIO(path.read_bytes()), job(path))


def codes(outcome: Outcome) -> Counter[str]:
    return Counter(found.code for found in outcome.findings)


def keys(value):
    """Every key of every object in a JSON value."""
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys(inner)


def test_the_exchanges_are_those_that_were_counted():
    assert Counter(path.parent.name for path in LOGS) == COUNTS
    assert set(WITHOUT_REPLY) <= {name(path) for path in LOGS}
    assert len(LOGS) - len(WITHOUT_REPLY) >= REPLIES


@each_log
def test_an_exchange_is_recognised_as_what_its_folder_says(path):
    data = path.read_bytes()
    reading = Reader(Options()).read(io.BytesIO(data), job(path))
    items = list(reading.items)
    assert len(items) == len(data.splitlines())
    assert all(isinstance(each, Entry) for each in items)
    assert reading.seen.format in ([path.parent.name] if path.parent.name != MIXED else formats()), reading.seen.why


@each_log
def test_lines_of_other_formats_are_noted_where_there_are_some(path):
    assert codes(converted(path))["mixed-formats"] == (path.parent.name == MIXED)


@each_log
def test_a_record_ends_in_a_reply_or_it_is_said_why_not(path):
    outcome = converted(path)
    last = orjson.loads(outcome.record)["messages"][-1]
    missing = [found.text for found in outcome.findings if found.code == "missing-reply"]
    why = WITHOUT_REPLY.get(name(path))
    if why:
        (text,) = missing
        assert f"the response is an error body, {why}" in text
        assert last["role"] != "assistant"
    else:
        assert missing == []
        assert last["role"] == "assistant"
        assert any(last.get(key) for key in ("content", "tool_calls", "reasoning_content")), "it says nothing"


@each_log
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_an_exchange_is_accounted_for_and_nothing_private_is_in_its_record(path, options):
    outcome = converted(path, options)
    assert outcome.account.lines == sum(outcome.account.counts) == len(path.read_bytes().splitlines())
    assert (outcome.report.rejected, outcome.left_out) == ([], None)
    record = orjson.loads(outcome.record)
    assert list(record) == ["messages", "tools"]
    assert "_x" not in keys(record)
    assert set(codes(outcome)) <= set(rules())


def streamed(path: Path) -> bool:
    responses = [orjson.loads(line).get("response") for line in path.read_bytes().splitlines()]
    return any(isinstance(response, dict) and "body_raw" in response for response in responses)


@pytest.mark.parametrize("path", [p for p in real_exchanges("openai_chat/*.jsonl") if not streamed(p)], ids=name)
def test_chat_that_came_whole_is_converted_as_by_the_oracle(path):
    assert converted(path).record == oracle.convert(path.read_bytes(), path.stem, OPTIONS["native"])
