"""Findings as lines for people and for programs."""

import json

from chatsquash.core.log import Log
from chatsquash.core.model import Finding, RejectedLine
from chatsquash.core.outcome import Outcome, SessionFindings
from chatsquash.dataset import findings_text as report
from chatsquash.dataset.choice import Selection
from chatsquash.dataset.reports import ProcessedSession
from chatsquash.dataset.reports.sessions import RejectedLines
from tests.conftest import cases


@cases("finding, expected",
    (
        "an error at a line",
        Finding("bad-line", "error", "s1", "logs/a.jsonl", 7, None, "left out"),
        "ERROR\tsession=s1\tinput=logs/a.jsonl:7\t[bad-line] left out",
    ),
    (
        "a warning at a message",
        Finding("tool-call-id", "warning", "s1", "logs/a.jsonl", 7, 3, "no id"),
        "WARNING\tsession=s1\tinput=logs/a.jsonl:7\t[tool-call-id] messages[3]: no id",
    ),
    (
        "the first message has a number, too",
        Finding("tool-call-id", "warning", "s1", "a", 1, 0, "no id"),
        "WARNING\tsession=s1\tinput=a:1\t[tool-call-id] messages[0]: no id",
    ),
    (
        "a fact about a whole file",
        Finding("empty-session", "error", "s1", "a.jsonl", None, None, "nothing"),
        "ERROR\tsession=s1\tinput=a.jsonl\t[empty-session] nothing",
    ),
    ("a fact about the run", Finding("file-not-read", "info", "", "", None, None, "1 file"), "INFO\tsession=\tinput=\t[file-not-read] 1 file"),
    (
        "names break neither the line nor the terminal",
        Finding("bad-line", "error", "a\tb\nc\x1b[2J", "d\r\x9b\u202e.jsonl", 7, None, "x"),
        "ERROR\tsession=a\\tb\\nc\\x1b[2J\tinput=d\\r\\x9b\\u202e.jsonl:7\t[bad-line] x",
    ),
    (
        "names of any script stay, bytes that are no text are escaped",
        Finding("bad-line", "error", "日本", "é\udcff.jsonl", 7, None, "x"),
        "ERROR\tsession=日本\tinput=é\\udcff.jsonl:7\t[bad-line] x",
    ),
)  # fmt: skip
def test_a_finding_is_one_line_for_people(finding, expected):
    assert report.as_text(finding) == expected


@cases("finding, expected",
    ("all fields in order", Finding("a-b", "error", "s", "f", 1, 2, "t"), '{"code":"a-b","severity":"error","session":"s","file":"f","line":1,"record":"2026-01-13.jsonl:3","filtered":null,"message":2,"text":"t"}'),
    ("what is not known is null", Finding("a", "info", "", "", None, None, "t"), '{"code":"a","severity":"info","session":null,"file":null,"line":null,"record":null,"filtered":null,"message":null,"text":"t"}'),
    ("names stand as they are", Finding("a", "info", "a\nb", "é\t", None, None, "t"), '{"code":"a","severity":"info","session":"a\\nb","file":"é\\t","line":null,"record":null,"filtered":null,"message":null,"text":"t"}'),
    ("as far as UTF-8 can hold them", Finding("a", "info", "\ud800", "\udcff", None, None, "t"), '{"code":"a","severity":"info","session":"\\\\ud800","file":"\\\\udcff","line":null,"record":null,"filtered":null,"message":null,"text":"t"}'),
)  # fmt: skip
def test_a_finding_is_one_json_object_for_programs(finding, expected):
    line = report.as_json(finding, "2026-01-13.jsonl:3" if finding.line else None)
    assert line.decode("utf-8") == expected
    assert {*json.loads(line)} == {*Finding._fields, "record", "filtered"} - {"conversation"}, "its record is named"


def test_a_finding_says_what_filtered_its_session():
    finding = Finding("no-tools", "info", "s", "f", 1, None, "t")
    assert json.loads(report.as_json(finding, None, "--min-turns"))["filtered"] == "--min-turns"


def test_the_integrity_report_names_the_record():
    finding = Finding("bad-line", "error", "s1", "logs/a.jsonl", 7, None, "left out")
    start, end = "ERROR\tsession=s1\tinput=logs/a.jsonl:7", "[bad-line] left out"
    assert report.as_text(finding, "2026-01-13.jsonl:3") == f"{start}\trecord=2026-01-13.jsonl:3\t{end}"
    assert report.as_text(finding, "") == f"{start}\trecord=\t{end}"


def test_a_rejected_line_says_where_its_bytes_are():
    log = Log("f", "f\udcff", "f", 0)
    outcome = Outcome("s", report=SessionFindings(rejected=[RejectedLine(3, 120, 17, "bad-line", "no JSON")]))
    ((name, line),) = RejectedLines().add(ProcessedSession(log, Selection(outcome, 0, None), outcome, [], ""))
    assert name == "reports/rejected.jsonl"
    assert json.loads(line) == {
        "file": "f\\udcff", "line": 3, "offset": 120, "length": 17, "code": "bad-line", "reason": "no JSON",
    }  # fmt: skip
