"""Kill -9 at each call that writes: nothing half-written is ever read, and the next run completes what was begun."""

import builtins
import os
import shutil
import signal
import sys

import pytest

from chatsquash.archive.pruning import prune
from chatsquash.archive.restoring import restore
from chatsquash.archive.verification import verify
from chatsquash.storage.archive.repository import open_archive
from chatsquash.storage.stores import local
from tests.archive.cases import poll, restored, text, write_logs

AUDITED = {"os.rename": 1, "os.link": 1, "os.remove": 1, "os.mkdir": 1, "sqlite3.connect": 1}
NO_STRIKE = 1 << 60


class Strikes:
    """Kills this process at the call with a number; counts all calls that write."""

    def __init__(self, at):
        self.count, self._at = 0, at
        fsync = os.fsync
        os.fsync = lambda descriptor: (self.strike(), fsync(descriptor))[1]
        local.open = self._open
        sys.addaudithook(self._audit)

    def strike(self):
        self.count += 1
        if self.count == self._at:
            os.kill(os.getpid(), signal.SIGKILL)

    def _audit(self, event, given):
        is_write = event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR)
        if is_write or event in AUDITED:
            self.strike()

    def _open(self, path, mode="r", **options):
        return _Halved(builtins.open(path, mode, **options), self)


class _Halved:
    """A file whose writes reach the disk in halves, with a strike in between."""

    def __init__(self, file, strikes):
        self._file, self._strikes = file, strikes

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def write(self, data):
        half = len(data) // 2
        self._file.write(data[:half])
        self._file.flush()
        self._strikes.strike()
        self._file.write(data[half:])
        self._file.flush()


def in_child(work, at):
    """Run work in a fork that is killed at a call; return whether it ended, and the number of calls."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            strikes = Strikes(at)
            work()
            os.write(writing, str(strikes.count).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        count = pipe.read()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, status
    return (int(count) if count else None), os.WIFSIGNALED(status)


def checked(store):
    archive = open_archive(str(store))
    try:
        report = verify(archive)
    finally:
        archive.index.close()
    return report


@pytest.fixture
def logs(tmp_path):
    return write_logs(tmp_path / "logs", 3, 30_000)


def files(folder):
    return {str(path): path.read_bytes() for path in folder.iterdir()}


def at_each_call(prepare, work, check):
    """Prepare, kill the work at a call and check, for each call that it makes."""
    prepare()
    count, was_killed = in_child(work, NO_STRIKE)
    assert (count > 10, was_killed) == (True, False)
    for at in range(1, count + 1):
        prepare()
        _, was_killed = in_child(work, at)
        assert was_killed, at
        check()
    return count


def test_a_copy_that_is_killed_leaves_a_readable_archive_and_the_next_run_completes_it(tmp_path, logs, cache):
    first, second = tmp_path / "first", tmp_path / "store"
    poll(first, logs)
    before = files(logs)
    with (logs / "0.jsonl").open("ab") as file:
        file.write(text(50, 20_000))
    (logs / "new.jsonl").write_bytes(text(51, 20_000))
    after = files(logs)
    index = tmp_path / "index"
    shutil.copytree(cache, index)

    def prepare():
        for folder, original in ((second, first), (cache, index)):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(original, folder)

    def check():
        assert checked(second).problems == []
        out = tmp_path / "out"
        shutil.rmtree(out, ignore_errors=True)
        stored = restored(second, out)
        assert stored in (before, after)
        poll(second, logs)
        shutil.rmtree(out)
        assert restored(second, out) == after

    at_each_call(prepare, lambda: poll(second, logs), check)


def test_the_creation_of_an_archive_can_be_repeated(tmp_path, logs, cache):
    store = tmp_path / "store"

    def prepare():
        shutil.rmtree(store, ignore_errors=True)
        shutil.rmtree(cache, ignore_errors=True)

    def check():
        poll(store, logs)
        assert checked(store).problems == []
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        assert restored(store, tmp_path / "out") == files(logs)

    at_each_call(prepare, lambda: poll(store, logs), check)


@pytest.mark.parametrize("waiting", [0, 1000])
def test_prune_that_is_killed_loses_nothing(tmp_path, logs, cache, monkeypatch, waiting):
    first, store, index = tmp_path / "first", tmp_path / "store", tmp_path / "index"
    for count in range(4):
        (logs / "1.jsonl").write_bytes(text(60 + count, 30_000))
        if count == 2:
            (logs / "2.jsonl").unlink()
        poll(first, logs)
    shutil.copytree(cache, index)
    for module in ("archive.copying", "archive.pruning", "storage.archive.repository"):
        monkeypatch.setattr(f"chatsquash.{module}.now", lambda: 4 * 10**9)

    def prepare():
        for folder, original in ((store, first), (cache, index)):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(original, folder)

    def work():
        archive = open_archive(str(store))
        prune(archive, 1000, waiting)
        archive.index.close()

    def check():
        assert checked(store).problems == []
        work()
        assert checked(store).problems == []
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        assert restored(store, tmp_path / "out") == files(logs)

    at_each_call(prepare, work, check)


def test_a_restore_that_is_killed_leaves_no_partial_files_under_their_names(tmp_path, logs):
    poll(tmp_path / "store", logs)
    out = tmp_path / "out"

    def work():
        archive = open_archive(str(tmp_path / "store"))
        restore(archive, out)
        archive.index.close()

    def check():
        named = list(out.rglob("*.jsonl")) if out.exists() else []
        assert all(path.read_bytes() == (logs / path.name).read_bytes() for path in named)

    at_each_call(lambda: shutil.rmtree(out, ignore_errors=True), work, check)
