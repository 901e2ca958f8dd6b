"""Conversations of agents' files in a run: which become records, what becomes of each reply, and every sum."""

import gzip
import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.results.verify import verify
from chatsquash.translate.files import Translation, write_all
from tests.conftest import cases, table, write_log
from tests.outputs import comparable, findings, manifest, report


def line(second, key, parent, role, words, **more):
    message = {"role": role, "content": words}
    if role == "assistant":
        message |= {"model": "claude-x", "id": f"m{key}"}
    timestamp = f"2026-02-01T12:00:{second:02}Z"
    held = {"sessionId": "s1", "uuid": key, "parentUuid": parent, "type": role, "timestamp": timestamp}
    return {**held, "message": message, **more}


def compaction(second, key):
    return {**line(second, key, None, "system", ""), "subtype": "compact_boundary", "content": "Conversation compacted"}


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


@cases(
    "options, kinds, not_chosen",
    ({}, KINDS, {}),
    ({"conversations": "all"}, KINDS, {}),
    ({"conversations": "all", "subagents": False}, KINDS[:3], {"subagent": 1}),
    ({"conversations": "all", "side": False}, KINDS, {}),
    ({"conversations": "main"}, KINDS[:1], {"branch": 1, "main": 1, "subagent": 1}),
    ({"conversations": "last"}, ["main"], {"branch": 1, "compacted": 1, "subagent": 1}),
    ({"conversations": "last", "sessions_by": "file"}, KINDS[:1], {"branch": 1, "main": 1, "subagent": 1}),
    ({"sessions_by": "file"}, KINDS[:1], {"branch": 1, "main": 1, "subagent": 1}),
)
def test_which_conversations_become_records(logs, options, kinds, not_chosen):
    summary = run(**options)
    assert last_words() == [ENDS[kind] for kind in kinds]
    assert manifest()["counts"]["conversations"] == {
        "seen": 4, "written": len(kinds), "not_chosen": not_chosen, "left_out": 0, "filtered": 0, "duplicates": 0,
    }  # fmt: skip
    assert summary.complete
    assert not summary.left_out
    assert verify(Path("out"), logs=True).problems == []


@cases(
    "options, lost",
    ({}, {}),
    ({"conversations": "all"}, {}),
    ({"conversations": "all", "subagents": False}, {"subagent": 1}),
    ({"conversations": "main"}, {"branch": 1, "compacted": 3, "subagent": 1}),
    ({"conversations": "last"}, {"branch": 1, "compacted": 1, "subagent": 1}),
    ({"sessions_by": "file"}, {"branch": 1, "compacted": 3, "subagent": 1}),
    ({"min_turns": 2}, {"filtered": 2}),
    ({"conversations": "main", "min_turns": 2}, {"branch": 1, "compacted": 3, "filtered": 1, "subagent": 1}),
)
def test_every_reply_is_counted_once(logs, options, lost):
    run(**options)
    counts = manifest()["counts"]
    carried = 6 - sum(lost.values())
    assert counts["replies"] == {"logged": 6, "carried": carried, "rewritten": 0, "lost": lost}
    rows = report("replies.jsonl")
    assert len(rows) == 6
    assert Counter(row["why"] for row in rows if row["why"]) == lost


def test_the_summary_and_the_session_table_tell_of_the_replies(logs):
    assert table(run())["replies"] == "6 carried"
    rows = [(row["replies"]["logged"], row["conversations"], row["kind"]) for row in report("sessions.jsonl")]
    assert rows == [(1, 1, None), (1, 1, None), (3, 1, None), (1, 1, None)]


def test_reasoning_is_counted_and_so_is_what_was_withheld(logs):
    run()
    assert manifest()["counts"]["reasoning"] == {"logged": 1, "carried": 1, "withheld": 1}
    assert [each["text"] for each in findings("reasoning-withheld")] == [
        "the reasoning of 1 reply was withheld by the provider"
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
    summary = run(preset="hf", media="refuse")
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


def of_another_session(name):
    """The lines of another session, in which everything happens otherwise later."""
    times = ({**each, "timestamp": each["timestamp"].replace("2026-", f"202{name[-1]}-")} for each in LINES)
    ids = ("uuid", "parentUuid", "logicalParentUuid")
    return [{**each, "sessionId": name} | {key: name + each[key] for key in ids if each.get(key)} for each in times]


def test_workers_and_reruns_give_the_same_bytes(logs):
    options = Options(anonymize=False, trace_replies=True, conversations="all")
    write_log(logs / "b.jsonl", *of_another_session("s2"))
    convert("logs", "one", options)
    convert("logs", "two", replace(options, workers=2))
    assert comparable("one") == comparable("two")
    write_log(logs / "c.jsonl", *of_another_session("s3"))
    assert convert("logs", "one", options).reused == 8
    convert("logs", "full", options)
    assert comparable("one") == comparable("full")


# Sub-agents in files of their own

AGENT = [agent(7, "g1", None, "user", "Look."), agent(8, "g2", "g1", "assistant", "Found it.")]
CALLER = [each for each in LINES if each not in AGENT and "toolUseResult" not in each]
META = {"agentType": "Explore", "toolUseId": "t1"}


def two_calls():
    """A session whose first conversation and whose compacted one hold a call each; only the file beside tells which."""
    again = task("t2")
    more = [line(15, "u15", "a14", "user", "again"), line(16, "a16", "u15", "assistant", again)]
    lines = [*LINES[:2], *CALLER[4:6], *compacted_after("a6"), *more]
    return [*lines, line(17, "u17", "a16", "user", answer("t2", "Found it."))]


def compacted_after(parent):
    boundary = {**compaction(11, "c11"), "logicalParentUuid": parent}
    return [boundary, *LINES[11:]]


@pytest.fixture
def beside(here):
    write_log(here / "logs/p/s1.jsonl", *two_calls())
    write_log(here / "logs/p/s1/subagents/agent-g1.jsonl", *AGENT)
    tell(here, "t1")
    return here


def tell(here, call_id):
    path = here / "logs/p/s1/subagents/agent-g1.meta.json"
    path.write_text(json.dumps({**META, "toolUseId": call_id}))


def callers():
    """The kinds of the conversations that sub-agents come from."""
    kinds = {row["conversation"]: row["kind"] for row in report("sessions.jsonl")}
    return [kinds.get(row["parent"]) for row in report("sessions.jsonl") if row["kind"] == "subagent"]


def test_a_sub_agents_file_comes_from_the_conversation_that_holds_its_call(beside):
    run(conversations="all")
    assert [(row["kind"], row["session"]) for row in report("sessions.jsonl")] == [
        ("subagent", "s1"), ("compacted", "s1"), ("main", "s1"),
    ]  # fmt: skip
    assert callers() == ["main"]
    assert {row["kind"]: row["why"] for row in report("replies.jsonl")} == dict.fromkeys(KINDS[::2] + KINDS[3:])


def test_main_leaves_a_sub_agents_file_out(beside):
    summary = run(conversations="main")
    assert [record["messages"][0]["content"] for record in written()] == ["In short: found."]
    assert manifest()["counts"]["conversations"]["not_chosen"] == {"main": 1, "subagent": 1}
    assert summary.complete


def test_a_rerun_sees_that_the_file_beside_a_sub_agent_changed(beside):
    run(conversations="all")
    assert run(conversations="all").unchanged
    tell(beside, "t2")
    again = run(conversations="all")
    assert (again.unchanged, again.reused, callers()) == (False, 2, ["compacted"])


def test_a_rerun_sees_that_the_session_of_a_sub_agent_goes_on(beside):
    run(conversations="all")
    tell(beside, "t2")
    run(conversations="all")
    more = [line(18, "a18", "u17", "assistant", "So it is.")]
    write_log(beside / "logs/p/s1.jsonl", *two_calls(), *more)
    run(conversations="all")
    assert callers() == ["compacted"]


@cases("change, expected",
    ("no file beside", lambda at: at.with_name("agent-g1.meta.json").unlink(), ["main"]),
    ("one that is no JSON", lambda at: at.with_name("agent-g1.meta.json").write_text("{"), ["main"]),
    ("one that names no call", lambda at: at.with_name("agent-g1.meta.json").write_text("[3]"), ["main"]),
    ("one that names another", lambda at: at.with_name("agent-g1.meta.json").write_text('{"toolUseId": "t9"}'), ["main"]),
    ("no session", lambda at: (at.parents[2] / "s1.jsonl").unlink(), [None]),
    ("a session that is broken", lambda at: (at.parents[2] / "s1.jsonl").write_text('{"a": 1}\n'), [None]),
)  # fmt: skip
def test_a_sub_agent_of_which_less_is_told_is_of_the_session_all_the_same(beside, change, expected):
    change(beside / "logs/p/s1/subagents/agent-g1.jsonl")
    run(conversations="all", on_invalid="keep")
    assert callers() == expected


def test_a_compressed_sub_agent_has_its_file_beside(beside):
    path = beside / "logs/p/s1/subagents/agent-g1.jsonl"
    tell(beside, "t2")
    path.with_suffix(".jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    run(conversations="all")
    assert callers() == ["compacted"]


def test_an_older_sub_agent_lies_beside_its_session(here):
    write_log(here / "logs/s1.jsonl", *LINES[:2], *CALLER[4:6])
    write_log(here / "logs/agent-g1.jsonl", *AGENT)
    run(conversations="all")
    assert callers() == ["main"]


SPLIT = {"split": "train=0.5,test=0.5", "conversations": "all", "metadata": True, "format": "jsonl"}


@pytest.mark.parametrize("split_by", ["prompt", "session", "scenario", "day"])
@pytest.mark.parametrize("conversations", [None, "all"])
def test_all_conversations_of_a_session_are_in_one_split(here, split_by, conversations):
    for number in range(12):
        lines = [{**each, "sessionId": f"s{number}"} for each in two_calls()]
        lines[0] = {**lines[0], "message": {"role": "user", "content": f"hi {number}"}}
        write_log(here / f"logs/s{number}.jsonl", *lines)
        inner = [
            {**each, "sessionId": f"s{number}", "timestamp": f"2026-03-{number + 1:02}T12:00:00Z"} for each in AGENT
        ]
        write_log(here / f"logs/s{number}/subagents/agent-g1.jsonl", *inner)
    run(**{**SPLIT, "conversations": conversations}, split_by=split_by)
    splits: dict[str, set[str]] = {}
    for path in Path("out/data").iterdir():
        for record in path.read_text("utf-8").splitlines():
            splits.setdefault(json.loads(record)["session_id"], set()).add(path.name.split("-")[0])
    assert len(splits) == 12
    assert {len(each) for each in splits.values()} == {1}
    assert len(set.union(*splits.values())) == (1 if split_by == "day" else 2)


def gemini(session, *messages, **more):
    start = {"sessionId": session, "projectHash": "p", "startTime": "2026-02-01T12:00:00Z", **more}
    return [
        start,
        *({"id": f"{session}{at}", "timestamp": "2026-02-01T12:00:01Z", **each} for at, each in enumerate(messages)),
    ]


def of_gemini(here):
    called = {"id": "c1", "name": "codebase", "args": {"q": "Look."}, "agentId": "b-2", "result": "Found it."}
    asked, sent = {"type": "user", "content": "hi"}, {"type": "gemini", "content": "", "toolCalls": [called]}
    path = here / "logs/chats"
    write_log(path / "session-2026-a1b2c3d4.jsonl", *gemini("a1b2c3d4-1", asked, sent))
    inner = [{"type": "user", "content": "Look."}, {"type": "gemini", "content": "Found it."}]
    write_log(path / "a1b2c3d4-1/b-2.jsonl", *gemini("b-2", *inner, kind="subagent"))


def rollout(session, *words, **more):
    said = [
        {
            "type": "message",
            "role": role,
            "content": [{"type": "input_text" if role == "user" else "output_text", "text": each}],
        }
        for role, each in zip(("user", "assistant"), words, strict=True)
    ]
    lines = [("session_meta", {"id": session, **more}), *(("response_item", each) for each in said)]
    return [
        {"timestamp": f"2026-02-01T12:00:{at:02}Z", "type": of, "payload": each} for at, (of, each) in enumerate(lines)
    ]


def of_codex(here):
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "a-1"}}}
    write_log(here / "logs/rollout-2026-02-01T12-00-00-a-1.jsonl", *rollout("a-1", "hi", "hello"))
    write_log(here / "logs/rollout-2026-02-01T12-00-01-b-2.jsonl", *rollout("b-2", "Look.", "Found it.", source=source))


OTHERS = [("gemini_cli", of_gemini), ("codex", of_codex)]


@pytest.mark.parametrize("name, write", OTHERS, ids=[row[0] for row in OTHERS])
def test_sub_agents_of_other_agents_come_from_their_sessions(here, name, write):
    write(here)
    run(conversations="all")
    assert callers() == ["main"]
    run(conversations="main")
    assert manifest()["counts"]["conversations"]["not_chosen"] == {"subagent": 1}


@pytest.mark.parametrize("name, write", OTHERS, ids=[row[0] for row in OTHERS])
def test_they_are_in_one_split_with_them(here, name, write):
    write(here)
    for seed in range(8):
        run(split="train=0.5,test=0.5", format="jsonl", seed=seed)
        assert len(list(Path("out/data").iterdir())) == 1


def test_a_name_of_a_session_that_is_a_path_names_no_file(here):
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "../../secret/*"}}}
    write_log(here / "logs/a.jsonl", *rollout("b-2", "Look.", "Found it.", source=source))
    run(conversations="all")
    assert callers() == [None]


# Events in files of their own

EVENTS = [
    {"kind": "SystemPromptEvent", "source": "agent", "system_prompt": {"type": "text", "text": "Be brief."}, "tools": []},
    {"kind": "MessageEvent", "source": "user", "llm_message": {"role": "user", "content": [{"type": "text", "text": "hi"}]}},
    {"kind": "MessageEvent", "source": "agent", "llm_message": {"role": "assistant", "content": [{"type": "text", "text": "ho"}]}},
]  # fmt: skip
STATE = {"id": "abc", "agent": {"llm": {"model": "small-1"}}, "execution_status": "finished"}


def event(number, here):
    return here / f"logs/abc/events/event-{number:05}-e{number}.json"


@pytest.fixture
def openhands(here):
    for number, each in enumerate(EVENTS):
        stamped = {"id": f"e{number}", "timestamp": f"2026-02-01T12:00:0{number}Z", **each}
        write_log(event(number, here), stamped)
    write_log(here / "logs/abc/base_state.json", STATE)
    return here


def test_events_in_files_of_their_own_are_one_session(openhands):
    summary = run(only_model=("small-1",))
    assert [message["role"] for message in written()[0]["messages"]] == ["system", "user", "assistant"]
    assert [(row["session"], row["model"], row["start"]) for row in report("sessions.jsonl")] == [
        ("abc", "small-1", "2026-02-01T12:00:00Z")
    ]
    assert (summary.sessions, dict(summary.others)) == (1, {"part of another file": 3})


def test_a_rerun_sees_events_that_are_new(openhands):
    run()
    assert run().unchanged
    write_log(event(3, openhands), {"id": "e3", "timestamp": "2026-02-01T12:00:03Z", **EVENTS[1]})
    assert not run().unchanged
    assert len(written()[0]["messages"]) == 4


def test_an_event_that_cannot_be_read_costs_itself_alone(openhands):
    event(1, openhands).write_text("{")
    run()
    assert [message["role"] for message in written()[0]["messages"]] == ["system", "assistant"]
    assert "'event that cannot be read' 1" in findings("not-read")[0]["text"]


def test_events_without_a_file_above_them_are_read_by_themselves(openhands):
    (openhands / "logs/abc/base_state.json").unlink()
    assert run().sessions == 3


def test_events_that_are_too_large_together_are_not_read(openhands):
    event(1, openhands).write_text(
        json.dumps({**EVENTS[1], "id": "e1", "timestamp": "2026-02-01T12:00:00Z", "x": [{}] * 20_000})
    )
    run(max_memory=1_000_000)
    assert [each["code"] for each in findings("unreadable-log")] == ["unreadable-log"]


# Agents that Claude Code sends for itself


def aside(name):
    """What the session was up to its compaction, given once more to an agent of Claude Code's own."""
    lines = [{**each, "isSidechain": True, "agentId": name} for each in [*LINES[:2], *CALLER[4:6]]]
    lines = [
        {**each, "uuid": f"x{each['uuid']}", "parentUuid": each["parentUuid"] and f"x{each['parentUuid']}"}
        for each in lines
    ]
    more = [line(10, "s1", "xa6", "user", "Sum up."), line(10, "s2", "s1", "assistant", "In short: found.")]
    return [*lines, *({**each, "isSidechain": True, "agentId": name} for each in more)]


@pytest.mark.parametrize("name", ["acompact-1f", "aprompt_suggestion-1f", "aside_question-1f"])
def test_an_agent_of_claude_codes_own_is_a_side_request(here, name):
    write_log(here / "logs/s1.jsonl", *LINES)
    write_log(here / f"logs/s1/subagents/agent-{name}.jsonl", *aside(name))
    run(conversations="all")
    assert [(row["kind"], row["turns"]) for row in report("sessions.jsonl")][:1] == [("side", 3)]
    rows = [row for row in report("replies.jsonl") if row["kind"] == "side"]
    assert [(row["message"], row["loss"]) for row in rows] == [(5, 1)]
    (main,) = {row["conversation"] for row in report("replies.jsonl") if row["kind"] == "main"}
    assert {row["parent"] for row in rows} == {main}
    run(conversations="all", side=False)
    assert manifest()["counts"]["conversations"]["not_chosen"] == {"side": 1}
    assert manifest()["counts"]["replies"]["lost"] == {"side-request": 1}


def test_a_compaction_that_such_an_agent_was_given_once_more_is_none_of_its_conversations(here):
    again = [
        {**each, "isSidechain": True, "agentId": "acompact-1f"} for each in LINES if each["uuid"] not in ("g1", "g2")
    ]
    write_log(here / "logs/s1/subagents/agent-acompact-1f.jsonl", *again)
    run(conversations="all")
    assert [(row["kind"], row["why"], row["message"]) for row in report("replies.jsonl")] == [("side", None, 2)]


def test_events_in_files_of_their_own_are_translated_as_one_conversation(openhands):
    done = write_all(["logs"], Translation("openai_chat", "out", lossless=False), io.BytesIO(), io.BytesIO())
    assert (done.written, [name for name in done.ignored if "part of" in name]) == (1, [])
    (path,) = Path("out").rglob("*.json")
    assert [message["role"] for message in json.loads(path.read_bytes())["messages"]] == ["system", "user", "assistant"]


def test_a_reply_that_a_modifier_divides_stands_at_its_first_message(here):
    both = [{"type": "text", "text": "I look."}, *task("t1")]
    lines = [LINES[0], line(2, "a2", "u1", "assistant", both), line(3, "u3", "a2", "user", answer("t1", "x"))]
    write_log(here / "logs/a.jsonl", *lines, line(4, "a4", "u3", "assistant", "So."))
    run(split_text_and_calls=True)
    assert [message["role"] for message in written()[0]["messages"]][1:3] == ["assistant", "assistant"]
    assert [(row["message"], row["loss"]) for row in report("replies.jsonl")] == [(1, 1), (4, 1)]


def test_findings_have_their_lines_where_a_system_prompt_is_supplied(here):
    call = [{"type": "tool_use", "id": "t", "name": "", "input": {}}]
    write_log(here / "logs/a.jsonl", LINES[0], line(2, "a2", "u1", "assistant", call))
    run(system_file=b"Be brief.")
    assert [(each["line"], each["message"]) for each in findings("tool-call-name")] == [(2, 2)]


def test_a_sub_agent_that_another_one_began_comes_from_that(beside):
    outer = beside / "logs/p/s1/subagents/agent-g1.jsonl"
    nested = [agent(7, "g1", None, "user", "Look."), agent(8, "g2", "g1", "assistant", task("t7"))]
    write_log(
        outer, *nested, agent(9, "g3", "g2", "user", answer("t7", "No.")), agent(9, "g4", "g3", "assistant", "None.")
    )
    inner = [{**each, "agentId": "h1", "uuid": f"h{each['uuid']}", "parentUuid": None} for each in AGENT]
    inner[1]["parentUuid"] = inner[0]["uuid"]
    write_log(outer.with_name("agent-h1.jsonl"), *inner)
    outer.with_name("agent-h1.meta.json").write_text(json.dumps({**META, "toolUseId": "t7"}))
    run(conversations="all")
    assert callers() == ["main", "subagent"]
    tell(beside, "t2")
    run(conversations="all")
    assert callers() == ["compacted", "subagent"]


def test_each_session_of_a_file_has_a_chain_of_its_own(here):
    def said(role, words, agent_sees=True, user_sees=True):
        seen = {"agentVisible": agent_sees, "userVisible": user_sees}
        return {"role": role, "created": 1770105600, "content": [{"type": "text", "text": words}], "metadata": seen}

    before = [said("user", "hi", agent_sees=False), said("assistant", "ho", agent_sees=False)]
    summary = [said("user", "In short.", user_sees=False), said("assistant", "I go on.", user_sees=False)]
    compacted = [*before, *summary, said("user", "more"), said("assistant", "fine")]
    lines = [
        {"id": "s1", "working_dir": "/w", "description": "d", "conversation": compacted},
        {"id": "s2", "working_dir": "/w", "description": "d", "conversation": [said("user", "a"), said("assistant", "b")]},
        {"id": "s3", "working_dir": "/w", "session_type": "sub_agent", "parent_session_id": "s2", "description": "d",
         "conversation": [said("user", "c"), said("assistant", "d")]},
    ]  # fmt: skip
    write_log(here / "logs/a.jsonl", *lines)
    run(conversations="main")
    assert last_words() == ["fine", "b"]
    assert manifest()["counts"]["replies"]["lost"] == {"compacted": 1, "subagent": 1}
    run(conversations="all", split="train=0.5,test=0.5", format="jsonl")
    assert callers() == ["main"]
    assert {row["kind"]: row["session"] for row in report("sessions.jsonl")}["subagent"] == "s3"
