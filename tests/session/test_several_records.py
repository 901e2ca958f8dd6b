"""Sessions with several records: what findings, the session table and the account of lines say of each of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from chatsquash import Options, convert, convert_session
from chatsquash.results.verify import verify
from tests.conftest import assistant, cases, user, write_log
from tests.outputs import findings, manifest, report
from tests.trees import logs


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


@cases("log, conversations, expected",
    ("sub-agents interleaved", logs.subagent, ALL, []),
    ("a compaction", logs.compacted, LAST, [(3, "short-tail")]),
    ("two compactions", logs.compacted_twice, LAST, [(4, "short-tail")]),
    ("two compactions are explained", logs.compacted_twice, ALL, []),
    ("a compaction is explained", logs.compacted, MAIN, []),
    ("and by all conversations", logs.compacted, ALL, []),
    ("a rewind", logs.rewound, LAST, [(3, "short-tail")]),
    ("a rewind is explained", logs.rewound, MAIN, []),
    ("a side request", lambda: [*logs.grows(), *logs.title_last()[1:]], LAST, [(2, "short-tail")]),
    ("a side request is explained", lambda: [*logs.grows(), *logs.title_last()[1:]], MAIN, []),
    ("the first conversation behind a side request", title_first, LAST, []),
    ("the first conversation behind a side request is explained", title_first, ALL, []),
    ("a conversation that begins for no reason", edited_first, LAST, [(2, "short-tail")]),
    ("it is not explained, and no record holds it", edited_first, MAIN, [(3, "role-sequence"), (2, "short-tail")]),
    ("it is not explained, and has a record", edited_first, ALL, [(3, "role-sequence")]),
    ("nor is the line that logs it first", edited_first_twice_logged, ALL, [(3, "role-sequence")]),
    ("a request that begins for no reason and has no reply", unanswered_anew, ALL, [(3, "role-sequence"), (2, "short-tail")]),
)  # fmt: skip
def test_only_what_the_tree_does_not_explain_is_reported(here, log, conversations, expected):
    lines = [{**line, "timestamp": at} for at, line in enumerate(log(), 1768298400)]
    run(here, lines, conversations=conversations)
    found = [(each["line"], each["code"]) for each in findings(*EXPLAINED)]
    assert sorted(found) == sorted(expected)


def test_a_short_tail_names_the_record_that_is_written(here):
    run(here, edited_first(), conversations="main")
    (found,) = findings("short-tail")
    assert (found["line"], found["record"]) == (2, "2026-01-13.jsonl:1")
    assert found["text"].startswith("line 3 has 2 messages, but line 2 has 4 and is converted")


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


@cases("log, options, expected",
    ("each conversation ends with a line", logs.compacted, {"conversations": "all"}, (3, 1, 0, 0)),
    ("the person's ends with the last one", logs.compacted, {"conversations": "main"}, (1, 3, 0, 0)),
    ("the lines behind it are cut", logs.title_last, {"conversations": "main"}, (1, 0, 1, 0)),
    ("a branch is left out by its kind", logs.subagent, {"conversations": "all", "subagents": False}, (1, 3, 0, 0)),
    ("the line of a filtered record is left out", logs.compacted, {"conversations": "all", "min_turns": 2}, (1, 1, 0, 2)),
    ("the lines of a session that is filtered whole", logs.compacted, {"conversations": "all", "max_turns": 0}, (0, 0, 0, 4)),
)  # fmt: skip
def test_the_line_of_each_record_is_selected(here, log, options, expected):
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


@cases(
    "options, lines",
    ({}, [2, 3, 4]),
    ({"since": "2026-01-13"}, [2, 3, 4]),
    ({"since": "2026-01-14"}, [4]),
    ({"since": "2026-01-16", "until": "2026-01-16"}, [4]),
    ({"until": "2026-01-13"}, [2, 3]),
)
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


# Tool usage


def calls(*texts: str) -> list[Any]:
    """A reply that calls, and its result, for each argument."""
    made = []
    for number, text in enumerate(texts):
        made += [
            logs.calling("read_file", json.dumps({"path": text}), f"call_{number}"),
            logs.result(text, f"call_{number}"),
        ]
    return made


def few_shot_branches() -> list[Any]:
    """Two answers to one prompt, behind an example with a call that no model gave."""
    log = logs.Log(tools=[logs.READ])
    asked = (logs.AGENT, user("An example:"), *calls("a.py"), user("Which test fails?"))
    log.add(*asked, says="It adds strings.")
    one = log.add(*asked, says="It starts from one instead of zero.")
    log.add(*asked, one, user("Mend it."), says="It is mended.")
    return log.lines


def called_twice() -> list[Any]:
    """A branch and the trunk make the same call with the same words, and the trunk makes it twice."""
    log = logs.Log(tools=[logs.READ])
    one, read = calls("a.py")
    log.add(logs.AGENT, user("Mend it."), says=one)
    log.add(logs.AGENT, user("Mend it."), one, read, user("Look again."), says=calls("a.py")[0])
    asked = (logs.AGENT, user("Mend it."), one, read, user("Look once more."))
    log.add(*asked, says=one)
    log.add(*asked, one, read, says="It is mended.")
    return log.lines


def kept_tail() -> list[Any]:
    """The summary is followed by the last call and its result, as they were."""
    log = logs.Log(tools=[logs.READ])
    begin = (logs.AGENT, user("Mend the failing test."))
    one = log.add(*begin, says=logs.calling("read_file", '{"path": "tests/test_sum.py"}'))
    tail = (one, logs.result("def test_sum(): ..."))
    log.add(*begin, *tail, logs.ASK_SUMMARY, says=logs.SUMMARY)
    log.add(logs.AGENT, user(f"This session goes on from an earlier one:\n{logs.SUMMARY}"), *tail, says="It is mended.")
    return log.lines


@cases(
    "log, options, count",
    ("a call before a summary", logs.compacted, {}, 1),
    ("a call that a compaction copies", kept_tail, {}, 1),
    ("a call that no model gave, before two branches", few_shot_branches, {}, 1),
    ("calls that say the same", called_twice, {}, 3),
    ("a call whose first record is filtered", kept_tail, {"min_turns": 2}, 1),
    ("a call in two of the records that are left", kept_tail, {"max_turns": 1}, 1),
)
def test_a_call_that_several_records_hold_counts_once(here, log, options, count):
    run(here, log(), conversations="all", **options)
    (row,) = report("tools.csv")
    assert (row["tool"], row["calls"]) == ("read_file", str(count))
    assert report("tool-usage.csv")[0]["tool_call_count"] == str(count)
    assert int(row["sessions"]) == len([each for each in report("sessions.jsonl") if each["file"]])


def test_what_became_of_it_counts_once_and_the_card_says_the_same(here):
    lines = failed_on_the_branch()
    for line in lines[2:]:
        line["request"]["messages"][3] = logs.result("Error: no such file")
    run(here, lines, conversations="all", format="jsonl")
    (row,) = report("tools.csv")
    assert (row["calls"], row["failed"], row["unanswered"]) == ("1", "1", "0")
    card = Path("out/README.md").read_text("utf-8")
    (told,) = (line for line in card.splitlines() if line.startswith("| `read_file`"))
    assert [cell.strip() for cell in told.split("|")][2:5] == ["2", "1", "1"]


def test_the_branch_may_have_a_call_that_the_trunk_has_not(here):
    run(here, failed_on_the_branch(), conversations="all")
    (row,) = report("tools.csv")
    assert row["calls"] == "1", "it is one call, whose result was edited"


# Replies of filtered records


def test_a_reply_whose_records_are_all_filtered_is_filtered(here):
    run(here, logs.regenerated(), conversations="all", max_turns=0, trace_replies=True)
    assert {(each["status"], each["why"], each["record"]) for each in report("replies.jsonl")} == {
        ("lost", "filtered", None)
    }


@cases(
    "options, loss",
    ("a filter that looks at the record alone is known before flags are written", {"max_chars": 0}, 1),
    ("one that looks at findings is not, so the reply is trained on nowhere", {"drop": ("tool-result-failed",)}, 0),
)
def test_a_reply_moves_to_the_record_that_is_left(here, options, loss):
    """The trunk, which is the longest, has a result that failed."""
    lines = failed_on_the_branch()
    good, bad = logs.result("def add(): ..."), lines[1]["request"]["messages"][3]
    lines[1]["request"]["messages"][3] = good
    for line in lines[2:]:
        line["request"]["messages"][3] = bad
    most = {"max_chars": max(len(line) for line in records(lines)) - 1} if "max_chars" in options else {}
    run(here, lines, conversations="all", trace_replies=True, group_by="none", loss="weight", **{**options, **most})
    first, second, *others = report("replies.jsonl")
    assert (first["record"], first["message"], first["loss"]) == ("conversations.jsonl:1", 2, loss)
    assert (second["record"], second["message"], second["loss"]) == ("conversations.jsonl:1", 4, 1)
    assert {each["why"] for each in others} == {"filtered"}
    (record,) = map(json.loads, Path("out/conversations.jsonl").read_text("utf-8").splitlines())
    assert [message["weight"] for message in record["messages"] if "weight" in message] == [loss, 1]


def records(lines: list[Any]) -> list[str]:
    """The records of a session."""
    options = Options(anonymize=False, conversations="all", loss="weight")
    (found,) = convert_session([json.dumps(line) for line in lines], options)
    return [record.line.decode() for record in found.records]


def test_reasoning_that_only_the_filtered_record_has_is_lost(here):
    """The branch holds the first reply without its reasoning, the trunk with it."""
    log = logs.Log()
    one = log.add(logs.AGENT, user("Which test fails?"), says=assistant("The test of sums.", reasoning_content="Hm."))
    bare = assistant("The test of sums.")
    log.add(logs.AGENT, user("Which test fails?"), bare, user("Remove it."), says="It is gone.")
    two = log.add(logs.AGENT, user("Which test fails?"), one, user("Mend it."), says="It is mended.")
    log.add(logs.AGENT, user("Which test fails?"), one, user("Mend it."), two, user("Thanks."), says="You are welcome.")
    run(here, log.lines, conversations="all")
    assert manifest()["counts"]["reasoning"] == {"logged": 1, "carried": 1, "withheld": 0}
    run(here, log.lines, conversations="all", max_turns=2)
    assert manifest()["counts"]["reasoning"] == {"logged": 1, "carried": 0, "withheld": 0}
    run(here, log.lines, conversations="all", min_turns=3)
    assert manifest()["counts"]["reasoning"] == {"logged": 1, "carried": 1, "withheld": 0}


# Splits


def begun(prompt: str, answer: str) -> list[Any]:
    log = logs.Log("s2", tools=[logs.READ])
    log.add(logs.AGENT, user(prompt), says=answer)
    return log.lines


def titled() -> list[Any]:
    """A title is asked for before the conversation begins."""
    log = logs.Log("s3", tools=[logs.READ])
    log.add(logs.TITLE, user("Mend the failing test."), says="A failing test", tools=None, max_tokens=10)
    log.add(logs.AGENT, user("Mend the failing test."), says="Which one?")
    return log.lines


@pytest.mark.parametrize("conversations", ["main", "all"])
def test_sessions_whose_first_conversations_begin_alike_are_in_one_split(here, conversations):
    """One of them is compacted, so that its record begins with the summary; one begins with a title request."""
    write_log(here / "logs" / "a.jsonl", *logs.compacted())
    write_log(here / "logs" / "b.jsonl", *begun("Mend the failing test.", "It is mended."))
    write_log(here / "logs" / "c.jsonl", *titled())
    for seed in range(8):
        split = {"split": "train=0.5,test=0.5", "format": "jsonl", "conversations": conversations}
        convert("logs", "out", Options(anonymize=False, seed=seed, **split))
        assert len(list(Path("out/data").iterdir())) == 1


def test_sessions_that_begin_otherwise_may_be_in_two_though_their_records_begin_alike(here):
    other = logs.compacted()
    for line in other[:3]:
        line["request"]["messages"][1] = user("Look at the failing test.")
    write_log(here / "logs" / "a.jsonl", *logs.compacted())
    write_log(here / "logs" / "b.jsonl", *other)
    found = set()
    for seed in range(8):
        split = {"split": "train=0.5,test=0.5", "format": "jsonl", "conversations": "main", "drop_duplicates": False}
        convert("logs", "out", Options(anonymize=False, seed=seed, **split))
        found.add(len(list(Path("out/data").iterdir())))
    assert found == {1, 2}


@pytest.mark.parametrize("split_by", ["session", "scenario", "day"])
def test_what_a_split_leaks_is_told_by_what_sessions_begin_with(here, split_by):
    """Of sessions in two splits, the records begin with one summary; their first conversations do not."""
    for number in range(12):
        lines = [{**line, "session_id": f"s{number}"} for line in logs.compacted()]
        for line in lines[:3]:
            line["request"]["messages"][1] = user(f"Mend test {number}.")
        write_log(here / "logs" / f"2026-01-{number + 10}" / f"s{number}-x.jsonl", *lines)
    split = {"split": "train=0.5,test=0.5", "split_by": split_by, "format": "jsonl", "drop_duplicates": False}
    convert("logs", "out", Options(anonymize=False, conversations="main", **split))
    assert len(list(Path("out/data").iterdir())) == 2
    assert findings("split-leak") == []


# Replies that no record holds


def titled_last() -> list[Any]:
    """A side request of the client's own, and one that cleaning drops."""
    lines = [*logs.subagent(), *logs.title_last()[1:], *logs.cleaned_title()[:1]]
    return [{**line, "timestamp": at} for at, line in enumerate(lines, 1768298400)]


@cases(
    "options, expected",
    ({}, "--conversations all keeps 3, --conversations all --no-cleanup-goose keeps 1"),
    ({"conversations": "main"}, "--conversations all keeps 3, --conversations all --no-cleanup-goose keeps 1"),
    ({"conversations": "all"}, "--no-cleanup-goose keeps 1"),
    ({"conversations": "all", "side": False}, "without --no-side keeps 1, --no-cleanup-goose without --no-side keeps 1"),
    ({"conversations": "all", "subagents": False}, "without --no-subagents keeps 2, --no-cleanup-goose keeps 1"),
    ({"conversations": "all", "cleanup": ("claude-code",)}, "--no-cleanup-goose without --cleanup keeps 1"),
    (
        {"conversations": "all", "cleanup_goose": False, "cleanup": ("goose",), "side": False},
        "without --no-side keeps 1, without --cleanup and --no-side keeps 1",
    ),
)  # fmt: skip
def test_what_is_lost_is_said_with_the_options_that_keep_it(here, options, expected):
    run(here, titled_last(), **options)
    (found,) = findings("replies-lost")
    assert found["text"].endswith(f"({expected})")


def test_what_these_options_keep_is_kept(here):
    run(here, titled_last(), conversations="all", cleanup_goose=False)
    assert findings("replies-lost") == []
    assert manifest()["counts"]["replies"]["lost"] == {}


def test_most_replies_come_first(here):
    run(here, titled_last(), conversations="main")
    (found,) = findings("replies-lost")
    assert "2 of 6 logged replies are in the records; 4 are not: 2 side requests, 2 of sub-agents (" in found["text"]


def test_equal_numbers_come_in_the_order_of_their_names(here):
    lines = [*logs.regenerated(), *logs.title_last()[1:], *logs.title_last()[1:]]
    run(here, [{**line, "timestamp": at} for at, line in enumerate(lines, 1768298400)])
    (found,) = findings("replies-lost")
    assert "3 are not: 1 on another branch, 1 retried, 1 side request (" in found["text"]


def test_a_reply_to_a_request_that_cleaning_dropped_is_about_the_conversation_before_it(here):
    title, *lines = logs.cleaned_title()
    later = edited_first()[2]
    lines = [title, *lines, {**title, "session_id": "s1"}, later, title]
    lines = [{**line, "timestamp": at} for at, line in enumerate(lines, 1768298400)]
    for mode in ("last", "main", "all"):
        run(here, lines, conversations=mode, trace_replies=True)
        rows = {each["line"]: each for each in report("replies.jsonl")}
        first, second = rows[2]["conversation"], rows[5]["conversation"]
        assert [rows[line]["parent"] for line in (1, 4, 6)] == [first, first, second]
        assert {rows[line]["why"] for line in (1, 4, 6)} == {"side-request"}
        ids = {rows[line]["conversation"] for line in rows}
        assert len(ids) == 5
        assert {len(each) for each in ids} == {16}


def test_a_session_without_logged_replies_has_a_conversation(here):
    lines = [{**line, "response": None} for line in logs.grows()]
    run(here, lines)
    (row,) = report("sessions.jsonl")
    assert (row["conversations"], row["replies"]["logged"]) == (1, 0)
    assert manifest()["counts"]["conversations"]["seen"] == 1
