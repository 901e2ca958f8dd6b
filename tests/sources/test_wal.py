"""The log of changes beside a database, held to SQLite itself."""

import random
import sqlite3
from contextlib import closing

import pytest

from chatsquash.sources import wal

ASKED = "SELECT count(*), sum(length(a)) FROM s"


@pytest.mark.parametrize("page", [512, 1024, 4096, 65536])
def test_a_database_with_its_log_holds_what_sqlite_finds_in_both(tmp_path, page):
    chance = random.Random(page)
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as writing:
        writing.execute(f"PRAGMA page_size = {page}")
        writing.execute("PRAGMA journal_mode = WAL")
        writing.execute("PRAGMA wal_autocheckpoint = 0")
        writing.execute("CREATE TABLE s (id INTEGER PRIMARY KEY, a)")
        for _ in range(8):
            writing.executemany("INSERT INTO s (a) VALUES (?)", [("x" * chance.randrange(3000),) for _ in range(40)])
            writing.commit()
            if chance.random() < 0.4:
                writing.execute("DELETE FROM s WHERE id % 3 = 0")
                writing.commit()
            if chance.random() < 0.4:
                writing.execute(f"PRAGMA wal_checkpoint({chance.choice(['passive', 'restart', 'truncate'])})")
        writing.execute("INSERT INTO s (a) VALUES ('not committed')")
        data, log = bytearray(path.read_bytes()), (tmp_path / "a.db-wal").read_bytes()
        writing.rollback()
        expected = writing.execute(ASKED).fetchone()
    wal.apply(data, log, 1 << 30)
    data[18:20] = b"\1\1"
    with closing(sqlite3.connect(":memory:")) as read:
        read.deserialize(bytes(data))
        assert read.execute(ASKED).fetchone() == expected
        assert read.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def log_of(tmp_path):
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as writing:
        writing.execute("PRAGMA journal_mode = WAL")
        writing.execute("CREATE TABLE s (a)")
        writing.commit()
        writing.execute("INSERT INTO s VALUES (1)")
        writing.commit()
        return path.read_bytes(), (tmp_path / "a.db-wal").read_bytes()


def test_a_log_that_is_cut_or_damaged_counts_up_to_its_last_whole_commit(tmp_path):
    _, log = log_of(tmp_path)
    chance = random.Random(1)
    assert wal.committed_pages(log)
    for size in range(0, len(log), 97):
        wal.committed_pages(log[:size])
    for _ in range(300):
        bad = bytearray(log)
        bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
        found = wal.committed_pages(bytes(bad))
        assert found is None or found[1] <= 3
    assert wal.committed_pages(b"x" * 5000) is None


def test_more_pages_than_may_be_are_refused(tmp_path):
    data, log = log_of(tmp_path)
    with pytest.raises(ValueError, match="is larger than 4,096 bytes including its changes"):
        wal.apply(bytearray(data), log, 4096)
