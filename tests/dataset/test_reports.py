"""The session table, and where findings say that a record stands."""

import gzip
import json
import os
from pathlib import Path

import polars as pl
import pytest

from chatsquash import Options, convert
from chatsquash.checks.dataset import OF_TOOLS
from chatsquash.core.errors import StoppedError
from chatsquash.dataset import reports
from chatsquash.results.verify import verify
from tests.conftest import log_line, user, write_log
from tests.outputs import report

SAMPLES = Path(__file__).parents[2] / "sample_logs"
BACKWARD = [log_line("a", at="2026-01-13T10:00:01Z"), log_line("a", "b", at="2026-01-13T10:00:00Z")]


def rows(path: Path) -> list[dict]:
    """The records of a file."""
    if path.suffix == ".parquet":
        return pl.read_parquet(path).to_dicts()
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.splitlines()]


def test_a_record_has_a_line_that_says_where_it_stands_and_where_it_comes_from(here):
    write_log(
        here / "logs/a.jsonl",
        log_line("q", session_id="one", at="2026-01-13T10:00:00Z"),
        b"{broken",
        {**log_line("q", user("r"), session_id="one", at="2026-01-13T10:00:07.5Z"), "response": None},
        log_line("title", session_id="one", at="2026-01-13T10:00:09Z"),
    )
    write_log(here / "logs/b.jsonl", log_line("x", at=None))
    write_log(here / "logs/c.jsonl", log_line("y", session_id="two", at="2026-01-13T11:00:00Z"))
    convert("logs")
    first, undated, second = report("sessions.jsonl")
    assert first == {
        "file": "2026-01-13.jsonl", "row": 1, "offset": 0, "record": 1, "log": "logs/a.jsonl", "line": 3, "session": "one",
        "format": "openai_chat",
        "start": "2026-01-13T10:00:00Z", "end": "2026-01-13T10:00:07Z", "model": None, "entries": 2, "turns": 0,
        "findings": {"error": 1, "warning": 3, "info": 1}, "left_out": None, "filtered": None,
        "conversation": None, "parent": None, "kind": None, "sample": None, "samples": None, "tokens": None, "conversations": 3,
        "replies": {"logged": 2, "carried": 0, "rewritten": 0, "lost": {"short-tail": 2}},
        "reasoning": {"logged": 0, "carried": 0, "withheld": 0},
        "usage": {"prompt_tokens": None, "completion_tokens": None},
        "exit": None, "exit_evidence": None, "reward": None, "reward_evidence": None, "finish": None, "finish_evidence": None,
        "truncated": None, "truncated_evidence": None, "last_user": "none", "last_user_evidence": None, "steps": None,
        "failed_results": 0, "failed_results_evidence": None, "scores": None, "scores_evidence": None,
    }  # fmt: skip
    assert (undated["file"], undated["row"], undated["start"], undated["end"]) == ("undated.jsonl", 1, None, None)
    assert (second["file"], second["row"], second["session"], second["turns"]) == ("2026-01-13.jsonl", 2, "two", 1)


WITHOUT = [
    ("left out", BACKWARD, {}, {"left_out": "timestamp-order", "filtered": None, "line": 2, "entries": 2}),
    ("without an entry", [b"{broken"], {}, {"left_out": "empty-session", "filtered": None, "line": None, "entries": None}),
    ("filtered", [log_line("x")], {"min_turns": 2}, {"left_out": "filtered", "filtered": "--min-turns", "line": 1, "turns": 1}),
    ("a duplicate", [log_line("first")], {"drop_duplicates": True}, {"left_out": "duplicate-record", "filtered": None, "turns": 1}),
]  # fmt: skip


@pytest.mark.parametrize("sentence, log, options, expected", WITHOUT, ids=[row[0] for row in WITHOUT])
def test_a_session_without_a_record_has_a_line_that_says_why(here, sentence, log, options, expected):
    write_log(here / "logs/a.jsonl", log_line("first", log_line("x")["response"]["choices"][0]["message"], "second"))
    if sentence == "a duplicate":
        write_log(here / "logs/a.jsonl", log_line("first"))
    write_log(here / "logs/b.jsonl", *log)
    convert("logs", "out", Options(**options))
    written, without = report("sessions.jsonl")
    assert written["file"] is not None
    assert (without["log"], without["file"], without["row"]) == ("logs/b.jsonl", None, None)
    assert {name: without[name] for name in expected} == expected
    of_it = [each for each in report("findings.jsonl") if each["file"] == "logs/b.jsonl"]
    assert {each["record"] for each in of_it} == {None}
    assert {each["filtered"] for each in of_it} == {expected["filtered"]}
    counts = without["findings"]
    assert sum(counts.values()) == len(of_it)


@pytest.mark.parametrize("packing", ["jsonl", "jsonl.gz", "parquet"])
def test_rows_are_right_where_splits_and_shards_decide_them(here, packing):
    for number in range(40):
        line = log_line(f"q{number % 10}", reply=f"a{number % 30}", session_id=f"s{number}")
        write_log(here / f"logs/{number:02}.jsonl", line)
    options = Options(format=packing, shard_size=400, split="train=0.6,test=0.4", metadata=True, split_by="session")
    convert("logs", "out", options)
    told = [line for line in report("sessions.jsonl") if line["file"]]
    assert (len(told), len(report("sessions.jsonl"))) == (30, 40)
    assert len({line["file"] for line in told}) > 4
    assert len(told) == sum(len(rows(path)) for path in Path("out/data").iterdir())
    for line in told:
        assert rows(Path("out", line["file"]))[line["row"] - 1]["session_id"] == line["session"]
    places = {line["session"]: f"{line['file']}:{line['row']}" for line in told}
    found = [each for each in report("findings.jsonl") if each["session"]]
    assert any(each["code"] == "split-leak" for each in found)
    assert [each["record"] for each in found] == [places.get(each["session"]) for each in found]
    text = Path("out/reports/integrity-report.txt").read_text().splitlines()
    assert [line.split("\t")[3] for line in text] == [
        f"record={each['record'] or ''}" for each in report("findings.jsonl")
    ]


def test_lines_that_wait_are_put_in_place_piece_by_piece(here, monkeypatch):
    monkeypatch.setattr(reports, "_PIECE", 100)
    write_log(here / "logs/a.jsonl")
    write_log(here / "logs/b.jsonl", log_line("other"))
    convert("logs", "out", Options(format="jsonl"))
    assert [(line["file"], line["row"]) for line in report("sessions.jsonl")] == [
        ("data/train-00000-of-00001.jsonl", row) for row in (1, 2)
    ]


def test_the_table_says_of_the_samples_what_the_columns_of_metadata_say(here):
    convert(SAMPLES, "out", Options(metadata=True, format="jsonl", anonymize=False))
    told = report("sessions.jsonl")
    assert len(told) == 85
    for line in told:
        if line["file"] is None:
            continue  # a duplicate
        beside = rows(Path("out", line["file"]))[line["row"] - 1]
        names = {"session": "session_id", "model": "model", "start": "started_at", "entries": "entries"}
        assert {name: line[name] for name in names} == {name: beside[column] for name, column in names.items()}


def test_what_the_logs_name_is_quoted_as_in_the_other_reports(here):
    line = log_line("x", session_id="a\x1b\u202e")
    line["response"]["model"] = "m\x9b"
    write_log(here / "logs/a.jsonl", line)
    convert("logs")
    text = Path("out/reports/sessions.jsonl").read_text()
    assert text.replace("\n", "").isprintable()
    (told,) = report("sessions.jsonl")
    assert (told["session"], told["model"]) == ("a\x1b\u202e", "m\x9b")


def test_a_session_cannot_pass_for_a_number_of_files(here):
    write_log(here / "logs/a.jsonl", log_line("x", session_id="data/train-00000-of-\x00train\x00"))
    convert("logs", "out", Options(format="jsonl"))
    assert report("sessions.jsonl")[0]["session"] == "data/train-00000-of-\x00train\x00"


# Sources without tools

CALLED = {"role": "assistant", "content": "", "toolCalls": [{"id": "c", "name": "ls", "arguments": {}}]}
PORTABLE = [{"role": "user", "content": "hi"}, CALLED]


def agents(here: Path) -> None:
    """Two files of agents that hold no tools, and a log whose logger leaves them out."""
    for name in ("a", "b"):
        path = here / f"logs/{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps([*PORTABLE, {"role": "user", "content": name}]))
    call = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    write_log(here / "logs/c.jsonl", log_line("x", reply={"role": "assistant", "content": None, "tool_calls": [call]}))


def test_what_holds_for_a_source_is_one_finding_about_no_session(here):
    agents(here)
    summary = convert("logs")
    found = report("findings.jsonl")
    (told,) = [each for each in found if each["code"] == "source-without-tools"]
    assert told["text"].startswith("2 records of portable without tools")
    assert {name: told[name] for name in ("severity", "session", "file", "line", "record")} == {
        "severity": "info", "session": None, "file": None, "line": None, "record": None,
    }  # fmt: skip
    assert {each["file"] for each in found if each["code"] in OF_TOOLS} == {"logs/c.jsonl"}
    assert summary.complete


def test_what_is_not_reported_of_a_session_drops_none(here):
    agents(here)
    summary = convert("logs", "out", Options(drop=("undeclared-tool", "no-tools")))
    assert [line["left_out"] for line in report("sessions.jsonl")] == [None, None, "filtered"]
    assert summary.findings["info", "source-without-tools"] == 1


def test_records_that_are_not_written_are_not_counted(here):
    agents(here)
    summary = convert("logs", "out", Options(max_turns=0))
    assert (summary.written, summary.findings["info", "source-without-tools"]) == (0, 0)


def test_without_the_checks_on_records_nothing_is_said_of_tools(here):
    agents(here)
    convert("logs", "out", Options(integrity_analysis=False))
    assert {each["code"] for each in report("findings.jsonl")}.isdisjoint({"source-without-tools", *OF_TOOLS})


def test_files_that_may_hold_tools_are_reported_one_by_one(here):
    record = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}
    write_log(here / "logs/a.jsonl", {**record, "conversation_id": "a", "metadata": {}})
    convert("logs", "out", Options(from_format="oumi"))
    assert [each["code"] for each in report("findings.jsonl")] == ["no-tools"]


def test_findings_of_filtered_sessions_are_marked_and_counted_apart(here):
    agents(here)
    summary = convert("logs", "out", Options(drop=("undeclared-tool",)))
    found = report("findings.jsonl")
    assert {each["filtered"] for each in found if each["file"] == "logs/c.jsonl"} == {"--drop undeclared-tool"}
    assert {each["filtered"] for each in found if each["file"] != "logs/c.jsonl"} == {None}
    text = Path("out/reports/integrity-report.txt").read_text().splitlines()
    assert [line.split("\t")[3] == "record=filtered" for line in text] == [bool(each["filtered"]) for each in found]
    assert summary.findings.total() == sum(not each["filtered"] for each in found)
    assert summary.filtered_findings.total() == sum(bool(each["filtered"]) for each in found)
    assert verify(Path("out")).problems == []


def test_a_filtered_finding_more_or_less_is_found(here):
    agents(here)
    convert("logs", "out", Options(drop=("undeclared-tool",)))
    path = Path("out/run.json")
    run = json.loads(path.read_bytes())
    run["counts"]["filtered_findings"]["info"]["filtered"] = 2
    path.write_text(json.dumps(run))
    assert verify(Path("out")).problems == ["out/run.json: counts 2 filtered info findings, but the reports have 1"]


def test_a_run_that_stops_leaves_no_file_open(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    answer = {"choices": [{"message": {"role": "assistant", "content": "hello"}}]}
    asked = {"messages": [{"role": "user", "content": "hi"}]}
    good = {"session_id": "s", "timestamp": 1, "request": asked, "response": answer}
    (logs / "a.jsonl").write_text(json.dumps(good) + "\n")
    (logs / "b.jsonl").write_text("broken\n")
    before = set(os.listdir("/dev/fd"))
    with pytest.raises(StoppedError) as stopped:
        convert(logs, tmp_path / "out", Options(anonymize=False, strict=True, preset="hf"))
    assert set(os.listdir("/dev/fd")) <= before, stopped  # which holds the run by its traceback
