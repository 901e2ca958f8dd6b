"""A run that is killed, or for which there is no room, leaves whole files, no false result, and work to go on with."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import chatsquash
from tests.conftest import cases
from tests.faults import harness, replacing


def times(short: int, long: int) -> pytest.MarkDecorator:
    """How often a scenario strikes without an old result, and as often with one."""
    return pytest.mark.parametrize("count", [short, pytest.param(long, marks=pytest.mark.long)])


def rows(scenario: str, folder: Path, count: int, module: str = "harness") -> list[dict]:
    command = [sys.executable, "-m", f"tests.faults.{module}", scenario, str(count)]
    # Bytecode that is being written when a process is killed would be found broken by those behind it.
    paths = [str(Path(file).parents[depth]) for file, depth in ((chatsquash.__file__, 1), (__file__, 2))]
    environment = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    return list(map(json.loads, ran.stdout.splitlines()))


@times(18, 30)
def test_a_run_may_be_killed_at_any_call(tmp_path, count):
    killed = rows("killed", tmp_path, count)
    assert [row for row in killed if row["wrong"]] == []
    assert {row["code"] for row in killed} == {-9}
    assert len({(row["old"], row["point"]) for row in killed}) == 2 * count
    for old in (False, True):
        places = Counter(row["place"] for row in killed if row["old"] == old)
        assert places["before"] >= count // 3
        assert places["among"] >= count // 3
    assert len({row["kept"] for row in killed}) > count // 6
    assert {row["call"] for row in killed} >= {"open", "staged", "fsync", "link", "rename", "remove", "mkdir", "writev"}


def test_the_parent_of_worker_processes_may_be_killed_at_any_call(tmp_path):
    killed = rows("spread", tmp_path, 6)
    assert [row for row in killed if row["wrong"]] == []
    assert ({row["code"] for row in killed}, len(killed)) == ({-9}, 12)


@times(4, 10)
def test_a_disk_may_be_full_at_any_size(tmp_path, count):
    full = rows("full", tmp_path, count)
    assert [row for row in full if row["wrong"]] == []
    assert {row["code"] for row in full} == {9}
    assert len(full) == 2 * count


@times(18, 24)
def test_any_call_may_fail_once_or_from_then_on(tmp_path, count):
    failed = rows("failing", tmp_path, count)
    assert [row for row in failed if row["wrong"]] == []
    assert {row["code"] for row in failed} == {0, 9}
    assert len(failed) == 4 * count
    assert {row["call"] for row in failed} >= {"open", "staged", "fsync", "link", "rename", "remove", "mkdir", "writev"}


@times(12, 1000)
@pytest.mark.parametrize("command", replacing.ACTS)
def test_files_that_are_replaced_are_all_old_or_all_new_or_a_journal_completes_them(tmp_path, command, count):
    faults = rows(command, tmp_path, count, "replacing")
    assert [row for row in faults if row["wrong"]] == []
    assert {row["code"] for row in faults} == {-9, 0, 9}
    assert len(faults) >= min(count, 40) * len(replacing.FAULTS)
    if count > 40:
        assert {row["call"] for row in faults} >= {"open", "write", "fsync", "link", "rename", "remove", "mkdir"}


@times(12, 1000)
def test_forget_may_be_killed_or_fail_at_any_call_and_the_same_command_leaves_no_text(tmp_path, count):
    faults = rows("", tmp_path, count, "forgetting")
    assert [row for row in faults if row["wrong"]] == []
    assert {row["code"] for row in faults} == {-9, 0, 9}
    assert len(faults) >= min(count, 100) * 3
    if count > 100:
        assert {row["call"] for row in faults} >= {"open", "staged", "fsync", "link", "rename", "remove", "mkdir"}


OLD, NEW = {"a": b"1", "b": b"1"}, {"a": b"2", "b": b"2"}
PLAN = {".chatsquash-0": None, ".chatsquash-0/commit.json": b""}


@cases(
    "there, code, expected",
    ("all old", OLD, 9, []),
    ("all new", NEW, 0, []),
    ("a mixture with a journal", {**OLD, "a": b"2", **PLAN}, -9, []),
    ("a mixture", {**OLD, "a": b"2"}, -9, ["old and new files are mixed, and there is no journal"]),
    ("a file of neither", {**OLD, "a": b"3", **PLAN}, -9, ["a is not whole"]),
    ("all old though it ended well", OLD, 0, ["a run that failed did not say so"]),
    ("an error without words", OLD, 1, ["a run that failed did not say why"]),
    ("an empty folder", {**OLD, ".chatsquash-0": None}, 9, ["left behind: ['.chatsquash-0']"]),
)
def test_the_judge_of_replaced_files_sees_what_is_wrong(monkeypatch, there, code, expected):
    monkeypatch.setattr(replacing, "tree", lambda folder: there)
    assert list(replacing.problems(OLD, NEW, code, forever=False)) == expected


@cases(
    "spoil, expected",
    ("a file that is cut", lambda out: (out / "a.jsonl").write_text("1"), "a.jsonl is not whole"),
    ("a file of neither run", lambda out: (out / "x").write_text("1"), "x is not whole"),
)
def test_the_judge_sees_what_is_wrong(tmp_path, monkeypatch, spoil, expected):
    monkeypatch.chdir(tmp_path)
    harness.make_logs()
    harness.convert(harness.LOGS, harness.OUT, harness.OPTIONS)
    after = harness.comparable(harness.OUT)
    assert harness.judge({}, after) == []
    spoil(harness.OUT)
    assert expected in harness.judge({}, {**after, "a.jsonl": b"12"})
