"""Provenance is the same however a run was carried out, and covers all kinds of logs."""

import gzip
import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from chatsquash import Options, convert, convert_session
from chatsquash.conversion.merge_results import merge_results
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.divide import divide
from chatsquash.conversion.shards.merge import merge
from chatsquash.conversion.shards.place import Shard
from chatsquash.core.errors import UsageError
from chatsquash.results.verify import verify
from tests.conftest import KEY, assistant, cases, log_line, user, write_log
from tests.outputs import comparable
from tests.provenance.checker import ROOT, checker
from tests.session.test_join import both

SAMPLE_LOGS = ROOT / "sample_logs"
STATEMENT = "provenance/statement.json"


def options(**values):
    return Options(**{"provenance": True, "anonymize_key": KEY.encode(), **values})


def result(out="out"):
    """An output without the statement, which has the hash of ``run.json`` and so depends on the seconds of the run."""
    files = comparable(out)
    files.pop(STATEMENT)
    return files


def rows(name="messages", out="out"):
    return checker.table(Path(out), name)


def texts(row):
    return [piece for _, pieces in json.loads(row["texts"]) for piece in pieces]


@pytest.fixture
def logs(here):
    for folder in ("2026-01-14", "anthropic", "documents", "gemini"):
        shutil.copytree(SAMPLE_LOGS / folder, Path("logs", folder))
    return here


def test_the_bytes_do_not_depend_on_the_number_of_workers(logs, monkeypatch):
    from chatsquash.conversion import workers

    monkeypatch.setattr(workers, "_WORTH_A_PROCESS", 1)
    for count in (1, 2, 4):
        convert("logs", f"out{count}", options(workers=count, format="parquet"))
    assert result("out1") == result("out2") == result("out4")
    assert checker.check("out4") == []


def test_later_runs_and_interrupted_ones_write_the_same(logs):
    shutil.move("logs/gemini", "later")
    convert("logs", "out", options())
    shutil.move("later", "logs/gemini")
    assert convert("logs", "out", options()).reused > 0
    convert("logs", "new", options())
    assert result("out") == result("new")
    done = []

    def stop(*_):
        done.append(1)
        if len(done) == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert("logs", "resumed", options(), stop)
    convert("logs", "resumed", options(resume=True))
    assert result("resumed") == result("new")
    assert checker.check("resumed") == []


def test_a_run_without_the_option_has_no_provenance_and_replaces_one(logs):
    convert("logs", "out", options())
    convert("logs", "out", Options(anonymize_key=KEY.encode()))
    convert("logs", "plain", Options(anonymize_key=KEY.encode()))
    assert not list(Path("out").glob("provenance/*"))
    assert comparable("out").keys() >= comparable("plain").keys()


def test_merged_results_have_the_provenance_of_one_run(logs):
    for each in ("2026-01-14", "anthropic"):
        convert(f"logs/{each}", each, options(format="jsonl"))
    merge_results(["2026-01-14", "anthropic"], Path("merged"), Options())
    convert(["logs/2026-01-14", "logs/anthropic"], "out", options(format="jsonl"))
    for name in ("messages", "records", "logs"):
        assert rows(name, "merged") == rows(name, "out")
    assert checker.check("merged") == []


LONG = "The ferry leaves at noon, " * 9


@cases(
    "pack",
    ("compressed", lambda: Path("logs/a.jsonl.gz").write_bytes(gzip.compress(Path("a.jsonl").read_bytes()))),
    ("in a zip", lambda: _zip("logs/a.zip")),
    ("in a tar", lambda: _tar("logs/a.tar", "w")),
    ("in a compressed tar", lambda: _tar("logs/a.tgz", "w:gz")),
)
def test_logs_in_containers_are_replayed(here, pack):
    write_log(Path("a.jsonl"), log_line(LONG, session_id="one"), log_line(f"{LONG}!", session_id="two"))
    Path("logs").mkdir()
    pack()
    convert("logs", "out", options(sessions_by="id"))
    assert checker.check("out") == []
    assert [(row["proof"], row["line"]) for row in rows()] == [("complete", 1)] * 2 + [("complete", 2)] * 2


def _zip(name):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write("a.jsonl", "in/a.jsonl")


def _tar(name, mode):
    with tarfile.open(name, mode) as archive:
        archive.add("a.jsonl", "in/a.jsonl")


def test_parts_of_sessions_in_several_files_are_replayed_from_each(here):
    first = log_line(LONG, reply="Which ferry?")
    write_log(Path("logs/a.jsonl"), first)
    more = [user(LONG), assistant("Which ferry?"), user("The big one.")]
    write_log(Path("logs/b.jsonl"), log_line(*more, reply="At noon.", at="2026-01-13T11:00:00Z"))
    convert("logs", "out", options(sessions_by="chain"))
    assert checker.check("out") == []
    replies = [(Path(row["reply_log"]).name, row["reply_line"]) for row in rows() if row["trained"]]
    assert replies == [("a.jsonl", 1), ("b.jsonl", 1)]


def test_a_session_joined_with_its_agents_file_is_replayed(here):
    both(here)
    convert("logs", "out", options(join=True))
    assert checker.check("out") == []
    logs = {Path(row["reply_log"]).suffix for row in rows() if row["reply_log"]}
    assert logs
    assert len({path for row in rows() for path in json.loads(row["logs"])}) > 1


def test_replaced_values_are_the_only_change(here):
    write_log(Path("logs/a.jsonl"), log_line(f"mail bo@ferry.pl or al@ferry.pl, {LONG}"))
    convert("logs", "out", options())
    question = rows()[0]
    assert (question["proof"], json.loads(question["changes"])) == ("complete", ["anonymize"])
    kinds = [piece["rule"] if isinstance(piece, dict) else "copy" for piece in texts(question)]
    assert kinds == ["copy", "anonymize", "copy", "anonymize", "copy"]
    assert b"ferry.pl" not in Path("out/provenance/messages-00000.parquet").read_bytes()


def test_cleaned_texts_name_the_rules(here):
    text = f"<system-reminder>\nBe brief.\n</system-reminder>\n{LONG}"
    write_log(Path("logs/a.jsonl"), log_line(text))
    convert("logs", "out", options(cleanup=("claude-code",)))
    assert checker.check("out") == []
    assert json.loads(rows()[0]["changes"]) == ["cleanup:reminders"]
    assert rows()[0]["proof"] == "complete"


def test_private_paths_of_logs_are_replaced_everywhere(here):
    write_log(Path("logs/bo@ferry.pl.jsonl"))
    convert("logs", "out", options())
    assert all("bo@ferry.pl" not in str(row) for name in ("logs", "records", "messages") for row in rows(name))
    assert b"bo@ferry.pl" not in Path("out", STATEMENT).read_bytes()
    assert checker.check("out")
    assert checker.check("out", ["logs"]) == []


def test_a_log_that_cannot_be_read_again_is_no_proof(here, monkeypatch):
    from chatsquash.provenance import files

    write_log(Path("logs/a.jsonl"))
    monkeypatch.setattr(files, "_MOST", 10)
    done = convert("logs", "out", options())
    assert done.provenance["none"] == {"unreadable": 2}
    assert [(row["proof"], row["reason"], row["log"]) for row in rows()] == [("none", "unreadable", None)] * 2
    assert rows("logs")[0]["sha256"] == ""


def test_lines_without_a_file_may_be_out_of_order():
    first = log_line("a", reply="b")
    second = log_line("a", assistant("b"), "c", reply="d", at="2026-01-13T10:01:00Z")
    lines = [json.dumps(second), json.dumps(first)]
    (outcome,) = convert_session(lines, options(conversations="all"))
    assert outcome.record == convert_session(lines, options(conversations="all", provenance=False))[0].record


def test_damaged_lines_and_odd_values_are_no_obstacle(here):
    line = log_line(f"{LONG}\ud800 \\ \x7f", session_id="s", other={"a": [[[1e400]]], "b": "\u2028"})
    write_log(
        Path("logs/a.jsonl"), b'{"broken', json.dumps(log_line("hi")).encode()[:-9], line, b"\x00\xff" * 9, b'"' * 9999
    )
    convert("logs", "out", options())
    assert checker.check("out") == []


def test_time_is_linear_in_hostile_logs(here):
    deep = b'{"a":' * 200 + b'"x"' + b"}" * 200
    write_log(
        Path("logs/a.jsonl"), log_line(LONG), b"[" * 1_000_000, b'"\\' * 500_000, b"{" * 500_000 + b'"', *[deep] * 2_000
    )
    convert("logs", "out", options())
    assert checker.check("out") == []


@cases("samples", "tokens", "forest")
def test_samples_of_other_kinds_are_refused(here, samples):
    write_log(Path("logs/a.jsonl"))
    with pytest.raises(UsageError, match="provenance"):
        convert("logs", "out", options(samples=samples, format="jsonl", preset="hf"))


def test_a_key_that_cannot_sign_is_refused_first(here):
    write_log(Path("logs/a.jsonl"))
    with pytest.raises(UsageError, match="Ed25519 key in PEM"):
        convert("logs", "out", options(provenance_key=b"no key at all, but long"))
    assert not Path("out").exists()


def test_merged_shards_have_the_provenance_of_one_run(logs):
    divide("logs", Path("shards"), options(), 3)
    for number in (1, 2, 3):
        convert_shard(Path("shards"), Shard(number, 3), Options(anonymize_key=KEY.encode()))
    merge(Path("shards"), key=KEY.encode())
    convert("logs", "out", options())
    for name in ("messages", "records", "logs"):
        assert rows(name, "shards") == rows(name, "out")
    assert checker.check("shards") == []


def test_the_statement_is_verified(logs):
    convert("logs", "out", options())
    assert verify(Path("out")).problems == []
    path = Path("out", STATEMENT)
    path.write_bytes(path.read_bytes().replace(b'"run.json"', b'"run.jsom"'))
    assert "statement.json" in verify(Path("out")).problems[0]
    path.unlink()
    assert "statement.json" in verify(Path("out")).problems[0]
