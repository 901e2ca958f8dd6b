"""What a run says it did; the sums are asserted."""

from collections import Counter

import pytest

from chatsquash.core.accounting import Account, Coverage, Usage
from chatsquash.core.log import Log
from chatsquash.core.model import Finding
from chatsquash.core.outcome import (
    Outcome,
    Record,
    SessionAccount,
    SessionFindings,
    SessionPrivacy,
    SessionRecords,
    SessionReplies,
)
from chatsquash.core.text import frequent_kinds
from chatsquash.dataset.summary import Summary
from tests.conftest import cases, table

NO_USE = Usage(0, (), 0, 0, 0, ())
JOB = Log("a.jsonl", "a.jsonl", "a.jsonl", 1_500_000)


def outcome(record=b"{}", lines=3, account=None, **fields) -> Outcome:
    fields = {
        "records": record if isinstance(record, list) else [Record(record, NO_USE)] if record else [],
        "left_out": None if record else "empty-session",
        "lines": lines,
        "counts": account or Account(selected=1, superseded=2),
        **fields,
    }
    groups = [
        group(**{name: fields.pop(name) for name in group.__struct_fields__ if name in fields})
        for group in (SessionRecords, SessionFindings, SessionAccount, SessionReplies, SessionPrivacy)
    ]
    assert not fields
    return Outcome("s", *groups)


def finding(code, severity):
    return Finding(code, severity, "s", "a.jsonl", 1, None, "text")


def full() -> Summary:
    summary = Summary(output="out", seconds=2.0, files=["2026-01-13.jsonl"], passed_over=4, logs=3)
    summary.others = Counter({".md": 2, "no suffix": 1})
    sizes = Account(selected=70, unreadable=20)
    cleaned = {"info_messages": 1, "system_prompts": 0, "empty_assistants": 2}
    covered = Coverage(4, 1, {"side-request": 2}, reasoned=3, with_reasoning=1, conversations=3, not_chosen={"side": 2})
    summary.add(JOB, outcome(cleanup_counts=cleaned, addresses=3, size=90, sizes=sizes, coverage=covered))
    found = [finding("no-tools", "warning"), finding("cleaned", "info")]
    account = Account(1, 1, 1, 1, 0, 1, 1)
    covered = Coverage(0, 1, {"retry": 1}, withheld=1, conversations=1)
    summary.add(JOB, outcome(lines=6, account=account, dropped={"title_requests": 1}, findings=found, coverage=covered))
    found = [finding("timestamp-order", "error"), finding("bad-line", "error"), finding("bad-line", "error")]
    account = Account(left_out=1000, unreadable=2)
    summary.add(JOB, outcome(None, lines=1002, account=account, left_out="timestamp-order", findings=found))
    summary.close()
    return summary


def test_the_summary_for_people():
    assert str(full()).splitlines() == [
        "2 records written to out (1 file)",
        "4 of 9 logged replies in the records",
        "needs attention: 1 session skipped, 3 lines skipped, 3 errors, 1 warning",
        "",
        "files              3  2.00 s for 4.5 MB (2 MB/s)",
        "sessions           3  2 written, 1 skipped (timestamp-order)",
        "conversations      4  2 written, 2 not requested (side)",
        "lines          1,011  2 selected, 3 superseded, 1 cut, 1 cleaned, 1,000 skipped,",
        "                      3 unreadable, 1 blank",
        "replies            9  4 carried, 2 rewritten, 1 retried, 2 side requests",
        "reasoning          3  1 in the records, 1 more withheld by the provider",
        "cleaned            4  1 info message, 2 empty assistants, 1 title request",
        "anonymized         3  e-mail addresses",
        "not read           3  2 .md, 1 no suffix",
        "passed over        4  logs, by options",
        "errors             3  2 bad-line, 1 timestamp-order",
        "warnings           1  no-tools",
        "notes              1  cleaned",
        "",
        "skipped: 1 session (timestamp-order), 3 lines (bad-line):",
        "chatsquash explain timestamp-order",
    ]


def test_notes_are_listed_on_request():
    brief, verbose = (full().overview().as_text(verbose=verbose).splitlines() for verbose in (False, True))
    assert "notes              1  --verbose lists them" in brief
    assert "notes              1  cleaned" in verbose


def test_a_run_without_anything_to_tell_tells_little():
    summary = Summary(output="out", seconds=0.001, files=["a.jsonl", "b.jsonl"], logs=1)
    summary.add(JOB, outcome(coverage=Coverage(carried=1, conversations=1)))
    summary.close()
    assert str(summary).splitlines() == [
        "1 record written to out (2 files)",
        "1 of 1 logged reply in the records",
        "nothing needs attention",
        "",
        "files          1  0.01 s for 1.5 MB (1,500 MB/s)",
        "sessions       1  written",
        "conversations  1  written",
        "lines          3  1 selected, 2 superseded",
        "replies        1  carried",
    ]


def test_what_was_not_wanted_is_part_of_the_sum():
    summary = Summary(output="out", seconds=1.0, files=["a.jsonl"])
    summary.add(JOB, outcome())
    for option in ("--min-turns", "--drop no-tools", "--min-turns"):
        summary.add(JOB, outcome(None, account=Account(left_out=3)), (option,), record_count=1)
    summary.add(JOB, outcome(None, account=Account(left_out=3)), duplicates=1, record_count=1)
    summary.close()
    sessions = "5 1 written, 3 filtered (2 --min-turns, 1 --drop no-tools), 1 duplicate"
    assert table(summary)["sessions"] == sessions
    assert summary.counts()["sessions"] == {
        "seen": 5, "written": 1, "left_out": {}, "filtered": {"--drop no-tools": 1, "--min-turns": 2}, "duplicates": 1,
        "joined": 0,
    }  # fmt: skip
    assert summary.complete


LOST = {"branch": 3, "compacted": 2, "retry": 1, "side-request": 2}
MORE = "add --conversations all to keep"


@cases(
    "lost, left_out, option, expected",
    ("conversations that were not asked for", LOST, {}, "--conversations all", f"5 of 9 replies are not in any record; {MORE} them"),
    ("one reply", {"branch": 1}, {}, "--conversations all", f"1 of 2 replies is not in any record; {MORE} it"),
    ("the option was given", LOST, {}, "", None),
    ("a retry and a title, which no option keeps", {"retry": 1, "side-request": 2}, {}, "--conversations all", None),
    ("a session that was refused for a fault", {"refused": 4}, {"timestamp-order": 1}, "--conversations all", None),
    ("a file that mixes sessions", {"refused": 2, "short-tail": 4}, {"session-id-mismatch": 1}, "--conversations all", "6 of 7 replies are not in any record; add --sessions-by chain --conversations all to keep them"),
)  # fmt: skip
def test_the_last_line_names_the_option_that_keeps_more_replies(lost, left_out, option, expected):
    summary = Summary(output="out", seconds=1.0, more=option)
    covered = Coverage(1, 0, lost, conversations=1)
    found = [finding("replies-lost", "warning")]
    summary.add(
        JOB, outcome(None if left_out else b"{}", left_out=next(iter(left_out), None), findings=found, coverage=covered)
    )
    summary.close()
    last = str(summary.overview().next_step)
    assert last == expected if expected else "not in any record" not in last


def left_out(code="timestamp-order"):
    return outcome(None, account=Account(left_out=3), left_out=code, findings=[finding(code, "error")])


@cases(
    "outcomes, expected",
    (
        "a secret before a lost session",
        [outcome(), left_out(), outcome([Record(b"{}", NO_USE, secrets=3)])],
        "3 secrets in 1 record; add --redact secrets to replace all secrets",
    ),
    (
        "a lost session before a truncated reply",
        [outcome(findings=[finding("reply-truncated", "warning")]), left_out()],
        "skipped: 1 session (timestamp-order): chatsquash explain timestamp-order",
    ),
    (
        "a truncated reply before an error in a record",
        [outcome(findings=[finding("undeclared-tool", "error"), finding("reply-truncated", "warning")])],
        "The last reply of a record is incomplete: chatsquash explain reply-truncated",
    ),
    (
        "an error before more warnings",
        [outcome(findings=[finding("undeclared-tool", "error"), *[finding("naive-timestamp", "warning")] * 3])],
        "A record calls a tool that its tools do not define: chatsquash explain undeclared-tool",
    ),
    (
        "the most frequent one of two warnings",
        [outcome(findings=[finding("empty-split", "warning"), *[finding("naive-timestamp", "warning")] * 2])],
        "Timestamps in a log have no time zone: chatsquash explain naive-timestamp",
    ),
    (
        "no title that is lost as a side request",
        [outcome(findings=[finding("replies-lost", "warning")], coverage=Coverage(1, 0, {"side-request": 1}, conversations=1))],
        "None",
    ),
    ("no note", [outcome(findings=[finding("no-tools", "info")])], "None"),
)  # fmt: skip
def test_the_last_line_names_the_finding_that_does_the_most_harm(outcomes, expected):
    summary = Summary(output="out", more="--complete")
    for one in outcomes:
        summary.add(JOB, one)
    summary.close()
    assert str(summary.overview().next_step) == expected


def test_replies_that_an_option_keeps_are_named_before_secrets():
    summary = Summary(output="out", more="--complete")
    covered = Coverage(1, 0, {"branch": 2}, conversations=1)
    summary.add(JOB, outcome([Record(b"{}", NO_USE, secrets=3)], coverage=covered))
    overview = summary.overview()
    assert str(overview.next_step) == "2 of 3 replies are not in any record; add --complete to keep them"
    assert str(overview.headlines[2]) == "needs attention: 3 secrets in 1 record"


def test_splits_have_records_and_shares():
    summary = Summary(output="out", seconds=1.0, files=["a.jsonl"])
    for _ in range(3):
        summary.add(JOB, outcome())
    summary.splits = {"train": (2, 0.95), "test": (1, 0.05)}
    summary.close()
    splits = "2 2 train (66.7%, requested 95.0%), 1 test (33.3%, requested 5.0%)"
    assert table(summary)["splits"] == splits
    assert summary.counts()["splits"] == {
        "train": {"records": 2, "share": 0.6667, "asked": 0.95},
        "test": {"records": 1, "share": 0.3333, "asked": 0.05},
    }


def test_splits_without_records_have_no_share():
    assert Summary(splits={"train": (0, 1.0)}).counts()["splits"] == {
        "train": {"records": 0, "share": 0.0, "asked": 1.0}
    }


def test_findings_of_filtered_sessions_are_none_of_the_datasets():
    summary = Summary(output="out", seconds=1.0, files=["a.jsonl"])
    summary.add(JOB, outcome(findings=[finding("no-tools", "warning")]))
    aside = [finding("no-tools", "warning"), finding("undeclared-tool", "error"), finding("filtered", "info")]
    summary.add(JOB, outcome(None, account=Account(left_out=3), findings=aside), ("--min-turns",), record_count=1)
    summary.close()
    rows = table(summary)
    assert (rows["warnings"], "errors" in rows, "notes" in rows) == ("1 no-tools", False, False)
    assert rows["filtered"] == "3 findings of filtered sessions: 1 undeclared-tool, 1 no-tools, 1 filtered"
    counts = summary.counts()
    assert counts["findings"] == {"warning": {"no-tools": 1}}
    assert counts["filtered_findings"] == {
        "error": {"undeclared-tool": 1}, "warning": {"no-tools": 1}, "info": {"filtered": 1},
    }  # fmt: skip


def test_what_is_missing_of_a_filtered_session_is_missing_all_the_same():
    summary = Summary()
    cut_short = outcome(None, account=Account(left_out=3), findings=[finding("cut-short", "error")])
    summary.add(JOB, cut_short, ("--min-turns",), record_count=1)
    summary.close()
    assert not summary.complete


def test_the_summary_for_programs():
    assert full().as_json() == {
        "logs": 3,
        "sessions": {
            "seen": 3, "written": 2, "left_out": {"timestamp-order": 1}, "filtered": {}, "duplicates": 0,
            "joined": 0,
        },
        "splits": {},
        "lines": {
            "seen": 1011, "selected": 2, "superseded": 3, "cut": 1, "cleaned": 1, "left_out": 1000, "unreadable": 3,
            "blank": 1, "joined": 0,
        },
        "bytes": {
            "seen": 90, "selected": 70, "superseded": 0, "cut": 0, "cleaned": 0, "left_out": 0, "unreadable": 20,
            "blank": 0, "joined": 0,
        },
        "replies": {"logged": 9, "carried": 4, "rewritten": 2, "lost": {"retry": 1, "side-request": 2}},
        "reasoning": {"logged": 3, "carried": 1, "withheld": 1},
        "conversations": {
            "seen": 4, "written": 2, "not_chosen": {"side": 2}, "left_out": 0, "filtered": 0, "duplicates": 0,
        },
        "loss": {},
        "samples": {}, "token_samples": {}, "models": {}, "pairs": {},
        "cleaned": {"empty_assistants": 2, "info_messages": 1, "title_requests": 1},
        "addresses": 3,
        "secrets": {"found": 0, "records": 0, "replaced": 0, "passed_over": 0},
        "private": {},
        "findings": {
            "error": {"bad-line": 2, "timestamp-order": 1}, "warning": {"no-tools": 1}, "info": {"cleaned": 1},
        },
        "filtered_findings": {},
        "other_files": {".md": 2, "no suffix": 1},
        "passed_over": 4,
        "output": "out",
        "files": ["2026-01-13.jsonl"],
        "reused": 0,
        "unchanged": False,
        "other_options": [],
        "seconds": 2.0,
    }  # fmt: skip


@cases(
    "one, complete",
    ("all written", outcome(), True),
    ("a session left out", outcome(None, account=Account(left_out=3)), False),
    ("a line not read", outcome(account=Account(selected=1, superseded=1, unreadable=1)), False),
    ("blank lines miss nothing", outcome(account=Account(selected=1, blank=2)), True),
    ("nor do entries that cleaning drops, or that are cut", outcome(account=Account(1, 0, 1, 1)), True),
    ("nor errors in a record", outcome(findings=[finding("undeclared-tool", "error")]), True),
)
def test_a_run_is_complete_when_no_session_and_no_line_was_left_out(one, complete):
    summary = Summary()
    summary.add(JOB, one)
    summary.close()
    assert summary.complete is complete


NOT_READ = Account(selected=1, unreadable=2)


@cases("outcomes, last",
    ("one session", [outcome(None, account=Account(left_out=3))], "1 session (empty-session): chatsquash explain empty-session"),
    (
        "several, the most frequent reason first",
        [
            outcome(None, account=Account(left_out=3), left_out=code)
            for code in ("lost-worker", "timestamp-order", "timestamp-order")
        ],
        "3 sessions (2 timestamp-order, 1 lost-worker): chatsquash explain timestamp-order",
    ),
    (
        "lines of two kinds",
        [outcome(account=NOT_READ, findings=[finding("bad-line", "error"), finding("bad-entry", "error")])],
        "2 lines (1 bad-entry, 1 bad-line): chatsquash explain bad-entry",
    ),
    (
        "logs that were read up to a place",
        [outcome(findings=[finding("cut-short", "error")]), outcome(findings=[finding("cut-short", "error")])],
        "the rest of 2 logs (cut-short): chatsquash explain cut-short",
    ),
    (
        "archives and their members",
        [outcome(findings=[finding(code, "error") for code in ("archive-member", "archive-member", "truncated-archive", "unreadable-archive")])],
        "2 archive members (archive-member), the rest of 1 archive (truncated-archive), 1 archive (unreadable-archive): chatsquash explain archive-member",
    ),
)  # fmt: skip
def test_the_last_line_says_what_was_left_out_and_why(outcomes, last):
    summary = Summary(output="out")
    for one in [outcome(), *outcomes]:
        summary.add(JOB, one)
    summary.close()
    assert str(summary.overview().next_step) == f"skipped: {last}"
    assert not summary.complete


def test_what_filters_took_out_is_not_missing_but_its_unread_lines_are():
    summary = Summary(output="out")
    summary.add(JOB, outcome())
    summary.add(JOB, outcome(None, account=Account(left_out=3)), ("--min-turns",), record_count=1)
    assert (summary.complete, summary.overview().next_step) == (True, None)
    aside = outcome(None, account=Account(left_out=2, unreadable=1), findings=[finding("bad-line", "error")])
    summary.add(JOB, aside, ("--min-turns",), record_count=1)
    summary.close()
    last = str(summary.overview().next_step)
    assert (summary.complete, last) == (False, "skipped: 1 line (bad-line): chatsquash explain bad-line")


def test_where_no_record_is_left_the_last_line_names_the_filters_too():
    summary = Summary(output="out")
    for option in ("--min-turns", "--drop no-tools", "--min-turns"):
        summary.add(JOB, outcome(None, account=Account(left_out=3)), (option,), record_count=1)
    filtered = "filtered: 3 sessions (2 --min-turns, 1 --drop no-tools)"
    assert str(summary.overview().next_step) == f"no record was written; {filtered}"
    summary.add(JOB, outcome(None, account=Account(left_out=3)))
    summary.close()
    assert str(summary.overview().next_step) == (
        f"no record was written; skipped: 1 session (empty-session); {filtered}: chatsquash explain empty-session"
    )


def test_lines_that_do_not_add_up_are_a_defect():
    summary = Summary()
    summary.add(JOB, outcome(lines=4))
    with pytest.raises(AssertionError):
        summary.close()


def test_sessions_that_do_not_add_up_are_a_defect():
    summary = Summary()
    summary.add(JOB, outcome())
    summary.sessions += 1
    with pytest.raises(AssertionError):
        summary.close()


def test_replies_that_do_not_add_up_are_a_defect():
    summary = Summary()
    summary.add(JOB, outcome(coverage=Coverage(carried=2, conversations=1)))
    summary.replies.total += 1
    with pytest.raises(AssertionError):
        summary.close()


def test_conversations_that_do_not_add_up_are_a_defect():
    summary = Summary()
    summary.add(JOB, outcome(coverage=Coverage(carried=2, conversations=1)))
    summary.replies.seen += 1
    with pytest.raises(AssertionError):
        summary.close()


def test_of_the_records_of_a_session_each_is_a_conversation_of_its_own():
    summary = Summary()
    covered = Coverage(3, 0, {"filtered": 1, "duplicate": 1}, conversations=5, not_chosen={"side": 1})
    summary.add(JOB, outcome(coverage=covered), ("--min-turns",), 1, record_count=3)
    summary.close()
    assert summary.counts()["sessions"] == {
        "seen": 1, "written": 1, "left_out": {}, "filtered": {}, "duplicates": 0, "joined": 0,
    }  # fmt: skip
    assert summary.counts()["conversations"] == {
        "seen": 5, "written": 1, "not_chosen": {"side": 1}, "left_out": 1, "filtered": 1, "duplicates": 1,
    }  # fmt: skip


def test_of_many_suffixes_the_most_frequent_are_named():
    others = Counter({f".{number}": 1 for number in range(100)} | {".md": 5})
    kinds = [(".md", 5), *((f".{number}", 1) for number in (0, 1, 10, 11, 12, 13, 14)), ("others", 93)]
    assert frequent_kinds(others) == kinds


def test_the_output_folder_cannot_speak_to_the_terminal():
    summary = Summary(output="a\x1b[2J\n", files=["a.jsonl"])
    summary.add(JOB, outcome())
    assert str(summary).splitlines()[0] == "1 record written to a\\x1b[2J\\n (1 file)"
    assert "\x1b" not in summary._repr_html_()
