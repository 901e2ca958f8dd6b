"""Verdicts of others on replies: which replies ``--loss-labels`` masks, and the outcome of every row."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from chatsquash import Options, convert, convert_session
from chatsquash.conversion.merge_results import merge_results
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.divide import divide
from chatsquash.conversion.shards.merge import merge as merge_shards
from chatsquash.conversion.shards.place import Shard
from chatsquash.core.errors import UsageError
from chatsquash.results.verify import verify
from chatsquash.session import label_files
from tests.conftest import assistant, cases, table, user, write_log
from tests.outputs import comparable, manifest, put, report
from tests.trees import logs

SAMPLES = Path(__file__).parents[2] / "sample_logs"


def pack(*rows: Any) -> bytes:
    return label_files.pack(b"".join(json.dumps(row).encode() + b"\n" for row in rows), "labels.jsonl", Options())


def options(*rows: Any, **more: Any) -> Options:
    return Options(**{"anonymize": False, "loss": "weight", "loss_labels": pack(*rows), **more})


def weights(*rows: Any, lines: list[Any], **more: Any) -> list[Any]:
    """The flags of the replies in each record of a session."""
    (outcome,) = convert_session([json.dumps(line) for line in lines], options(*rows, **more))
    return [
        [each["weight"] for each in json.loads(record.line)["messages"] if each["role"] == "assistant"]
        for record in outcome.records
    ]


def outcomes(out: str = "out") -> list[Any]:
    return [(row["outcome"], row["why"]) if row["why"] else row["outcome"] for row in report("loss-labels.jsonl", out)]


@cases(
    "rows, expected",
    ("a bad reply is not trained on", [{"id": "r0", "label": "bad"}], [0, 1]),
    ("nor one with the weight 0", [{"reply": "r1", "weight": 0}], [1, 0]),
    ("a good reply is trained on as before", [{"id": "r1", "label": True}], [1, 1]),
    ("a weight in between is written", [{"id": "r0", "weight": 0.25}, {"id": "r1", "weight": 1}], [0.25, 1]),
    ("a row may name the file and line", [{"file": "s.jsonl", "line": 2, "label": -1}], [1, 0]),
    ("a row of replies.jsonl has both", [{"id": "r1", "file": "s.jsonl", "line": 2, "label": "down"}], [1, 0]),
    ("both must match", [{"id": "r1", "file": "other.jsonl", "line": 2, "label": "down"}], [1, 1]),
    ("an unknown id changes nothing", [{"id": "r7", "label": "bad"}], [1, 1]),
    ("equal rows count once", [{"id": "r0", "label": "bad"}, {"id": "r0", "weight": 0}], [0, 1]),
    ("contradicting rows change nothing", [{"id": "r0", "label": "bad"}, {"id": "r0", "label": "good"}], [1, 1]),
    ("also after equal ones", [{"id": "r0", "weight": each} for each in (0, 0, 0.5, 0)], [1, 1]),
    ("also with a place", [{"id": "r0", "weight": 0}, {"id": "r0", "file": "s.jsonl", "line": 1, "weight": 1}], [1, 1]),
)
def test_rows_set_the_weights_of_replies(here, rows, expected):
    write_log(Path("s.jsonl"), *logs.grows())
    convert("s.jsonl", "out", options(*rows))
    record = json.loads(Path("out/2026-01-13.jsonl").read_text("utf-8"))
    assert [each["weight"] for each in record["messages"] if each["role"] == "assistant"] == expected
    assert verify(Path("out")).problems == []


def test_replies_without_a_logged_id_are_named_by_session_and_line():
    lines = logs.grows()
    for line in lines:
        del line["response"]["id"]
    assert weights({"id": "s1#2", "label": "bad"}, lines=lines) == [[1, 0]]


def test_a_label_never_makes_an_excluded_reply_trained_on():
    lines = logs.grows()
    lines[1]["response"]["choices"][0]["finish_reason"] = "length"
    assert weights({"id": "r1", "label": "good"}, lines=lines) == [[1, 0]]


def test_boolean_flags_are_true_for_any_weight_above_zero():
    rows = {"id": "r0", "weight": 0.01}, {"id": "r1", "weight": 0}
    (outcome,) = convert_session([json.dumps(line) for line in logs.grows()], options(*rows, loss="loss"))
    flags = [each.get("loss") for each in json.loads(outcome.records[0].line)["messages"]]
    assert flags == [None, None, True, None, False]


def test_samples_have_no_sample_for_a_bad_reply(here):
    write_log(Path("s.jsonl"), *logs.grows())
    convert("s.jsonl", "out", options({"id": "r1", "label": "bad"}, loss="none", preset="hf", samples="reply"))
    assert manifest()["counts"]["replies"]["carried"] == 1
    assert outcomes() == ["applied"]


def test_samples_with_flags_have_the_weights():
    records = weights({"id": "r1", "weight": 0.5}, lines=logs.grows(), samples="reply")
    assert [each[-1] for each in records] == [1, 0.5]


@cases(
    "weight, expected",
    ("a good reply", 1, [0, 0, 1, 1, 0, 1, 1]),
    ("a weight in between", 0.25, [0, 0, 1, 1, 0, 1, 1]),
    ("a bad reply", 0, [0, 0, 0, 0, 0, 1, 1]),
)
def test_masks_of_token_ids_only_distinguish_zero(here, weight, expected):
    lines = logs.grows()
    for line, prompt, ids in zip(lines, ([1, 2], [1, 2, 3, 4, 5]), ([3, 4], [6, 7]), strict=True):
        line["response"]["prompt_token_ids"], line["response"]["choices"][0]["token_ids"] = prompt, ids
    write_log(Path("s.jsonl"), *lines)
    convert("s.jsonl", "out", options({"id": "r0", "weight": weight}, loss="none", preset="hf", samples="tokens"))
    row = json.loads(Path("out/data/train-00000-of-00001.jsonl").read_bytes())
    assert row["completion_mask"] == expected
    assert outcomes() == ["applied"]


def test_completions_only_distinguish_zero():
    given = options({"id": "r0", "weight": 0.25}, loss="none", preset="hf", samples="reply")
    (outcome,) = convert_session([json.dumps(line) for line in logs.grows()], given)
    assert [[*json.loads(record.line)] for record in outcome.records] == [["prompt", "completion"]] * 2


# The outcome of each row


def several() -> list[Any]:
    """Two replies with the same id, one that was truncated, and one that a later branch replaced."""
    log = logs.Log()
    begin = (logs.AGENT, user("Which test fails?"))
    one = log.add(*begin, says="The test of sums.", id="same")
    log.add(*begin, one, user("Remove it."), says="The test is gone.", id="branch")
    two = log.add(*begin, one, user("Which line?"), says="Line 3 is.", id="same")
    three = log.add(*begin, one, user("Which line?"), two, user("Why?"), says="It adds", finish="length", id="short")
    log.add(*begin, one, user("Which line?"), two, user("Why?"), three, user("Fix it."), says="It is fixed.", id="last")
    return log.lines


ROWS: list[Any] = [
    {"id": "last", "label": "bad"},
    {"id": "last", "label": 0},
    {"id": "same", "label": "bad"},
    {"id": "short", "label": "good"},
    {"id": "branch", "label": "bad"},
    {"id": "none", "label": "bad"},
    {"id": "last"},
    {"id": 7, "label": "bad"},
    {"id": "last", "weight": [1]},
    {"label": "bad"},
    *({"id": "same", "weight": each} for each in (0, 0.5, 0, 1)),
    *({"id": "last", "weight": 0} for _ in range(2)),
    *({"id": "none", "label": "bad"} for _ in range(2)),
]
EXPECTED = [
    "applied",
    "duplicate",
    "ambiguous",
    ("not-trained", "truncated"),
    ("lost", "branch"),
    "unknown",
    "no-verdict",
    *["wrong-type"] * 3,
    *["ambiguous"] * 4,
    *["duplicate"] * 2,
    *["unknown"] * 2,
]


def test_each_row_has_exactly_one_outcome(here):
    write_log(Path("s.jsonl"), *several())
    summary = convert("s.jsonl", "out", options(*ROWS, conversations="main"))
    assert outcomes() == EXPECTED
    names = Counter(each if isinstance(each, str) else each[0] for each in EXPECTED)
    counts = manifest()["counts"]["loss_labels"]
    assert counts == {
        "rows": len(ROWS),
        "applied": names.pop("applied"),
        "not_applied": dict(sorted(names.items())),
    }
    assert counts["rows"] == counts["applied"] + sum(counts["not_applied"].values())
    assert "labels" in str(summary)


@cases(
    "rows",
    ("rows with one id", [{"id": "same", "weight": 0}] * 2_000),
    ("different weights", [{"id": "same", "weight": each / 2_000} for each in range(2_000)]),
    ("one id at many places", [{"id": "same", "file": "s.jsonl", "line": each, "weight": 0} for each in range(2_000)]),
)
def test_many_rows_about_many_replies_are_not_compared_with_each_of_them(rows):
    (outcome,) = convert_session([json.dumps(line) for line in several()], options(*rows))
    assert all(len(each.labels) <= 2 for each in outcome.replies.rows)


def test_every_row_of_the_report_of_replies_is_a_row_of_labels(here):
    """Each reply of the samples of all formats is given back with a verdict, which is applied or not for a reason."""
    kept: dict[str, Any] = {"anonymize": False, "loss": "weight", "conversations": "all", "trace_replies": True}
    convert(SAMPLES, "first", Options(**kept))
    rows = [{**row, "label": "bad"} for row in report("replies.jsonl", "first")]
    convert(SAMPLES, "out", Options(**kept, loss_labels=pack(*rows)))
    after = report("replies.jsonl")
    assert [{**row, "loss": 0} for row in after] == [{**row, "loss": 0} for row in report("replies.jsonl", "first")]
    assert not any(row["loss"] for row in after)
    assert len(outcomes()) == len(rows)
    for row, outcome in zip(rows, outcomes(), strict=True):
        if row["loss"]:
            assert outcome == "applied", row
        else:
            assert outcome[0] in ("lost", "not-trained", "duplicate"), row
    assert manifest()["counts"]["loss"]["trained"] == 0


def test_workers_reruns_and_merges_give_the_same_outcomes(here):
    for name in ("a", "b"):
        write_log(Path("logs") / name / f"{name}.jsonl", *several())
    for path in ("b",):
        lines = json.loads(json.dumps(several()).replace('"id": "', f'"id": "{path}-'))
        write_log(Path("logs") / path / f"{path}.jsonl", *lines)
    rows = [*ROWS, {"id": "b-last", "label": "bad"}, {"file": "logs/b/b.jsonl", "line": 1, "weight": 0.5}]
    convert("logs", "one", options(*rows))
    convert("logs", "two", options(*rows, workers=2))
    assert comparable("one") == comparable("two")
    convert("logs/a", "part-a", options(*rows))
    convert("logs/b", "part-b", options(*rows))
    merge_results(["part-a", "part-b"], Path("both"), Options())
    assert report("loss-labels.jsonl", "both") == report("loss-labels.jsonl", "one")
    assert manifest("both")["counts"]["loss_labels"] == manifest("one")["counts"]["loss_labels"]
    assert verify(Path("both")).problems == []
    # A changed file converts the sessions again, the same file does not.
    assert convert("logs", "one", options(*rows)).unchanged
    assert convert("logs", "one", options(*rows[1:])).reused == 0


def test_shards_give_the_outcomes_of_one_run(here):
    for name in ("a", "b", "c"):
        lines = json.loads(json.dumps(several()).replace('"id": "', f'"id": "{name}-').replace("s1", name))
        write_log(Path("logs") / f"{name}.jsonl", *lines)
    rows = [{"id": "b-last", "label": "bad"}, {"id": "c-last", "weight": 0.5}, {"id": "none", "label": "bad"}]
    convert("logs", "local", options(*rows))
    divide("logs", "out", options(*rows), 2)
    for number in (2, 1):
        convert_shard(Path("out"), Shard(number, 2), Options())
    merge_shards(Path("out"))
    assert report("loss-labels.jsonl") == report("loss-labels.jsonl", "local")
    assert [row["outcome"] for row in report("loss-labels.jsonl")] == ["applied", "applied", "unknown"]
    assert manifest()["counts"]["loss_labels"] == manifest("local")["counts"]["loss_labels"]


def test_a_row_about_several_sessions_says_so(here):
    for name in ("a", "b"):
        lines = json.loads(json.dumps(logs.grows()).replace("sums", f"sums {name}").replace("s1", name))
        write_log(Path("logs") / f"{name}.jsonl", *lines)
    rows = {"id": "r1", "label": "bad"}, {"id": "r0", "file": "logs/b.jsonl", "line": 1, "label": "bad"}
    summary = convert("logs", "out", options(*rows))
    assert report("loss-labels.jsonl") == [
        {"row": 1, "id": "r1", "weight": 0.0, "outcome": "applied", "why": None, "sessions": 2},
        {"row": 2, "id": "r0", "weight": 0.0, "outcome": "applied", "why": None},
    ]
    assert manifest()["counts"]["loss_labels"] == {
        "rows": 2,
        "applied": 2,
        "not_applied": {},
        "in_several_sessions": 1,
    }
    assert table(summary)["labels"] == "2 applied (1 in several sessions)"


@pytest.mark.parametrize("verdict", ["good", "bad"])
@pytest.mark.parametrize("copies", [1, 2, 5])
def test_a_row_is_applied_to_every_trained_copy_of_its_reply_and_counts_once(here, verdict, copies):
    """A fork logs the history that it copies again, so that the same reply is trained on in several sessions."""
    for number in range(copies):
        lines = json.loads(json.dumps(logs.grows()).replace("s1", f"fork-{number}"))
        lines[-1]["request"]["messages"].append(user(f"Now do {number}."))
        write_log(Path("logs") / f"{number}.jsonl", *lines)
    kept: dict[str, Any] = {"trace_replies": True, "duplicates": "keep"}
    convert("logs", "before", options({"id": "none", "label": "bad"}, **kept))
    convert("logs", "out", options({"id": "r0", "label": verdict}, **kept))
    trained = {row["session"]: row["loss"] for row in report("replies.jsonl") if row["id"] == "r0"}
    before = {row["session"]: row["loss"] for row in report("replies.jsonl", "before") if row["id"] == "r0"}
    assert len(before) == copies
    assert {*before.values()} == {1}
    assert trained == dict.fromkeys(before, int(verdict == "good"))
    others = [row["loss"] for row in report("replies.jsonl") if row["id"] != "r0"]
    assert others == [row["loss"] for row in report("replies.jsonl", "before") if row["id"] != "r0"]
    counts = manifest()["counts"]["loss_labels"]
    assert (counts["rows"], counts["applied"], counts["not_applied"]) == (1, 1, {})
    assert counts.get("in_several_sessions", 0) == (copies > 1)
    assert report("loss-labels.jsonl")[0].get("sessions", 1) == copies


# The file


def test_parquet_and_json_lines_are_read_alike(here):
    pl.DataFrame({"id": ["r0", "r1"], "label": ["good", "bad"], "note": ["x", None]}).write_parquet("labels.parquet")
    put("labels.jsonl", {"id": "r0", "label": "good", "note": "x"}, {"id": "r1", "label": "bad"})
    assert label_files.read("labels.parquet", Options()) == label_files.read("labels.jsonl", Options())


@cases(
    "spelled, weight",
    ("NaN", "NaN", float("nan")),
    ("infinity", "Infinity", float("inf")),
    ("negative infinity", "-Infinity", float("-inf")),
    ("a number above all doubles", "1e400", float("inf")),
)
def test_a_number_that_json_cannot_represent_is_no_verdict_in_both(here, spelled, weight):
    pl.DataFrame({"id": ["r0", "r1"], "weight": [weight, 0.0]}).write_parquet("labels.parquet")
    Path("labels.jsonl").write_text(
        f'{{"id": "r0", "weight": {spelled}}}\n{{"id": "r1", "weight": 0.0, "score": [{spelled}]}}\n'
    )
    packed = label_files.read("labels.jsonl", Options())
    assert packed == label_files.read("labels.parquet", Options())
    write_log(Path("s.jsonl"), *several())
    convert("s.jsonl", "out", Options(anonymize=False, loss="weight", loss_labels=packed))
    assert outcomes()[0] == "no-verdict"


@cases(
    "content, message",
    (
        "an unknown label",
        b'{"id": "a", "label": "good"}\n{"id": "b", "label": "meh"}',
        "labels:2: label 'meh' is unknown",
    ),
    ("a weight above 1", b'{"id": "a", "weight": 1.5}', "labels:1: weight '1.5' is not between 0 and 1"),
    ("another number as a label", b'{"id": "a", "label": 2}', "labels:1: label '2' is unknown"),
    ("a number as a label that no float can be", b'{"id": "a", "label": 1' + b"0" * 400 + b"}", "labels:1: label '100"),
    ("a weight and a label", b'{"id": "a", "label": 1, "weight": 1}', "labels:1: the row has both"),
    ("not JSON", b'{"id": "a", "label": 1}\n\n{"id":', "labels:3: not valid JSON"),
    ("not an object", b"[1]", "labels:1: expected an object"),
    ("nothing", b"\n", "labels: no row has a weight or label"),
    ("damaged Parquet", b"PAR1 and more", "labels: "),
    ("deep nesting", b'{"id":' + b"[" * 100_000, "labels:1: not valid JSON"),
)
def test_a_file_that_cannot_be_used_is_an_error_with_the_row(content, message):
    with pytest.raises(UsageError, match="^" + message.replace("(", r"\(")):
        label_files.pack(content, "labels", Options())


@cases(
    "row, outcome",
    ("an id", '{"id": "\\ud800", "label": "bad"}', "wrong-type"),
    ("an id without a verdict", '{"id": "\\ud800"}', "no-verdict"),
    ("a file", '{"id": "r0", "file": "\\udfff", "line": 1, "weight": 0}', "wrong-type"),
)
def test_names_that_no_report_can_contain_match_no_reply(here, row, outcome):
    write_log(Path("s.jsonl"), *logs.grows())
    labels = label_files.pack(row.encode(), "labels.jsonl", Options())
    convert("s.jsonl", "out", Options(anonymize=False, loss="weight", loss_labels=labels))
    assert outcomes() == [outcome]


@cases(
    "more, message",
    (
        "a preset of a service",
        {"preset": "openai"},
        "row 1 has the weight 0.5, but the services of preset='openai' only",
    ),
    (
        "integers in Parquet",
        {"preset": "text", "format": "parquet"},
        "row 1 has the weight 0.5, but the Parquet files",
    ),
    ("no flags", {"loss": "none"}, "has no effect without loss"),
)
def test_weights_that_records_cannot_have_are_refused(here, more, message):
    write_log(Path("s.jsonl"), *logs.grows())
    with pytest.raises(UsageError, match=message):
        convert("s.jsonl", "out", options({"id": "r0", "weight": 0.5}, **more))


def test_ids_of_other_text_are_not_in_reports(here):
    lines = logs.grows()
    lines[0]["response"]["id"] = "jo@example.com"
    write_log(Path("s.jsonl"), *lines)
    convert("s.jsonl", "out", options({"id": "jo@example.com", "label": "bad"}, trace_replies=True))
    assert [row["id"] for row in report("replies.jsonl")] == ["s1#1", "r1"]
    assert b"jo@" not in b"".join(path.read_bytes() for path in Path("out/reports").rglob("*.json*"))


def test_prefix_of_a_reply_with_placeholders_stays_masked(here):
    """A reply with a weight in between is not trained on if a secret in it was replaced."""
    lines = logs.grows()
    lines[1]["response"]["choices"][0]["message"] = assistant("Use ticket-4711 for it.")
    write_log(Path("s.jsonl"), *lines)
    kept = {"redact_pattern": (r"ticket=ticket-\d+",), "anonymize_key": b"k" * 32}
    convert("s.jsonl", "out", options({"id": "r1", "weight": 0.5}, **kept))
    assert outcomes() == [("not-trained", "redacted")]
