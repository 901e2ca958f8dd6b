"""Batches: results and requests in two files, by the API references of OpenAI and Anthropic and the types of their SDKs."""

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
    assert "the requests of its results are in no file next to it" in found["text"]


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


@pytest.mark.parametrize("kind", ["errored", "canceled", "expired"])
def test_results_of_anthropic_without_a_message(kind):
    (outcome,) = convert_session([json.dumps({"custom_id": "1", "result": {"type": kind}})], Options(anonymize=False))
    assert (outcome.record, outcome.left_out) == (None, "unanswered-session")
