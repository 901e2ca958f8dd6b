"""A database among the logs that takes more time or memory than it may costs that file, and no other."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.inspect.inspect import inspect
from chatsquash.translate import reading
from tests.conftest import cases, log_line, write_log
from tests.formats.hostile import MESSAGES, VIRTUAL_FOREVER, bomb, database
from tests.outputs import findings, manifest

BOUNDS = {"max_database_time": 1, "anonymize": False}
BEYOND = "its tables take more than 1 s to read (--max-database-time allows more)"
SPACE = Options(max_memory=50_000_000, anonymize=False)


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """The folder of logs, in which one is good, in the present folder."""
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs/a.jsonl", log_line("hi"))
    return tmp_path / "logs"


LONG = pytest.mark.long
TOO_LONG = [
    ("x.db", None),
    ("x.jsonl", "id"),
    pytest.param("x.db", "id", marks=LONG),
    pytest.param("x.jsonl", None, marks=LONG),
    pytest.param("x.json", None, marks=LONG),
    pytest.param("x.json", "id", marks=LONG),
]


@pytest.mark.parametrize("name, sessions_by", TOO_LONG)
def test_what_takes_too_long_to_read_costs_that_file(logs, name, sessions_by):
    bomb(logs / name)
    summary = convert("logs", "out", Options(**BOUNDS, sessions_by=sessions_by))
    assert (summary.written, dict(summary.left_out)) == (1, {"unreadable-log": 1})
    (found,) = findings("unreadable-log")
    assert BEYOND in found["text"]
    assert found["file"] == f"logs/{name}"


def test_in_several_processes_too(logs):
    bomb(logs / "x.db")
    for number in range(3):
        write_log(logs / f"{number}.jsonl", log_line("x" * (5 << 20)))
    summary = convert("logs", "out", Options(**BOUNDS, workers=2))
    assert (summary.written, dict(summary.left_out)) == (4, {"unreadable-log": 1})


def test_what_takes_too_much_memory_costs_that_file(logs):
    bomb(logs / "x.db")
    assert dict(convert("logs", "out", SPACE).left_out) == {"unreadable-log": 1}
    assert "more than 50,000,000 bytes of memory to read (--max-memory" in findings("unreadable-log")[0]["text"]


def test_the_bound_is_in_the_manifest(logs):
    convert("logs", "out", Options(**BOUNDS))
    assert manifest()["options"]["max_database_time"] == 1


def test_a_database_that_would_compute_for_days_is_read_for_what_it_holds(logs):
    database(logs / "x.db", *VIRTUAL_FOREVER[1], **VIRTUAL_FOREVER[0])
    assert convert("logs", "out", Options(**BOUNDS)).written == 2


def test_inspect_says_why_it_is_not_read(logs):
    bomb(logs / "x.jsonl")
    unread = []
    lines = list(inspect(["logs/x.jsonl"], Options(**BOUNDS), unread=unread))
    assert "skipped: unreadable-log" in lines
    assert [each.code for each in unread] == ["unreadable-log"]
    assert "the log cannot be read (its tables take more than 1 s" in lines[-1]


def test_translate_says_why_it_is_not_read(command, logs, monkeypatch):
    bomb(logs / "x.db")
    monkeypatch.setattr(reading, "Options", lambda **_: Options(**BOUNDS))
    ended = command("translate", logs / "x.db", "--to", "openai_chat", "-o", "-")
    assert (ended.code, ended.out) == (2, "")
    assert f"x.db: cannot be read ({BEYOND})" in ended.err


@cases("suffix, content, text",
    ("-wal", b"x", None),
    ("-journal", b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", "has an unfinished transaction (x.db-journal)"),
    ("-journal", b"\0" * 28, None),
    ("-journal", b"", None),
    ("-shm", b"x", None),
)  # fmt: skip
def test_a_database_that_is_not_whole_without_what_lies_beside_it_says_so(logs, suffix, content, text):
    database(logs / "x.db")
    (logs / f"x.db{suffix}").write_bytes(content)
    before = {path.name: path.read_bytes() for path in logs.iterdir()}
    summary = convert("logs", "out", Options(anonymize=False))
    assert summary.written == (1 if text else 2)
    assert [text in each["text"] for each in findings("unknown-format")] == ([True] if text else [])
    assert {path.name: path.read_bytes() for path in logs.iterdir()} == before


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"SQLite format 3\0" + bytes(4000)])
def test_a_database_of_nothing_is_none(logs, content):
    (logs / "x.db").write_bytes(content)
    summary = convert("logs", "out", Options(anonymize=False))
    assert summary.written == 1


def test_an_interrupt_is_heard_at_once(logs):
    bomb(logs / "x.jsonl", messages=MESSAGES.format("").replace("INTEGER PRIMARY KEY", "INT"))
    given = [sys.executable, "-m", "chatsquash", "convert", "logs/x.jsonl", "--workers", "1", "--max-memory", "100GB"]
    running = subprocess.Popen(
        given, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    )
    time.sleep(2)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=20)
    assert running.returncode == 130, said
    assert b"interrupted" in said
