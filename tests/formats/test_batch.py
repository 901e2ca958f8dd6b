"""Batches: results and requests in two files.

Lines of Anthropic are ``messages.batch_create_params.Request`` and ``MessageBatchIndividualResponse`` of its SDK. Bodies
are the responses of all three SDKs; ``tests/conformance`` checks both against the types. The lines of OpenAI, which its SDK
has no types for, are ``BatchRequestInput`` and ``BatchRequestOutput`` of its OpenAPI description; those of Gemini are from
documentation (https://ai.google.dev/gemini-api/docs/batch-api).
"""

import json

import pytest

from chatsquash import Options, convert, convert_session
from tests.outputs import findings

ASKED = [{"role": "user", "content": "High tide?"}]


def request(name, **body):
    return {
        "custom_id": name,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "m-1", "messages": ASKED, **body},
    }


def result(name, text, **members):
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    body = {"id": "c1", "object": "chat.completion", "created": 1782903600, "model": "m-1", "choices": [choice]}
    return {"id": "b", "custom_id": name, "response": {"status_code": 200, "body": body, **members}, "error": None}


def put(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


def texts(out):
    lines = [
        line for path in out.rglob("*.jsonl") if "reports" not in path.parts for line in path.read_text().splitlines()
    ]
    return sorted([[message["content"] for message in json.loads(line)["messages"]] for line in lines])


def test_results_of_several_files_find_their_requests_in_any_order(tmp_path):
    logs = put(
        tmp_path / "logs",
        a_requests=[request("1"), request("2", messages=[*ASKED, {"role": "user", "content": "At Leith."}])],
        b_output=[result("2", "At ten.")],
        c_output=[result("1", "At nine.")],
    )
    convert([str(logs)], tmp_path / "out", Options(anonymize=False))
    assert texts(tmp_path / "out") == [["High tide?", "At Leith.", "At ten."], ["High tide?", "At nine."]]


def test_a_reply_that_is_cut_is_not_trained_on(tmp_path):
    cut = result("1", "At")
    cut["response"]["body"]["choices"][0]["finish_reason"] = "length"
    logs = put(tmp_path / "logs", requests=[request("1")], output=[cut])
    convert([str(logs)], tmp_path / "out", Options(anonymize=False, loss="weight"))
    (record,) = [json.loads(line) for path in tmp_path.glob("out/*.jsonl") for line in path.read_text().splitlines()]
    assert record["messages"][-1]["weight"] == 0


def test_results_without_their_requests_are_an_error(tmp_path):
    logs = put(tmp_path / "logs", output=[result("1", "At nine.")])
    convert([str(logs)], tmp_path / "out", Options(anonymize=False))
    (found,) = findings("unknown-format", out=tmp_path / "out")
    assert "no file in the same folder contains the requests of the results" in found["text"]


def test_what_has_no_reply_is_counted(tmp_path):
    rows = [
        result("1", "At nine."),
        result("2", "x", status_code=500),
        {"custom_id": "3", "response": None, "error": {"code": "x"}},
    ]
    logs = put(tmp_path / "logs", requests=[request(name) for name in "123"], output=rows)
    convert([str(logs)], tmp_path / "out", Options(anonymize=False))
    assert texts(tmp_path / "out") == [["High tide?", "At nine."]]
    (found,) = findings("not-read", out=tmp_path / "out")
    assert "'result with an error' 2" in found["text"]


def test_other_files_of_the_folder_are_not_searched(tmp_path):
    line = {
        "timestamp": "2026-01-01T10:00:00Z",
        "request": {"messages": ASKED},
        "response": result("1", "At ten.")["response"]["body"],
    }
    logs = put(tmp_path / "logs", requests=[request("1")], output=[result("1", "At nine.")], log=[line])
    convert([str(logs)], tmp_path / "out", Options(anonymize=False, sessions_by="file"))
    assert ["High tide?", "At ten."] in texts(tmp_path / "out")
    assert ["High tide?", "At nine."] in texts(tmp_path / "out")


FAILED = {"type": "error", "error": {"type": "invalid_request_error", "message": "max_tokens"}, "request_id": None}


KINDS = "errored", "canceled", "expired"


def failed(kind):
    return {"custom_id": "1", "result": {"type": kind, **({"error": FAILED} if kind == "errored" else {})}}


@pytest.mark.parametrize("kind", KINDS)
def test_results_of_anthropic_without_a_message(kind):
    (outcome,) = convert_session([json.dumps(failed(kind))], Options(anonymize=False))
    assert (outcome.record, outcome.left_out) == (None, "unanswered-session")


def anthropic(name, text):
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-2",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    return {"custom_id": name, "result": {"type": "succeeded", "message": message}}


def gemini(name, text):
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP", "index": 0}
    body = {"candidates": [candidate], "modelVersion": "m-3", "responseId": "r1"}
    return {"key": name, "response": body}


def test_batches_of_three_providers_may_lie_in_one_folder(tmp_path):
    logs = put(
        tmp_path / "logs",
        a=[request("1")],
        a_output=[result("1", "At nine.")],
        b=[{"custom_id": "2", "params": {"model": "m-2", "max_tokens": 9, "messages": ASKED}}],
        b_results=[anthropic("2", "At ten.")],
        c=[{"key": "3", "request": {"contents": [{"role": "user", "parts": [{"text": "High tide?"}]}]}}],
        c_results=[gemini("3", "At eleven."), {"key": "4", "error": {"code": 13, "message": "internal"}}],
    )
    convert([str(logs)], tmp_path / "out", Options(anonymize=False))
    assert texts(tmp_path / "out") == [["High tide?", text] for text in ("At eleven.", "At nine.", "At ten.")]
    assert not findings("unknown-format", out=tmp_path / "out")


NIGHT = [{"role": "user", "content": "Low tide?"}]


def test_of_batches_with_equal_ids_the_file_counts_that_has_all_of_the_results(tmp_path):
    logs = put(
        tmp_path / "logs",
        day=[request("1"), request("2")],
        night=[request("1", messages=NIGHT), request("3", messages=NIGHT)],
        day_output=[result("2", "At ten."), result("1", "At nine.")],
        night_output=[result("3", "At four."), result("1", "At three.")],
    )
    convert([str(logs)], tmp_path / "out", Options(anonymize=False))
    asked = [
        ("High tide?", "At nine."),
        ("High tide?", "At ten."),
        ("Low tide?", "At four."),
        ("Low tide?", "At three."),
    ]
    assert texts(tmp_path / "out") == sorted(map(list, asked))


def test_no_request_is_guessed_for_an_id_that_two_requests_have(tmp_path):
    logs = put(
        tmp_path / "logs", day=[request("1")], night=[request("1", messages=NIGHT)], output=[result("1", "At nine.")]
    )
    convert([str(logs)], tmp_path / "out", Options(anonymize=False))
    assert texts(tmp_path / "out") == []
    (found,) = findings("unknown-format", out=tmp_path / "out")
    assert "put each batch in a separate folder" in found["text"]


def test_a_request_that_was_sent_again_after_its_batch_expired_has_one_record(tmp_path):
    expired = {"id": "b", "custom_id": "2", "response": None, "error": {"code": "batch_expired", "message": "x"}}
    logs = put(
        tmp_path / "logs",
        first=[request("1"), request("2")],
        first_output=[result("1", "At nine.")],
        first_errors=[expired],
        again=[request("2")],
        again_output=[result("2", "At ten.")],
    )
    convert([str(logs)], tmp_path / "out", Options(anonymize=False))
    assert texts(tmp_path / "out") == [["High tide?", "At nine."], ["High tide?", "At ten."]]
