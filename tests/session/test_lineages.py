"""Forks, resumed sessions and sub-agents repeat another log: each reply counts once in a run, in the log it came from.

The shapes of Claude Code, Codex and Pi are those of recordings: `claude --resume ID --fork-session` writes copies with
the same ids and times after its own first line, `pi --fork` names its parent's file, Codex writes a second header.
"""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.divide import divide
from chatsquash.conversion.shards.merge import merge
from chatsquash.conversion.shards.place import Shard
from tests.conftest import cases, write_log
from tests.outputs import comparable, findings, manifest, report

WEIGHTS = Options(anonymize=False, loss="weight")


def claude(second, key, parent, words, role="user", **more):
    """A line of a session that is named when it is written."""
    message = {"role": role, "content": words}
    if role == "assistant":
        message |= {"model": "m", "id": f"msg-{key}", "stop_reason": "end_turn"}
    time = f"2026-03-01T08:00:{second:02}.5Z"
    return {"type": role, "uuid": key, "parentUuid": parent, "timestamp": time, "message": message, **more}


def reply(second, key, parent, words, **more):
    return claude(second, key, parent, words, "assistant", **more)


def opening(second):
    """What Claude Code writes when it starts."""
    return {"type": "queue-operation", "operation": "enqueue", "timestamp": f"2026-03-01T08:00:{second:02}Z"}


SHARED = [claude(1, "u1", None, "Which bird?"), reply(2, "a1", "u1", "A wren.")]
MORE = [claude(3, "u2", "a1", "Its colour?"), reply(4, "a2", "u2", "Brown.")]
FORK = [claude(20, "u3", "a1", "Its song?"), reply(21, "a3", "u3", "Loud.")]
LATER = [claude(30, "u4", "a2", "Its size?"), reply(31, "a4", "u4", "Small.")]


def put(name, *lines, session=None):
    write_log(Path("logs") / f"{name}.jsonl", *({**each, "sessionId": session or name} for each in lines))


def run(options=WEIGHTS, out="out", logs="logs"):
    convert(logs, out, replace(options, full=True))
    return records(out)


def records(out="out"):
    lines = [line for path in sorted(Path(out).glob("*.jsonl")) for line in path.read_text().splitlines()]
    return [
        [(each["content"], each.get("weight")) for each in json.loads(line)["messages"] if each["role"] == "assistant"]
        for line in lines
    ]


def trained(found):
    return sorted(words for record in found for words, weight in record if weight)


# Which log a reply counts in


def test_a_fork_has_the_replies_of_its_parent_as_context(here):
    put("parent", opening(0), *SHARED, *MORE)
    put("a-fork", opening(19), *SHARED, *FORK)
    assert run() == [[("A wren.", 0), ("Loud.", 1)], [("A wren.", 1), ("Brown.", 1)]]


def test_a_parent_that_continues_after_the_fork_is_the_parent(here):
    put("parent", opening(0), *SHARED, claude(29, "u4", "a1", "Its size?"), reply(31, "a4", "u4", "Small."))
    put("a-fork", opening(19), *SHARED, *FORK)
    assert run()[0] == [("A wren.", 0), ("Loud.", 1)]


def test_a_parent_that_the_file_names_owns_its_replies_without_any_other_evidence(here):
    named = [{**each, "forkedFrom": {"sessionId": "parent", "messageUuid": "a1"}} for each in SHARED]
    put("parent", *SHARED, *LATER)
    put("a-fork", *named, *FORK)
    assert run()[0] == [("A wren.", 0), ("Loud.", 1)]


def test_a_fork_of_a_fork_trains_on_its_own_reply_alone(here):
    put("c", opening(0), *SHARED, *MORE)
    put("b", opening(19), *SHARED, *FORK)
    put("a", opening(40), *SHARED, *FORK, claude(41, "u5", "a3", "And?"), reply(42, "a5", "u5", "That is all."))
    assert trained(run()) == ["A wren.", "Brown.", "Loud.", "That is all."]
    assert records()[0] == [("A wren.", 0), ("Loud.", 0), ("That is all.", 1)]


def test_without_its_parent_the_replies_count_in_the_fork(here):
    put("a-fork", opening(19), *SHARED, *FORK)
    assert run() == [[("A wren.", 1), ("Loud.", 1)]]


def test_a_fork_in_which_nothing_happened_gives_no_record(here):
    put("parent", opening(0), *SHARED, *MORE)
    put("a-fork", opening(19), *SHARED)
    assert run() == [[("A wren.", 1), ("Brown.", 1)]]
    counts = manifest()["counts"]
    assert counts["sessions"]["filtered"] == {"copy": 1}
    assert counts["replies"] == {"logged": 2, "carried": 2, "rewritten": 0, "lost": {}, "copied": 1}
    assert counts["conversations"]["seen"] == 1


@cases("names", ("newer files name the parent", True), ("older ones do not", False))
def test_a_fork_after_a_compaction_begins_with_the_summary(here, names):
    """Claude Code copies the lines from the compaction on, here with the reply that this kept."""
    kept = {"preservedSegment": {"headUuid": "a2", "anchorUuid": "s1", "tailUuid": "a2"}}
    summary = [
        {"type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": None, "compactMetadata": kept},
        claude(9, "s1", "b1", "This session is continued: a wren, brown.", isCompactSummary=True),
    ]
    put(
        "parent",
        opening(0),
        *SHARED,
        *MORE,
        *summary,
        claude(10, "u5", "a2", "Its nest?"),
        reply(11, "a5", "u5", "A ball."),
    )
    named = {"requestSessionId": "parent"} if names else {}
    copied = (
        reply(4, "a2", "s1", "Brown.", **named),
        claude(10, "u5", "a2", "Its nest?"),
        reply(11, "a5", "u5", "A ball."),
    )
    put("a-fork", opening(19), *summary, *copied, claude(20, "u6", "a5", "Its eggs?"), reply(21, "a6", "u6", "Six."))
    assert trained(run()) == ["A ball.", "A wren.", "Brown.", "Six."]
    assert records()[0] == [("Brown.", 0), ("A ball.", 0), ("Six.", 1)]


@cases(
    "changes",
    ("another content under the id", {"message": {"role": "assistant", "content": "A crow.", "id": "msg-a1"}}),
    ("another id and another time", {"uuid": "b1", "timestamp": "2026-03-01T08:00:02.6Z"}),
)
def test_what_is_not_the_same_reply_counts_in_both_logs(here, changes):
    other = {**SHARED[1], **changes}
    put("a", SHARED[0], SHARED[1], claude(3, "u2", SHARED[1]["uuid"], "Thanks."))
    put("b", SHARED[0], other, claude(4, "u3", other["uuid"], "Thanks."))
    assert len(trained(run())) == 2


def test_the_same_content_at_the_same_times_is_a_copy_under_new_ids(here):
    put("a", *SHARED, *MORE)
    put("b", *({**each, "uuid": f"new-{each['uuid']}", "parentUuid": None} for each in SHARED))
    assert trained(run()) == ["A wren.", "Brown."]


# Other agents


def pi(second, key, parent, role, words):
    message = {"role": role, "content": [{"type": "text", "text": words}], "stopReason": "stop"}
    time = f"2026-03-01T09:00:{second:02}Z"
    return {"type": "message", "id": key, "parentId": parent, "timestamp": time, "message": message}


def test_pi_names_the_file_of_the_parent(here):
    head = {"type": "session", "version": 3, "cwd": "/srv", "id": "p", "timestamp": "2026-03-01T09:00:00Z"}
    shared = [pi(1, "k1", None, "user", "Which bird?"), pi(2, "k2", "k1", "assistant", "A wren.")]
    write_log(here / "logs/b_p.jsonl", head, *shared)
    fork = {**head, "id": "f", "timestamp": "2026-03-01T09:00:20Z", "parentSession": "/home/x/sessions/b_p.jsonl"}
    own = [pi(21, "k3", "k2", "user", "Its song?"), pi(22, "k4", "k3", "assistant", "Loud.")]
    write_log(here / "logs/a_f.jsonl", fork, *shared, *own)
    assert run() == [[("A wren.", 0), ("Loud.", 1)], [("A wren.", 1)]]


def codex(second, of, **payload):
    return {
        "timestamp": f"2026-03-01T10:00:{second:02}.{random.Random(second).randrange(999):03}Z",
        "type": of,
        "payload": payload,
    }


def item(second, role, words):
    kind = "output_text" if role == "assistant" else "input_text"
    return codex(second, "response_item", type="message", role=role, content=[{"type": kind, "text": words}])


def turn(second, name):
    return codex(second, "turn_context", turn_id=name, model="m")


def codex_parent(offset=0):
    lines = turn(1 + offset, "t1"), item(1 + offset, "user", "Which bird?"), item(2 + offset, "assistant", "A wren.")
    return [codex(offset, "session_meta", id="parent"), *lines]


@cases(
    "header",
    ("a fork", {"forked_from_id": "parent"}),
    ("a sub-agent", {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "parent"}}}}),
)
def test_a_codex_file_repeats_the_turns_of_its_parent_at_other_times(here, header):
    """The first reply of its own comes at once after the copies."""
    write_log(here / "logs/b.jsonl", *codex_parent())
    own = [turn(44, "t2"), item(44, "user", "Its song?"), item(45, "assistant", "Loud.")]
    write_log(here / "logs/a.jsonl", codex(40, "session_meta", id="child", **header), *codex_parent(40), *own)
    assert run() == [[("A wren.", 0), ("Loud.", 1)], [("A wren.", 1)]]


def exported(name, created, *said):
    messages = [
        {
            "info": {
                "id": f"{name}-{at}",
                "role": ("user", "assistant")[at % 2],
                "time": {"created": time},
                "finish": "stop",
            },
            "parts": [{"id": f"{name}-p{at}", "type": "text", "text": words}],
        }
        for at, (time, words) in enumerate(said)
    ]
    return {"info": {"id": f"ses_{name}", "time": {"created": created}}, "messages": messages}


def test_exports_of_opencode_have_copies_under_new_ids(here):
    shared = [(1_770_000_001_000, "Which bird?"), (1_770_000_002_000, "A wren.")]
    own = [(1_770_000_021_000, "Its song?"), (1_770_000_022_000, "Loud.")]
    write_log(here / "logs/b.json", exported("b", 1_770_000_000_000, *shared))
    write_log(here / "logs/a.json", exported("a", 1_770_000_020_000, *shared, *own))
    assert run() == [[("A wren.", 0), ("Loud.", 1)], [("A wren.", 1)]]


def test_qwen_code_names_the_session_that_a_branch_repeats(here):
    def qwen(second, key, parent, role, words, name):
        more = {"usageMetadata": {"promptTokenCount": 1}, "model": "q"} if role == "assistant" else {}
        message = {"role": "model" if more else "user", "parts": [{"text": words}]}
        head = {"uuid": key, "parentUuid": parent, "sessionId": name, "timestamp": f"2026-03-01T11:00:{second:02}Z"}
        return {**head, "type": role, "message": message, **more}

    def shared(name):
        return [qwen(1, "u1", None, "user", "Which?", name), qwen(2, "a1", "u1", "assistant", "A wren.", name)]

    fork = [{**each, "forkedFrom": {"sessionId": "b", "messageUuid": each["uuid"]}} for each in shared("a")]
    own = [qwen(21, "u2", "a1", "user", "Its song?", "a"), qwen(22, "a2", "u2", "assistant", "Loud.", "a")]
    write_log(here / "logs/b.jsonl", *shared("b"))
    write_log(here / "logs/a.jsonl", *fork, *own)
    assert run() == [[("A wren.", 0), ("Loud.", 1)], [("A wren.", 1)]]


@pytest.mark.parametrize("rows", [b"\n", b"\0\0\0\n", b"\0\0"], ids=["blank", "NULs", "NULs before a line"])
def test_rows_before_the_first_line_hide_no_copies(here, rows):
    put("parent", *SHARED, *MORE)
    put("a-fork", *SHARED, *FORK)
    for path in Path("logs").glob("*.jsonl"):
        path.write_bytes(rows + path.read_bytes())
    assert trained(run()) == ["A wren.", "Brown.", "Loud."]


@pytest.mark.parametrize("call, is_copy", [("call_0123456789abcdef", True), ("call_1", False)])
def test_without_times_and_ids_of_messages_the_ids_of_calls_decide(here, call, is_copy):
    def item(role, words, **more):
        return {"message": {"role": role, "content": words, **more}}

    called = [{"id": call, "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    state = {"toolCallId": call, "output": [{"content": "brown"}]}
    shared = [
        item("user", "Which bird?"),
        {**item("assistant", "I look.", toolCalls=called), "toolCallStates": [state]},
    ]
    shared.append(item("assistant", "A wren."))
    own = [item("user", "Its song?"), item("assistant", "Loud.")]
    write_log(here / "logs/a.json", {"sessionId": "a", "history": shared})
    write_log(here / "logs/b.json", {"sessionId": "b", "history": [*shared, *own]})
    again = [] if is_copy else ["A wren.", "I look."]
    assert trained(run()) == sorted(["A wren.", "I look.", "Loud.", *again])


# Runs


@pytest.fixture
def forks(here):
    """A parent with seven forks in different places, and other sessions."""
    put("parent", opening(0), *SHARED, *MORE, *LATER)
    for number in range(7):
        before = [*SHARED, *MORE][: 2 + 2 * (number % 2)]
        last = before[-1]["uuid"]
        own = (
            claude(40 + number, f"v{number}", last, f"Q{number}"),
            reply(41 + number, f"b{number}", f"v{number}", f"R{number}"),
        )
        put(f"fork{number}", opening(39 + number), *before, *own)
    for number in range(5):
        alone = (
            claude(number, f"w{number}", None, f"P{number}"),
            reply(number + 1, f"c{number}", f"w{number}", f"S{number}"),
        )
        put(f"other{number}", opening(number), *alone)
    return here


def test_each_reply_is_trained_on_once(forks):
    found = trained(run())
    assert len(found) == len(set(found)) == 3 + 7 + 5


def family(seed):
    """Sessions that fork one another at random, in the order in which they were begun, and all replies."""
    luck = random.Random(seed)
    sessions = {"s0": [opening(0), *SHARED]}
    clock = 2
    for number in range(1, luck.randrange(3, 8)):
        name = luck.choice(list(sessions))
        if luck.random() < 0.5:
            parent, name = name, f"s{number}"
            cut = luck.randrange(1, len(sessions[parent]) // 2 + 1) * 2 + 1
            said = [each for each in sessions[parent] if "uuid" in each][: cut - 1]
            sessions[name] = [opening(clock := clock + 1), *said]
        last = [each for each in sessions[name] if "uuid" in each][-1]["uuid"] if "uuid" in sessions[name][-1] else None
        prompt = claude(clock := clock + 1, f"p{number}", last, f"Prompt {number}")
        sessions[name] += [prompt, reply(clock := clock + 1, f"r{number}", f"p{number}", f"Reply {number}")]
    return sessions, {
        each["message"]["content"] for lines in sessions.values() for each in lines if each["type"] == "assistant"
    }


@pytest.mark.parametrize("seed", range(12))
def test_each_reply_of_forks_is_trained_on_once_after_what_its_session_contains(here, seed):
    sessions, replies = family(seed)
    names = [f"{number:02}" for number in range(len(sessions))]
    random.Random(seed).shuffle(names)
    for name, lines in zip(names, sessions.values(), strict=True):
        put(name, *lines)
    found = run()
    assert trained(found) == sorted(replies)
    contexts = [
        [each["message"]["content"] for each in lines if each["type"] == "assistant"] for lines in sessions.values()
    ]
    assert all([words for words, _ in record] in contexts for record in found)
    first = next(iter(sessions.values()))
    assert all(
        weight == 1 for record in found for words, weight in record if [each for each, _ in record] == contexts[0]
    ), first


def test_workers_and_shards_change_nothing(forks):
    options = replace(WEIGHTS, trace_replies=True)
    run(options)
    convert("logs", "two", replace(options, workers=3, full=True))
    assert comparable("out") == comparable("two")
    divide("logs", Path("shards"), options, 3)
    for number in (1, 2, 3):
        convert_shard(Path("shards"), Shard(number, 3), options)
    merge(Path("shards"))
    assert records("shards") == records("out")


def test_the_order_of_the_arguments_changes_nothing(forks):
    one = run(logs=sorted(map(str, Path("logs").iterdir())))
    other = run(logs=sorted(map(str, Path("logs").iterdir()), reverse=True))
    assert sorted(one) == sorted(other)


def test_a_run_notices_a_fork_that_came_or_went(forks):
    convert("logs", "out", WEIGHTS)
    assert convert("logs", "out", WEIGHTS).reused == 0  # nothing changed at all
    put("new", opening(50), *SHARED, *FORK)
    assert convert("logs", "out", WEIGHTS).reused == 5
    assert trained(records()).count("A wren.") == 1
    Path("logs/parent.jsonl").unlink()
    assert convert("logs", "out", WEIGHTS).reused == 5
    assert trained(records()).count("A wren.") == 1


# Logs of a gateway, joined


def exchange(second, session, name, words, *before):
    asked = [{"role": ("user", "assistant")[at % 2], "content": each} for at, each in enumerate(before)]
    answer = {"message": {"role": "assistant", "content": words}, "finish_reason": "stop"}
    response = {"id": name, "choices": [answer]}
    at = f"2026-03-01T08:00:{second:02}Z"
    return {"session_id": session, "timestamp": at, "request": {"messages": asked}, "response": response}


@cases("logged", ("the fork alone", False), ("both sessions", True))
def test_a_fork_is_joined_with_its_own_session(here, logged):
    put("parent", opening(0), *SHARED)
    put("a-fork", opening(19), *SHARED, *FORK)
    first = exchange(2, "one", "msg-a1", "A wren.", "Which bird?")
    second = exchange(21, "two", "msg-a3", "Loud.", "Which bird?", "A wren.", "Its song?")
    write_log(here / "logs/gateway.jsonl", *([first] if logged else []), second)
    run(replace(WEIGHTS, join=True, sessions_by="id", conversations="all"))
    assert trained(records()) == ["A wren.", "Loud."]


def test_a_reply_of_a_session_that_is_joined_with_none_counts_in_the_log_of_the_gateway(here):
    known = "The bird in the garden is a wren, as its song tells."
    lines = [claude(1, "u1", None, "Which?"), reply(2, "a1", "u1", known), claude(3, "u2", "a1", "And?")]
    more = [
        reply(4, "a2", "u2", "No."),
        claude(5, "u3", "a2", "Why?"),
        reply(6, "a3", "u3", "Size."),
    ]
    put("agent", *lines, *more, claude(7, "u4", "a3", "So?"), reply(8, "a4", "u4", "Right."))
    write_log(here / "logs/gateway.jsonl", exchange(2, "one", "other", known, "Which?"))
    run(replace(WEIGHTS, join=True, sessions_by="id", conversations="all"))
    assert sum(words == known for words in trained(records())) == 1


# What is said


def test_the_report_on_replies_names_copies(here):
    put("parent", opening(0), *SHARED)
    put("a-fork", opening(19), *SHARED, *FORK)
    run(replace(WEIGHTS, trace_replies=True))
    rows = [(row["kind"], row["status"], row["loss"]) for row in report("replies.jsonl")]
    assert rows == [("copy", "carried", 0), ("main", "carried", 1), ("main", "carried", 1)]


def test_records_without_weights_that_repeat_replies_are_reported(here):
    put("parent", opening(0), *SHARED)
    put("a-fork", opening(19), *SHARED, *FORK)
    run(replace(WEIGHTS, loss="none"))
    assert [(each["file"], each["text"][:32]) for each in findings("replies-repeated")] == [
        ("logs/a-fork.jsonl", "1 reply in more than one record ")
    ]
    run()
    assert not findings("replies-repeated")


def test_more_logs_than_are_compared_are_reported(here, monkeypatch):
    monkeypatch.setattr("chatsquash.session.lineages.MOST", 2)
    for number in range(3):
        put(f"s{number}", opening(number), *SHARED)
    run()
    assert [each["text"][:24] for each in findings("copies-not-compared")] == ["begins like 2 other logs"] * 3


def test_samples_and_tokens_count_a_reply_once(here):
    used = {"usage": {"input_tokens": 10, "output_tokens": 2}}
    shared = [SHARED[0], {**SHARED[1], "message": SHARED[1]["message"] | used}]
    put("parent", opening(0), *shared)
    put("a-fork", opening(19), *shared, *FORK)
    run(replace(WEIGHTS, samples="reply"))
    assert trained(records()) == ["A wren.", "Loud."]
    assert [row["usage"]["completion_tokens"] for row in report("sessions.jsonl")] == [None, 2]
