"""``archive --watch`` copies until it is stopped."""

import os
import signal
import subprocess
import sys
import time

from tests.archive.cases import restored


def until(condition):
    for _ in range(300):
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_what_appears_is_copied_and_errors_do_not_end_the_watch(tmp_path):
    logs, store = tmp_path / "logs", tmp_path / "store"
    logs.mkdir()
    (logs / "one.jsonl").write_bytes(b"first\n")
    arguments = ["archive", str(logs), "--to", str(store), "--watch", "1s"]
    with subprocess.Popen(
        [sys.executable, "-m", "chatsquash", *arguments], stderr=subprocess.PIPE, text=True
    ) as process:
        snapshots = lambda: len(list((store / "snapshots").rglob("*-*")))  # noqa: E731
        assert until(lambda: snapshots() >= 1)
        os.rename(store / "config", store / "away")
        os.rename(store / "packs", store / "gone")
        (logs / "two.jsonl").write_bytes(b"second\n")
        time.sleep(1.5)
        os.rename(store / "away", store / "config")
        if not (store / "packs").exists():
            os.rename(store / "gone", store / "packs")
        before = snapshots()
        (logs / "three.jsonl").write_bytes(b"third\n")
        assert until(lambda: snapshots() > before)
        time.sleep(1.5)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGTERM
    assert "1 changed" in errors
    stored = restored(store, tmp_path / "out")
    assert stored[str(logs / "three.jsonl")] == b"third\n"
    assert stored[str(logs / "two.jsonl")] == b"second\n"


def test_watching_cannot_be_combined_with_a_timer(command, tmp_path):
    ended = command("archive", str(tmp_path), "--to", str(tmp_path / "store"), "--watch", "5m", "--install")
    assert (ended.code, "--watch: cannot be combined with --install" in ended.err) == (2, True)
