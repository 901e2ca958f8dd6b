"""A file whose requests have no ids and go on from no other one: each of them is a session, unless the user says what is."""

import gzip
import json

import pytest

from chatsquash import Options, convert, convert_session
from tests.conftest import cases
from tests.reading.exchanges import plain

SYSTEM = {"role": "system", "content": "Answer in one word."}


def asked(number, *before, said="Yes.", **members):
    """An exchange of its own, or one that goes on from messages."""
    request = {"messages": [SYSTEM, *before, {"role": "user", "content": f"Is {number} a number?"}]}
    reply = {"role": "assistant", "content": said}
    line = plain(request, {"id": f"r{number}", "choices": [{"message": reply, "finish_reason": "stop"}]}, **members)
    del line["session_id"]
    return line


UNRELATED = [asked(number) for number in range(5)]
BEFORE = UNRELATED[0]["request"]["messages"][1:]
REPLY = {"role": "assistant", "content": "Yes."}


def outcomes(lines, **options):
    return convert_session([json.dumps(line) for line in lines], Options(anonymize=False, **options))


def asked_in(outcome):
    return json.loads(outcome.record)["messages"][1]["content"]


def codes(outcome):
    return [found.code for found in outcome.findings]


def test_each_is_a_session_and_the_first_says_so():
    found = outcomes(UNRELATED)
    assert [asked_in(each) for each in found] == [f"Is {number} a number?" for number in range(5)]
    assert [codes(each).count("unrelated-requests") for each in found] == [1, 0, 0, 0, 0]
    assert sum(each.account.lines for each in found) == 5


@cases("lines, options",
    ("a request that holds a reply", [*UNRELATED, asked(9, *BEFORE, REPLY)], {}),
    ("a request that is one before it with a message behind", [*UNRELATED[:2], asked(9, *UNRELATED[1]["request"]["messages"][1:])], {}),
    ("a line with an id", [UNRELATED[0], {**UNRELATED[1], "session_id": "s1"}], {}),
    ("what the user says", UNRELATED, {"sessions_by": "file"}),
    ("one request", UNRELATED[:1], {}),
    ("the same request twice, answered twice", [asked(1), asked(1, said="No.")], {}),
)  # fmt: skip
def test_they_are_one_session_with(lines, options):
    (outcome,) = outcomes(lines, **options)
    assert "unrelated-requests" not in codes(outcome)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_lines_that_are_none_stay_with_the_one_before(tmp_path, name):
    lines = [json.dumps(UNRELATED[0]), "x", "", *map(json.dumps, UNRELATED[1:])]
    data = "\n".join(lines).encode()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    summary = convert(tmp_path / "logs", tmp_path / "out", Options(anonymize=False))
    assert (summary.sessions, summary.written, summary.lines) == (5, 5, 7)
    assert (summary.account.unreadable, summary.account.blank, summary.replies.carried) == (1, 1, 5)
    assert summary.bytes == len(data)
