"""What the log marks as an error is counted in the metadata, and written into the text on request."""

import json

import pytest

from chatsquash import Options, convert_session
from chatsquash.dataset.columns import additions

CALLS = [{"id": f"t{number}", "name": "look", "input": {}} for number in (1, 2, 3)]
ANTHROPIC = {
    "model": "claude-x", "max_tokens": 9, "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [{"type": "tool_use", **each} for each in CALLS]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "no such file"},
            {"type": "tool_result", "tool_use_id": "t2", "is_error": True},
            {"type": "tool_result", "tool_use_id": "t3", "content": "error: is this one?"},
        ]},
    ],
}  # fmt: skip
GEMINI = {
    "contents": [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [{"functionCall": {"id": each["id"], "name": "look", "args": {}}} for each in CALLS]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "t1", "name": "look", "response": {"error": "no such file"}}},
            {"functionResponse": {"id": "t2", "name": "look", "response": {"error": ""}}},
            {"functionResponse": {"id": "t3", "name": "look", "response": {"output": "error: is this one?"}}},
        ]},
    ]
}  # fmt: skip
BEDROCK = {
    "inferenceConfig": {"maxTokens": 9},
    "messages": [
        {"role": "user", "content": [{"text": "Look."}]},
        {"role": "assistant", "content": [
            {"toolUse": {"toolUseId": each["id"], "name": "look", "input": {}}} for each in CALLS
        ]},
        {"role": "user", "content": [
            {"toolResult": {"toolUseId": "t1", "status": "error", "content": [{"text": "no such file"}]}},
            {"toolResult": {"toolUseId": "t2", "status": "error", "content": []}},
            {"toolResult": {"toolUseId": "t3", "status": "success", "content": [{"text": "error: is this one?"}]}},
        ]},
    ],
}  # fmt: skip
CHAT = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": each["id"], "type": "function", "function": {"name": "look", "arguments": "{}"}} for each in CALLS
        ]},
        {"role": "tool", "tool_call_id": "t1", "content": "no such file", "is_error": True},
        {"role": "tool", "tool_call_id": "t2", "content": "", "is_error": True},
        {"role": "tool", "tool_call_id": "t3", "content": "error: is this one?"},
    ],
}  # fmt: skip
REQUESTS = {"anthropic": ANTHROPIC, "gemini": GEMINI, "bedrock": BEDROCK, "openai_chat": CHAT}
LOGGED = ["no such file", "", "error: is this one?"]
MARKED = ["ERROR: no such file", "ERROR: ", "error: is this one?"]
ANSWERED = {"choices": [{"message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}]}


def converted(request, **options):
    line = {"timestamp": 1, "session_id": "s", "request": request, "response": None}
    (outcome,) = convert_session([json.dumps(line)], Options(anonymize=False, **options))
    return outcome


def results(record):
    return [each["content"] for each in json.loads(record)["messages"] if each["role"] == "tool"]


@pytest.mark.parametrize("name", REQUESTS)
def test_texts_of_failed_results_are_as_logged_by_default(name):
    outcome = converted(REQUESTS[name])
    assert results(outcome.record) == LOGGED
    assert "shape-changed" not in {each.code for each in outcome.findings}


@pytest.mark.parametrize("name", REQUESTS)
def test_failed_results_are_marked_on_request(name):
    outcome = converted(REQUESTS[name], mark_failed_results=True)
    assert results(outcome.record) == MARKED
    assert "failed results marked in their text 2" in [each.text for each in outcome.findings][-1]


@pytest.mark.parametrize("preset", ["hf", "openai", "mistral"])
def test_presets_mark_them_too(preset):
    request = {**CHAT, "messages": [*CHAT["messages"], {"role": "assistant", "content": "Done."}]}
    assert results(converted(request, preset=preset, mark_failed_results=True).record) == MARKED


def test_a_text_that_has_the_mark_gets_no_second_one():
    messages = [*CHAT["messages"][:2], {**CHAT["messages"][2], "content": "ERROR: no such file"}]
    outcome = converted({"model": "m", "messages": messages}, mark_failed_results=True)
    assert results(outcome.record) == ["ERROR: no such file"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([{"type": "text", "text": "a"}], [{"type": "text", "text": "ERROR: a"}]),
        ([], [{"type": "text", "text": "ERROR: "}]),
        (
            [{"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}],
            [{"type": "text", "text": "ERROR: "}, {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}],
        ),
        (None, "ERROR: "),
        (5, 5),
    ],
)
def test_the_mark_is_in_the_first_text(content, expected):
    messages = [*CHAT["messages"][:2], {**CHAT["messages"][2], "content": content}]
    assert results(converted({"model": "m", "messages": messages}, mark_failed_results=True).record) == [expected]


def test_samples_of_replies_are_marked():
    request = {**CHAT, "messages": [*CHAT["messages"], {"role": "user", "content": "And?"}]}
    line = {"timestamp": 1, "session_id": "s", "request": request, "response": ANSWERED}
    options = Options(anonymize=False, preset="hf", samples="reply", mark_failed_results=True)
    (outcome,) = convert_session([json.dumps(line)], options)
    (record,) = [json.loads(each.line) for each in outcome.records]
    assert [each["content"] for each in record["prompt"] if each["role"] == "tool"] == MARKED


@pytest.mark.parametrize("name", REQUESTS)
def test_metadata_counts_failed_results(name):
    (record,) = converted(REQUESTS[name]).records
    at = 3 if name == "anthropic" else 2
    assert record.ending.failed_results == 2
    assert record.ending.failed_results_evidence == f"messages {at}, {at + 1}"


def test_the_column_of_the_metadata_has_the_count():
    (record,) = converted({**CHAT, "messages": CHAT["messages"][:3]}, metadata=True, format="jsonl").records
    columns = additions(record, Options(metadata=True, format="jsonl"))
    assert (columns["failed_results"], columns["failed_results_evidence"]) == (1, "message 2")


def test_evidence_lists_the_first_twenty():
    failed = [{**CHAT["messages"][2], "tool_call_id": str(number)} for number in range(25)]
    (record,) = converted({"model": "m", "messages": [CHAT["messages"][0], *failed]}).records
    assert record.ending.failed_results_evidence.endswith(", 20 and 5 more")


def test_a_log_without_marks_has_none():
    (record,) = converted({"model": "m", "messages": [*CHAT["messages"][:2], CHAT["messages"][4]]}).records
    assert (record.ending.failed_results, record.ending.failed_results_evidence) == (0, None)
