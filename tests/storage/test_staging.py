"""Staged files: runs at once keep apart, and nothing is left of one that fails."""

import json
import os
import subprocess
import threading
from errno import ENOSPC, EXDEV
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core.model import OURS
from chatsquash.storage import staging
from chatsquash.storage.folder import Folder
from chatsquash.storage.staging import StagedFiles
from tests.conftest import log_line, write_log

RECORD = {"messages": [{"role": "user", "content": "bob@corp.de"}, {"role": "assistant", "content": "ok"}], "tools": []}


def ours(folder):
    return sorted(str(path) for path in Path(folder).rglob(f"{OURS}-*"))


def test_a_run_does_not_take_the_folder_that_another_one_is_making_for_a_stale_one(here, monkeypatch):
    made, goes_on = threading.Event(), threading.Event()
    make = Folder.make

    def slowly(self, name="", mode=0o777):
        make(self, name, mode)
        if threading.current_thread().name == "slow" and name.startswith(f"{OURS}-") and "/" not in name:
            made.set()
            goes_on.wait(1)

    monkeypatch.setattr(Folder, "make", slowly)
    runs = [StagedFiles(here, force=False) for _ in range(2)]
    slow = threading.Thread(target=runs[0].begin, name="slow")
    slow.start()
    assert made.wait(10)
    runs[1].begin()
    goes_on.set()
    slow.join()
    assert len(list(here.glob(f"{OURS}-*"))) == 2
    for run in runs:
        run.open("a")
        run.discard()
    assert not ours(here)


@pytest.mark.parametrize("name", ["lock", "_make_folders", "_recover"])
@pytest.mark.parametrize("words", ["redact --redact emails", "translate --to anthropic"])
def test_a_run_that_fails_as_it_begins_leaves_nothing(here, command, monkeypatch, name, words):
    (here / "a.jsonl").write_text(json.dumps(RECORD) + "\n")

    def fails(*_):
        raise OSError(ENOSPC, os.strerror(ENOSPC))

    monkeypatch.setattr(staging, name, fails)
    for output in ("out", "more/out.jsonl"):
        assert command(*words.split(), "a.jsonl", "--output", output).code != 0
    assert not ours(here)


def test_what_a_killed_run_staged_beside_or_in_its_output_goes_with_the_next_one(here, command):
    (here / "a.json").write_text(json.dumps(RECORD))
    (here / "out").mkdir()
    for folder in (here, here / "out"):
        (folder / f"{OURS}-{'0' * 16}/new").mkdir(parents=True)
    assert command("translate", "a.json", "--to", "anthropic", "--output", "out").code == 0
    assert not ours(here)


@pytest.mark.parametrize("failure", [None, EXDEV])
def test_a_file_elsewhere_is_written_whole_also_on_another_file_system(here, monkeypatch, failure):
    (here / "out").mkdir()
    (here / "a").write_text("old")
    moves = []
    move = Folder.move

    def across(self, name, folder, to):
        moves.append(name)
        if failure and self.path != folder.path:
            raise OSError(failure, os.strerror(failure))
        move(self, name, folder, to)

    monkeypatch.setattr(Folder, "move", across)
    staging.write_elsewhere(Folder(here / "out"), here / "a", b"new")
    assert len(moves) == (2 if failure else 1)
    assert (here / "a").read_bytes() == b"new"
    assert (here / "a").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in here.rglob("*")) == ["a", "out"]


@pytest.mark.parametrize("failing", ["sync", "move"])
def test_a_file_elsewhere_that_cannot_be_written_leaves_nothing(here, monkeypatch, failing):
    (here / "out").mkdir()
    (here / "a").write_text("old")
    calls = []

    def fails(*_):
        calls.append(failing)
        code = EXDEV if failing == "move" and len(calls) == 1 else ENOSPC
        raise OSError(code, os.strerror(code))

    def across(*_):
        raise OSError(EXDEV, os.strerror(EXDEV))

    monkeypatch.setattr(Folder, "move", fails if failing == "move" else across)
    if failing == "sync":
        sync = staging.platform.sync
        monkeypatch.setattr(staging.platform, "sync", lambda file: fails() if calls else (calls.append(""), sync(file)))
    with pytest.raises(OSError, match=r"No space left on device: '.*/a'"):
        staging.write_elsewhere(Folder(here / "out"), here / "a", b"new")
    assert sorted(path.name for path in here.rglob("*")) == ["a", "out"]
    assert (here / "a").read_text() == "old"


@pytest.fixture
def elsewhere(here, monkeypatch):
    """Another file system than that of ``out``; gives the function that stands for a move within it."""
    (here / "out").mkdir()
    move = Folder.move

    def across(self, name, folder, to):
        if self.path != folder.path:
            raise OSError(EXDEV, os.strerror(EXDEV))
        move(self, name, folder, to)

    monkeypatch.setattr(Folder, "move", across)
    return across


def test_two_runs_may_write_the_same_file_on_another_file_system_at_once(here, monkeypatch, elsewhere):
    pid, pids = os.getpid(), []

    def meets_another(self, name, folder, to):
        if self.path == folder.path and not pids:
            pids.append(pid)
            with monkeypatch.context() as other:
                other.setattr(os, "getpid", lambda: os.getppid())
                staging.write_elsewhere(Folder(here / "out"), here / "a", b"that of the other run")
        elsewhere(self, name, folder, to)

    monkeypatch.setattr(Folder, "move", meets_another)
    staging.write_elsewhere(Folder(here / "out"), here / "a", b"that of this run")
    assert pids
    assert (here / "a").read_bytes() == b"that of this run"
    assert sorted(path.name for path in here.rglob("*")) == ["a", "out"]


def test_what_a_killed_run_left_on_another_file_system_goes_with_the_next_one(here, monkeypatch, elsewhere):
    with monkeypatch.context() as killed:
        ended = subprocess.Popen(["true"])
        ended.wait()
        killed.setattr(os, "getpid", lambda: ended.pid)
        killed.setattr(Folder, "remove", lambda *_: None)
        killed.setattr(staging.platform, "sync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            staging._write_beside(Folder(here), "a", b"", 0o600)
    assert len(list(here.iterdir())) == 2
    staging.write_elsewhere(Folder(here / "out"), here / "a", b"new")
    assert sorted(path.name for path in here.rglob("*")) == ["a", "out"]


LINE = log_line("export DB_PASSWORD=kettle9drum")


def test_the_hashes_of_known_values_are_an_output_like_others(here, command):
    write_log(here / "logs/a.jsonl", LINE)
    assert command("convert", "logs").code == 0
    options = Options(write_known="known.txt", anonymize_key=b"a key of sixteen bytes")
    convert("logs", "out", options)
    hashes = Path("known.txt").read_bytes()
    assert b"sha256" in hashes
    Path("known.txt").unlink()
    convert("logs", "out", options)
    assert Path("known.txt").read_bytes() == hashes
    failed = command("convert", "logs", "-o", "other", "--write-known", "none/known.txt")
    assert failed.code == 1
    assert failed.err.startswith("error: ")
    assert "none/known.txt: No such file or directory" in failed.err
    assert not Path("other/run.json").exists()


def test_a_redaction_whose_hashes_cannot_be_written_writes_nothing(here, command):
    (here / "a.jsonl").write_text(json.dumps(RECORD) + "\n")
    options = ["--redact", "emails", "--output", "out", "--write-known", "none/known.txt"]
    failed = command("redact", "a.jsonl", *options)
    assert (failed.code, failed.err) == (2, "error: none/known.txt: cannot be written (No such file or directory)\n")
    assert not Path("out").exists()


def test_hashes_of_a_redaction_replace_no_dataset_and_no_link(here, command):
    (here / "a.jsonl").write_text(json.dumps(RECORD) + "\n")
    (here / "link").symlink_to("target")
    redact = ("redact", "a.jsonl", "--redact", "emails", "--output", "out", "--write-known")
    refused = command(*redact, "a.jsonl")
    assert (refused.code, refused.err) == (2, "error: --write-known a.jsonl: is a dataset; choose another file\n")
    assert command(*redact, "link").err == "error: link: cannot be written (exists and is not a regular file)\n"
    assert not Path("out").exists()
    assert json.loads((here / "a.jsonl").read_text()) == RECORD
    assert not (here / "target").exists()
