"""Two runs do not write to one folder at a time, whatever processes and threads they are in."""

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.dataset.store import Output
from chatsquash.storage import lock
from chatsquash.storage.folder import Folder
from tests.conftest import log_line, tree, write_log


def refused(out: Path) -> str:
    with pytest.raises(UsageError, match="another run is writing to this folder") as caught:
        Output(out)
    return str(caught.value)


@pytest.fixture(params=["a file system with locks", "one without"])
def out(request, tmp_path, monkeypatch) -> Path:
    def refuse(*_):
        raise OSError(95, "Operation not supported")

    if request.param == "one without":
        monkeypatch.setattr(lock.fcntl, "flock", refuse)
    return tmp_path / "out"


def test_a_second_run_of_one_process_is_refused_until_the_first_is_over(out):
    first = Output(out)
    first.write("a", b"1")
    assert f"(process {os.getpid()} on {os.uname().nodename})" in refused(out)
    assert f"process {os.getpid()}" in refused(out.parent / "." / "out")
    first.commit()
    refused(out)
    first.discard()
    Output(out).discard()
    assert tree(out)["a"] == b"1"


def test_a_run_that_was_refused_takes_no_lock_from_another(tmp_path):
    out = tmp_path / "out"
    first = Output(out)
    for _ in range(3):
        refused(out)
    again = subprocess.run(
        [sys.executable, "-c", f"from pathlib import Path; from chatsquash.dataset.store import Output; Output(Path({str(out)!r}))"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "another run is writing to this folder" in again.stderr
    first.discard()


def test_of_many_threads_one_has_the_lock(out):
    gate, done = threading.Barrier(8), threading.Barrier(8)

    def claim() -> bool:
        gate.wait()
        claimed = None
        try:
            claimed = Output(out)
        except UsageError:
            pass
        done.wait()
        if claimed:
            claimed.discard()
        return claimed is not None

    for _ in range(20):
        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(lambda _: claim(), range(8))) == 1
    assert not lock._own_locks


def test_two_runs_in_threads_leave_a_whole_result(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(5):
        write_log(tmp_path / "logs" / f"{number}.jsonl", log_line(f"{number}"))
    convert("logs", "good")
    inside, second = threading.Event(), []

    def while_at_work(*_):
        if not inside.is_set():
            inside.set()
            thread = threading.Thread(target=lambda: second.append(attempt()))
            thread.start()
            thread.join()

    def attempt() -> str:
        try:
            convert("logs", tmp_path / "out", Options(full=True))
        except UsageError as problem:
            return str(problem)
        return ""

    convert("logs", "out", None, while_at_work)
    assert "another run is writing to this folder" in second[0]
    assert Path("out/2026-01-13.jsonl").read_bytes() == Path("good/2026-01-13.jsonl").read_bytes()
    assert convert("logs", "out").unchanged


def test_a_fork_does_not_keep_the_lock_of_the_process_that_it_came_from(tmp_path):
    first = Output(tmp_path / "out")
    ours, theirs = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(ours[1])
            os.read(ours[0], 1)
            first.discard()  # what a fork that unwinds its stack does
            os.write(theirs[1], b"x" if Path(tmp_path / "out" / ".chatsquash" / "staging").exists() else b"-")
            os.read(ours[0], 1)
        finally:
            os._exit(0)
    refused(tmp_path / "out")
    os.write(ours[1], b"1")
    assert os.read(theirs[0], 1) == b"x"
    refused(tmp_path / "out")
    first.discard()
    Output(tmp_path / "out").discard()  # though the child is still there
    os.write(ours[1], b"1")
    os.waitpid(child, 0)
    for each in (*ours, *theirs):
        os.close(each)


def _claimed(out: Path) -> bool:
    try:
        Output(out).discard()
    except UsageError:
        return False
    return True


def test_processes_of_a_pool_are_refused_while_the_one_that_made_them_writes(tmp_path):
    first = Output(tmp_path)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(_claimed, [tmp_path] * 2) == [False, False]
        first.discard()
        assert pool.map(_claimed, [tmp_path]) == [True]


def test_a_lock_file_that_was_replaced_is_locked_anew(tmp_path, monkeypatch):
    """Whoever removes the lock of a run that is over must not let in two at a time."""
    folder = Folder(tmp_path)
    take, times = lock._acquire, []

    def replaced(descriptor):
        take(descriptor)
        times.append(descriptor)
        if len(times) == 1:
            (tmp_path / "lock").unlink()

    monkeypatch.setattr(lock, "_acquire", replaced)
    held = lock.lock(folder, "lock")
    assert (len(times), (tmp_path / "lock").read_text()) == (2, f"process {os.getpid()} on {os.uname().nodename}")
    assert os.path.sameopenfile(held, os.open(tmp_path / "lock", os.O_RDONLY))
    lock.unlock(held)
    folder.close()
