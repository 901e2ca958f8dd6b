"""The rows of tables in an SQLite database, read inside a process that is confined.

Only what stands in tables is read: a view, a virtual table or a column that is computed would run what the database
says.  The database lies in memory, since SQLite would write beside a file that it opens.
"""

from __future__ import annotations

import json
import re
import sqlite3
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from math import isfinite
from typing import Any

_BATCH = 1 << 18
"""Characters that are sent at a time, and a row more."""
_TABLE = re.compile(r"CREATE TABLE [\"'`\[]?(\w+)(?![\w$])", re.IGNORECASE)
_SETTINGS = (
    "trusted_schema = OFF",
    "cell_size_check = ON",
    "query_only = ON",
    "temp_store = MEMORY",
    "automatic_index = OFF",
)
_SWITCHES = {"DEFENSIVE": True, "TRUSTED_SCHEMA": False, "ENABLE_TRIGGER": False, "ENABLE_VIEW": False}
"""Settings of a connection that Python has since 3.12."""
_SMALLEST = 100
"""Bytes of the header of a database."""
_LEAST = 1 << 20
"""Bytes of the longest value, at least: what SQLite itself has to spell."""


def answers(request: memoryview) -> Iterator[bytes]:
    """A request is a line of JSON, and the database behind it; the answer is values of JSON, one in each frame.

    The line is ``{"tables": {name: [columns to sort by]}, "rows": most rows of each table or null}``.  Of each table
    come ``["table", name, [columns]]`` and ``["rows", [[cell]]]``; ``["none", name]`` instead of all where there is no
    such table, and ``["broken", why]`` where the rest cannot be read.  A cell that is bytes is ``{"base64": text}``.
    """
    end = bytes(request[:_LEAST]).index(b"\n")
    asked = json.loads(bytes(request[:end]))
    data = request[end + 1 :]
    if len(data) < _SMALLEST:
        yield _spelled(["broken", "it is cut off"])
        return
    data[18:20] = b"\1\1"  # one that several write to says so here, and would be opened only from a file
    try:
        with closing(_opened(data)) as database:
            data.release()
            yield from _all(database, asked["tables"], asked["rows"])
    except sqlite3.Error as problem:
        yield _spelled(["broken", str(problem)])


def _opened(data: memoryview) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None)
    # A text may be no UTF-8: what each byte was stays known.
    database.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    for name, switch in _SWITCHES.items():
        if number := getattr(sqlite3, f"SQLITE_DBCONFIG_{name}", None):
            database.setconfig(number, switch)  # type: ignore[attr-defined]
    for setting in _SETTINGS:
        database.execute(f"PRAGMA {setting}")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(len(data), _LEAST))  # no value is longer than its file
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    database.deserialize(data)
    return database


def _all(database: sqlite3.Connection, tables: dict[str, list[str]], most: int | None) -> Iterator[bytes]:
    database.set_authorizer(_only_reads({*tables, "sqlite_master"}))
    columns = {}
    for name in tables:
        if not _is_table(database, name):
            yield _spelled(["none", name])
            return
        # Without those that are computed or hidden, which hold nothing.
        listed = database.execute(f"PRAGMA table_xinfo({_quoted(name)})")
        columns[name] = [row[1] for row in listed if row[6] == 0]
    for name, order in tables.items():
        yield _spelled(["table", name, columns[name]])
        if missing := next((column for column in order if column not in columns[name]), None):
            yield _spelled(["broken", f"the table {name} has no column {missing}"])
            return
        yield from _rows(database, name, columns[name], "" if most else f" ORDER BY {_listed(order)}", most)


def _only_reads(tables: set[str]) -> Any:
    """What refuses all that is neither a column of these tables nor the list of a table's columns.

    Who reads through a view or a trigger is the last argument.
    """

    def authorize(action: int, one: str | None, _two: str | None, _database: str | None, through: str | None) -> int:
        reads = action == sqlite3.SQLITE_READ and one in tables and through is None
        lists = action == sqlite3.SQLITE_PRAGMA and one == "table_xinfo"
        return sqlite3.SQLITE_OK if reads or lists or action == sqlite3.SQLITE_SELECT else sqlite3.SQLITE_DENY

    return authorize


def _is_table(database: sqlite3.Connection, name: str) -> bool:
    """Whether a name is that of a table with rows of its own, which the schema says in several places."""
    found = database.execute("SELECT type, rootpage, sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()
    if found is None or found[0] != "table" or not isinstance(found[1], int) or found[1] <= 0:
        return False
    made = _TABLE.match(found[2]) if isinstance(found[2], str) else None
    return made is not None and made[1] == name


def _rows(database: sqlite3.Connection, name: str, columns: list[str], order: str, most: int | None) -> Iterator[bytes]:
    # Without its indexes, since these may be made of what has to be computed, and may be wrong.
    query = f"SELECT {_listed(columns)} FROM {_quoted(name)} NOT INDEXED{order} LIMIT ?"  # noqa: S608 - quoted
    batch: list[list[Any]] = []
    size = 0
    for row in database.execute(query, (-1 if most is None else most,)):
        cells = list(map(_cell, row))
        batch.append(cells)
        size += 8 + sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row)
        if size > _BATCH:
            yield _spelled(["rows", batch])
            batch, size = [], 0
    if batch:
        yield _spelled(["rows", batch])


def _cell(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": b64encode(value).decode()}
    return value if not isinstance(value, float) or isfinite(value) else None


def _listed(names: list[str]) -> str:
    return ", ".join(map(_quoted, names))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _spelled(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
