"""A file of several sessions is split by their ids, in two passes."""

import json

import orjson
import pytest

from chatsquash import Options, convert, convert_session, read
from tests.conftest import cases, log_line, write_log
from tests.outputs import findings, report

PLAIN = Options(anonymize=False, cleanup_goose=False)
BY_ID = Options(anonymize=False, cleanup_goose=False, sessions_by="id")


def mixed(names="abcab", **fields):
    """Lines of several sessions in turns, each growing."""
    seen = {}
    for at, name in enumerate(names, 1):
        seen[name] = [*seen.get(name, []), f"{name}{at}"]
        yield log_line(*seen[name], at=at, session_id=name, **fields)


def litellm(line):
    return {
        "call_type": "acompletion",
        "messages": line["request"]["messages"],
        "response": line["response"],
        "startTime": float(line["timestamp"]),
        "session_id": line["session_id"],
        "status": "success",
    }


def records(out):
    return [orjson.loads(line) for path in sorted(out.glob("*.jsonl")) for line in path.read_bytes().splitlines()]


def users(out):
    return [[m["content"] for m in record["messages"] if m["role"] == "user"] for record in records(out)]


def test_a_file_is_a_session_unless_something_else_is_asked(tmp_path):
    write_log(tmp_path / "logs/day.jsonl", *mixed("aaab"))
    summary = convert(tmp_path / "logs", tmp_path / "out", PLAIN)
    assert dict(summary.left_out) == {"session-id-mismatch": 1}
    (found,) = findings("session-id-mismatch", out=tmp_path / "out")
    assert "--sessions-by id" in found["text"]


@pytest.mark.parametrize("workers", [1, 2])
def test_lines_are_grouped_by_id_in_the_order_of_the_first_ones(tmp_path, workers):
    write_log(tmp_path / "logs/day.jsonl", *mixed())
    write_log(tmp_path / "logs/other.jsonl", *mixed("x"))
    options = Options(anonymize=False, sessions_by="id", workers=workers, group_by="none")
    summary = convert(tmp_path / "logs", tmp_path / "out", options)
    assert users(tmp_path / "out") == [["a1", "a4"], ["b2", "b5"], ["c3"], ["x1"]]
    assert (summary.sessions, summary.written) == (4, 4)


def test_findings_name_the_line_of_the_file(tmp_path):
    lines = list(mixed("abab"))
    lines[3]["timestamp"] = 1
    write_log(tmp_path / "logs/day.jsonl", *lines)
    convert(tmp_path / "logs", tmp_path / "out", BY_ID)
    (found,) = findings("timestamp-order", out=tmp_path / "out")
    assert (found["session"], found["line"]) == ("b", 4)


def test_every_line_is_accounted_for(tmp_path):
    lines = list(mixed("ab"))
    nameless = log_line("nobody", at=9)
    del nameless["session_id"]
    write_log(tmp_path / "logs/day.jsonl", lines[0], b"{broken", lines[1], b"", nameless)
    summary = convert(tmp_path / "logs", tmp_path / "out", BY_ID)
    assert summary.lines == 5
    assert users(tmp_path / "out") == [["a1"], ["b2"], ["nobody"]]
    rejected = report("rejected.jsonl", tmp_path / "out")
    assert [each["line"] for each in rejected] == [2]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_envelope_that_is_known_to_mix_is_split_unasked(tmp_path, workers):
    padding = {"padding": "x" * (9 << 20)}  # enough for two workers
    rows = [litellm(line) for line in mixed()]
    write_log(tmp_path / "logs/day.jsonl", rows[0], {**rows[1], **padding}, *rows[2:])
    write_log(tmp_path / "logs/later.jsonl", *mixed("x"))
    convert(tmp_path / "logs", tmp_path / "out", Options(anonymize=False, workers=workers, group_by="none"))
    assert users(tmp_path / "out") == [["a1", "a4"], ["b2", "b5"], ["c3"], ["x1"]]


def test_it_is_left_whole_where_that_is_asked(tmp_path):
    write_log(tmp_path / "logs/day.jsonl", *map(litellm, mixed()))
    summary = convert(tmp_path / "logs", tmp_path / "out", Options(anonymize=False, sessions_by="file"))
    assert dict(summary.left_out) == {"session-id-mismatch": 1}


@cases(
    "said, expected",
    ("kept", {"on_invalid": "keep"}, None),
    ("a file is a session", {"sessions_by": "file"}, None),
    ("both", {"on_invalid": "keep", "sessions_by": "file"}, ["c3"]),
)
def test_two_ids_are_merged_only_where_the_user_says_so_twice(tmp_path, said, expected):
    write_log(tmp_path / "logs/day.jsonl", *mixed("abc"))
    options = Options(anonymize=False, **said)
    summary = convert(tmp_path / "logs", tmp_path / "out", options)
    severity = "warning" if expected else "error"
    (found,) = findings("session-id-mismatch", out=tmp_path / "out")
    assert (found["severity"], found["line"]) == (severity, 2)
    assert users(tmp_path / "out") == ([expected] if expected else [])
    assert dict(summary.left_out) == ({} if expected else {"session-id-mismatch": 1})
    (outcome,) = convert_session(tmp_path / "logs/day.jsonl", options)
    assert outcome.left_out == (None if expected else "session-id-mismatch")


def test_an_id_in_a_nested_object_is_no_session_of_the_line(tmp_path):
    lines = [
        {**line, "extra": json.dumps({"session_id": "z"}), "metadata": {"session_id": "z"}} for line in mixed("ab")
    ]
    write_log(tmp_path / "logs/day.jsonl", *lines)
    convert(tmp_path / "logs", tmp_path / "out", BY_ID)
    assert users(tmp_path / "out") == [["a1"], ["b2"]]


# LiteLLM writes a trace id for each call where the client sends no session id: seen in logs of its proxy


def traced(line, number):
    return {**litellm(line), "session_id": "", "trace_id": f"t{number}"}


def calls_of(names):
    """Rows of conversations in turns, whose histories have the replies."""
    said = {}
    for number, name in enumerate(names, 1):
        prompt = {"role": "user", "content": f"{name}{number}"}
        reply = {"role": "assistant", "content": f"the reply to {name}{number}, which is long enough to be found again"}
        history = [*said.get(name, []), prompt]
        said[name] = [*history, reply]
        row = traced(next(mixed(name)), number)
        yield {**row, "startTime": number, "messages": history, "response": {"choices": [{"message": reply}]}}


def test_calls_with_a_trace_id_each_are_grouped_by_their_histories(tmp_path):
    write_log(tmp_path / "logs/day.jsonl", *calls_of("aba"))
    for _ in range(2):  # the second run finds everything unchanged
        summary = convert(tmp_path / "logs", tmp_path / "out", PLAIN)
        assert users(tmp_path / "out") == [["a1", "a3"], ["b2"]]
        assert summary.findings["info", "grouped-by-chain"] == 1
    assert json.loads((tmp_path / "out/run.json").read_bytes())["options"]["sessions_by"] == "chain"
    texts = [[m["content"] for m in session.records[0]["messages"]] for session in read(tmp_path / "logs", PLAIN)]
    assert [len(each) for each in texts] == [4, 2]


def test_a_call_in_each_file_is_grouped_too(tmp_path):
    for number, line in enumerate(calls_of("aba")):
        write_log(tmp_path / f"logs/{number}.json", line)
    convert(tmp_path / "logs", tmp_path / "out", PLAIN)
    assert users(tmp_path / "out") == [["a1", "a3"], ["b2"]]


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        pytest.param([traced(line, 1) for line in mixed("aa")], PLAIN, id="a trace of several calls"),
        pytest.param([{**row, "session_id": "s"} for row in calls_of("aa")], PLAIN, id="session ids"),
        pytest.param([*map(litellm, mixed("a")), *calls_of("aa")], PLAIN, id="a session id in one row"),
        pytest.param(calls_of("aa"), BY_ID, id="an option"),
        pytest.param([*mixed("aa")], PLAIN, id="another logger"),
    ],
)
def test_other_logs_are_grouped_as_before(tmp_path, rows, options):
    write_log(tmp_path / "logs/day.jsonl", *rows)
    convert(tmp_path / "logs", tmp_path / "out", options)
    assert findings("grouped-by-chain", out=tmp_path / "out") == []


def test_a_session_id_that_repeats_the_trace_id_names_no_session(tmp_path):
    """From LiteLLM's spend logs, whose session id is the trace id unless the client sends one."""
    rows = [{**row, "session_id": row["trace_id"]} for row in calls_of("aa")]
    write_log(tmp_path / "logs/day.jsonl", *rows)
    convert(tmp_path / "logs", tmp_path / "out", PLAIN)
    assert users(tmp_path / "out") == [["a1", "a2"]]


def spend_log(*bodies):
    """Rows as ``get_logging_payload`` of litellm 1.110.2 makes them if no client sends a session id."""
    for number, (body, response) in enumerate(bodies):
        yield {
            "request_id": f"r{number}",
            "call_type": "aresponses",
            "session_id": f"trace-{number}",
            "startTime": f"2026-01-13 10:00:0{number}+00:00",
            "messages": "{}",
            "response": json.dumps({"id": f"r{number}", "object": "response", "status": "completed", **response}),
            "proxy_server_request": json.dumps(body),
        }


def said(text):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def test_rows_of_the_spend_logs_have_the_trace_id_as_session_id_and_no_other(tmp_path):
    asked = {"role": "user", "content": "Hi."}
    history = [asked, said("Hello."), {"role": "user", "content": "Why?"}]
    rows = spend_log(
        ({"input": [asked]}, {"output": [said("Hello.")]}), ({"input": history}, {"output": [said("So.")]})
    )
    write_log(tmp_path / "logs/day.jsonl", *rows)
    convert(tmp_path / "logs", tmp_path / "out", PLAIN)
    assert users(tmp_path / "out") == [["Hi.", "Why?"]]
    assert len(findings("grouped-by-chain", out=tmp_path / "out")) == 1


def test_such_rows_that_continue_a_response_by_its_id_are_one_session(tmp_path):
    second = {"input": "Why?", "previous_response_id": "r0"}
    rows = spend_log(({"input": "Hi."}, {"output": [said("Hello.")]}), (second, {"output": [said("So.")]}))
    write_log(tmp_path / "logs/day.jsonl", *rows)
    convert(tmp_path / "logs", tmp_path / "out", PLAIN)
    assert users(tmp_path / "out") == [["Hi.", "Why?"]]
    assert findings("missing-history", out=tmp_path / "out") == []
