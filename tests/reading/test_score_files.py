"""Scores that are logged apart from their replies: in files of their own, or at the steps that contain model calls."""

from __future__ import annotations

import csv
import gzip
import io
import json
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from chatsquash import Options, Summary, convert
from chatsquash.conversion.merge_results import merge_results
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.divide import divide
from chatsquash.conversion.shards.merge import merge as merge_shards
from chatsquash.conversion.shards.place import Shard
from chatsquash.dataset import stored_sessions
from chatsquash.reading import score_files
from tests.conftest import cases, user
from tests.outputs import comparable, manifest, put, report

ALL = Options(anonymize=False, trace_replies=True)
OBSERVATIONS, SCORES = "logs/p/observations_v2/2026-05-08T11-00-00", "logs/p/scores/2026-05-08T11-00-00"
"""Langfuse's blob storage export: PREFIX/PROJECT/TABLE/TIME.EXTENSION in
worker/src/features/blobstorage/handleBlobStorageIntegrationProjectJob.ts at 62751446."""


def observation(name: str = "o1", trace: str = "t1", **more: Any) -> dict[str, Any]:
    """The members of getEventsForBlobStorageExport, packages/shared/src/server/repositories/events.ts at 62751446."""
    request = {"model": "gpt-5", "messages": [user(f"When is low tide in {trace}?")]}
    row = {"id": name, "trace_id": trace, "type": "GENERATION", "start_time": "2026-05-08 10:00:01.000000"}
    return {**row, "input": json.dumps(request), "output": f"At {name}.", "provided_model_name": "gpt-5", **more}


def score(name: str = "ok", value: Any = 1.0, **more: Any) -> dict[str, Any]:
    """The members of getScoresForBlobStorageExport, packages/shared/src/server/repositories/scores.ts at 62751446."""
    when = "2026-05-08 10:05:00.000000"
    ids = {"trace_id": None, "observation_id": None, "session_id": None, "dataset_run_id": None}
    kind = {"source": "API", "comment": None, "data_type": "NUMERIC", "string_value": None}
    times = {"created_at": when, "updated_at": when}
    known = {"id": f"s-{name}", "timestamp": when, "project_id": "p", "environment": "default", **ids, "name": name}
    return {**known, "value": value, **kind, **times, **more}


OF_REPLY = score("tone", 0.0, data_type="CATEGORICAL", string_value="rude", trace_id="t1", observation_id="o1")
OF_TRACE = score("goal", 0.5, trace_id="t1")
OTHER = score("other", 1.0, trace_id="t9")
TEXT = score("note", 0.0, data_type="TEXT", string_value="Ring Jo", trace_id="t1")


def scores(out: str = "out") -> list[Any]:
    """The scores of each reply, followed by those of each record."""
    records = [row["scores"] for row in report("sessions.jsonl", out) if row["file"]]
    return [
        *(row.get("scores") for row in report("replies.jsonl", out)),
        *(json.loads(each) if each else None for each in records),
    ]


def counts(out: str = "out") -> Any:
    return manifest(out)["counts"].get("scores")


def run(*rows: dict[str, Any], observations: Any = None, out: str = "out", **options: Any) -> Summary:
    put(f"{OBSERVATIONS}.jsonl", *(observations or [observation()]))
    put(f"{SCORES}.jsonl", *rows)
    return convert("logs", out, Options(anonymize=False, trace_replies=True, full=True, **options))


# What a score is about


@cases(
    "rows, expected, not_joined",
    ("an observation", [OF_REPLY], [{"tone": "rude"}, {"tone": "rude"}], {}),
    ("a trace", [OF_TRACE], [None, {"goal": 0.5}], {}),
    ("a session", [score(session_id="x")], [None, {"ok": 1.0}], {}),
    ("an observation of another trace with the same id", [score(trace_id="t2", observation_id="o1")], [None, None], {"unmatched": 1}),
    ("an unknown trace", [OTHER], [None, None], {"unmatched": 1}),
    ("a run on a dataset", [score(dataset_run_id="d")], [None, None], {"unmatched": 1}),
    ("free text", [TEXT], [None, None], {"unusable": 1}),
    ("a boolean", [score(trace_id="t1", data_type="BOOLEAN", value=0, string_value="False")], [None, {"ok": False}], {}),
    ("a newer version", [score(trace_id="t1", value=2, updated_at="2026-05-08 10:06:00"), score(trace_id="t1", value=1)], [None, {"ok": 2}], {"superseded": 1}),
    ("a step around the observation", [score(trace_id="t1", observation_id="agent")], [None, {"ok": 1.0}], {}),
    ("no id of its own", [{**OF_TRACE, "id": None}], [None, {"goal": 0.5}], {}),
)  # fmt: skip
def test_a_score_is_joined_with_the_replies_that_it_is_about(here, rows, expected, not_joined):
    steps = [
        observation("agent", type="AGENT", parent_observation_id=None),
        observation("span", type="SPAN", parent_observation_id="agent"),
    ]
    reply = observation(session_id="x", parent_observation_id="span")
    run(*rows, observations=[*steps, reply])
    assert scores() == expected
    assert counts() == {"rows": len(rows), "joined": len(rows) - sum(not_joined.values()), "not_joined": not_joined}
    assert b"Ring Jo" not in b"".join(path.read_bytes() for path in Path("out").rglob("*.json*"))


def test_all_lines_are_accounted_for_and_shown(here):
    summary = run(OF_REPLY, OF_TRACE, OTHER, TEXT)
    assert counts() == {"rows": 4, "joined": 2, "not_joined": {"unmatched": 1, "unusable": 1}}
    lines = manifest()["counts"]["lines"]
    assert (lines["seen"], lines["blank"], lines["unreadable"]) == (5, 4, 0)
    assert "logged apart: 2 joined, 1 unmatched, 1 unusable" in str(summary)
    assert summary.findings["error", "unknown-format"] == 0
    (note,) = (row["text"] for row in report("findings.jsonl") if row["code"] == "no-exchange")
    assert note == "lines without an exchange (scores): 4, not in any record"


@pytest.mark.parametrize("session", ["x", None])
def test_traces_name_the_sessions_of_older_exports(here, session):
    """The members of getTracesForBlobStorageExport, packages/shared/src/server/repositories/traces.ts at 62751446."""
    when = "2026-05-08 10:05:00.000000"
    flags = {"public": False, "bookmarked": False, "tags": [], "input": "When?", "output": "Now.", "metadata": {}}
    trace = {"id": "t1", "timestamp": when, "project_id": "p", "session_id": session, "user_id": None, **flags}
    put("logs/p/traces/2026-05-08T11-00-00.jsonl", {**trace, "created_at": when, "updated_at": when})
    summary = run(score(session_id="x"))
    assert scores() == [None, {"ok": 1.0} if session else None]
    assert dict(summary.left_out) == {"unanswered-session": 2}
    assert "lines without an exchange (traces): 1, not in any record" in str(report("findings.jsonl"))


# Where scores are, and their formats

ROWS = [OF_REPLY, OF_TRACE, OTHER]
COUNTS = {"rows": 3, "joined": 2, "not_joined": {"unmatched": 1}}


def jsonl(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def csv_file(rows: list[Any]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def parquet(rows: list[Any]) -> bytes:
    data = io.BytesIO()
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(data)
    return data.getvalue()


def page(rows: list[Any]) -> bytes:
    """A page of the API, whose members are those of BaseScore in fern/apis/server/definition/commons.yml."""
    names = {
        "trace_id": "traceId",
        "observation_id": "observationId",
        "session_id": "sessionId",
        "data_type": "dataType",
    }
    names |= {"string_value": "stringValue", "created_at": "createdAt", "updated_at": "updatedAt"}
    data = [{names.get(name, name): value for name, value in row.items()} for row in rows]
    return json.dumps({"data": data, "meta": {"page": 1, "limit": 50}}, indent=1).encode()


def page_of_version_3(rows: list[Any]) -> bytes:
    """A page of version 3 of the API, with the members in fern/apis/server/definition/scores-v3.yml."""
    data = []
    for row in rows:
        kind = "observation" if row["observation_id"] else "trace"
        subject = {"kind": kind, "id": row["observation_id"] or row["trace_id"]}
        subject |= {"traceId": row["trace_id"]} if kind == "observation" else {}
        value = row["string_value"] if row["data_type"] == "CATEGORICAL" else row["value"]
        times = {"timestamp": row["timestamp"], "createdAt": row["created_at"], "updatedAt": row["updated_at"]}
        known = {name: row[name] for name in ("id", "name", "source", "environment")}
        data.append({**known, "dataType": row["data_type"], "value": value, "subject": subject, **times})
    return json.dumps({"data": data, "meta": {"limit": 50}}).encode()


@cases(
    "name, write",
    ("JSON lines", ".jsonl", jsonl),
    ("JSON", ".json", lambda rows: json.dumps(rows).encode()),
    ("CSV", ".csv", csv_file),
    ("Parquet", ".parquet", parquet),
    ("compressed JSON lines", ".jsonl.gz", lambda rows: gzip.compress(jsonl(rows), mtime=0)),
    ("compressed JSON", ".json.gz", lambda rows: gzip.compress(json.dumps(rows).encode(), mtime=0)),
    ("compressed CSV", ".csv.gz", lambda rows: gzip.compress(csv_file(rows), mtime=0)),
    ("a page of the API", ".json", page),
    ("a page of version 3", ".json", page_of_version_3),
)
@pytest.mark.parametrize("observations", ["lines", "same"])
def test_all_formats_of_exports_give_the_same_scores(here, name, write, observations):
    put(f"{OBSERVATIONS}.jsonl", observation())
    if observations == "same" and write not in (page, page_of_version_3):
        Path(f"{OBSERVATIONS}.jsonl").unlink()
        Path(f"{OBSERVATIONS}{name}").write_bytes(write([observation()]))
    put(f"{SCORES}.x")
    Path(f"{SCORES}.x").unlink()
    Path(f"{SCORES}{name}").write_bytes(write(ROWS))
    convert("logs", "out", ALL)
    assert scores() == [{"tone": "rude"}, {"tone": "rude", "goal": 0.5}]
    assert counts() == COUNTS


@cases(
    "log, others, logs",
    ("the folder next to that of the log", f"{OBSERVATIONS}.jsonl", [f"{SCORES}.jsonl"], ["logs"]),
    ("a folder below that of the log", "logs/a.jsonl", ["logs/scores/b.jsonl"], ["logs"]),
    ("the same folder", "logs/z.jsonl", ["logs/my-scores.jsonl"], ["logs"]),
    ("several files", "logs/z.jsonl", ["logs/my-scores.jsonl", "logs/scores/b.jsonl"], ["logs"]),
    ("any order", f"{OBSERVATIONS}.jsonl", [f"{SCORES}.jsonl"], ["logs/p/scores", "logs/p/observations_v2"]),
)
def test_scores_are_found_next_to_the_log(here, log, others, logs):
    put(log, observation())
    for number, name in enumerate(others):
        put(name, *ROWS[number :: len(others)])
    convert(logs, "out", ALL)
    assert scores() == [{"tone": "rude"}, {"tone": "rude", "goal": 0.5}]
    assert counts() == COUNTS


def test_scores_next_to_a_log_are_read_even_if_they_are_not_among_the_logs(here):
    put(f"{OBSERVATIONS}.jsonl", observation())
    put(f"{SCORES}.jsonl", *ROWS)
    convert("logs/p/observations_v2", "out", ALL)
    assert scores() == [{"tone": "rude"}, {"tone": "rude", "goal": 0.5}]
    assert counts() == {"rows": 2, "joined": 2, "not_joined": {}}


@pytest.mark.parametrize("order", [1, -1])
def test_scores_and_observations_may_be_in_one_file(here, order):
    steps = [observation("agent", type="AGENT"), observation(parent_observation_id="agent")]
    put("logs/all.jsonl", *[*steps, OF_REPLY, score(trace_id="t1", observation_id="agent")][::order])
    convert("logs", "out", ALL)
    assert scores() == [{"tone": "rude"}, {"tone": "rude", "ok": 1.0}]
    assert counts() == {"rows": 2, "joined": 2, "not_joined": {}}


@pytest.mark.parametrize("archive", ["zip", "gztar"])
def test_scores_in_an_archive_are_joined(here, archive):
    import shutil

    put(f"{OBSERVATIONS}.jsonl", observation())
    put(f"{SCORES}.jsonl", *ROWS)
    shutil.make_archive("export", archive, "logs")
    (name,) = Path().glob("export.*")
    convert(str(name), "out", ALL)
    assert scores() == [{"tone": "rude"}, {"tone": "rude", "goal": 0.5}]
    assert counts() == COUNTS


# Runs


def export(folder: str = "logs", projects: int = 3) -> None:
    for number in range(projects):
        traces = [f"t{number}{each}" for each in range(4)]
        put(f"{folder}/p{number}/observations/a.jsonl", *(observation(f"o{each}", each) for each in traces))
        rows = [score(f"goal {each}", number, trace_id=each) for each in traces[:3]]
        put(f"{folder}/p{number}/scores/a.jsonl", *rows, score(f"lost {number}", trace_id="none"))


@pytest.mark.parametrize("options", [{}, {"sessions_by": "chain"}, {"sessions_by": "file"}, {"samples": "reply"}])
def test_runs_differ_in_nothing_but_their_time(here, options):
    export()
    run_options = {"anonymize": False, "trace_replies": True, **options}
    convert("logs", "one", Options(**run_options))
    assert counts("one") == {"rows": 12, "joined": 9, "not_joined": {"unmatched": 3}}
    convert("logs", "two", Options(**run_options, workers=2))
    assert comparable("one") == comparable("two")
    assert convert("logs", "one", Options(**run_options)).unchanged


def test_merged_results_and_shards_count_each_score_once(here):
    export()
    options = Options(anonymize=False, trace_replies=True)
    convert("logs", "one", options)
    for number in range(3):
        convert(f"logs/p{number}", f"part-{number}", options)
    merge_results([f"part-{number}" for number in range(3)], Path("both"), Options())
    assert counts("both") == counts("one")
    divide("logs", "out", options, 2)
    for number in (2, 1):
        convert_shard(Path("out"), Shard(number, 2), Options())
    merge_shards(Path("out"))
    assert counts() == counts("one")
    assert [row["scores"] for row in report("sessions.jsonl")] == [
        row["scores"] for row in report("sessions.jsonl", "one")
    ]


@pytest.mark.parametrize("logs", ["logs", "logs/p/observations_v2"])
def test_a_changed_or_new_file_of_scores_converts_the_sessions_next_to_it_again(here, logs):
    put(f"{OBSERVATIONS}.jsonl", observation())
    put("logs/q/observations_v2/a.jsonl", observation(trace="t2"))
    convert(logs, "out", ALL)
    assert scores()[-1] is None
    put(f"{SCORES}.jsonl", OF_TRACE)
    assert convert(logs, "out", ALL).unchanged is False
    assert {"goal": 0.5} in scores()
    put(f"{SCORES}.jsonl", {**OF_TRACE, "value": 0.25})
    summary = convert(logs, "out", ALL)
    assert {"goal": 0.25} in scores()
    assert summary.reused == (1 if logs == "logs" else 0)
    assert convert(logs, "out", ALL).unchanged
    Path(f"{SCORES}.jsonl").unlink()
    convert(logs, "out", ALL)
    assert scores()[-1] is None
    assert counts() is None


# Hostile files

ODD = [
    *({"name": value} for value in (None, 7, "", "x" * 999, {})),
    *({"value": value} for value in (None, [], {}, "x", "NaN", 10**400, True)),
    *({"trace_id": value} for value in (None, 7, [], {}, "", "x" * 99_999)),
    *({"updated_at": value} for value in (7, "yesterday", [], 10**400, "9" * 99)),
    *({"id": value} for value in (None, 7, [], "\ud800")),
    *({"data_type": value} for value in ("X", 7, None, [])),
    *({"subject": value} for value in ({}, {"kind": []}, {"id": 7, "kind": "trace"})),
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:30])
def test_values_of_any_type_are_counted_or_reported(here, odd):
    run({**OF_TRACE, "id": "odd", **odd}, OF_REPLY)
    assert scores()[0] == {"tone": "rude"}
    assert counts()["joined"] + sum(counts()["not_joined"].values()) == counts()["rows"] >= 1
    assert manifest()["counts"]["lines"]["seen"] == 3


@cases(
    "data",
    ("not a number", jsonl([{**OF_TRACE, "value": float("nan")}, OF_REPLY])),
    ("no JSON", jsonl([OF_REPLY]) + b"{\n\xff\n[]\n"),
    ("nested", jsonl([OF_REPLY]) + b'{"data_type":' + b"[" * 100_000 + b"\n"),
    ("truncated", jsonl([OF_REPLY]) + jsonl([OF_TRACE])[:-20]),
)
def test_malformed_lines_lose_only_themselves(here, data):
    put(f"{OBSERVATIONS}.jsonl", observation())
    put(f"{SCORES}.jsonl")
    Path(f"{SCORES}.jsonl").write_bytes(data)
    convert("logs", "out", ALL)
    assert scores() == [{"tone": "rude"}, {"tone": "rude"}]


def test_a_file_of_scores_alone_is_no_error(here):
    put("scores.jsonl", *ROWS)
    summary = convert("scores.jsonl", "out", ALL)
    assert (summary.written, dict(summary.left_out)) == (0, {"unanswered-session": 1})
    assert counts() == {"rows": 3, "joined": 0, "not_joined": {"unmatched": 3}}


def test_a_large_log_next_to_a_log_is_not_read_as_scores(here, monkeypatch):
    put("logs/a.jsonl", observation())
    put("logs/scores-of-games.jsonl", *(observation(f"g{number}", "games") for number in range(50)))
    read = []
    of_line = score_files.envelopes.score_rows_of
    monkeypatch.setattr(score_files.envelopes, "score_rows_of", lambda *line: read.append(line) or of_line(*line))
    convert("logs/a.jsonl", "out", ALL)
    assert len(read) < 20


def test_many_scores_take_linear_time(here):
    rows = [score(f"s{number}", number, trace_id="t1") for number in range(10_000)]
    times = []
    for count in (10_000, 100_000):
        more = [{**row, "id": f"{number}"} for number, row in enumerate(rows * (count // 10_000))]
        before = time.process_time()
        run(*more)
        times.append(time.process_time() - before)
        assert len(scores()[-1]) == 100
        assert counts() == {"rows": count, "joined": 100, "not_joined": {"unmatched": count - 100}}
    assert times[1] < 20 * times[0]


def test_steps_that_contain_each_other_end(here):
    steps = [observation(name, type="SPAN", parent_observation_id=other) for name, other in ("ab", "ba")]
    run(score(trace_id="t1", observation_id="b"), observations=[*steps, observation(parent_observation_id="a")])
    assert scores() == [None, {"ok": 1.0}]


def test_ids_of_scores_are_no_hashes_of_private_values(here):
    """A digest of an address could be compared with those of known addresses."""
    put(f"{OBSERVATIONS}.jsonl", observation())
    put(f"{SCORES}.jsonl", {**OF_TRACE, "id": "jo.reef@harbour-tides.org"})
    convert("logs", "open", Options(anonymize=False))
    convert("logs", "out", Options(anonymize=True, anonymize_key=b"k" * 32))
    accounts = []
    for name in ("open", "out"):
        lines = Path(name, "reports/outcomes.jsonl").read_bytes().splitlines()
        sessions = [line.session for line in map(stored_sessions.decode, lines) if line.session]
        accounts.append([each.outcome.account.scores for each in sessions if each.outcome.account.scores])
    assert [] not in accounts
    assert accounts[0] != accounts[1]
    assert counts() == counts("open") == {"rows": 1, "joined": 1, "not_joined": {}}


# LangSmith: Run.parent_run_id, parent_run_ids, dotted_order and trace_id in schemas.py of langsmith 0.15.1


def runs(**model: Any) -> list[dict[str, Any]]:
    common = {
        "trace_id": "root",
        "start_time": "2026-05-09T10:00:01",
        "outputs": {"role": "assistant", "content": "At 2."},
    }
    inputs = {"messages": [user("When is low tide?")]}
    root = {
        **common,
        "id": "root",
        "run_type": "chain",
        "inputs": inputs,
        "feedback_stats": {"thumbs": {"n": 1, "avg": 1.0}},
    }
    step = {
        **root,
        "id": "step",
        "parent_run_id": "root",
        "feedback_stats": None,
        "feedback": [{"key": "tone", "value": "kind"}],
    }
    other = {**step, "id": "other", "feedback": [{"key": "elsewhere", "score": 1}]}
    return [root, step, other, {**common, "id": "call", "run_type": "llm", "inputs": inputs, **model}]  # fmt: skip


@cases(
    "model, expected",
    ("the parent", {"parent_run_id": "step"}, {"tone": "kind", "thumbs": 1.0}),
    ("a list of parents", {"parent_run_ids": ["root", "step"]}, {"thumbs": 1.0, "tone": "kind"}),
    ("the order", {"dotted_order": "20260509T100001000000Zroot.20260509T100001000000Zstep.20260509T100001000000Zcall"}, {"thumbs": 1.0, "tone": "kind"}),
    ("only the trace", {}, {"thumbs": 1.0}),
    ("its own feedback first", {"feedback_stats": {"thumbs": {"n": 1, "avg": 0.0}}}, {"thumbs": 0.0}),
    ("odd values", {"parent_run_ids": [7, None], "dotted_order": 7, "parent_run_id": {}}, {"thumbs": 1.0}),
)  # fmt: skip
@pytest.mark.parametrize("order", [1, -1])
def test_feedback_for_a_chain_concerns_the_model_runs_below_it(here, model, expected, order):
    put("logs/runs.jsonl", *runs(**model)[::order])
    convert("logs", "out", ALL)
    assert scores() == [{"thumbs": 0.0} if "feedback_stats" in model else None, expected]
    assert counts()["rows"] == 3
    assert counts()["not_joined"]["unmatched"] >= 1


def test_feedback_for_a_chain_is_the_same_in_parquet(here):
    rows = [{**row, **{name: json.dumps(row.get(name)) for name in ("inputs", "outputs", "feedback_stats", "feedback")}} for row in runs(parent_run_id="step")]  # fmt: skip
    Path("runs.parquet").write_bytes(parquet(rows))
    convert("runs.parquet", "out", ALL)
    assert scores() == [None, {"tone": "kind", "thumbs": 1.0}]
