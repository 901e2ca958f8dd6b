"""Crafted SQLite databases: ``convert`` and ``inspect`` end with 0 or 3, and within the time that databases have."""

import pytest

from tests.conftest import cases, log_line, write_log
from tests.formats.hostile import FOREVER, MESSAGES, SESSIONS, VIRTUAL_FOREVER, computed, database, schema

ENDLESS = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id FROM n)"
BOUNDS = "--max-database-time", "5", "--max-memory", "200000000"


def paged(size):
    """Says that pages have another size than they have."""

    def change(data):
        data[16:18] = size.to_bytes(2)

    return change


def unchanged(data):
    """The database as SQLite wrote it."""


@cases(
    "tables, more, change, beside",
    ("a view in place of messages that never ends", {}, [schema("messages", f"CREATE VIEW messages AS {ENDLESS} SELECT id, 's' AS session_id FROM n", "view")], unchanged, {}),
    ("a view that never ends", {}, [f"CREATE VIEW v AS {ENDLESS} SELECT * FROM n"], unchanged, {}),
    ("a trigger that never ends", {}, [f"CREATE TRIGGER t AFTER INSERT ON messages BEGIN INSERT INTO sessions SELECT {FOREVER}, 1, 1; END"], unchanged, {}),
    ("a generated column that takes days", *VIRTUAL_FOREVER, unchanged, {}),
    ("a generated column of sessions", {"sessions": SESSIONS.format(", x GENERATED ALWAYS AS (1) VIRTUAL")}, [computed(FOREVER)], unchanged, {}),
    ("a virtual table that is unknown", {}, [schema("messages", "CREATE VIRTUAL TABLE messages USING unknown", root=0)], unchanged, {}),
    ("a blob of 30 megabytes", {}, ["UPDATE messages SET content_json = zeroblob(30000000)"], unchanged, {}),
    ("a text of 30 megabytes", {}, ["UPDATE messages SET content_json = replace(hex(zeroblob(15000000)), '0', '[')"], unchanged, {}),
    ("a schema with escapes", {}, [schema("messages", "CREATE TABLE messages (\x1b[31m\u202e" + "(" * 10_000, root=3)], unchanged, {}),
    ("pages of 512 bytes that have 4096", {}, [], paged(512), {}),
    ("pages of 65536 bytes", {}, [], paged(1), {}),
    ("pages of no bytes", {}, [], paged(0), {}),
    ("pages of 3 bytes", {}, [], paged(3), {}),
    ("a log of changes that is none", {}, [], unchanged, {"-wal": b"\x1b[31m" * 1000}),
    ("a log of changes with another size of pages", {}, [], unchanged, {"-wal": b"7\x7f\x06\x82\0-\xe2\x18\0\0\2\0" + b"\xff" * 5000}),
    ("a journal", {}, [], unchanged, {"-journal": b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\xff" * 5000}),
)  # fmt: skip
@pytest.mark.parametrize("name", ["convert", "inspect"])
def test_a_crafted_database(here, command, name, tables, more, change, beside):
    (here / "logs").mkdir()
    path = here / "logs/sessions.db"
    data = bytearray(database(path, *more, **{"messages": MESSAGES.format(""), **tables}))
    change(data)
    path.write_bytes(data)
    for suffix, log in beside.items():
        (here / f"logs/sessions.db{suffix}").write_bytes(log)
    write_log(here / "logs/good.jsonl", log_line("Hi"))
    before = sorted((here / "logs").iterdir())
    arguments = ("convert", "logs", "--output", "out", *BOUNDS) if name == "convert" else ("inspect", path, *BOUNDS)
    done = command(*arguments)
    assert done.code in (0, 3), done.err
    said = done.out + done.err
    assert all(char.isprintable() or char in "\n\t" for char in said)
    assert max(map(len, said.split("\n"))) < 2000
    assert sorted((here / "logs").iterdir()) == before
    assert name == "inspect" or (here / "out/2026-01-13.jsonl").is_file()  # the good session
