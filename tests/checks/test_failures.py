"""Whether a tool result failed: the rule by rows, and held to results that were labelled by what the tool did."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from chatsquash.checks import failures
from chatsquash.checks.failures import failure
from chatsquash.core.blocks import Result, Turn
from chatsquash.core.chat import PRIVATE
from tests.conftest import cases

from .rows import result

FOLDER = Path(__file__).parent / "tool_results"
LEAST = 0.95


class Labelled(NamedTuple):
    name: str
    """The file and what happened."""
    failed: bool
    marked: bool
    text: str


def labelled():
    """Every result of the folder."""
    return [read(path.stem, block) for path in sorted(FOLDER.rglob("*.txt")) for block in blocks(path)]


def blocks(path):
    before, *found = re.split(r"(?m)^#### ", path.read_text(encoding="utf-8"))
    assert before == ""
    return found


def read(kind, block):
    head, _, text = block.partition("\n")
    label, _, happened = head.partition(": ")
    assert label in ("worked", "failed", "failed marked")
    return Labelled(f"{kind}: {happened}", label != "worked", label == "failed marked", text.strip("\n"))


def judged(text, outcome="success", **more):
    """What is said of a result with this text; how its call came out is what its format says."""
    return failure({**result(text), PRIVATE: Turn("tool", (Result("c1", outcome=outcome, **more),))}, text)


RESULTS = labelled()
FOUND = {each.name: judged(each.text, "failed" if each.marked else "success") for each in RESULTS}

MISSED = {
    "ollama: the network",
    "api: an HTML page in place of JSON",
    "api: text of a gateway",
    "api: the word as a string",
    "api: a key is missing",
    "browser: the target was closed",
    "cloud: the server",
    "http: an exception of the client with its type",
    "http: redirects without end",
    "package: poetry",
    "python: printed lines, a traceback whose message has several lines",
    "read: another user has it open",
    "search: as JSON of a service",
    "sql: an error in a list of messages",
    "sql: as a driver of JavaScript gives it",
    "sql: BigQuery",
    "test: a runner of Maven",
    "write: no replacement was performed",
}
"""Failures that the rule does not see: sentences without a word that it knows, and words of one service alone."""
WRONG = {
    "agent: an answer",
    "agent: what another found",
    "cloud: a container's state",
    "cloud: logs of a container that end with a traceback",
    "read: a saved crash report that is a traceback",
    "read: translations with keys of this name",
    "shell: a log is shown, its last lines are a traceback",
    "test: snapshot of the state of a suite",
}
"""Results that it takes for failures, since what was asked for reads like one."""


def test_the_set_is_as_large_and_as_varied_as_it_has_to_be():
    assert len(RESULTS) == len(FOUND) >= 300, "two results of one name would hide each other"
    assert len(list((FOLDER / "by_kind").iterdir())) >= 10
    for failed in (True, False):
        assert sum(each.failed is failed for each in RESULTS) >= 300


def test_precision_and_recall_are_at_least_95_percent():
    found = [each for each in RESULTS if FOUND[each.name]]
    failed = [each for each in RESULTS if each.failed]
    right = sum(each.failed for each in found)
    assert right / len(found) >= LEAST
    assert right / len(failed) >= LEAST


def test_what_is_missed_and_what_is_wrong_is_known_by_name():
    assert {each.name for each in RESULTS if each.failed and not FOUND[each.name]} == MISSED
    assert {each.name for each in RESULTS if FOUND[each.name] and not each.failed} == WRONG


TRACEBACK = (
    'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    main()\nValueError: no such city'
)
HAS_ERROR = "has 'error'"


@cases("text, expected",
    ("an error that is an object", '{"error": {"code": 4}}', HAS_ERROR),
    ("an error that is an empty object says nothing", '{"error": {}}', None),
    ("an error that is true", '{"error": true}', HAS_ERROR),
    ("an error that is false", '{"error": false}', None),
    ("an error that is null", '{"error": null}', None),
    ("an error that is a number, as of a measurement", '{"error": 0.04}', None),
    ("an error that is a list, as of a fit", '{"error": [0.1, 0.2]}', None),
    ("an error that is a text", '{"error": "no such city"}', HAS_ERROR),
    ("an empty text", '{"error": ""}', None),
    ("a white text", '{"error": " \\n"}', None),
    ("the word none, in any case, with white space around it", '{"error": " None "}', None),
    ("the word null", '{"error": "NULL"}', None),
    ("a text that begins with that word", '{"error": "none of the cities fits"}', HAS_ERROR),
    ("an error below the top, as in a row", '{"row": {"error": "E12"}}', None),
    ("an error in a list", '[{"error": "E12"}]', None),
    ("a key in any case", '{"ERROR": "E12"}', "has 'ERROR'"),
    ("success that is false", '{"success": false}', "has 'success': 'False'"),
    ("success that is true", '{"success": true}', None),
    ("success that is 0 is a count", '{"success": 0}', None),
    ("success that is null", '{"success": null}', None),
    ("success of a part", '{"data": {"success": false}}', "has 'success': 'False'"),
    ("success of a row", '{"data": [{"success": false}]}', None),
    ("an exit code", '{"exit_code": 1}', "has 'exit_code': '1'"),
    ("an exit code that is 0", '{"exit_code": 0}', None),
    ("an exit code of zeros", '{"exit_code": "00"}', None),
    ("an exit code that is not known yet", '{"exit_code": null}', None),
    ("an exit code in a text", '{"exit_code": "127"}', "has 'exit_code': '127'"),
    ("a text that is no exit code", '{"exit_code": "see below"}', None),
    ("true is no exit code", '{"exit_code": true}', None),
    ("an exit code beside 0", '{"exit_code": 0, "last": {"exitCode": -9}}', "has 'exitCode': '-9'"),
    ("the code in another spelling", '{"returncode": 2}', "has 'returncode': '2'"),
    ("the code in the metadata", '{"output": "", "metadata": {"exit_code": 1}}', "has 'exit_code': '1'"),
    ("timeout that is true", '{"timeout": true}', "has 'timeout': 'True'"),
    ("timeout that is a number", '{"server": {"timeout": 30}}', None),
    ("timeout that is a text", '{"timeout": "30s"}', None),
    ("missing that is a number", '{"missing": 12}', None),
    ("missing that is a list", '{"missing": ["a"]}', None),
    ("missing that is true", '{"a": {"missing": true}}', "has 'missing': 'True'"),
    ("incomplete that is 1", '{"incomplete": 1}', None),
    ("incomplete that is true", '{"incomplete": true}', "has 'incomplete': 'True'"),
    ("the mark of a server, as JSON", '{"isError": true, "content": []}', "has 'isError'"),
    ("ok that is false", '{"ok": false}', "has 'ok'"),
    ("ok of a part", '{"db": {"ok": false}}', None),
    ("a status in a word", '{"status": "error"}', "has 'status'"),
    ("a status of HTTP", '{"status_code": 404}', "has 'status_code'"),
    ("a good status of HTTP", '{"status": 204}', None),
    ("errors and null for data", '{"errors": [{"message": "m"}], "data": null}', "has 'errors' and no data"),
    ("errors alone, as of a validator", '{"errors": ["name is missing"]}', None),
    ("white space before and behind JSON", ' \n{"error" : "x"}\n ', HAS_ERROR),
    ("JSON that is not whole", '{"error": "x"', None),
    ("JSON with words behind it", '{"error": "x"} was the answer', None),
    ("NaN beside it", '{"p": NaN, "error": "x"}', HAS_ERROR),
    ("an escaped key", '{"\\u0065rror": "x"}', HAS_ERROR),
    ("a JSON string is not looked into", '"{\\"error\\": true}"', None),
    ("nesting beyond any parser", '{"error":' * 100_000, None),
    ("a text that begins with a traceback", TRACEBACK + "\ndone", "begins with a Python traceback"),
    ("a text that ends with one", "start\n" + TRACEBACK + "\n", "ends with a Python traceback"),
    ("one with line ends of Windows", ("start\n" + TRACEBACK).replace("\n", "\r\n"), "ends with a Python traceback"),
    ("a traceback in the middle", "start\n" + TRACEBACK + "\n1 row left out", None),
    ("the head alone, as where grep finds it", "a.log:\n90: Traceback (most recent call last):", None),
    ("words before a traceback that is no whole one", "a\nTraceback (most recent call last):\nValueError: x", None),
    ("a line of words that begins as an error", "Error: no such city", "begins like an error message"),
    ("settings that begin with this word", "error: none\ntimeout: 30", None),
    ("a number behind the word", "mean error: 0.03", None),
    ("an exit code that is 0, in words", "Exit code: 0\nOutput:\nerror", None),
    ("an exit code in words", "Exit code: 3\nOutput:\n", "reports that a program timed out or exited with a nonzero code"),
    ("an exit status behind the output", "1 test\n[exit status 101]", "reports that a program timed out or exited with a nonzero code"),
    ("an exit status that is 0", "1 test\n[exit status 0]", None),
    ("an empty text is none", "", None),
    ("a white text is none", " \n", None),
)  # fmt: skip
def test_the_rule(text, expected):
    found = judged(text)
    assert found == expected or (found or "").startswith(expected or "-")


@cases(
    "outcome, expected",
    ("success", None),
    ("failed", "is marked as an error"),
    ("retried", "is marked as an error"),
    ("denied", "is marked as denied"),
    ("interrupted", "is marked as interrupted"),
)
def test_the_mark_of_a_format_decides(outcome, expected):
    assert judged("fine", outcome) == expected


def test_a_mark_that_stands_in_the_message_counts_when_it_is_true():
    assert failure({**result("fine"), "is_error": True}, "fine") == "is marked as an error"
    assert failure({**result("fine"), "is_error": 0}, "fine") is None


@cases(
    "text",
    '{"rows": [1, 2], "error": null, "timeout": 30, "missing": 0, "exit_code": 0, "success": true}',
    '{"error" : "", "incomplete":false, "status":200, "ok":true}',
)
def test_json_without_a_value_that_tells_of_a_failure_is_not_parsed(text, monkeypatch):
    monkeypatch.setattr(failures, "_parse", None)
    assert judged(text) is None


def test_what_stands_in_the_middle_of_a_text_is_not_looked_at():
    lines = ["src/cart.py"] * 100
    assert judged("\n".join([*lines, TRACEBACK, "Error: x", "exit code: 1", *lines])) is None


NAMES = """
    error Error success exit_code exitCode returncode timeout missing INCOMPLETE ok isError is_error status status_code
    statusCode data errors a
"""
KEYS = st.sampled_from(NAMES.split())
LEAVES = st.one_of(
    st.sampled_from([None, True, False, 0, 1, 0.0, -1, 404, 204, "", " ", "none", "Error", "failure", "404", "0", "2"]),
    st.text(max_size=3),
)
OBJECTS = st.recursive(
    st.dictionaries(KEYS, LEAVES, max_size=3),
    lambda inner: st.dictionaries(KEYS, inner | st.lists(inner, max_size=2) | LEAVES, max_size=3),
    max_leaves=6,
)


@given(OBJECTS, st.booleans(), st.sampled_from([(", ", ": "), (",", ":"), (" , ", " :\n ")]))
def test_what_is_told_without_parsing_is_what_parsing_tells(value, escaped, separators):
    text = json.dumps(value, ensure_ascii=escaped, separators=separators)
    assert judged(text) == failures._object_failure(json.loads(text))
