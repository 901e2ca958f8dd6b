"""Finished results in one: as one run over the logs of all of them writes it; what is refused; what counts once."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from chatsquash import Options, convert
from chatsquash.conversion.merge_results import merge_results
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.divide import divide
from chatsquash.conversion.shards.merge import merge as merge_shards
from chatsquash.conversion.shards.place import Shard
from chatsquash.core.errors import UsageError
from chatsquash.core.outcome import Contents
from chatsquash.dataset.stored_sessions import StoredLine, StoredSession, decode, encode
from chatsquash.results.verify import verify
from tests.conftest import assistant, cases, log_line, tree, user, write_log
from tests.conversion.test_shards_law import KEY, written
from tests.outputs import findings, manifest, report

SAMPLES = sorted(path for path in Path("sample_logs").resolve().iterdir() if path.is_dir())
PLAIN = Options(anonymize=False)
NAMED = re.compile(rb"the record of [^ ]*, which is written")
"""A duplicate names the record that was written, which in the run before was another one."""


def merge(*results: str, **options: Any):
    return merge_results(results, Path("both"), Options(**options))


def alike(folder: Path) -> dict[str, Any]:
    """All files of a result, without the seconds and the names of the records that duplicates are equal to."""
    files = {name: NAMED.sub(b"", data) if isinstance(data, bytes) else data for name, data in written(folder).items()}
    for each in files["run.json"]["outputs"]:
        if each["path"] in ("reports/findings.jsonl", "reports/integrity-report.txt", "reports/outcomes.jsonl"):
            del each["size"], each["sha256"]
    return files


# What one run over all logs writes


@cases(
    "options",
    ("the default", {}),
    ("e-mail addresses that stay", {"anonymize": False}),
    ("all conversations, with the outcome of each reply", {"conversations": "all", "trace_replies": True, "loss": "weight"}),
    ("sessions that chains find", {"sessions_by": "chain", "conversations": "all"}),
    ("sessions by id, and malformed lines", {"sessions_by": "id", "keep_rejected": True}),
    ("one file without duplicates and long sessions", {"group_by": "none", "drop_duplicates": True, "max_turns": 6}),
    ("files by scenario", {"group_by": "scenario", "json_tool_calls": True}),
    ("secrets and phones", {"redact": "secrets,phones"}),
    ("filters", {"drop": ("errors",), "where": "turns >= 1"}),
    ("splits by session", {"preset": "hf", "split": "train=0.7,validation=0.3", "split_by": "session"}),
    ("splits by cluster, prefixes dropped", {"duplicates": "prefix", "format": "jsonl", "split": "a=0.5,b=0.5", "split_by": "cluster"}),
    ("near duplicates", {"duplicates": "near", "sessions_by": "id"}),
    ("Parquet with images and columns", {"preset": "hf", "format": "parquet", "metadata": True, "shard_size": 4000, "media": "keep"}),
    ("images in files", {"preset": "hf", "format": "jsonl", "media": "keep"}),
    ("Parquet of structs", {"preset": "sharegpt", "format": "parquet", "loss": "weight"}),
    ("compressed lines with columns", {"preset": "sharegpt", "format": "jsonl.gz", "metadata": True}),
    ("Zstandard", {"preset": "mistral", "format": "jsonl.zst"}),
    ("text", {"preset": "text", "format": "parquet", "metadata": True}),
    ("samples, and preference pairs", {"preset": "hf", "samples": "reply", "pairs": "logged", "format": "parquet"}),
    ("loss by model and step", {"preset": "hf", "format": "jsonl", "metadata": True, "loss": "weight", "loss_model": ("gpt*", "claude*"), "loss_skip": "loop,failed_call", "trace_replies": True}),
    ("pairs in lines", {"preset": "hf", "pairs": "logged", "split": "train=0.5,test=0.5"}),
    ("a trainer", {"trainer": "trl", "preset": "hf", "format": "jsonl"}),
)  # fmt: skip
def test_two_results_give_what_one_run_over_all_logs_gives(here, options):
    wanted = Options(**options, anonymize_key=KEY if options.get("anonymize", True) else None)
    first, second = SAMPLES[::2], SAMPLES[1::2]
    convert(first, "one", wanted)
    convert(second, "two", wanted)
    convert([*first, *second], "local", wanted)
    merge("one", "two")
    assert alike(Path("both")) == alike(Path("local"))
    assert verify(Path("both")).problems == []


@pytest.fixture
def results(here) -> Path:
    """Two results, ``one`` of two sessions and ``two`` of another."""
    write_log(here / "logs/one/a.jsonl", log_line("which tide is it?", session_id="a"))
    write_log(here / "logs/one/b.jsonl", log_line("and now?", session_id="b"), b"{", b"")
    write_log(here / "logs/two/c.jsonl", log_line("and tomorrow?", session_id="c", at="2026-01-14T10:00:00Z"))
    convert("logs/one", "one", PLAIN)
    convert("logs/two", "two", PLAIN)
    return here


def test_results_are_only_read(results):
    before = tree(results)
    merge("one", "two")
    assert {name: data for name, data in tree(results).items() if name.split("/")[0] != "both"} == before


def test_accounts_are_added(results):
    merge("one", "two")
    one, two, both = (manifest(name)["counts"] for name in ("one", "two", "both"))
    for what in ("sessions", "lines", "bytes", "replies", "conversations"):
        for name, count in both[what].items():
            if isinstance(count, int):
                assert count == one[what][name] + two[what][name] > -1, (what, name)
    assert both["lines"] == {**both["lines"], "seen": 5, "selected": 3, "unreadable": 1, "blank": 1}
    assert manifest("both")["records_made"]["count"] == 3


def test_logs_of_one_relative_path_are_two_files(here, monkeypatch):
    for day in ("monday", "tuesday"):
        write_log(here / day / "logs/a.jsonl", log_line(day, session_id=day))
        monkeypatch.chdir(here / day)
        convert("logs", here / f"of-{day}", PLAIN)
    assert merge_results([str(here / "of-monday"), str(here / "of-tuesday")], here / "both", PLAIN).logs == 2


@pytest.mark.parametrize("sessions_by", [None, "chain"])
def test_the_bytes_of_the_logs_are_those_of_both(results, sessions_by):
    for name in ("one", "two"):
        convert(f"logs/{name}", name, Options(anonymize=False, sessions_by=sessions_by))
    assert merge("one", "two").size == sum(path.stat().st_size for path in Path("logs").rglob("*.jsonl"))


def test_merged_results_can_be_merged(results):
    write_log(results / "logs/three/d.jsonl", log_line("and then?", session_id="d"))
    convert("logs/three", "three", PLAIN)
    convert(["logs/one", "logs/two", "logs/three"], "local", PLAIN)
    merge_results(["one", "two"], Path("some"), Options())
    merge("some", "three")
    assert alike(Path("both")) == alike(Path("local"))


def test_what_shards_gave_can_be_merged(results):
    divide("logs/one", "sharded", PLAIN, 2)
    for number in (1, 2):
        convert_shard(Path("sharded"), Shard(number, 2), PLAIN)
    merge_shards(Path("sharded"))
    convert(["logs/one", "logs/two"], "local", PLAIN)
    merge("sharded", "two")
    assert alike(Path("both")) == alike(Path("local"))


# What is in several results


def test_a_log_that_several_results_have_counts_once(results):
    convert(["logs/one", "logs/two"], "all", PLAIN)
    summary = merge("one", "all")
    assert (summary.sessions, summary.written, summary.others["same file again"]) == (3, 3, 2)
    assert alike(Path("both"))["2026-01-13.jsonl"] == Path("one/2026-01-13.jsonl").read_bytes()
    assert verify(Path("both")).problems == []


def test_malformed_lines_of_a_log_that_counts_once_are_there_once(results):
    wanted = Options(anonymize=False, keep_rejected=True)
    write_log(results / "logs/two/d.jsonl", log_line("and there?", session_id="d"), b"[")
    convert("logs/one", "kept", wanted)
    convert(["logs/one", "logs/two"], "all", wanted)
    merge("kept", "all")
    assert Path("both/reports/rejected-lines.jsonl").read_bytes() == b"{\n[\n"


def grown(here: Path, options: Options) -> None:
    """A session whose log grows between two runs."""
    said = [user("Which of the tests fails on the new machine?"), assistant("Only one of them, test_sum.")]
    first = log_line(said[0], reply=said[1]["content"], session_id="tides")
    write_log(here / "logs/a.jsonl", first)
    convert("logs", "monday", options)
    write_log(here / "logs/a.jsonl", first, log_line(*said, "Why?", session_id="tides", at="2026-01-13T11:00:00Z"))
    convert("logs", "tuesday", options)


def test_a_session_that_grew_is_reported(here):
    grown(here, PLAIN)
    assert merge("monday", "tuesday").written == 2
    (met,) = findings("divided-session", out="both")
    assert met["text"].startswith("has the same session_id as logs/a.jsonl: ")


def test_duplicates_choose_the_longer_record_of_a_session_that_grew(here):
    grown(here, PLAIN)
    summary = merge("monday", "tuesday", duplicates="prefix")
    assert (summary.sessions, summary.written, summary.duplicates) == (2, 1, 1)
    assert [row["left_out"] for row in report("sessions.jsonl", "both")] == ["duplicate-record", None]
    assert manifest("both")["options"]["duplicates"] == "prefix"
    assert verify(Path("both")).problems == []


@cases("mine, theirs, given, kept",
    ("as both were made", "exact", "exact", None, 1),
    ("kept, as both were made", "keep", "keep", None, 2),
    ("as merge says", "keep", "keep", "exact", 1),
    ("as merge says, whatever each says", "exact", "keep", "ids", 1),
)  # fmt: skip
def test_equal_records_of_two_results(here, mine, theirs, given, kept):
    for name, duplicates in (("one", mine), ("two", theirs)):
        write_log(here / name / "logs" / f"{name}.jsonl", log_line("hi", session_id=name))
        convert(here / name / "logs", name + "-out", Options(anonymize=False, duplicates=duplicates))
    summary = merge("one-out", "two-out", duplicates=given)
    assert (summary.sessions, summary.written, summary.duplicates) == (2, kept, 2 - kept)
    assert summary.replies.carried == kept
    assert verify(Path("both")).problems == []


# What is refused


def spoiled(name: str, data: bytes) -> None:
    """Change a file of ``two`` as if a run had written it so."""
    Path("two", name).write_bytes(data)
    run = manifest("two")
    for each in run["outputs"]:
        if each["path"] == name:
            each.update(size=len(data), sha256=sha256(data).hexdigest(), lines=data.count(b"\n"))
    Path("two/run.json").write_text(json.dumps(run))


def in_run(**members: Any) -> None:
    """Change members of ``run.json`` of ``two``."""
    run = manifest("two")
    counts = run["counts"] | members.pop("counts", {})
    Path("two/run.json").write_text(json.dumps({**run, **members, "counts": counts}))


def in_session(change: Callable[[StoredSession], StoredSession]) -> None:
    """Change the first session in the outcomes of ``two``."""
    first, *others = Path("two/reports/outcomes.jsonl").read_bytes().splitlines(keepends=True)
    session = decode(first).session
    assert session
    spoiled("reports/outcomes.jsonl", b"".join([encode(StoredLine(change(session))), b"\n", *others]))


def in_record(session: StoredSession, **members: Any) -> StoredSession:
    """A session whose first record has other members."""
    outcome = session.outcome
    records = [replace(outcome.output.records[0], **members)]
    return replace(session, outcome=replace(outcome, output=replace(outcome.output, records=records)))


def with_another_line() -> None:
    text = Path("two/reports/outcomes.jsonl").read_text()
    spoiled(
        "reports/outcomes.jsonl",
        text.replace('"openai_chat"', "null").replace("[1,0,0,0,0,0,0,0]", "[1,1,0,0,0,0,0,0]").encode(),
    )


@cases("spoil, problem",
    ("a folder of logs", lambda: shutil.copytree("logs", "two", dirs_exist_ok=True) and Path("two/run.json").unlink(), "two: not a result of chatsquash convert; use its output folder"),
    ("a folder that is not there", lambda: shutil.rmtree("two"), "two: not a result of chatsquash convert; use its output folder"),
    ("a record that was changed", lambda: Path("two/2026-01-14.jsonl").write_text("{}\n"), "two: the output was changed since it was written (two/2026-01-14.jsonl: 3 bytes with the hash"),
    ("another preset", lambda: convert("logs/two", "two", Options(anonymize=False, preset="openai", replace=True)), "two was written with --preset openai, but one with --preset chat: only results with the same options can be merged"),
    ("a flag more", lambda: convert("logs/two", "two", Options(anonymize=False, merge_consecutive=True)), "two was written with --merge-consecutive, but one without --merge-consecutive"),
    ("addresses that were replaced", lambda: convert("logs/two", "two", Options(anonymize_key=KEY)), "two was written with --anonymize, but one without --anonymize"),
    ("other duplicates", lambda: convert("logs/two", "two", Options(anonymize=False, duplicates="exact")), "two was written with --duplicates exact, but one without --duplicates: only results with the same options can be merged; choose a mode with merge --duplicates"),
    ("outcomes of another version", lambda: spoiled("reports/outcomes.jsonl", b"[[1]]\n"), "two/reports/outcomes.jsonl: invalid content"),
    ("another version of chatsquash", lambda: in_run(chatsquash_version="9.9"), "two: the output was written by another version of chatsquash; convert again"),
    ("counts that are no numbers", lambda: in_run(counts={"other_files": 3}), "two/run.json: invalid content"),
    ("a sum that is missing", lambda: in_run(records_made={}), "two/run.json: invalid content"),
    ("more places than records", lambda: in_session(lambda each: replace(each, places=each.places * 2)), "two/reports/outcomes.jsonl: invalid content"),
    ("an image that is the manifest", lambda: in_session(lambda each: in_record(each, images={"run.json": b""})), "two/reports/outcomes.jsonl: invalid content"),
    ("a length below 0", lambda: in_session(lambda each: in_record(each, contents=Contents(characters=-1))), "two/reports/outcomes.jsonl: invalid content"),
    ("records that its sessions do not have", lambda: spoiled("2026-01-14.jsonl", Path("two/2026-01-14.jsonl").read_bytes().replace(b"tomorrow", b"tomorrov")), "two/2026-01-14.jsonl: invalid content"),
    ("accounts that do not add up", with_another_line, "two: the lines of its sessions do not add up to run.json; convert again"),
)  # fmt: skip
def test_results_that_cannot_be_merged_are_named(results, spoil, problem):
    spoil()
    with pytest.raises(UsageError) as refused:
        merge("one", "two")
    assert problem in str(refused.value)
    assert not Path("both").exists()


def test_a_result_without_outcomes_is_converted_again(results):
    Path("two/reports/outcomes.jsonl").unlink()
    run = manifest("two")
    run["outputs"] = [each for each in run["outputs"] if each["path"] != "reports/outcomes.jsonl"]
    Path("two/run.json").write_text(json.dumps(run))
    with pytest.raises(
        UsageError, match=r"^two: the output was written by another version of chatsquash; convert again"
    ):
        merge("one", "two")


@cases("out",
    ("one of them", "one"),
    ("a folder in one of them", "two/both"),
)  # fmt: skip
def test_an_output_folder_in_a_result_is_refused(results, out):
    with pytest.raises(
        UsageError, match=r"the output folder is inside the input .*; choose another folder with --output"
    ):
        merge_results(["one", "two"], Path(out), Options())


def test_a_result_in_the_output_folder_stays_unless_it_may_be_replaced(results):
    merge("one", "two")
    before = tree(Path("both"))
    with pytest.raises(UsageError, match=r"^both: contains 3 records of logs, .*or add --replace$"):
        merge("two", "one")
    assert tree(Path("both")) == before
    merge("two", "one", replace=True)
    assert [each["path"] for each in manifest("both")["inputs"]] == [
        "logs/two/c.jsonl",
        "logs/one/a.jsonl",
        "logs/one/b.jsonl",
    ]


def test_different_keys_are_refused_where_both_replaced_something(here):
    for name, text in (("one", "ann@tides.net"), ("two", "bob@tides.net"), ("three", "nobody")):
        write_log(here / "logs" / name / f"{name}.jsonl", log_line(text, session_id=name))
        convert(f"logs/{name}", name, Options(anonymize_key=name.encode() * 9))
    with pytest.raises(
        UsageError, match=r"^one and two were written with different keys: equal values would have different"
    ):
        merge("one", "two")
    assert merge("one", "three").written == 2
    fingerprints = [manifest(name)["options"]["anonymize_key_fingerprint"] for name in ("one", "both")]
    assert fingerprints[0] == fingerprints[1]


def test_days_and_paths_may_differ(results):
    convert("logs/one", "monday", Options(anonymize=False, since="2026-01-13", until="2026-01-13"))
    convert("logs/two", "tuesday", Options(anonymize=False, since="2026-01-14", exclude=("x*",)))
    assert merge("monday", "tuesday").written == 3
    options = manifest("both")["options"]
    assert (options["since"], options["until"], options["exclude"]) == (None, None, [])


def test_hashes_of_what_was_found_are_not_kept(here):
    write_log(here / "logs/a.jsonl", log_line("GITHUB_TOKEN=ghp_R4nd0mTk9vQ2xLw8ZbN5cYh1Ue7Jf3Kd6Ps"))
    wanted = Options(anonymize_key=KEY, redact="secrets", write_known=str(here / "known"))
    convert("logs", "out", wanted)
    known, *_ = re.findall("[0-9a-f]{64}", Path("known").read_text())
    assert known not in Path("out/reports/outcomes.jsonl").read_text()


# The command


def test_the_command_joins_results_and_exits_as_convert_does(results, command):
    done = command("merge", "one", "two", "-o", "both")
    assert done.code == 3  # a line of one could not be read
    assert "3 records written to" in done.err
    assert manifest("both")["counts"]["sessions"]["written"] == 3


@cases("arguments, problem",
    ("one result and nothing else", ["one"], "or merge this result with another: chatsquash merge one OTHER -o BOTH"),
    ("one result", ["one", "-o", "both"], "one: only one result was passed; add another to merge it with"),
    ("the key of shards", ["one", "two", "--anonymize-key-file", "key"], "--anonymize-key-file key has no effect on finished results"),
    ("duplicates of shards", ["one", "--duplicates", "exact"], "--duplicates exact has no effect on shards"),
)  # fmt: skip
def test_what_the_command_refuses(results, command, arguments, problem):
    ended = command("merge", *arguments)
    assert ended.code == 2
    assert problem in ended.err
