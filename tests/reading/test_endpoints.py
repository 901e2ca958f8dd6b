"""Lines of endpoints without conversations; their responses are those of the providers' references."""

import json

import pytest

from chatsquash import Options, convert, convert_session
from chatsquash.cli import exits
from chatsquash.core import chat

PROMPT = [{"role": "user", "content": "hi"}]
PARTS = [{"role": "user", "parts": [{"text": "hi"}]}]
OTHERS = [
    ("embeddings", {"model": "e", "input": "hi"}, {"object": "list", "data": [{"object": "embedding", "embedding": [0.1]}]}),
    ("embeddings", {"content": {"parts": [{"text": "hi"}]}}, {"embedding": {"values": [0.1]}}),
    ("embeddings", {"requests": []}, {"embeddings": [{"values": [0.1]}]}),
    ("moderations", {"input": ["hi"]}, {"id": "m", "model": "o", "results": [{"flagged": False, "categories": {}}]}),
    ("token counts", {"model": "m", "messages": PROMPT}, {"input_tokens": 3}),
    ("token counts", {"model": "m", "input": "hi"}, {"object": "response.input_tokens", "input_tokens": 3}),
    ("token counts", {"contents": PARTS}, {"totalTokens": 3, "promptTokensDetails": []}),
    ("images", {"prompt": "a cat"}, {"created": 1, "data": [{"b64_json": "eA=="}]}),
    ("rerank", {"query": "a", "documents": ["b"]}, {"results": [{"index": 0, "relevance_score": 0.4}]}),
    ("audio", {"file": "a.wav"}, {"text": "hi", "usage": {"input_token_details": {"audio_tokens": 4}}}),
]  # fmt: skip
ANSWERED = {
    "openai_chat": ({"messages": PROMPT}, {"choices": [{"message": {"role": "assistant", "content": "hello"}}]}),
    "openai_responses": (
        {"input": "hi"},
        {
            "object": "response",
            "status": "completed",
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]}],
        },
    ),
    "anthropic": (
        {"max_tokens": 9, "messages": PROMPT},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": "hello"}],
            "stop_reason": "end_turn",
        },
    ),
    "gemini": ({"contents": PARTS}, {"candidates": [{"content": {"role": "model", "parts": [{"text": "hello"}]}}]}),
}


def line(request, response):
    times = {"timestamp": "2026-01-01T10:00:00Z", "session_id": "s"}
    return json.dumps({**times, "request": request, "response": response})


def outcome_of(*lines):
    (outcome,) = convert_session([each.encode() for each in lines], Options(anonymize=False))
    noted = [each.text for each in outcome.findings if each.code == "no-exchange"]
    assert not [each for each in outcome.findings if each.severity == "error"]
    return outcome, " ".join(noted)


@pytest.mark.parametrize("name", ANSWERED)
@pytest.mark.parametrize(("what", "request_body", "response"), OTHERS)
def test_a_call_of_another_endpoint_is_counted(name, what, request_body, response):
    outcome, noted = outcome_of(line(*ANSWERED[name]), line(request_body, response))
    assert f"another endpoint ({what})" in noted
    assert [chat.text(m) for m in json.loads(outcome.record)["messages"]] == ["hi", "hello"]


@pytest.mark.parametrize(("what", "request_body", "response"), OTHERS)
def test_a_log_of_nothing_else_has_no_record_and_no_error(what, request_body, response):
    outcome, noted = outcome_of(line(request_body, response))
    assert (outcome.record, outcome.left_out) == (None, "unanswered-session")
    assert f"another endpoint ({what})" in noted


@pytest.mark.parametrize("call_type", ["aembedding", "moderation", "aimage_generation", "atranscription", "arerank"])
def test_litellm_names_the_endpoint(call_type):
    """From LiteLLM's ``CallTypes``."""
    row = {"call_type": call_type, "session_id": "s", "startTime": 1, "messages": "hi", "response": {}}
    _, noted = outcome_of(json.dumps(row), json.dumps({**row, "messages": None}))
    assert "another endpoint" in noted


# A run of nothing else, in whatever envelope

HTTP = {"url": "https://api.example.org/v1/audio/speech", "body": {"model": "tts", "input": "hi", "voice": "a"}}
BEDROCK = {
    "schemaType": "ModelInvocationLog",
    "schemaVersion": "1.0",
    "timestamp": "2026-01-01T10:00:00Z",
    "requestId": "r",
}
ALONE = {
    "plain": json.loads(line({"model": "e", "input": "hi"}, {"data": [{"embedding": [0.1]}]})),
    "LiteLLM": {"call_type": "aembedding", "session_id": "s", "startTime": 1, "messages": "hi", "response": {}},
    "Helicone": {
        "request_created_at": "2026-01-01T10:00:00Z",
        "request_body": {"input": "hi"},
        "response_body": {"results": [{"flagged": False}]},
    },
    "HTTP pairs": {"request": {"body": {"contents": PARTS}}, "response": {"status": 200, "body": {"totalTokens": 3}}},
    "HTTP pairs with an address": {"request": HTTP, "response": {"status": 200, "body": {"file": "a.mp3"}}},
    "Bedrock": {
        **BEDROCK,
        "operation": "InvokeModel",
        "modelId": "titan-embed",
        "input": {"inputBodyJson": {"inputText": "hi"}},
        "output": {"outputBodyJson": {"embedding": [0.1], "inputTextTokenCount": 2}},
    },
    "Langfuse": {"id": "o", "trace_id": "t", "type": "EMBEDDING", "start_time": "2026-01-01 10:00:00", "input": "hi"},
}


def run_of(tmp_path, *lines):
    (tmp_path / "a.jsonl").write_text("".join(f"{each}\n" for each in lines))
    summary = convert([str(tmp_path / "a.jsonl")], tmp_path / "out")
    return summary, exits.code(summary, [], is_complete=not summary.as_json()["lines"]["unreadable"], is_shard=False)


@pytest.mark.parametrize("name", ALONE)
def test_a_run_of_nothing_else_ends_well(name, tmp_path):
    summary, code = run_of(tmp_path, *[json.dumps(ALONE[name])] * 3)
    assert code == 0
    assert {severity for severity, _ in summary.findings} == {"info"}
    assert summary.findings["info", "no-exchange"] == 1


def test_several_envelopes_in_a_file(tmp_path):
    _, code = run_of(tmp_path, *map(json.dumps, ALONE.values()))
    assert code == 0


def test_a_malformed_line_among_them_is_an_error(tmp_path):
    lines = [json.dumps(ALONE["plain"]), '{"request": {', json.dumps(ALONE["plain"])]
    summary, code = run_of(tmp_path, *lines)
    assert code == 3
    errors = {code for severity, code in summary.findings if severity == "error"}
    assert errors == {"bad-line", "empty-session"}


def test_an_empty_log_alone_has_no_record_and_does_not_end_well(tmp_path):
    assert run_of(tmp_path)[1] == 3


def test_an_address_of_another_endpoint_does_not_hide_a_reply():
    request = {"url": "http://x/v1/embeddings", "body": {"messages": PROMPT}}
    row = {"request": request, "response": {"status": 200, "body": ANSWERED["openai_chat"][1]}}
    outcome, _ = outcome_of(json.dumps(row))
    assert outcome.record is not None
