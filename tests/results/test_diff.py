"""``chatsquash diff``: sessions that are added, changed or removed, and why; results of any layout are compared."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chatsquash import Options, convert
from chatsquash.cli.main import cli
from chatsquash.conversion.forget.forget import ForgetRequest, forget
from chatsquash.core.errors import UsageError
from chatsquash.results.diff.comparison import Comparison
from tests.conftest import cases, log_line, tree, write_log

SAMPLES = Path("sample_logs").resolve()
PLAIN = Options(anonymize=False, sessions_by="id")


def differences(first: str = "one", second: str = "two") -> list[tuple[str, str, str]]:
    """The kind, the session and the reason of each difference."""
    with Comparison(first, second) as comparison:
        return [(each.kind, each.state.session, each.reason) for each in comparison.differences()]


# Layouts


@cases("preset, more",
    ("lines of the Hub", "hf", {}),
    ("samples", "hf", {"samples": "reply"}),
    ("a forest", "hf", {"samples": "forest"}),
    ("labels", "hf", {"samples": "reply", "sample_shape": "kto"}),
    ("structs with weights", "sharegpt", {"loss": "weight"}),
    ("text", "text", {}),
)  # fmt: skip
def test_formats_splits_and_columns_do_not_differ(here, preset, more):
    common = {"preset": preset, "anonymize": False, "duplicates": "keep", **more}
    layouts: list[dict[str, Any]] = [
        {"format": "jsonl"},
        {"format": "jsonl.zst", "split": "train=0.5,test=0.5"},
        {"format": "parquet", "shard_size": 4000},
    ]
    if preset == "hf" and "samples" not in more:
        layouts.append({"format": "jsonl.gz", "metadata": True})
    for number, layout in enumerate(layouts):
        convert(SAMPLES, f"out{number}", Options(**common, **layout))
    for number in range(1, len(layouts)):
        assert differences("out0", f"out{number}") == []


def test_a_changed_word_is_a_difference_in_every_format(here):
    for name, format_name in (("one", "jsonl.gz"), ("two", "parquet")):
        write_log(here / "logs/a.jsonl", log_line(f"{name} tide", session_id="a"))
        write_log(here / "logs/b.jsonl", log_line("and now?", session_id="b"))
        convert("logs", name, Options(anonymize=False, preset="hf", format=format_name))
    assert differences() == [("changed", "a", "log changed")]


# Reasons


@pytest.fixture
def logs(here) -> Path:
    """Three sessions, converted to ``one``."""
    for name in "abc":
        write_log(here / f"logs/{name}.jsonl", log_line(f"question {name}", session_id=name))
    convert("logs", "one", PLAIN)
    return here / "logs"


def grow(logs: Path) -> None:
    write_log(
        logs / "a.jsonl", log_line("question a", session_id="a"), log_line("question a", "more", session_id="a", at=9)
    )


def add_session(logs: Path) -> None:
    write_log(logs / "a.jsonl", log_line("question a", session_id="a"), log_line("other", session_id="d", at=9))


@cases("change, expected",
    ("nothing", lambda logs: None, []),
    ("a new log", lambda logs: write_log(logs / "d.jsonl", log_line("d", session_id="d")), [("added", "d", "new log")]),
    ("a log that is gone", lambda logs: (logs / "b.jsonl").unlink(), [("removed", "b", "log removed")]),
    ("a log that grew", grow, [("changed", "a", "log changed")]),
    ("a session more in a log", add_session, [("added", "d", "log changed")]),
    ("a log with another name", lambda logs: (logs / "b.jsonl").rename(logs / "x.jsonl"), [("added", "b", "log renamed"), ("removed", "b", "log renamed")]),
    ("a folder with another name", lambda logs: (logs / "in").mkdir() or (logs / "b.jsonl").rename(logs / "in/b.jsonl"), []),
)  # fmt: skip
def test_the_reason_is_in_the_logs(logs, change, expected):
    change(logs)
    convert("logs", "two", PLAIN)
    assert differences() == expected


def test_the_reason_is_in_the_options(logs):
    convert("logs", "two", Options(anonymize=False, sessions_by="id", where="session != 'b'"))
    with Comparison("one", "two") as comparison:
        [difference] = comparison.differences()
        assert comparison.options == {"where": (None, "session != 'b'")}
    assert (difference.kind, difference.reason, str(difference.before), str(difference.now)) == (
        "changed",
        "options",
        "1 record",
        "--where",
    )


def test_the_reason_is_the_version(logs):
    write_log(logs / "a.jsonl", log_line("another", session_id="a"))
    convert("logs", "two", PLAIN)
    for name in ("one", "two"):
        run = json.loads(Path(name, "run.json").read_text())
        run["inputs"] = [{**each, "xxh3_128": "same"} for each in run["inputs"]]
        Path(name, "run.json").write_text(json.dumps({**run, "chatsquash_version": f"of-{name}"}))
    assert differences() == [("changed", "a", "version")]


def test_the_reason_is_another_session(logs):
    """The record of one session is dropped, because that of another is equal now."""
    write_log(logs / "b.jsonl", log_line("question c", session_id="b"))
    options = Options(anonymize=False, sessions_by="id", drop_duplicates=True)
    convert("logs", "one", options)
    write_log(logs / "b.jsonl", log_line("question b", session_id="b"))
    convert("logs", "two", options)
    assert differences() == [("changed", "b", "log changed"), ("changed", "c", "other sessions")]


def test_the_reason_is_forget(logs):
    shutil.copytree("one", "two")
    forget("two", ForgetRequest(["b"], False, lambda matches: None, lambda: True))
    assert differences() == [("removed", "b", "forgotten")]
    assert differences("two", "one") == [("added", "b", "forgotten")]


def test_the_reason_is_forget_wherever_the_logs_were_read_from(here):
    for name in "ab":
        line = log_line(f"question {name}")
        del line["session_id"]
        write_log(here / f"logs/{name}.jsonl", line)
    shutil.make_archive("packed", "zip", "logs")
    convert("logs", "one", PLAIN)
    convert("packed.zip", "two", PLAIN)
    forget("two", ForgetRequest(["b"], False, lambda matches: None, lambda: True))
    assert differences() == [("removed", "b", "forgotten")]
    assert differences("two", "one") == [("added", "b", "forgotten")]


def test_lines_are_wrapped_to_the_terminal(logs, monkeypatch):
    (logs / "b.jsonl").unlink()
    convert("logs", "two", PLAIN)
    monkeypatch.setattr("chatsquash.cli.printing._columns", lambda stream: 24)
    done = CliRunner().invoke(cli, ["diff", "one", "two"])
    assert done.stdout.splitlines()[-2:] == ["- b (logs/b.jsonl): log", "  removed, 1 record"]


@pytest.mark.parametrize("sessions_by", ["chain", "file", "id"])
def test_sessions_are_compared_however_lines_are_grouped(here, sessions_by):
    options = Options(anonymize=False, conversations="all", sessions_by=sessions_by)
    convert(SAMPLES, "one", options)
    convert(SAMPLES, "two", options)
    assert differences() == []
    with Comparison("one", "two") as comparison:
        seen = json.loads(Path("one/run.json").read_text())["counts"]["sessions"]["seen"]
        assert comparison.counts() == {"added": {}, "changed": {}, "removed": {}, "unchanged": seen}


# Damage


@cases("spoil, problem",
    ("no result", lambda: shutil.rmtree("two"), "two: not a result of chatsquash convert"),
    ("a table of other types", lambda: Path("two/reports/sessions.jsonl").write_text('{"file": 1}\n'), "two/reports/sessions.jsonl: invalid content"),
    ("a table that is no JSON", lambda: Path("two/reports/sessions.jsonl").write_text("[" * 10**5), "two/reports/sessions.jsonl: invalid content"),
    ("records that are missing", lambda: next(Path("two").glob("*.jsonl")).write_text(""), "no such record; convert again"),
    ("inputs of another type", lambda: Path("two/run.json").write_text(json.dumps({**json.loads(Path("two/run.json").read_text()), "inputs": [1]})), "two/run.json: invalid content"),
)  # fmt: skip
def test_a_damaged_result_is_an_error(logs, spoil, problem):
    convert("logs", "two", PLAIN)
    spoil()
    with pytest.raises(UsageError) as refused:
        differences()
    assert problem in str(refused.value)


# The command


def invoke(*arguments: str):
    return CliRunner().invoke(cli, ["diff", *arguments], standalone_mode=False)


def test_the_command_lists_differences_and_exits_with_3(logs):
    same = invoke("one", "one")
    assert (same.return_value, same.stdout.splitlines()) == (
        0,
        ["added      0", "changed    0", "removed    0", "unchanged  3"],
    )
    grow(logs)
    write_log(logs / "d.jsonl", log_line("d", session_id="d"))
    convert("logs", "two", Options(anonymize=False, sessions_by="id", max_turns=9))
    done = invoke("one", "two", "--limit", "1")
    assert done.return_value == 3
    assert done.stdout.splitlines() == [
        "option     max_turns: none -> 9",
        "added      1  new log 1",
        "changed    1  log changed 1",
        "removed    0",
        "unchanged  2",
        "+ d (logs/d.jsonl): new log, 1 record",
        "... and 1 more (--limit)",
    ]


def test_json_has_all_differences(logs):
    (logs / "b.jsonl").unlink()
    convert("logs", "two", PLAIN)
    before = tree(Path())
    done = invoke("one", "two", "--json")
    assert done.return_value == 3
    value = json.loads(done.stdout)
    assert value["counts"] == {"added": {}, "changed": {}, "removed": {"log removed": 1}, "unchanged": 2}
    [session] = value["sessions"]
    assert (session["session"], session["kind"], session["reason"]) == ("b", "removed", "log removed")
    assert session["before"]["log"] == "logs/b.jsonl"
    assert json.loads(invoke("one", "one", "--json").stdout)["sessions"] == []
    assert tree(Path()) == before
