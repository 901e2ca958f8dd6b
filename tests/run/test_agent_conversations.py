"""Conversations of agents' files in a run: which become records, what becomes of each reply, and every sum."""

import json
from collections import Counter
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.run.verify import verify
from tests.conftest import write_log
from tests.run.outputs import comparable, findings, manifest, report


def line(second, key, parent, role, words, **more):
    message = {"role": role, "content": words}
    if role == "assistant":
        message |= {"model": "claude-x", "id": f"m{key}"}
    timestamp = f"2026-02-01T12:00:{second:02}Z"
    held = {"sessionId": "s1", "uuid": key, "parentUuid": parent, "type": role, "timestamp": timestamp}
    return {**held, "message": message, **more}


def compaction(second, key):
    return {
        **line(second, key, None, "system", ""),
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
    }


def task(call_id):
    return [{"type": "tool_use", "id": call_id, "name": "Task", "input": {"prompt": "Look."}}]


def answer(call_id, words):
    return [{"type": "tool_result", "tool_use_id": call_id, "content": words}]


def agent(second, key, parent, role, words):
    return line(second, key, parent, role, words, isSidechain=True, agentId="g1")


THOUGHT = [{"type": "thinking", "thinking": "Sure?", "signature": "x"}, {"type": "text", "text": "Yes."}]
WITHHELD = [{"type": "thinking", "thinking": "", "signature": "x"}, {"type": "text", "text": "Done."}]
LINES = [
    line(1, "u1", None, "user", "hi"),
    line(2, "a2", "u1", "assistant", "hello"),
    line(3, "u3", "a2", "user", "left"),
    line(4, "a4", "u3", "assistant", "an answer that was left"),
    line(5, "u5", "a2", "user", "go on"),
    line(6, "a6", "u5", "assistant", task("t1")),
    agent(7, "g1", None, "user", "Look."),
    agent(8, "g2", "g1", "assistant", "Found it."),
    line(9, "u9", "a6", "user", answer("t1", "Found it."), toolUseResult={"agentId": "g1"}),
    line(10, "a10", "u9", "assistant", THOUGHT),
    compaction(11, "c11"),
    line(12, "u12", "c11", "user", "In short: found.", isCompactSummary=True),
    line(13, "u13", "u12", "user", "more"),
    line(14, "a14", "u13", "assistant", WITHHELD),
]
"""A session with a branch, a sub-agent and a compaction."""
KINDS = ["compacted", "branch", "main", "subagent"]
"""In the order of its conversations."""


@pytest.fixture
def logs(here):
    write_log(here / "logs/a.jsonl", *LINES)
    return here / "logs"


def run(**options):
    return convert("logs", "out", Options(**{"anonymize": False, "trace_replies": True, **options}))


def written():
    found = [path for path in sorted(Path("out").glob("**/*.jsonl")) if path.parent.name != "reports"]
    records = [json.loads(row) for path in found for row in path.read_text("utf-8").splitlines()]
    return [row for row in records if "messages" in row]


def last_words():
    return [shown(record["messages"][-1]) for record in written()]


def shown(message):
    content = message.get("content")
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])


ENDS = {"compacted": "Done.", "main": "Yes.", "branch": "an answer that was left", "subagent": "Found it."}
CHOSEN = [
    ({}, KINDS, {}),
    ({"conversations": "all"}, KINDS, {}),
    ({"conversations": "all", "subagents": False}, KINDS[:3], {"subagent": 1}),
    ({"conversations": "all", "side": False}, KINDS, {}),
    ({"conversations": "main"}, KINDS[:1], {"branch": 1, "main": 1, "subagent": 1}),
    ({"sessions_by": "file"}, KINDS[:1], {"branch": 1, "main": 1, "subagent": 1}),
]


@pytest.mark.parametrize("options, kinds, not_chosen", CHOSEN)
def test_which_conversations_become_records(logs, options, kinds, not_chosen):
    summary = run(**options)
    assert last_words() == [ENDS[kind] for kind in kinds]
    assert manifest()["counts"]["conversations"] == {
        "seen": 4, "written": len(kinds), "not_chosen": not_chosen, "left_out": 0, "filtered": 0, "duplicates": 0,
    }  # fmt: skip
    assert summary.complete
    assert not summary.left_out
    assert verify(Path("out"), logs=True).problems == []


LOST = [
    ({}, {}),
    ({"conversations": "all"}, {}),
    ({"conversations": "all", "subagents": False}, {"subagent": 1}),
    ({"conversations": "main"}, {"branch": 1, "compacted": 3, "subagent": 1}),
    ({"sessions_by": "file"}, {"branch": 1, "compacted": 3, "subagent": 1}),
    ({"min_turns": 2}, {"filtered": 2}),
    ({"conversations": "main", "min_turns": 2}, {"branch": 1, "compacted": 3, "filtered": 1, "subagent": 1}),
]


@pytest.mark.parametrize("options, lost", LOST)
def test_every_reply_is_counted_once(logs, options, lost):
    run(**options)
    counts = manifest()["counts"]
    carried = 6 - sum(lost.values())
    assert counts["replies"] == {"logged": 6, "carried": carried, "rewritten": 0, "lost": lost}
    rows = report("replies.jsonl")
    assert len(rows) == 6
    assert Counter(row["why"] for row in rows if row["why"]) == lost


def test_the_summary_and_the_session_table_tell_of_the_replies(logs):
    assert "6 replies logged = 6 carried\n" in run().as_text()
    rows = [(row["replies"]["logged"], row["conversations"], row["kind"]) for row in report("sessions.jsonl")]
    assert rows == [(1, 1, None), (1, 1, None), (3, 1, None), (1, 1, None)]


def test_reasoning_is_counted_and_so_is_what_was_withheld(logs):
    run()
    assert manifest()["counts"]["reasoning"] == {"logged": 1, "carried": 1, "withheld": 1}
    assert [each["text"] for each in findings("reasoning-withheld")] == [
        "the reasoning of 1 reply was withheld at the source"
    ]
    run(conversations="main")
    assert manifest()["counts"]["reasoning"] == {"logged": 1, "carried": 0, "withheld": 1}


def test_what_is_lost_is_found_of_each_conversation(logs):
    run(conversations="main")
    assert [each["text"] for each in findings("replies-lost")] == [
        "0 of 1 logged reply are in the records; 1 is not: 1 on another branch (--conversations all keeps 1)",
        "0 of 3 logged replies are in the records; 3 are not: 3 compacted away (--conversations all keeps 3)",
        "0 of 1 logged reply are in the records; 1 is not: 1 of a sub-agent (--conversations all keeps 1)",
    ]


@pytest.mark.parametrize("options", [{}, {"conversations": "all"}, {"conversations": "main"}])
def test_every_reply_stands_where_the_report_says(logs, options):
    run(group_by="none", **options)
    said = {each["message"]["id"]: each["message"]["content"] for each in LINES if each["type"] == "assistant"}
    found = []
    for row in report("replies.jsonl"):
        if row["record"]:
            name, number = row["record"].rsplit(":", 1)
            record = json.loads((Path("out") / name).read_text("utf-8").splitlines()[int(number) - 1])
            message = record["messages"][row["message"]]
            assert message["role"] == "assistant"
            found.append(shown(message) or message["tool_calls"][0]["id"])
    wanted = [shown({"content": words}) or words[0]["id"] for words in said.values()]
    assert sorted(found) == sorted(wanted if options != {"conversations": "main"} else ["Done."])


def test_rows_name_the_conversation_its_kind_and_where_it_comes_from(logs):
    run(conversations="all")
    rows = report("replies.jsonl")
    ids = {row["kind"]: row["conversation"] for row in rows}
    assert len(set(ids.values())) == 4
    assert [(row["line"], row["kind"]) for row in rows] == [
        (1, "compacted"), (2, "branch"), (3, "main"), (3, "main"), (3, "main"), (4, "subagent"),
    ]  # fmt: skip
    assert {row["kind"]: row["parent"] for row in rows} == {
        "main": None, "compacted": ids["main"], "branch": ids["main"], "subagent": ids["main"],
    }  # fmt: skip
    table = {row["conversation"]: (row["kind"], row["parent"]) for row in report("sessions.jsonl")}
    assert table == {row["conversation"]: (row["kind"], row["parent"]) for row in rows}
    assert {row["loss"] for row in rows} == {1}


def test_metadata_has_the_conversation_its_kind_and_where_it_comes_from(logs):
    run(conversations="all", metadata=True, format="jsonl")
    rows = {row["kind"]: row for row in written()}
    assert set(rows) == set(KINDS)
    main = rows["main"]["conversation"]
    assert [rows[kind]["parent"] for kind in KINDS] == [main, main, None, main]
    run(conversations="last", metadata=True, format="jsonl")
    assert not {"conversation", "parent", "kind"} & written()[0].keys()


def test_a_reply_of_a_branch_that_was_longer_is_the_persons(here):
    """What the user left has more replies than what is in use."""
    longer = [*LINES[:4], line(5, "u6", "a4", "user", "and?"), line(6, "a7", "u6", "assistant", "so")]
    write_log(
        here / "logs/a.jsonl", *longer, line(7, "u8", "a2", "user", "again"), line(8, "a9", "u8", "assistant", "ok")
    )
    run(conversations="main")
    assert last_words() == ["so"]
    assert [(row["kind"], row["status"]) for row in report("replies.jsonl")] == [
        ("branch", "lost"), ("main", "carried"), ("main", "carried"), ("main", "carried"),
    ]  # fmt: skip


def test_a_truncated_reply_is_nothing_to_be_trained_on(here):
    cut = line(2, "a2", "u1", "assistant", "hel")
    cut["message"]["stop_reason"] = "max_tokens"
    write_log(here / "logs/a.jsonl", LINES[0], cut)
    run()
    assert [(row["status"], row["loss"]) for row in report("replies.jsonl")] == [("carried", 0)]


def test_a_record_that_is_refused_has_no_replies(here):
    image = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]
    write_log(here / "logs/a.jsonl", {**LINES[0], "message": {"role": "user", "content": image}}, LINES[1])
    summary = run(preset="hf")
    counts = manifest()["counts"]
    assert (counts["replies"]["lost"], counts["conversations"]["left_out"]) == ({"refused": 1}, 1)
    assert not summary.complete


# Cleaning


CLEANED = {"cleanup": ("claude-code",)}


@pytest.fixture
def noisy(here):
    """The first message goes in cleaning, the reply to it stays."""
    interrupted = line(1, "u0", None, "user", "[Request interrupted by user]")
    more = [line(5, "u5", "a2", "user", "more"), line(6, "a6", "u5", "assistant", "{")]
    write_log(here / "logs/a.jsonl", interrupted, {**LINES[0], "parentUuid": "u0"}, LINES[1], *more)
    return here


def test_messages_are_counted_as_they_stand_once_cleaning_is_done(noisy):
    run(**CLEANED)
    assert [message["content"] for message in written()[0]["messages"]] == ["hi", "hello", "more", "{"]
    assert [(row["message"], row["status"]) for row in report("replies.jsonl")] == [(1, "carried"), (3, "carried")]
    run(cleanup=())
    assert [row["message"] for row in report("replies.jsonl")] == [2, 4]


def test_findings_have_their_lines_once_cleaning_is_done(here):
    call = [{"type": "tool_use", "id": "t", "name": "", "input": {}}]
    interrupted = line(1, "u0", None, "user", "[Request interrupted by user]")
    write_log(here / "logs/a.jsonl", interrupted, LINES[0], line(2, "a2", "u1", "assistant", call))
    run(**CLEANED)
    assert [(each["line"], each["message"]) for each in findings("tool-call-name")] == [(3, 1)]


# Runs


def test_workers_and_reruns_give_the_same_bytes(logs):
    options = Options(anonymize=False, trace_replies=True, conversations="all")
    write_log(logs / "b.jsonl", *({**each, "sessionId": "s2"} for each in LINES))
    convert("logs", "one", options)
    convert("logs", "two", Options(**{**{name: getattr(options, name) for name in options.__slots__}, "workers": 2}))
    assert comparable("one") == comparable("two")
    write_log(logs / "c.jsonl", *({**each, "sessionId": "s3"} for each in LINES))
    assert convert("logs", "one", options).reused == 8
    convert("logs", "full", options)
    assert comparable("one") == comparable("full")
