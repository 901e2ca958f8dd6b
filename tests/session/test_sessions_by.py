"""A file of several sessions is split by their ids, in two passes."""

import json

import orjson
import pytest

from chatsquash import Options, convert, convert_session
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
    write_log(tmp_path / "logs/day.jsonl", *mixed())
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
