"""goose's database, and others that are made to harm whoever reads them as such."""

import json
import sqlite3
from contextlib import closing, suppress

import pytest

from chatsquash import Options
from chatsquash.formats import documents
from chatsquash.formats.agents import goose
from chatsquash.formats.base import TurnError
from chatsquash.formats.databases import Database, recognise_database
from chatsquash.storage.confine.process import BeyondBoundsError
from tests.conftest import cases

from .hostile import FOREVER, LARGE, MESSAGES, SAID, SESSIONS, bomb, computed, database, schema

DEFAULTS = Options()
SMALL = Options(max_memory=100_000_000, max_database_time=20)
ONE = [{"working_dir": "/w", "id": "s", "created_at": 1}]
VIRTUAL = ", x GENERATED ALWAYS AS (1) VIRTUAL"
STORED = ", x GENERATED ALWAYS AS (1) STORED"
ROOT = "(SELECT rootpage FROM sqlite_master WHERE name = 'sessions')"


def from_database(data, options=DEFAULTS):
    """All sessions in the bytes of a database; ``None`` for one of anybody else's."""
    with closing(Database(options, data=data)) as opened:
        found = recognise_database(opened, [documents.get_format("goose")])
        return found and [each for family in found[1].families() for each in found[1].objects(family)]


def holds_sessions(data, options=DEFAULTS):
    with closing(Database(options, data=data)) as opened:
        found = recognise_database(opened, [documents.get_format("goose")])
        return found is not None and not found[1].is_empty


# sentence, what the database is made of: what stands in its tables is read, whatever else it says


@cases("tables, more",
    ("a column of messages that takes days", {"messages": MESSAGES.format(VIRTUAL)}, [computed(FOREVER)]),
    ("a column of sessions that takes days", {"sessions": SESSIONS.format(VIRTUAL)}, [computed(FOREVER)]),
    ("a column that is larger than any log", {"messages": MESSAGES.format(VIRTUAL)}, [computed(LARGE)]),
    ("a column that was computed and stored", {"messages": MESSAGES.format(STORED)}, []),
    ("an index on what takes days to compute", {}, ["CREATE INDEX i ON messages (session_id, abs(id))", schema("i", f"CREATE INDEX i ON messages (session_id, {FOREVER})", "index", None)]),
    ("an index that is wrong", {}, ["CREATE INDEX i ON messages (session_id) WHERE session_id = 'no'", schema("i", "CREATE INDEX i ON messages (session_id)", "index", None)]),
    ("a trigger", {}, ["CREATE TRIGGER t BEFORE INSERT ON messages BEGIN DELETE FROM sessions; END"]),
    ("a view of another name that never ends", {}, ["CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT * FROM n"]),
    ("a virtual table of another name", {}, ["CREATE TABLE other (x)", schema("other", "CREATE VIRTUAL TABLE other USING nothing_that_is_known")]),
    ("1,000 other tables", {}, [f"INSERT INTO sqlite_master WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000) SELECT 'table', 't' || i, 't' || i, {ROOT}, 'CREATE TABLE t' || i || '(x)' FROM n"]),
    ("names in quotes", {"sessions": SESSIONS.format("").replace("sessions", '"sessions"'), "messages": MESSAGES.format("").replace("messages", "[messages]")}, []),
    ("tables without row ids", {"messages": MESSAGES.format("") + " WITHOUT ROWID"}, []),
    ("a message of no session", {}, ["INSERT INTO messages (session_id, role) VALUES (NULL, 'user'), ('other', 'user')"]),
    ("bytes in place of a text", {}, ["UPDATE messages SET content_json = CAST(content_json AS BLOB)"]),
    ("a name that is no UTF-8", {}, ["ALTER TABLE sessions ADD COLUMN description TEXT", "UPDATE sessions SET description = CAST(x'ff' AS TEXT)"]),
    ("a number that JSON has not", {}, ["ALTER TABLE sessions ADD COLUMN tokens REAL", "UPDATE sessions SET tokens = 9e999"]),
)  # fmt: skip
def test_what_stands_in_tables_is_read_and_nothing_else(tmp_path, tables, more):
    data = database(tmp_path / "a.db", *more, **tables)
    (session,) = from_database(data, SMALL)
    assert session["conversation"] == [
        {"id": None, "role": "assistant", "created": None, "content": [{"type": "text", "text": "hi"}]}
    ]
    assert holds_sessions(data, SMALL)
    assert "x" not in session


@cases("more",
    ("a view that is called sessions", [schema("sessions", "CREATE VIEW sessions AS SELECT 's' AS id, 1 AS created_at", "view")]),
    ("a view that never ends", [schema("messages", "CREATE VIEW messages AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id FROM n) SELECT id, 's' AS session_id FROM n", "view")]),
    ("a virtual table", [schema("messages", "CREATE VIRTUAL TABLE messages USING nothing_that_is_known")]),
    ("a virtual table that says that it has rows", [schema("messages", "CREATE VIRTUAL TABLE messages USING dbstat", root=2)]),
    ("no messages", ["DROP TABLE messages"]),
    ("a column that is only computed", ["DROP TABLE messages", "CREATE TABLE messages (id INTEGER PRIMARY KEY, content_json TEXT, session_id AS ('s'))"]),
)  # fmt: skip
def test_what_is_no_table_is_not_read(tmp_path, more):
    data = database(tmp_path / "a.db", *more)
    assert from_database(data, SMALL) is None
    assert not holds_sessions(data, SMALL)


@cases("more",
    ("a view that says that it is a table", schema("sessions", "CREATE VIEW sessions AS SELECT 's' AS id, 1 AS created_at", root=2)),
    ("a table of another name in its place", schema("messages", "CREATE TABLE others (id, session_id)", root=3)),
    ("a view as one of two of a name", "INSERT INTO sqlite_master VALUES ('view', 'v', 'v', 0, 'CREATE VIEW messages AS SELECT 1')"),
)  # fmt: skip
def test_what_contradicts_itself_is_not_read(tmp_path, more):
    data = database(tmp_path / "a.db", more)
    with suppress(TurnError):  # some versions of SQLite refuse it at once
        assert from_database(data, SMALL) is None


def test_tables_without_rows_are_no_sessions(tmp_path):
    data = database(tmp_path / "a.db", "DELETE FROM messages", "DELETE FROM sessions")
    assert from_database(data) == []
    assert not holds_sessions(data)


@cases("more, message",
    ("a schema that is no SQL", [schema("messages", "CREATE TABLE messages (((", root=3)], "malformed database schema"),
    ("a content that is no UTF-8", ["UPDATE messages SET content_json = CAST(x'5b22ff225d' AS TEXT)"], "message 0 of session s: content_json is not valid JSON"),
    ("a role that is no UTF-8", ["UPDATE messages SET role = CAST(x'ff' AS TEXT)"], "message 0 of session s: role is not valid UTF-8"),
    ("a content that is a number", ["UPDATE messages SET content_json = '['"], "message 0 of session s: content_json is not valid JSON"),
)  # fmt: skip
def test_a_broken_database_says_where(tmp_path, more, message):
    with pytest.raises(TurnError, match=message):
        from_database(database(tmp_path / "a.db", *more))


@pytest.mark.parametrize("size", [16, 18, 99, 100, 3000, 5000])
def test_a_database_that_is_cut_anywhere_says_so(tmp_path, size):
    with pytest.raises(TurnError, match="corrupt database"):
        from_database(database(tmp_path / "a.db")[:size])


TIME = "its tables take more than 1 s to read (--max-database-time allows more)"
SPACE = "its tables take more than 100,000,000 bytes of memory to read (--max-memory allows more)"
SORTED = MESSAGES.format("").replace("INTEGER PRIMARY KEY", "INT")


@cases("tables, options, text",
    ("rows without end are read up to the time", {}, Options(max_database_time=1, max_memory=10**12), TIME),
    ("rows without end are read up to the memory of who wants them", {}, Options(max_database_time=1000, max_memory=100_000_000), SPACE),
    ("rows without end that have to be sorted take memory", {"messages": SORTED}, Options(max_database_time=1000, max_memory=100_000_000), SPACE),
)  # fmt: skip
def test_what_takes_more_than_it_may_is_not_read(tmp_path, tables, options, text):
    data = bomb(tmp_path / "a.db", **tables)
    assert len(data) < 50_000
    with pytest.raises(BeyondBoundsError) as caught:
        from_database(data, options)
    assert caught.value.strerror == text
    assert holds_sessions(data, SMALL), "which its first rows tell at once"


def test_what_the_values_take_counts_before_they_are_parsed(tmp_path):
    data = database(tmp_path / "a.db", said=f"[{'[],' * 1_000_000}1]")
    with pytest.raises(BeyondBoundsError, match="--max-memory"):
        from_database(data, SMALL)
    assert len(from_database(data)[0]["conversation"][0]["content"]) == 1_000_001


def test_a_small_bomb_is_a_database_that_can_be_read(tmp_path):
    assert len(from_database(bomb(tmp_path / "a.db", 1))[0]["conversation"]) == 201


def test_the_file_is_not_opened_by_the_database_and_nothing_is_written_beside_it(tmp_path):
    database(tmp_path / "a?mode=rwc#.db", "PRAGMA user_version = 1")
    with closing(sqlite3.connect(tmp_path / "a?mode=rwc#.db")) as writing:
        writing.execute("BEGIN EXCLUSIVE")  # as goose does while it writes
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        assert len(from_database(before["a?mode=rwc#.db"])) == 1
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_many_sessions_without_an_index_are_read_in_one_pass(tmp_path):
    sessions = [
        "INSERT INTO sessions (id, created_at) WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n LIMIT 2000) SELECT 's' || i, i FROM n"
    ]
    messages = [
        f"INSERT INTO messages (session_id, role, content_json) SELECT id, 'user', '{SAID}' FROM sessions WHERE created_at > 1"
    ]
    found = from_database(database(tmp_path / "a.db", *sessions, *messages))
    assert [each["id"] for each in found[:3]] == ["s", "s2", "s3"]
    assert {len(each["conversation"]) for each in found} == {1}


# As goose writes it


def said(words):
    return {"type": "text", "text": words}


def logged(path, *rows):
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE sessions (id TEXT, description TEXT, working_dir TEXT, created_at TIMESTAMP)")
        made.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT, "
            "content_json TEXT, created_timestamp INTEGER, timestamp TIMESTAMP, tokens INTEGER, metadata_json TEXT)"
        )
        made.executemany(
            "INSERT INTO sessions VALUES (?, ?, ?, ?)", [("s2", "later", "/b", 2), ("s1", "a talk", "/a", 1)]
        )
        made.executemany(
            "INSERT INTO messages (session_id, role, content_json, metadata_json) VALUES (?, ?, ?, ?)", rows
        )
        made.commit()
    return path.read_bytes()


def test_each_session_of_a_database_is_a_conversation(tmp_path):
    hidden = json.dumps({"agentVisible": False})
    data = logged(
        tmp_path / "sessions #1.db",
        ("s1", "user", json.dumps([said("hi")]), None),
        ("s2", "user", json.dumps([said("you")]), "{}"),
        ("s1", "assistant", json.dumps([said("old")]), hidden),
        ("s1", "assistant", json.dumps([said("hello")]), "{}"),
    )
    found = from_database(data)
    assert goose.fits(found) == "working_dir and conversation"
    told = [[message["content"] for message in each.messages] for each in goose.conversations(found)]
    assert told == [["hi", "hello"], ["you"]]
    assert [each.origin.session_id for each in goose.conversations(found)] == ["s1", "s2"]


def test_a_database_that_is_written_to_by_several_is_read_as_well(tmp_path):
    path = tmp_path / "a.db"
    logged(path, ("s1", "user", json.dumps([said("hi")]), None))
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("PRAGMA journal_mode = WAL")
    assert path.read_bytes()[18:20] == b"\2\2"
    assert len(goose.conversations(from_database(path.read_bytes()))) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["a.db"], "nothing is written beside it"


def test_a_database_of_anybody_else_is_none(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.db")) as made:
        made.execute("CREATE TABLE sessions (id TEXT)")
        made.commit()
    assert from_database((tmp_path / "a.db").read_bytes()) is None
