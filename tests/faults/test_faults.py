"""A run that is killed, or for which there is no room, leaves whole files, no false result, and work to go on with."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.faults import harness


def rows(scenario: str, folder: Path) -> list[dict]:
    command = [sys.executable, "-m", "tests.faults.harness", scenario]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    return list(map(json.loads, ran.stdout.splitlines()))


def test_a_run_may_be_killed_at_any_call(tmp_path):
    killed = rows("killed", tmp_path)
    assert [row for row in killed if row["wrong"]] == []
    assert {row["code"] for row in killed} == {-9}
    assert len({(row["old"], row["point"]) for row in killed}) >= 50
    for old in (False, True):
        places = Counter(row["place"] for row in killed if row["old"] == old)
        assert places["before"] >= 10
        assert places["among"] >= 10
    assert len({row["kept"] for row in killed}) > 5
    assert {row["call"] for row in killed} >= {"open", "staged", "fsync", "link", "rename", "remove", "mkdir", "writev"}


def test_the_parent_of_worker_processes_may_be_killed_at_any_call(tmp_path):
    killed = rows("spread", tmp_path)
    assert [row for row in killed if row["wrong"]] == []
    assert ({row["code"] for row in killed}, len(killed)) == ({-9}, 12)


def test_a_disk_may_be_full_at_any_size(tmp_path):
    full = rows("full", tmp_path)
    assert [row for row in full if row["wrong"]] == []
    assert {row["code"] for row in full} == {9}
    assert len(full) == 20


def test_any_call_may_fail_once_or_from_then_on(tmp_path):
    failed = rows("failing", tmp_path)
    assert [row for row in failed if row["wrong"]] == []
    assert {row["code"] for row in failed} == {0, 9}
    assert len(failed) == 96
    assert {row["call"] for row in failed} >= {"open", "staged", "fsync", "link", "rename", "remove", "mkdir", "writev"}


WRONG = [
    ("a file that is cut", lambda out: (out / "a.jsonl").write_text("1"), "a.jsonl is not whole"),
    ("a file of neither run", lambda out: (out / "x").write_text("1"), "x is not whole"),
]


@pytest.mark.parametrize("sentence, spoil, expected", WRONG, ids=[row[0] for row in WRONG])
def test_the_judge_sees_what_is_wrong(tmp_path, monkeypatch, sentence, spoil, expected):
    monkeypatch.chdir(tmp_path)
    harness.make_logs()
    harness.convert(harness.LOGS, harness.OUT, harness.OPTIONS)
    after = harness.comparable(harness.OUT)
    assert harness.judge({}, after) == []
    spoil(harness.OUT)
    assert expected in harness.judge({}, {**after, "a.jsonl": b"12"})
