"""Sessions with several records: what findings, the session table and the account of lines say of each of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from chatsquash import Options, convert
from chatsquash.run.verify import verify
from tests.conftest import user, write_log
from tests.run.outputs import findings, manifest, report
from tests.tree import logs


def run(here: Path, lines: list[Any], **options: Any) -> None:
    write_log(here / "logs" / "a.jsonl", *lines)
    convert("logs", "out", Options(anonymize=False, **options))
    assert verify(Path("out")).problems == []


# What trees explain is not reported


def edited_first() -> list[Any]:
    """The user edited the first prompt, so that nothing links the second conversation to the first."""
    log = logs.Log()
    one = log.add(logs.AGENT, user("Which test fails?"), says="The test of sums.")
    log.add(logs.AGENT, user("Which test fails?"), one, user("Mend it."), says="It is mended.")
    log.add(logs.AGENT, user("Which tests are slow?"), says="None is.")
    return log.lines


def edited_first_twice_logged() -> list[Any]:
    """The same, and the last line is logged twice."""
    lines = edited_first()
    return [*lines, lines[-1]]


def unanswered_anew() -> list[Any]:
    """The last request begins anew and has no reply."""
    lines = edited_first()
    lines[-1].pop("response")
    return lines


def title_first() -> list[Any]:
    """A title is asked for before the conversation, whose first request is shorter."""
    log = logs.Log(tools=[logs.READ])
    log.add(logs.TITLE, logs.AGENT, user("Which test fails?"), says="A failing test", tools=None)
    one = log.add(logs.AGENT, user("Which test fails?"), says="The test of sums.")
    log.add(logs.AGENT, user("Which test fails?"), one, user("Mend it."), says="It is mended.")
    return log.lines


EXPLAINED = ("role-sequence", "short-tail")
LAST, MAIN, ALL = "last", "main", "all"
EXPLANATIONS = [
    ("sub-agents interleaved", logs.subagent, ALL, []),
    ("a compaction", logs.compacted, LAST, [(3, "short-tail")]),
    ("two compactions", logs.compacted_twice, LAST, [(3, "role-sequence"), (4, "short-tail")]),
    ("two compactions are explained", logs.compacted_twice, ALL, []),
    ("a compaction is explained", logs.compacted, MAIN, []),
    ("and by all conversations", logs.compacted, ALL, []),
    ("a rewind", logs.rewound, LAST, [(3, "short-tail")]),
    ("a rewind is explained", logs.rewound, MAIN, []),
    ("a side request", lambda: [*logs.grows(), *logs.title_last()[1:]], LAST, [(2, "short-tail")]),
    ("a side request is explained", lambda: [*logs.grows(), *logs.title_last()[1:]], MAIN, []),
    ("the first conversation behind a side request", title_first, LAST, [(2, "role-sequence")]),
    ("the first conversation behind a side request is explained", title_first, ALL, []),
    ("a conversation that begins for no reason", edited_first, LAST, [(2, "short-tail")]),
    ("it is not explained, and no record holds it", edited_first, MAIN, [(3, "role-sequence"), (2, "short-tail")]),
    ("it is not explained, and has a record", edited_first, ALL, [(3, "role-sequence")]),
    ("nor is the line that logs it first", edited_first_twice_logged, ALL, [(3, "role-sequence")]),
    ("a request that begins for no reason and has no reply", unanswered_anew, ALL, [(3, "role-sequence"), (2, "short-tail")]),
]  # fmt: skip


@pytest.mark.parametrize("sentence, log, conversations, expected", EXPLANATIONS, ids=[row[0] for row in EXPLANATIONS])
def test_only_what_the_tree_does_not_explain_is_reported(here, sentence, log, conversations, expected):
    lines = [{**line, "timestamp": at} for at, line in enumerate(log(), 1768298400)]
    run(here, lines, conversations=conversations)
    found = [(each["line"], each["code"]) for each in findings(*EXPLAINED)]
    assert sorted(found) == sorted(expected)


def test_a_short_tail_names_the_record_that_is_written(here):
    run(here, edited_first(), conversations="main")
    (found,) = findings("short-tail")
    assert (found["line"], found["record"]) == (2, "2026-01-13.jsonl:1")
    assert found["text"].startswith("line 3 has 2 messages, line 2 has 4 and is converted")


# Each record by itself


def models() -> list[Any]:
    """Three conversations, each of another day and model; the second ends with an empty result."""
    lines = logs.compacted()
    for day, line in enumerate(lines, 13):
        line["timestamp"] = f"2026-01-{day}T10:00:00Z"
        line["response"]["model"] = f"model-{day}"
    return lines


def test_the_session_table_has_the_line_the_times_and_the_model_of_each_record(here):
    run(here, models(), conversations="all")
    members = ("row", "line", "start", "end", "model", "entries")
    assert [tuple(row[name] for name in members) for row in report("sessions.jsonl")] == [
        (1, 2, "2026-01-13T10:00:00Z", "2026-01-14T10:00:00Z", "model-14", 2),
        (2, 3, "2026-01-13T10:00:00Z", "2026-01-15T10:00:00Z", "model-15", 3),
        (3, 4, "2026-01-16T10:00:00Z", "2026-01-16T10:00:00Z", "model-16", 1),
    ]


def test_so_it_has_of_the_persons_conversation(here):
    run(here, models(), conversations="main")
    (row,) = report("sessions.jsonl")
    assert (row["line"], row["start"], row["model"], row["entries"]) == (4, "2026-01-16T10:00:00Z", "model-16", 1)


def test_a_session_whose_records_are_filtered_is_told_by_the_last_of_them(here):
    run(here, models(), conversations="all", max_turns=0)
    (row,) = report("sessions.jsonl")
    assert (row["file"], row["line"], row["model"]) == (None, 4, "model-16")


ACCOUNTS = [
    ("each conversation ends with a line", logs.compacted, {"conversations": "all"}, (3, 1, 0, 0)),
    ("the person's ends with the last one", logs.compacted, {"conversations": "main"}, (1, 3, 0, 0)),
    ("the lines behind it are cut", logs.title_last, {"conversations": "main"}, (1, 0, 1, 0)),
    ("a branch is left out by its kind", logs.subagent, {"conversations": "all", "subagents": False}, (1, 3, 0, 0)),
    ("the line of a filtered record is left out", logs.compacted, {"conversations": "all", "min_turns": 2}, (1, 1, 0, 2)),
    ("the lines of a session that is filtered whole", logs.compacted, {"conversations": "all", "max_turns": 0}, (0, 0, 0, 4)),
]  # fmt: skip


@pytest.mark.parametrize("sentence, log, options, expected", ACCOUNTS, ids=[row[0] for row in ACCOUNTS])
def test_the_line_of_each_record_is_selected(here, sentence, log, options, expected):
    run(here, log(), **options)
    counts = manifest()["counts"]
    lines = counts["lines"]
    assert (lines["selected"], lines["superseded"], lines["cut"], lines["left_out"]) == expected
    sizes = [len(json.dumps(line)) + 1 for line in log()]
    assert counts["bytes"]["seen"] == sum(sizes)
    ends = {row["line"] for row in report("sessions.jsonl") if row["file"]}
    assert counts["bytes"]["selected"] == sum(sizes[line - 1] for line in ends)


def failed_on_the_branch() -> list[Any]:
    """A call on the branch has a result that failed, and one on the trunk has none."""
    log = logs.Log(tools=[logs.READ])
    asked = (logs.AGENT, user("Mend it."))
    one = log.add(*asked, says=logs.calling("read_file", '{"path": "a"}'))
    log.add(*asked, one, {**logs.result("Error: no such file"), "is_error": True}, says="There is no such file.")
    two = log.add(*asked, one, logs.result("def add(): ..."), user("Go on."), says="I did.")
    log.add(*asked, one, logs.result("def add(): ..."), user("Go on."), two, user("Thanks."), says="Fine.")
    return log.lines


def test_findings_about_one_record_name_it_and_those_about_the_session_none(here):
    lines = failed_on_the_branch()
    run(here, [{**line, "timestamp": None} for line in lines], conversations="all")
    (failed,) = findings("tool-result-failed")
    kinds = {f"{row['file']}:{row['row']}": row["kind"] for row in report("sessions.jsonl")}
    assert kinds[failed["record"]] == "branch"
    (of_all,) = findings("missing-timestamp")
    assert of_all["record"] is None


def test_to_drop_a_finding_drops_the_record_that_has_it(here):
    run(here, failed_on_the_branch(), conversations="all", drop=("tool-result-failed",), trace_replies=True)
    assert [row["kind"] for row in report("sessions.jsonl")] == ["main"]
    (told,) = findings("filtered")
    assert (told["record"], told["text"]) == (
        None,
        "filtered by --drop tool-result-failed: the session has tool-result-failed",
    )
    assert [(each["line"], each["why"]) for each in report("replies.jsonl")] == [
        (1, None), (2, "filtered"), (3, None), (4, None),
    ]  # fmt: skip


def test_to_drop_what_is_found_of_the_session_drops_all_of_its_records(here):
    lines = [{**line, "timestamp": None} for line in failed_on_the_branch()]
    run(here, lines, conversations="all", drop=("missing-timestamp",))
    assert [row["filtered"] for row in report("sessions.jsonl")] == ["--drop missing-timestamp"]


# Dates


DATES = [
    ({}, [2, 3, 4]),
    ({"since": "2026-01-13"}, [2, 3, 4]),
    ({"since": "2026-01-14"}, [4]),
    ({"since": "2026-01-16", "until": "2026-01-16"}, [4]),
    ({"until": "2026-01-13"}, [2, 3]),
]


@pytest.mark.parametrize("options, lines", DATES)
def test_dates_take_conversations_by_the_day_on_which_they_began(here, options, lines):
    run(here, models(), conversations="all", **options)
    assert [row["line"] for row in report("sessions.jsonl")] == lines


def test_a_day_in_the_path_is_that_of_all_conversations(here):
    write_log(here / "logs" / "2026-01-20" / "a.jsonl", *models())
    convert("logs", "out", Options(anonymize=False, conversations="all", since="2026-01-20"))
    assert len(report("sessions.jsonl")) == 3


def test_a_log_without_a_conversation_of_these_days_is_passed_over(here):
    write_log(here / "logs" / "b.jsonl", *models())
    run(here, logs.grows(), conversations="all", until="2026-01-13")
    convert("logs", "later", Options(anonymize=False, conversations="all", since="2026-01-15"))
    assert manifest("later")["counts"]["passed_over"] == 1
    assert [row["log"] for row in report("sessions.jsonl", "later")] == ["logs/b.jsonl"]
