"""Which replies are trained on by model and by step fact: logs, agents' files, samples, pairs, and runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec.structs import astuple

from chatsquash import Options, convert, convert_session, frame
from chatsquash.core.accounting import STEP_FACTS, TrainedReplies
from chatsquash.core.errors import UsageError
from chatsquash.core.outcome import Outcome
from chatsquash.results.stats import stats
from chatsquash.results.stats_table import as_json
from tests.conftest import cases, user, write_log
from tests.outputs import comparable, manifest, report
from tests.trees import logs
from tests.trees.logs import AGENT, READ, Log, calling, result


def outcome(lines: list[Any], **options: Any) -> Outcome:
    """Convert one session."""
    (found,) = convert_session([json.dumps(line) for line in lines], Options(**{"anonymize": False, **options}))
    return found


def flags(found: Outcome) -> list[str]:
    """The flags of the assistant messages of each record."""
    records = [json.loads(record.line)["messages"] for record in found.records]
    return [" ".join(str(each["weight"]) for each in record if each["role"] == "assistant") for record in records]


def switched(*models: str | None) -> list[Any]:
    """A conversation in which each reply is from the next of these models."""
    log, messages = Log(), [AGENT]
    for number, model in enumerate(models):
        messages += [
            user(f"Question {number}?"),
            log.add(*messages, user(f"Question {number}?"), says=f"{number}.", model=model),
        ]
    return log.lines


def looping() -> list[Any]:
    """The same call three times with the same result, then a failed call that is corrected."""
    log, messages = Log(tools=[READ]), [AGENT, user("Mend the failing test.")]
    results = ["def add(): ..."] * 3 + ["Error: no such file", "def sub(): ..."]
    paths = ["a.py"] * 3 + ["b.py", "c.py"]
    for number, (path, text) in enumerate(zip(paths, results, strict=True)):
        call = calling("read_file", json.dumps({"path": path}), f"call_{number}")
        messages += [log.add(*messages, says=call), result(text, f"call_{number}")]
    log.add(*messages, says="The test adds strings.")
    return log.lines


def turn(number: int, role: str, text: str, parent: int | None = None, **fields: Any) -> dict[str, Any]:
    """A line of Claude Code."""
    content = [{"type": "text", "text": text}]
    before = number - 1 if parent is None else parent
    return {
        "type": role,
        "timestamp": f"2026-01-13T10:00:{number:02}Z",
        "version": "2.0.0",
        "cwd": "/",
        "message": {"role": role, "content": content, **fields},
        "uuid": str(number),
        "parentUuid": str(before) if number else None,
        "sessionId": "s",
    }


def said(number: int, text: str, model: str, parent: int | None = None) -> dict[str, Any]:
    return turn(number, "assistant", text, parent, model=model, id=f"r{number}", stop_reason="end_turn")


FILE = [turn(0, "user", "One?"), said(1, "1.", "large"), turn(2, "user", "Two?"), said(3, "2.", "small")]
"""A file of Claude Code with two models."""
ASKED_AGAIN = [turn(0, "user", "Run all the tests."), said(1, "Done.", "large"), turn(2, "user", "run all the tests"), said(3, "All pass.", "large")]  # fmt: skip
REPLY = {"samples": "reply"}


# By model


@cases(
    "lines, options, expected",
    ("one model", switched("a", "b", "a"), {"loss_model": ("a",)}, ["1 0 1"]),
    ("any of several globs", switched("a-1", "b", "c"), {"loss_model": ("a*", "c")}, ["1 0 1"]),
    ("no model", switched("a", "b"), {"loss_model": ("x*",)}, ["0 0"]),
    ("globs tell case", switched("a", "A"), {"loss_model": ("A",)}, ["0 1"]),
    ("a model that is not logged never matches", switched("a", None), {"loss_model": ("*",)}, ["1 0"]),
    ("an empty glob matches nothing either", switched("a", None), {"loss_model": ("",)}, ["0 0"]),
    ("a file of an agent", FILE, {"loss_model": ("small",)}, ["0 1"]),
    ("with facts", looping(), {"loss_model": ("gpt*",), "loss_skip": "failed_call"}, ["1 1 1 0 1 1"]),
)  # fmt: skip
def test_replies_of_other_models_are_context(lines, options, expected):
    found = outcome(lines, loss="weight", **options)
    assert flags(found) == expected
    left = " ".join(expected).count("0")
    whys = found.records[0].flags
    assert whys.get("other-model", 0) + whys.get("failed-call", 0) == left


def test_a_model_is_that_of_the_response():
    lines = switched("asked", "asked")
    lines[1]["response"]["model"] = "given"
    assert flags(outcome(lines, loss="weight", loss_model=("given",))) == ["0 1"]


@cases(
    "lines, model",
    ("a log", switched("a", "b", "a"), "a"),
    ("a file", FILE, "small"),
)
@pytest.mark.parametrize("samples", ["reply", "last", "auto"])
def test_samples_are_those_of_the_model(lines, model, samples):
    template = json.dumps([{"default": "{% for m in messages %}{{ m.content }}|{% endfor %}"}, {}]).encode()
    options = {"template": template} if samples == "auto" else {}
    every = outcome(lines, samples=samples, loss="weight", **options)
    found = outcome(lines, samples=samples, loss="weight", loss_model=(model,), **options)
    assert (
        0
        < sum(record.trained for record in found.records)
        == sum(record.trained_replies[model].replies for record in every.records if model in record.trained_replies)
    )
    assert {name for record in found.records for name in record.trained_replies} == {model}


def test_a_conversation_that_ends_with_another_model_has_no_last_sample():
    found = outcome(switched("a", "b"), samples="last", loss_model=("a",))
    assert (found.records, found.left_out) == ([], "no-sample")


def test_the_reason_is_in_the_report_of_replies():
    found = outcome(switched("b", "a", "b"), **REPLY, loss_model=("a",), trace_replies=True)
    assert [(row.status, row.why, row.loss) for row in found.replies.rows] == [
        ("carried", None, 0), ("carried", None, 1), ("lost", "other-model", 0),
    ]  # fmt: skip
    assert "1 of another model" in next(each.text for each in found.findings if each.code == "replies-lost")


def test_the_other_option_still_goes_by_the_last_reply(here):
    write_log(here / "logs/a.jsonl", *switched("a", "b"))
    assert convert("logs", "out", Options(only_model=("a",))).written == 0
    assert convert("logs", "out", Options(only_model=("b",), replace=True)).written == 1


def test_the_preferred_reply_of_a_pair_is_of_the_model(here):
    lines = logs.regenerated()
    lines[1]["request"]["model"] = "other"
    write_log(here / "logs/a.jsonl", *lines)
    options = {"preset": "hf", "format": "jsonl", "pairs": "logged", "loss": "weight"}
    for globs, count in (((), 1), (("gpt*",), 1), (("other",), 0)):
        convert("logs", f"out{len(globs)}{count}", Options(loss_model=globs, **options))
        assert manifest(f"out{len(globs)}{count}")["counts"]["pairs"] == ({"regenerated": 1} if count else {})


def counterfactual_file() -> list[Any]:
    """A file of Claude Code with a call that failed and the call that corrects it."""

    def call(number: int, path: str) -> dict[str, Any]:
        line = said(number, "", "large")
        line["message"]["content"] = [{"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"path": path}}]
        return line

    def answer(number: int, text: str, *, is_error: bool) -> dict[str, Any]:
        line = turn(number, "user", "")
        line["message"]["content"] = [
            {"type": "tool_result", "tool_use_id": f"c{number - 1}", "content": text, "is_error": is_error}
        ]
        return line

    return [
        turn(0, "user", "Read it."), call(1, "a"), answer(2, "no such file", is_error=True),
        call(3, "b"), answer(4, "text", is_error=False), said(5, "It says text.", "large"),
    ]  # fmt: skip


def test_a_failed_call_may_be_rejected_in_a_pair_although_it_is_not_trained_on(here):
    write_log(here / "logs/a.jsonl", *counterfactual_file())
    options = {"preset": "hf", "format": "jsonl", "pairs": "counterfactual", "loss": "weight"}
    convert("logs", "out", Options(**options))
    convert("logs", "skip", Options(loss_skip="failed_call", **options))
    assert manifest("out")["counts"]["pairs"] == manifest("skip")["counts"]["pairs"] == {"retry": 1}


# By step fact


@cases(
    "lines, kinds, expected",
    ("a failed call", looping(), "failed_call", {"": 5, "failed-call": 1}),
    ("repeated calls", looping(), "repeated_call", {"": 4, "repeated-call": 2}),
    ("a loop", looping(), "loop", {"": 5, "loop": 1}),
    ("the first of two kinds is the reason", looping(), "loop,repeated_call", {"": 4, "repeated-call": 2}),
    ("several kinds with spaces", looping(), " loop , failed_call", {"": 4, "failed-call": 1, "loop": 1}),
    ("kinds that no reply has", looping(), "undone,denied", {"": 6}),
    ("what is truncated is not trained on anyway", looping(), "truncated", {"": 6}),
    ("a file of an agent", ASKED_AGAIN, "asked_again", {"": 1, "asked-again": 1}),
)
def test_replies_with_a_fact_are_context(lines, kinds, expected):
    assert outcome(lines, loss="weight", loss_skip=kinds).records[0].flags == expected


@cases("options", ("a flag", {"loss": "weight"}), ("samples", {"samples": "reply", "preset": "hf"}))
def test_the_older_option_is_the_same_as_one_kind(options):
    first, second, both = (
        outcome(looping(), **options, **skip)
        for skip in (
            {"loss_skip_failed": True},
            {"loss_skip": "failed_call"},
            {"loss_skip": "failed_call", "loss_skip_failed": True},
        )
    )
    assert first == second == both
    with_loop = outcome(looping(), **options, loss_skip="loop", loss_skip_failed=True)
    assert len(with_loop.records) < len(first.records) or with_loop.records[0].flags["loop"] == 1


@cases("lines, kinds", ("a log", looping(), "repeated_call"), ("a file", ASKED_AGAIN, "asked_again"))
def test_samples_leave_out_replies_with_a_fact(lines, kinds):
    every, some = (outcome(lines, **REPLY, loss_skip=skip, metadata=True, format="jsonl") for skip in (None, kinds))
    without = [record for record in every.records if not record.steps[kinds]]
    assert 0 < len(without) < len(every.records)
    assert [record.line for record in some.records] == [record.line for record in without]


@pytest.mark.parametrize("options", [{}, {"preset": "hf"}, {"conversations": "all"}, {"conversations": "main"}])
@pytest.mark.parametrize("lines", [looping(), logs.regenerated(), ASKED_AGAIN, switched("a", "b", None)])
def test_what_is_skipped_stays_in_the_record_but_for_its_flag(lines, options):
    every = outcome(lines, loss="weight", **options)
    some = outcome(lines, loss="weight", loss_skip=",".join(STEP_FACTS), loss_model=("a", "gpt*", "large"), **options)
    none = outcome(lines, loss="weight", loss_model=("nothing",), **options)
    assert len(every.records) == len(some.records) == len(none.records)
    for one, other, last in zip(every.records, some.records, none.records, strict=True):
        assert b'"weight":1' not in last.line
        plain = one.line.replace(b'"weight":1', b'"weight":0')
        assert plain == other.line.replace(b'"weight":1', b'"weight":0') == last.line
        assert other.line.count(b'"weight":1') <= one.line.count(b'"weight":1')


def test_facts_are_those_of_the_conversation_that_a_reply_belongs_to():
    """A branch repeats the request of the trunk's reply; in the trunk, the user does not ask again."""
    log = Log()
    one = log.add(AGENT, user("Run all the tests."), says="They pass.")
    log.add(AGENT, user("Run all the tests."), one, user("run all the tests!"), says="They still pass.")
    two = log.add(AGENT, user("Run all the tests."), one, user("Thanks. Now read the log."), says="It is short.")
    log.add(AGENT, user("Run all the tests."), one, user("Thanks. Now read the log."), two, user("And now?"), says="Done.")  # fmt: skip
    for conversations in ("all", "main", "last"):
        found = outcome(log.lines, conversations=conversations, trace_replies=True)
        assert [row.facts for row in found.replies.rows] == [(), (), (), ()]
    found = outcome(log.lines[:2], conversations="all", trace_replies=True)
    assert [row.facts for row in found.replies.rows] == [("asked_again",), ()]


def test_facts_of_a_branch_in_a_file_are_counted_where_it_repeats_the_trunk():
    more = [turn(4, "user", "Which?", 3), said(5, "All.", "large")]
    lines = [*ASKED_AGAIN, *more, turn(6, "user", "And now?", 1), said(7, "Nothing.", "large", 6)]
    found = convert_session([json.dumps(line) for line in lines], Options(conversations="all", metadata=True, format="jsonl"))  # fmt: skip
    assert [record.steps["asked_again"] for each in found for record in each.records] == [1, 1]


def test_what_only_the_response_shows_is_a_fact_too():
    log = Log()
    one = log.add(AGENT, user("Which test?"), says="The test of", finish="length")
    two = log.add(AGENT, user("Which test?"), one, user("Go on."), says="sums")
    log.add(AGENT, user("Which test?"), one, user("Go on."), two, user("Why?"), says="It", finish=None)
    found = outcome(log.lines, trace_replies=True)
    assert [row.facts for row in found.replies.rows] == [("truncated",), (), ("interrupted",)]
    cut = turn(0, "user", "One?"), turn(1, "assistant", "1", model="a", id="r1", stop_reason="max_tokens")
    assert [row.facts for row in outcome([*cut], trace_replies=True).replies.rows] == [("truncated",)]


def test_nothing_is_searched_for_facts_unless_an_option_needs_them(monkeypatch):
    def search(view: Any) -> Any:
        raise AssertionError(view)

    monkeypatch.setattr("chatsquash.trees.steps.find_steps", search)
    for options in ({}, {"loss": "weight"}, {"conversations": "all"}, REPLY, {"loss": "weight", "loss_model": ("a",)}):
        for lines in (logs.regenerated(), looping(), ASKED_AGAIN):
            assert outcome(lines, **options).records
    for options in (
        {"trace_replies": True},
        {"loss": "weight", "loss_skip": "loop"},
        {"metadata": True, "format": "jsonl"},
    ):
        with pytest.raises(AssertionError):
            outcome(looping(), **options)


def test_many_branches_of_a_long_conversation_take_linear_time(monkeypatch):
    searched = 0

    def search(view: Any) -> dict[int, frozenset[str]]:
        nonlocal searched
        searched += len(view.messages)
        return {}

    monkeypatch.setattr("chatsquash.trees.steps.find_steps", search)
    monkeypatch.setattr("chatsquash.trees.steps._SPARE", 100)
    log, messages = Log(), [AGENT]
    for number in range(40):
        messages += [
            user(f"Question {number}?"),
            log.add(*messages, user(f"Question {number}?"), says=f"Answer {number}."),
        ]
    for number in range(60):
        log.add(*messages, user(f"Otherwise {number}?"), says=f"Other {number}.")
    outcome(log.lines, trace_replies=True)
    assert 60 + 81 < searched < 3 * (60 + 40 + 100)


# Columns


def written(here: Path) -> None:
    write_log(here / "logs/a.jsonl", *({**line, "session_id": "a"} for line in looping()))
    write_log(here / "logs/b.jsonl", *({**line, "session_id": "b"} for line in switched("a", "b", None)))
    write_log(here / "logs/c.jsonl", *({**line, "session_id": "c"} for line in logs.regenerated()))
    write_log(here / "logs/d.jsonl", *ASKED_AGAIN)


def test_the_report_of_replies_has_a_column_for_each_fact(here):
    written(here)
    convert("logs", "out", Options(trace_replies=True))
    rows = report("replies.jsonl")
    assert all(
        [row[kind] for kind in STEP_FACTS] and {*map(type, (row[kind] for kind in STEP_FACTS))} == {bool}
        for row in rows
    )
    assert [[kind for kind in STEP_FACTS if row[kind]] for row in rows if row["session"] == "a"] == [
        [], ["repeated_call"], ["repeated_call", "loop"], ["failed_call"], [], [],
    ]  # fmt: skip


def test_metadata_count_the_replies_with_each_fact(here):
    written(here)
    convert("logs", "out", Options(metadata=True, format="parquet"))
    columns = pl.read_parquet("out/data/*.parquet").sort("session_id")
    assert columns.schema["steps_loop"] == pl.Int64
    assert columns["steps_repeated_call"].to_list() == [2, 0, 0, 0]
    assert columns["steps_failed_call"].to_list() == [1, 0, 0, 0]
    assert columns["steps_asked_again"].to_list() == [0, 0, 0, 1]


@cases(
    "where, expected",
    ("no loop", "steps_loop = 0", ["b", "c", "s"]),
    ("any repeated call", "steps_repeated_call >= 2", ["a"]),
    ("another column", "turns >= 1", ["a", "b", "c", "s"]),
)
def test_a_condition_may_be_on_the_number_of_replies_with_a_fact(here, where, expected):
    written(here)
    convert("logs", "out", Options(where=where, anonymize=False))
    rows = [row for row in report("sessions.jsonl") if row["row"] is not None]
    assert [row["session"] for row in rows] == expected
    assert {row["steps"] is None for row in rows} == {"steps" not in where}
    assert frame("out").schema["steps_loop"] == pl.Int64


def test_in_samples_they_count_the_replies_that_are_trained_on(here):
    written(here)
    convert("logs", "out", Options(metadata=True, format="parquet", samples="reply"))
    columns = pl.read_parquet("out/data/*.parquet").filter(pl.col("session_id") == "a").sort("sample")
    assert columns["steps_repeated_call"].to_list() == [0, 1, 1, 0, 0, 0]


# Runs


OPTIONS = [
    {"loss": "weight", "loss_model": ("a", "gpt*"), "loss_skip": "repeated_call,asked_again", "trace_replies": True},
    {"samples": "reply", "preset": "hf", "format": "jsonl", "loss_skip": "loop", "metadata": True},
    {
        "conversations": "all",
        "preset": "hf",
        "format": "parquet",
        "metadata": True,
        "loss": "training",
        "loss_model": ("a",),
    },
]


@pytest.mark.parametrize("options", OPTIONS)
def test_workers_and_reruns_give_the_same_bytes(here, options):
    written(here)
    convert("logs", "one", Options(anonymize=False, workers=1, **options))
    convert("logs", "two", Options(anonymize=False, workers=2, **options))
    assert comparable("one") == comparable("two")
    write_log(here / "logs/e.jsonl", *({**line, "session_id": "e"} for line in switched("b", "a")))
    assert convert("logs", "one", Options(anonymize=False, **options)).reused == 4
    convert("logs", "full", Options(anonymize=False, **options))
    assert comparable("one") == comparable("full")
    assert convert("logs", "one", Options(anonymize=False, **(options | {"loss_skip": "undone"}))).reused == 0


@pytest.mark.parametrize("options", OPTIONS)
def test_an_interrupted_run_continues_with_the_same_result(here, options):
    written(here)
    count = 0

    def observe(*_: Any) -> None:
        nonlocal count
        count += 1
        if count == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert("logs", "out", Options(anonymize=False, **options), observe)
    assert convert("logs", "out", Options(anonymize=False, resume=True, **options)).reused > 0
    convert("logs", "full", Options(anonymize=False, **options))
    assert comparable("out") == comparable("full")


# The card, run.json and stats


def with_usage(lines: list[Any], *tokens: int | None) -> list[Any]:
    """The lines with the completion tokens that their responses report."""
    for line, count in zip(lines, tokens, strict=True):
        if count is not None:
            line["response"]["usage"] = {"prompt_tokens": 5, "completion_tokens": count}
    return lines


@cases(
    "lines, options, expected",
    ("requests that only grow", switched("a", "b", "a"), {}, {"a": (2, 2, 50), "b": (1, 1, 20)}),
    ("one model", switched("a", "a", "a"), {}, {"a": (3, 3, 70)}),
    ("flags", switched("a", "b", "a"), {"loss": "weight", "loss_model": ("a",)}, {"a": (2, 2, 50)}),
    ("samples", switched("a", "b", "a"), {"samples": "reply"}, {"a": (2, 2, 50), "b": (1, 1, 20)}),
    ("the last reply", switched("a", "b", "a"), {"samples": "last"}, {"a": (1, 1, 40)}),
    ("a model that is not logged", switched("a", None, "a"), {}, {"": (1, 1, 20), "a": (2, 2, 50)}),
    ("all conversations", switched("a", "b", "a"), {"conversations": "all"}, {"a": (2, 2, 50), "b": (1, 1, 20)}),
)  # fmt: skip
def test_the_replies_trained_on_are_counted_by_model(lines, options, expected):
    found = outcome(with_usage(lines, 10, 20, 40), **options)
    sums: dict[str, list[int]] = {}
    for record in found.records:
        for model, counts in record.trained_replies.items():
            sums[model] = [a + b for a, b in zip(sums.get(model, [0, 0, 0]), astuple(counts), strict=True)]
    assert {model: tuple(counts) for model, counts in sums.items()} == expected


def test_a_reply_that_is_on_a_branch_counts_only_in_a_record_that_holds_it():
    lines = with_usage(logs.regenerated(), 1, 2, 4, 8)
    (record,) = outcome(lines).records
    assert record.trained_replies == {"gpt-4.1": TrainedReplies(3, 3, 13)}
    branch, trunk = outcome(lines, conversations="all", loss="weight").records
    assert (branch.trained_replies, trunk.trained_replies) == (
        {"gpt-4.1": TrainedReplies(1, 1, 2)},
        {"gpt-4.1": TrainedReplies(3, 3, 13)},
    )


def test_the_card_run_json_and_stats_have_the_tokens_of_each_model(here):
    write_log(here / "logs/a.jsonl", *with_usage(switched("a", "b", "a"), 10, None, 40))
    write_log(
        here / "logs/b.jsonl", *with_usage([{**line, "session_id": "b"} for line in switched("b", None)], 7, None)
    )
    convert("logs", "out", Options(preset="hf", format="jsonl"))
    models = manifest("out")["counts"]["models"]
    assert models == {
        "": {"records": 1, "replies": 1, "with_tokens": 0, "tokens": 0, "characters": 2},
        "a": {"records": 1, "replies": 2, "with_tokens": 2, "tokens": 50, "characters": 4},
        "b": {"records": 2, "replies": 2, "with_tokens": 1, "tokens": 7, "characters": 4},
    }
    rows = [line for line in Path("out/README.md").read_text("utf-8").splitlines() if line.startswith(("| `a`", "| `b`", "| not named"))]  # fmt: skip
    assert [line.split(" | ")[1:5] for line in rows[:3]] == [
        ["1", "2", "50", "4"], ["2", "2", "7 (1 reply)", "4"], ["1", "1", "not logged", "2"],
    ]  # fmt: skip
    convert("logs", "more", Options(preset="hf", format="jsonl"))
    totals = stats(["out", "more"])
    assert as_json(totals)["table"]["models"]["a"] == {
        "records": 2, "replies": 4, "with_tokens": 4, "tokens": 100, "tokenizer_tokens": 0, "characters": 8,
    }  # fmt: skip
    text = str(totals).splitlines()
    start = next(at for at, line in enumerate(text) if line.startswith("model"))
    assert [line.split() for line in text[start : start + 5]] == [
        ["model", "replies", "trained", "on", "logged", "tokens", "characters"],
        ["a", "4", "100", "8"], ["b", "4", "14", "8"], ["not", "logged", "2", "0", "4"],
        ["The", "logs", "contain", "no", "token", "count", "for", "4", "replies."],
    ]  # fmt: skip


@cases(
    "text",
    ("no object", b"[]"),
    ("models that are a list", b'{"counts": {"models": []}}'),
    ("a count that is a text", b'{"counts": {"models": {"a": {"replies": "1"}}}}'),
    ("a number that is none", b'{"counts": {"models": {"a": {"replies": NaN}}}}'),
)
def test_a_damaged_run_json_is_an_error(here, text):
    write_log(here / "logs/a.jsonl", *switched("a", "b"))
    convert("logs", "out", Options())
    Path("out/run.json").write_bytes(text)
    with pytest.raises(UsageError, match=r"run\.json"):
        stats(["out"])
