"""A run into a folder that has seen others takes what is still true, and gives the bytes of a full run."""

import gzip
import json
import os
import signal
import subprocess
import sys
from base64 import b64decode, b64encode
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import StoppedError, UsageError
from chatsquash.dataset.filters import Filters
from chatsquash.results.verify import verify
from chatsquash.session import converter
from chatsquash.storage.folder import Folder
from tests.conftest import cases, log_line, table, write_log
from tests.outputs import comparable

KEEP = Options(keep_rejected=True)
MIXED = [log_line("m", session_id=name, at=at) for at, name in enumerate(("s1", "s2", "s1"))]


@pytest.fixture
def here(here):
    """The present folder is a new one with a few logs."""
    for number in range(6):
        lines = [log_line(*(f"{number}: me{n}@corp.de" for n in range(m)), at=m) for m in range(1, 4)]
        write_log(here / "logs" / f"2026-01-1{number % 3}" / f"{number}.jsonl", *lines, b"{broken")
    return here


@pytest.fixture
def read(monkeypatch):
    """The logs that were converted, not taken from an earlier run."""
    names = []
    convert = converter.Converter.convert
    monkeypatch.setattr(
        converter.Converter, "convert", lambda self, job, **more: names.append(job.name) or convert(self, job, **more)
    )
    return names


def as_in_full(out="out", options=KEEP) -> bool:
    """Whether a folder is as a run would have made it that saw no other."""
    convert("logs", "full", options)
    return comparable(out) == comparable("full")


def edit(name, *lines):
    return lambda: write_log(Path("logs") / name, *lines)


def add(name, line):
    with (Path("logs") / name).open("a") as file:
        file.write(json.dumps(line) + "\n")


def damage_memory() -> None:
    """Damage the names of the journals that the last run left."""
    path = Path("out/.chatsquash/state.json")
    state = json.loads(path.read_bytes())
    (name,) = (each.name.encode() for each in Path("out/.chatsquash/journal").iterdir())
    state["memory"] = b64encode(b64decode(state["memory"]).replace(name, b"\xff" * len(name))).decode()
    path.write_text(json.dumps(state))


@cases("change, converted",
    ("a log is new", edit("2026-01-11/x.jsonl", log_line("new")), ["2026-01-11/x.jsonl"]),
    ("a log is new and the last", edit("2026-01-19/x.jsonl", log_line("new")), ["2026-01-19/x.jsonl"]),
    ("a log grew", lambda: add("2026-01-10/0.jsonl", log_line(*"abcde", at=9)), ["2026-01-10/0.jsonl"]),
    ("a log is another", edit("2026-01-12/2.jsonl", log_line("other")), ["2026-01-12/2.jsonl"]),
    ("a log was touched", lambda: os.utime("logs/2026-01-12/2.jsonl", ns=(1, 1)), ["2026-01-12/2.jsonl"]),
    ("a log is gone", lambda: Path("logs/2026-01-12/2.jsonl").unlink(), []),
    ("a log has another name", lambda: Path("logs/2026-01-12/2.jsonl").rename("logs/2026-01-12/7.jsonl"), ["2026-01-12/7.jsonl"]),
    ("a log holds several sessions", edit("2026-01-12/2.jsonl", *MIXED), ["2026-01-12/2.jsonl"]),
    ("something else lies beside them", lambda: Path("logs/notes.md").touch(), []),
    ("a record file was changed", lambda: Path("out/2026-01-10.jsonl").write_text("x"), []),
    ("a record file is gone", lambda: Path("out/2026-01-10.jsonl").unlink(), []),
    ("run.json is gone", lambda: Path("out/run.json").unlink(), []),
    ("the state is damaged", lambda: Path("out/.chatsquash/state.json").write_text("{"), 6),
    ("a name in the state is no text any more", lambda: damage_memory(), 6),
    ("the journals are gone", lambda: [path.unlink() for path in (*Path("out/.chatsquash/journal").iterdir(), Path("out/run.json"))], 6),
)  # fmt: skip
@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_new_or_changed_is_converted_and_the_bytes_are_those_of_a_full_run(
    here, monkeypatch, read, change, converted, workers
):
    convert("logs", "out", KEEP)
    change()
    del read[:]
    summary = convert("logs", "out", Options(keep_rejected=True, workers=workers))
    assert read == converted if isinstance(converted, list) else len(read) == converted
    assert summary.reused == summary.sessions - len(read)
    assert not summary.unchanged
    assert as_in_full()
    del read[:]
    assert convert("logs", "out", KEEP).unchanged
    assert read == []


def test_where_nothing_changed_nothing_is_read_or_written(here, read):
    first = convert("logs", "out", KEEP)
    before = {path: path.stat().st_mtime_ns for path in Path("out").rglob("*") if path.is_file()}
    told = []
    del read[:]
    again = convert("logs", "out", KEEP, lambda *given: told.append(given))
    assert (again.unchanged, again.counts(), again.files) == (True, first.counts(), first.files)
    assert (again.complete, read, told) == (first.complete, [], [])
    lock = Path("out/.chatsquash/lock")
    assert all(path.stat().st_mtime_ns == at for path, at in before.items() if path != lock)
    assert str(again).splitlines()[0] == "6 records in out (3 files): nothing changed since the last run"
    assert (table(again)["reused"], " s for " in table(again)["files"]) == (
        "6 sessions from an earlier run (--full converts them again)",
        False,
    )
    assert again.as_json()["unchanged"] is True


def test_full_converts_all_again(here, read):
    convert("logs", "out", KEEP)
    before = comparable("out")
    del read[:]
    summary = convert("logs", "out", Options(keep_rejected=True, full=True))
    assert (len(read), summary.reused, summary.unchanged) == (6, 0, False)
    assert comparable("out") == before
    assert convert("logs", "out", KEEP).unchanged


@cases(
    "fields, reused",
    ("options that decide outcomes", {"json_tool_calls": True}, 0),
    ("options that decide files", {"group_by": "scenario"}, 6),
    ("fewer logs", {"exclude": ("0*",)}, 5),
)
def test_other_options_take_what_they_can(here, fields, reused):
    convert("logs", "out")
    summary = convert("logs", "out", Options(**fields))
    assert (summary.reused, summary.unchanged) == (reused, False)
    assert as_in_full(options=Options(**fields))


def test_mixed_logs_are_taken_session_by_session(here, read):
    write_log(here / "logs" / "m.jsonl", *MIXED)
    by_id = Options(sessions_by="id")
    convert("logs", "out", by_id)
    write_log(here / "logs" / "new.jsonl")
    del read[:]
    assert convert("logs", "out", by_id).reused == 8
    assert read == ["new.jsonl"]
    assert as_in_full(options=by_id)
    assert convert("logs", "out", by_id).unchanged


# Interrupts


def interrupted(after: int, options: Options = KEEP, error=KeyboardInterrupt) -> BaseException:
    """What ended a run after so many sessions."""
    seen = []

    def observe(*_):
        seen.append(1)
        if len(seen) == after:
            raise error

    with pytest.raises(error) as caught:
        convert("logs", "out", options, observe)
    return caught.value


def resumed(**fields) -> Options:
    return Options(keep_rejected=True, resume=True, **fields)


def test_a_run_goes_on_with_what_an_interrupted_one_finished(here, read):
    problem = interrupted(4)
    assert problem.__notes__ == [
        "4 sessions done, but nothing new was written; run the same command with --resume to continue"
    ]
    assert [path.name for path in Path("out").iterdir()] == [".chatsquash"]
    del read[:]
    summary = convert("logs", "out", resumed())
    assert (len(read), summary.reused) == (2, 4)
    assert as_in_full()
    assert convert("logs", "out", KEEP).unchanged


def test_without_resume_a_run_takes_nothing_of_an_interrupted_one(here, read):
    interrupted(4)
    del read[:]
    assert (convert("logs", "out", KEEP).reused, len(read)) == (0, 6)


def test_a_run_that_is_interrupted_again_and_again_comes_to_its_end(here, read):
    for after in (1, 2, 3, 5):
        interrupted(after, resumed())
    del read[:]
    assert convert("logs", "out", resumed()).reused == 5
    assert as_in_full()


def test_a_run_that_takes_from_both_the_last_and_an_interrupted_one(here, read):
    convert("logs", "out", KEEP)
    for name in "xyz":
        write_log(here / "logs" / "2026-01-13" / f"{name}.jsonl", log_line(name))
    interrupted(8)
    del read[:]
    assert convert("logs", "out", resumed()).reused == 8
    assert read == ["2026-01-13/z.jsonl"]
    assert as_in_full()


def test_a_full_run_that_was_interrupted_is_resumed_without_full_which_excludes_resume(here, read):
    convert("logs", "out", KEEP)
    interrupted(2, Options(keep_rejected=True, full=True))
    with pytest.raises(UsageError, match="full=True has no effect with resume=True"):
        convert("logs", "out", resumed(full=True))
    del read[:]
    assert convert("logs", "out", resumed()).unchanged
    assert read == []


def test_resume_where_nothing_was_interrupted_is_a_run_like_any_other(here):
    assert convert("logs", "out", resumed()).reused == 0
    assert convert("logs", "out", resumed()).unchanged


def test_an_interrupt_after_the_commit_says_that_all_was_written(here, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("chatsquash.conversion.inputs.Incremental.delete_useless", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        convert("logs", "out", KEEP)
    assert caught.value.__notes__ == ["the output was already complete"]
    assert Path("out/run.json").exists()


def test_a_failure_among_the_renames_leaves_the_result_before_it_and_what_was_converted(here, monkeypatch, read):
    convert("logs", "out", KEEP)
    before = {
        path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file() and "journal" not in str(path)
    }
    edit("2026-01-12/x.jsonl", log_line("new"))()
    move = Folder._move

    def fail(folder, name, other, to):
        if other.path == Path("out").absolute() and to == "run.json":
            raise OSError(5, "Input/output error")
        return move(folder, name, other, to)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "_move", fail)
        with pytest.raises(OSError) as caught:
            convert("logs", "out", KEEP)
    go_on = "7 sessions done, but nothing new was written; run the same command with --resume to continue"
    assert caught.value.__notes__ == [go_on]
    assert {path: path.read_bytes() for path in before} == before
    assert convert("logs", "out", resumed()).reused == 7
    assert as_in_full()


def test_none_is_said_to_be_done_only_where_none_was(here, monkeypatch):
    """Sessions are taken in order, so those behind a long one may be done before it."""

    def apply(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Filters, "apply", apply)
        with pytest.raises(KeyboardInterrupt) as caught:
            convert("logs", "out", KEEP)
    assert caught.value.__notes__ == ["nothing new was written; run the same command with --resume to continue"]
    assert convert("logs", "out", resumed()).reused == 1


def test_a_run_that_stopped_by_itself_leaves_nothing_to_go_on_with(here):
    with pytest.raises(StoppedError):
        convert("logs", "out", Options(strict=True))
    assert not Path("out").exists()


KILLED = """
import os, signal
from chatsquash import Options, convert
from chatsquash.conversion import workers

workers._WORTH_A_PROCESS = 1
reported = []

def observe(*_):
    reported.append(1)
    if len(reported) == 150:
        os.kill(os.getpid(), signal.SIGKILL)

convert("logs", "out", Options(anonymize_key=b"k" * 16, workers={workers}), observe)
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_run_loses_no_reported_session(here, workers):
    for number in range(200):
        write_log(here / "logs" / f"many-{number:03}.jsonl", log_line(f"say {number}"))
    ended = subprocess.run([sys.executable, "-c", KILLED.format(workers=workers)], check=False, timeout=60)
    assert ended.returncode == -9
    assert convert("logs", "out", Options(anonymize_key=b"k" * 16, resume=True)).reused >= 150


# What a killed run expanded of a compressed log


def nothing_changed() -> None:
    assert convert("logs", "out", KEEP).unchanged


def stopped() -> None:
    with pytest.raises(StoppedError):
        convert("logs", "out", Options(strict=True))


def refused() -> None:
    Path("out/2026-01-10.jsonl").unlink()
    Path("out/2026-01-10.jsonl").mkdir()
    with pytest.raises(UsageError, match="not written by chatsquash"):
        convert("logs", "out", KEEP)


def interrupted_at_once() -> None:
    interrupted(1, Options(full=True))


@pytest.mark.parametrize("next_run", [nothing_changed, stopped, refused, interrupted_at_once])
def test_the_next_run_removes_what_a_killed_one_expanded_whatever_else_it_does(here, next_run):
    convert("logs", "out", KEEP)
    expanded = Path("out/.chatsquash/expanded")
    expanded.mkdir()
    (expanded / "x.jsonl").write_text("private")
    (expanded / "folder").mkdir()
    (expanded / "folder" / "y").write_text("private")
    next_run()
    assert not expanded.exists()


def test_a_run_that_is_killed_leaves_what_it_expanded_to_the_next_and_verify_does_not_mind(here):
    mixed = write_log(here / "logs" / "m.jsonl", *MIXED)
    (here / "logs" / "m.jsonl.gz").write_bytes(gzip.compress(mixed.read_bytes()))
    mixed.unlink()
    by_id = Options(sessions_by="id")
    convert("logs", "out", by_id)
    killed = """
import os, signal
from base64 import b64decode, b64encode
from pathlib import Path
from chatsquash import Options, convert
def kill(*_):
    if list(Path("out/.chatsquash/expanded").glob("*.jsonl")):
        os.kill(os.getpid(), signal.SIGKILL)
convert("logs", "out", Options(sessions_by="id", full=True), kill)
"""
    assert subprocess.run([sys.executable, "-c", killed], check=False).returncode == -signal.SIGKILL
    (left,) = Path("out/.chatsquash/expanded").iterdir()
    assert oct(left.stat().st_mode & 0o777) == "0o600"
    assert verify(Path("out")).problems == []
    assert convert("logs", "out", by_id).unchanged
    assert not left.parent.exists()
