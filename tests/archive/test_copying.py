"""What a run copies, and that it comes back as it was."""

import os
import sqlite3
import stat

import pytest

from chatsquash.archive import copying, stable
from chatsquash.core.errors import UsageError
from chatsquash.storage.archive import chunks
from tests.archive.cases import contents, poll, restored, text


@pytest.fixture
def logs(tmp_path):
    """A folder with two logs."""
    folder = tmp_path / "logs"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "one.jsonl").write_bytes(text(1, 100_000))
    (folder / "two.json").write_bytes(text(2, 3_000))
    (folder / "empty.jsonl").write_bytes(b"")
    return folder


def files(folder):
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_all_files_come_back_with_their_times(tmp_path, logs):
    report = poll(tmp_path / "store", logs)
    assert (report.files, report.changed, report.problems) == (3, 3, [])
    assert restored(tmp_path / "store", tmp_path / "out") == files(logs)
    (one,) = (tmp_path / "out").rglob("one.jsonl")
    assert one.stat().st_mtime_ns == (logs / "a" / "one.jsonl").stat().st_mtime_ns


def test_deleted_files_stay_in_the_archive(tmp_path, logs):
    before = files(logs)
    poll(tmp_path / "store", logs)
    for path in before:
        os.remove(path)
    assert poll(tmp_path / "store", logs).deletions == 3
    assert restored(tmp_path / "store", tmp_path / "out") == before


def test_an_unchanged_tree_is_not_read_and_adds_no_snapshot(tmp_path, logs, monkeypatch):
    monkeypatch.setattr(copying, "_RECENT", -(10**12))  # a change is never too recent
    poll(tmp_path / "store", logs)
    opened = []
    monkeypatch.setattr(copying, "open_stable", lambda *some: opened.append(some))
    report = poll(tmp_path / "store", logs)
    assert (report.snapshot, report.read_bytes, opened) == (None, 0, [])


def test_a_file_written_just_now_is_read_again(tmp_path, logs):
    """A second change within one tick of the clock leaves size and time as they are."""
    path = logs / "two.json"
    poll(tmp_path / "store", logs)
    status, data = path.stat(), path.read_bytes()
    path.write_bytes(data[::-1])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    poll(tmp_path / "store", logs)
    assert restored(tmp_path / "store", tmp_path / "out")[str(path)] == data[::-1]


def test_a_grown_file_is_read_from_its_last_chunk_and_once_in_full_when_it_rests(tmp_path, logs, monkeypatch):
    monkeypatch.setattr(copying, "_RECENT", -(10**12))
    path = logs / "a" / "one.jsonl"
    whole = text(3, 4_000_000)
    path.write_bytes(whole[:3_000_000])
    poll(tmp_path / "store", logs)
    with path.open("ab") as file:
        file.write(whole[3_000_000:])
    grown = poll(tmp_path / "store", logs)
    assert 1_000_000 <= grown.read_bytes < 1_100_000
    assert grown.new_bytes < 1_100_000
    resting = poll(tmp_path / "store", logs)
    assert resting.read_bytes >= 4_000_000
    assert poll(tmp_path / "store", logs).snapshot is None
    assert restored(tmp_path / "store", tmp_path / "out")[str(path)] == whole


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda data: b"!" + data[1:] + b"more", id="another first byte"),
        pytest.param(lambda data: data[:-1] + b"!" + b"more", id="another last byte"),
        pytest.param(lambda data: data[:1000], id="truncated"),
        pytest.param(lambda data: text(9, len(data)) + b"more", id="all of it"),
        pytest.param(lambda data: data[:50_000] + b"!" + data[50_001:], id="one byte in between, of the same size"),
        pytest.param(lambda data: data[500:] + b"more" * 500, id="moved"),
    ],
)
def test_a_rewritten_file_is_copied_as_it_is_now(tmp_path, logs, change):
    path = logs / "a" / "one.jsonl"
    poll(tmp_path / "store", logs)
    path.write_bytes(change(path.read_bytes()))
    poll(tmp_path / "store", logs)
    assert restored(tmp_path / "store", tmp_path / "out")[str(path)] == path.read_bytes()


def test_a_byte_that_changed_within_a_file_that_grew_is_copied_once_the_file_rests(tmp_path, logs, monkeypatch):
    monkeypatch.setattr(copying, "_SAMPLES", 0)  # the comparison misses it
    monkeypatch.setattr(copying, "_TAIL", 2)
    path = logs / "a" / "one.jsonl"
    poll(tmp_path / "store", logs)
    data = bytearray(path.read_bytes())
    data[50_000] ^= 1
    path.write_bytes(data + b"more")
    poll(tmp_path / "store", logs)
    poll(tmp_path / "store", logs)
    assert restored(tmp_path / "store", tmp_path / "out")[str(path)] == path.read_bytes()


def test_a_file_that_changes_while_being_read_is_stored_in_a_state_it_had(tmp_path, logs, monkeypatch):
    """Each piece is another version when it is first read; the file rests afterwards."""
    path = logs / "two.json"
    states = [text(seed, 3_000) for seed in range(20, 23)]
    pread = os.pread
    monkeypatch.setattr(chunks, "_PIECE", 1000)

    def changing(descriptor, size, at):
        data = pread(descriptor, size, at)
        if os.fstat(descriptor).st_ino == path.stat().st_ino and at == 1000 and states:
            path.write_bytes(states.pop())
        return data

    monkeypatch.setattr(stable.os, "pread", changing)
    poll(tmp_path / "store", logs)
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert restored(tmp_path / "store", tmp_path / "out")[str(path)] == text(20, 3_000)


def test_a_file_that_never_rests_is_reported_and_keeps_its_earlier_content(tmp_path, logs, monkeypatch):
    path = logs / "two.json"
    poll(tmp_path / "store", logs)
    first = path.read_bytes()
    pread, seeds = os.pread, iter(range(100, 10_000))
    path.write_bytes(text(99, 3_000))

    def changing(descriptor, size, at):
        if os.fstat(descriptor).st_ino == path.stat().st_ino and at:
            path.write_bytes(text(next(seeds), 3_000))
        return pread(descriptor, size, at)

    monkeypatch.setattr(stable.os, "pread", changing)
    report = poll(tmp_path / "store", logs)
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert [(each.path, "changed while being read" in each.reason) for each in report.problems] == [(str(path), True)]
    assert restored(tmp_path / "store", tmp_path / "out")[str(path)] == first


def test_a_line_appended_while_the_file_is_read_is_no_reason_to_wait(tmp_path, logs, monkeypatch):
    path = logs / "a" / "one.jsonl"
    first, pread, count = path.read_bytes(), os.pread, iter(range(100))

    def growing(descriptor, size, at):
        if os.fstat(descriptor).st_ino == path.stat().st_ino:
            with path.open("ab") as file:
                file.write(b"%d more\n" % next(count))
        return pread(descriptor, size, at)

    monkeypatch.setattr(stable.os, "pread", growing)
    report = poll(tmp_path / "store", logs)
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert report.problems == []
    stored = restored(tmp_path / "store", tmp_path / "out")[str(path)]
    assert stored.startswith(first)
    assert path.read_bytes().startswith(stored)


def test_links_are_not_followed(tmp_path, logs):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.jsonl").write_bytes(b"secret")
    (logs / "link.jsonl").symlink_to(secret / "key.jsonl")
    (logs / "folder").symlink_to(secret)
    os.mkfifo(logs / "pipe.jsonl")
    report = poll(tmp_path / "store", logs)
    assert report.skipped == {"links": 2, "special files": 1}
    assert b"secret" not in restored(tmp_path / "store", tmp_path / "out").values()


def test_a_link_that_the_user_names_is_followed(tmp_path, logs):
    link = tmp_path / "link"
    link.symlink_to(logs)
    poll(tmp_path / "store", link, link / "two.json")
    stored = restored(tmp_path / "store", tmp_path / "out")
    assert stored == {path.replace(str(logs), str(link)): data for path, data in files(logs).items()}


def test_the_sources_are_only_read(tmp_path, logs):
    database = sqlite3.connect(logs / "state.db")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE t (a)")
    database.commit()
    before = {path: (stat.S_IMODE(path.stat().st_mode), path.stat().st_mtime_ns) for path in logs.rglob("*")}
    poll(tmp_path / "store", logs)
    after = {path: (stat.S_IMODE(path.stat().st_mode), path.stat().st_mtime_ns) for path in logs.rglob("*")}
    database.close()
    assert before == after


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
@pytest.mark.parametrize("is_open", [True, False])
def test_databases_are_copied_with_what_is_committed_and_without_what_is_not(tmp_path, logs, mode, is_open):
    path = logs / "state.db"
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA journal_mode = {mode}")
    database.execute("CREATE TABLE t (a)")
    database.executemany("INSERT INTO t VALUES (?)", [(f"row {number}",) for number in range(2000)])
    database.commit()
    if is_open:
        database.execute("INSERT INTO t VALUES ('not committed')")
    else:
        database.close()
    report = poll(tmp_path / "store", logs)
    assert report.problems == []
    stored = restored(tmp_path / "store", tmp_path / "out")
    database.close()
    assert [each for each in stored if "state" in each] == [str(path)]
    (copy,) = (tmp_path / "out").rglob("state.db")
    rows = sqlite3.connect(copy).execute("SELECT a FROM t").fetchall()
    assert rows == [(f"row {number}",) for number in range(2000)]


def test_a_change_in_the_write_ahead_log_alone_is_copied(tmp_path, logs):
    database = sqlite3.connect(logs / "state.db", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE t (a)")
    poll(tmp_path / "store", logs)
    database.execute("INSERT INTO t VALUES (1)")
    poll(tmp_path / "store", logs)
    restored(tmp_path / "store", tmp_path / "out")
    database.close()
    (copy,) = (tmp_path / "out").rglob("state.db")
    assert sqlite3.connect(copy).execute("SELECT a FROM t").fetchall() == [(1,)]


def test_the_log_of_a_killed_program_is_merged_into_the_copy(tmp_path, logs):
    database = sqlite3.connect(tmp_path / "live.db", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE t (a)")
    database.execute("INSERT INTO t VALUES (1)")
    for suffix in ("", "-wal"):  # as they are on the disk when it is killed and the machine restarts
        (logs / f"state.db{suffix}").write_bytes((tmp_path / f"live.db{suffix}").read_bytes())
    before = {path.name for path in logs.iterdir()}
    poll(tmp_path / "store", logs)
    assert {path.name for path in logs.iterdir()} == before
    database.close()
    restored(tmp_path / "store", tmp_path / "out")
    (copy,) = (tmp_path / "out").rglob("state.db")
    assert sqlite3.connect(copy).execute("SELECT a FROM t").fetchall() == [(1,)]


def test_content_that_is_repeated_is_stored_once(tmp_path, logs):
    poll(tmp_path / "store", logs)
    (logs / "copy.jsonl").write_bytes((logs / "a" / "one.jsonl").read_bytes())
    (logs / "shifted.jsonl").write_bytes(b"prefix" + (logs / "a" / "one.jsonl").read_bytes())
    report = poll(tmp_path / "store", logs)
    assert report.new_bytes < 20_000


def test_files_of_an_agent_are_found_where_it_writes_them(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    session = tmp_path / ".claude" / "projects" / "p" / "s.jsonl"
    session.parent.mkdir(parents=True)
    session.write_bytes(b"{}\n")
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.jsonl").write_bytes(b"secret")
    (session.parent / "link").symlink_to(other)
    (session.parent / "linked.jsonl").symlink_to(other / "x.jsonl")
    report = poll(tmp_path / "store", agents=["claude_code"])
    assert (report.files, report.skipped) == (1, {"links": 2})
    assert restored(tmp_path / "store", tmp_path / "out") == {str(session): b"{}\n"}


def test_the_folder_of_the_archive_is_not_copied_into_itself(tmp_path, logs):
    poll(logs / "store", logs)
    assert poll(logs / "store", logs).files == 3


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["missing"], "missing: cannot be read"),
        (["--agent", "nobody"], "--agent nobody: unknown agent"),
        ([], "nothing to copy"),
        (["logs", "--to", "logs"], "logs: is not empty and not an archive"),
        (["logs", "--key-file", "nothing"], "--key-file nothing: cannot be read"),
        (["ls", "logs"], "logs: is not an archive"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(tmp_path, logs, command, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    to = [] if "--to" in arguments or "ls" in arguments else ["--to", "store"]
    ended = command("archive", *arguments, *to)
    assert (ended.code, message in ended.err) == (2, True), ended.err


def test_a_file_that_cannot_be_read_is_reported_and_the_others_are_copied(tmp_path, logs, monkeypatch):
    def denied(path, *_):
        raise PermissionError(13, "Permission denied", path)

    opened = copying.open_stable
    monkeypatch.setattr(
        copying, "open_stable", lambda path, status: denied(path) if "two" in path else opened(path, status)
    )
    report = poll(tmp_path / "store", logs)
    assert [each.reason for each in report.problems] == ["Permission denied"]
    assert len(restored(tmp_path / "store", tmp_path / "out")) == 2


def test_an_archive_of_a_later_version_is_refused(tmp_path, logs):
    from chatsquash.storage.archive import layout

    poll(tmp_path / "store", logs)
    (tmp_path / "store" / "config").write_bytes(layout.encode(layout.Config("x", version=2)))
    with pytest.raises(UsageError, match="has version 2"):
        poll(tmp_path / "store", logs)


def test_earlier_states_can_be_restored(tmp_path, logs):
    path = logs / "two.json"
    first = path.read_bytes()
    poll(tmp_path / "store", logs)
    (key,) = (tmp_path / "store" / "snapshots").rglob("*-*")
    when = int(key.name.partition("-")[0])
    path.write_bytes(b"later")
    poll(tmp_path / "store", logs)
    assert restored(tmp_path / "store", tmp_path / "out", until=when)[str(path)] == first
    assert restored(tmp_path / "store", tmp_path / "now", "two.json") == {str(path): b"later"}
    assert contents(tmp_path / "now")
