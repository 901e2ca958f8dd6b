"""Ninety days of five agents that write and delete their sessions: each file that lived through a poll comes back."""

import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from chatsquash.archive import databases
from chatsquash.archive.verification import verify
from chatsquash.storage.archive.repository import open_archive
from tests.archive.cases import poll, restored, text
from tests.archive.test_faults import in_child

DAY = 86_400
DAYS, SESSIONS = 90, 200
START = int(datetime(2026, 1, 5, tzinfo=UTC).timestamp())
AGENTS = ("claude_code", "codex", "gemini_cli", "goose", "opencode")


class Machine:
    """A home folder in which five agents write, append to, rewrite and delete sessions; a day is a step."""

    def __init__(self, home, seed):
        self.home, self._random = home, Random(seed)
        self._open: list[Path] = []
        self._count = 0
        self.written: dict[str, bytes] = {}
        """The bytes of each file at the last poll at which it existed."""

    def step(self, day):
        """Begin sessions, continue others, and delete what is too old."""
        for _ in range(-(-SESSIONS // DAYS)):
            if self._count < SESSIONS:
                self._begin(day)
        for path in self._random.sample(self._open, min(6, len(self._open))):
            self._continue(path, day)
        self._delete(day)

    def _begin(self, day):
        number, agent = self._count, AGENTS[self._count % len(AGENTS)]
        self._count += 1
        paths = {
            "claude_code": f".claude/projects/p{number % 3}/session-{number}.jsonl",
            "codex": f".codex/sessions/2026/{day // 30:02}/{day % 30:02}/rollout-{number}.jsonl",
            "gemini_cli": f".gemini/tmp/h{number % 2}/chats/session-{number}.json",
            "goose": f".local/share/goose/sessions/{number}.jsonl",
            "opencode": ".local/share/opencode/opencode.db",
        }
        path = self.home / paths[agent]
        path.parent.mkdir(parents=True, exist_ok=True)
        if path not in self._open:
            self._open.append(path)
        self._continue(path, day)

    def _continue(self, path, day):
        words = text(self._random.getrandbits(32), self._random.randrange(500, 12_000))
        if path.suffix == ".jsonl":
            with path.open("ab") as file:
                file.write(words + b"\n")
        elif path.suffix == ".json":  # rewritten as one document
            before = path.read_bytes()[:-2] if path.exists() else b'{"messages": ['
            path.write_bytes(b"%s,%d]}" % (before[: self._random.randrange(len(before), len(before) + 1)], len(words)))
            path.write_bytes(path.read_bytes()[:14] + words + path.read_bytes()[14:])
        else:
            self._change_database(path, words)
        os.utime(path, (START + day * DAY, START + day * DAY))

    def _change_database(self, path, words):
        database = sqlite3.connect(path)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE IF NOT EXISTS message (id INTEGER PRIMARY KEY, data TEXT)")
        database.execute("INSERT INTO message (data) VALUES (?)", (words.decode(),))
        database.execute("DELETE FROM message WHERE id < (SELECT max(id) FROM message) - 20")
        database.commit()
        database.close()

    def _delete(self, day):
        """Delete sessions like their agents do: after 30 days without a change, or some at any time."""
        for path in list(self._open):
            age = START + day * DAY - path.stat().st_mtime
            if path.suffix != ".db" and (age > 30 * DAY or self._random.random() < 0.01):
                path.unlink()
                self._open.remove(path)

    def see(self):
        """Remember the files that exist now."""
        for path in self._open:
            self.written[str(path)] = self._bytes(path)

    def _bytes(self, path):
        if path.suffix != ".db":
            return path.read_bytes()
        copy = self.home / "copy.db"
        copy.unlink(missing_ok=True)
        databases.copy(str(path), copy)
        return copy.read_bytes()


@pytest.fixture(params=["folder", pytest.param("object store", marks=pytest.mark.long)])
def store(request, tmp_path):
    """The place of an archive."""
    if request.param == "folder":
        return str(tmp_path / "store")
    return f"s3://{request.getfixturevalue('s3').name}/archive"


def test_every_file_that_lived_through_a_poll_comes_back(store, tmp_path, monkeypatch):
    for name in (
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GOOSE_PATH_ROOT",
        "OPENCODE_DB",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    machines = {name: Machine(tmp_path / name, name) for name in ("one", "two")}
    random, day = Random("faults"), 0
    for module in ("archive.copying", "archive.pruning", "storage.archive.repository"):
        monkeypatch.setattr(f"chatsquash.{module}.now", lambda: START + day * DAY)
    killed = 0
    for day in range(DAYS):
        for name, machine in machines.items():
            monkeypatch.setenv("HOME", str(machine.home))
            machine.step(day)
            if "://" not in store and random.random() < 0.3:  # a client of an object store does not survive a fork
                killed += in_child(lambda: poll(store, agents=["all"], machine=name), random.randrange(1, 30))[1]
            if random.random() < 0.8:  # some days, the machine is off
                report = poll(store, agents=["all"], machine=name)
                assert report.problems == []
                machine.see()
    assert "://" in store or killed > 20
    assert all(machine._count == SESSIONS for machine in machines.values())
    expected = machines["one"].written | machines["two"].written
    assert len(expected) > 250
    deleted = [path for path in expected if not os.path.exists(path)]
    assert len(deleted) > 150
    assert restored(store, tmp_path / "out") == expected
    archive = open_archive(store)
    report = verify(archive)
    archive.index.close()
    assert report.problems == []
