"""Read rows of tables in an SQLite database in a confined process.

Only stored values are read: views, virtual tables and computed columns would run code from the database. The database
is in memory, or in a file opened as immutable, because SQLite would otherwise write files next to it.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from base64 import b64encode
from collections.abc import Iterable, Iterator
from math import isfinite

TYPE_CHECKING = False  # as in typing, which is slow to import
if TYPE_CHECKING:
    from typing import Any

_BATCH = 1 << 18
"""The number of characters per answer frame, to which one more row may be added."""
_TABLE = re.compile(r"CREATE TABLE [\"'`\[]?(\w+)(?![\w$])", re.IGNORECASE)
_SETTINGS = (
    "cell_size_check = ON",
    "query_only = ON",
    "temp_store = MEMORY",
    "automatic_index = OFF",
)
_SWITCHES = {"DEFENSIVE": True, "ENABLE_TRIGGER": False, "ENABLE_VIEW": False}
"""Connection settings that are available since Python 3.12."""
_SMALLEST = 100
"""The size in bytes of a database header."""
_TABLES = 10_000
"""The maximum number of tables to list."""
_LONGEST = 1_000_000_000
"""The maximum value size in bytes that SQLite allows."""
_LEAST = 1 << 20
"""The minimum limit for values in bytes, which SQLite needs for its own statements."""


_database: sqlite3.Connection | None = None
"""The most recently opened database."""


def answers(request: memoryview) -> Iterator[bytes]:
    """Answer a request, a line of JSON, with JSON values, one per frame.

    - ``{"do": "open"}`` followed by the database, or with its ``path``: a file that must not change meanwhile.
    - ``{"do": "tables"}``: ``["table", name, [columns]]`` for each table.
    - ``{"do": "index", "table", "columns"}``: ``["rows", [[rowid, cell]]]``, all rows in stored order, or ``most`` of
      them; rows without ids are numbered.
    - ``{"do": "rows", "table", "columns", "rowids"}``: ``["rows", [[cell]]]``, these rows in this order.

    If the rest cannot be read, the last answer is ``["broken", reason]``. Bytes are written as ``{"base64": text}``.
    """
    end = bytes(request[:_LEAST]).find(b"\n")
    end = len(request) if end < 0 else end
    command = json.loads(bytes(request[:end]))
    try:
        if command["do"] == "open":
            _open(command.get("path"), request[end + 1 :])
        elif _database:
            yield from _answer(_database, command)
    except (sqlite3.Error, _BrokenError) as problem:
        yield _encode(["broken", str(problem)])


class _BrokenError(Exception):
    """A database that contradicts itself."""


def _open(path: str | None, data: memoryview) -> None:
    global _database  # noqa: PLW0603 - this process has one database
    if _database:
        _database.close()
        _database = None
    _database = _of_file(path) if path is not None else _in_memory(data)


def _answer(database: sqlite3.Connection, command: dict[str, Any]) -> Iterator[bytes]:
    if command["do"] == "tables":
        database.set_authorizer(_only_reads({"sqlite_master"}))
        for (name,) in database.execute("SELECT name FROM sqlite_master LIMIT ?", (_TABLES,)).fetchall():
            if isinstance(name, str) and _is_table(database, name):
                yield _encode(["table", name, _columns(database, name)])
        return
    name, columns = command["table"], command["columns"]
    database.set_authorizer(_only_reads({name, "sqlite_master"}))
    if not _is_table(database, name) or not {*columns} <= {*_columns(database, name)}:
        raise _BrokenError(f"the table {name} has changed")
    key, columns = _key(database, name), list(map(_quote_name, columns))
    if command["do"] == "index":
        yield from _batches(_all(database, name, key, columns, command.get("most", -1)))
    else:
        find = _by_keys if key else _by_places
        yield from _batches(find(database, name, columns, command["rowids"]))


def _in_memory(data: memoryview) -> sqlite3.Connection:
    if len(data) < _SMALLEST:
        raise _BrokenError("it is truncated")
    data[18:20] = b"\1\1"  # clear the flag of WAL mode, in which databases can only be opened from files
    database = _bounded(sqlite3.connect(":memory:", isolation_level=None), len(data))
    database.deserialize(data)
    return _distrusted(database)


def _of_file(path: str) -> sqlite3.Connection:
    """Open a database file as immutable, so that SQLite does not write files next to it."""
    place = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    database = sqlite3.connect(f"file:{place}?mode=ro&immutable=1", uri=True, isolation_level=None)
    database = _bounded(database, os.stat(path).st_size)  # noqa: PTH116 - keeps imports to a minimum
    return _distrusted(database)


def _bounded(database: sqlite3.Connection, size: int) -> sqlite3.Connection:
    """Configure a connection so that it runs no code from the database."""
    # Text may be invalid UTF-8; surrogates preserve the bytes.
    database.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    for name, switch in _SWITCHES.items():
        if number := getattr(sqlite3, f"SQLITE_DBCONFIG_{name}", None):
            database.setconfig(number, switch)  # type: ignore[attr-defined]
    for setting in _SETTINGS:
        database.execute(f"PRAGMA {setting}")
    # No value can be longer than its file.
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(max(size, _LEAST), _LONGEST))
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    return database


def _distrusted(database: sqlite3.Connection) -> sqlite3.Connection:
    """Parse the schema of a connection and stop trusting it."""
    # The schema is parsed first, because an index of Kilo over json_extract() could not be parsed without trust.
    # Parsing runs no code, and no query uses indexes.
    database.execute("SELECT 1 FROM sqlite_master LIMIT 0")
    database.execute("PRAGMA trusted_schema = OFF")
    return database


def _columns(database: sqlite3.Connection, name: str) -> list[str]:
    """Return the stored columns of a table, without computed or hidden ones."""
    rows = database.execute(f"PRAGMA table_xinfo({_quote_name(name)})")
    return [row[1] for row in rows if row[6] == 0]


def _key(database: sqlite3.Connection, name: str) -> str | None:
    """Return a name for the row id that is not a column, or ``None`` for a table without row ids."""
    column_names = {row[1].lower() for row in database.execute(f"PRAGMA table_xinfo({_quote_name(name)})")}
    for key in ("rowid", "oid", "_rowid_"):
        if key not in column_names:
            try:
                database.execute(f"SELECT {key} FROM {_quote_name(name)} LIMIT 0")  # noqa: S608 - quoted
            except sqlite3.OperationalError:
                return None
            return key
    return None


def _only_reads(tables: set[str]) -> Any:
    """Return an authorizer that only allows reading columns of these tables and listing their columns.

    The last argument of the authorizer is the view or trigger through which a column is read, or ``None``.
    """

    def authorize(action: int, one: str | None, _two: str | None, _database: str | None, through: str | None) -> int:
        reads = action == sqlite3.SQLITE_READ and one in tables and through is None
        lists = action == sqlite3.SQLITE_PRAGMA and one == "table_xinfo"
        return sqlite3.SQLITE_OK if reads or lists or action == sqlite3.SQLITE_SELECT else sqlite3.SQLITE_DENY

    return authorize


def _is_table(database: sqlite3.Connection, name: str) -> bool:
    """Return whether a name is that of a table with stored rows, everywhere in the schema."""
    row = database.execute("SELECT type, rootpage, sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()
    if row is None or row[0] != "table" or not isinstance(row[1], int) or row[1] <= 0:
        return False
    match = _TABLE.match(row[2]) if isinstance(row[2], str) else None
    return match is not None and match[1] == name


# Queries do not use indexes, because these may contain computed values or be wrong.


def _all(
    database: sqlite3.Connection, name: str, key: str | None, columns: list[str], most: int
) -> Iterator[tuple[Any, ...]]:
    selection = ", ".join([key, *columns] if key else columns)
    rows = database.execute(f"SELECT {selection} FROM {_quote_name(name)} NOT INDEXED LIMIT ?", (most,))  # noqa: S608 - quoted
    return rows if key else ((number, *row) for number, row in enumerate(rows))


def _by_keys(database: sqlite3.Connection, name: str, columns: list[str], keys: list[int]) -> Iterator[tuple[Any, ...]]:
    key = _key(database, name)
    query = f"SELECT {', '.join(columns)} FROM {_quote_name(name)} NOT INDEXED WHERE {key} = ?"  # noqa: S608 - quoted
    return (row for each in keys for row in database.execute(query, (each,)))


def _by_places(
    database: sqlite3.Connection, name: str, columns: list[str], places: list[int]
) -> Iterator[tuple[Any, ...]]:
    """Return rows without ids by number, which requires reading all rows."""
    numbers = {*places}
    rows = {number: row for number, *row in _all(database, name, None, columns, -1) if number in numbers}
    return (tuple(rows[number]) for number in places if number in rows)


def _batches(rows: Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
    batch: list[list[Any]] = []
    size = 0
    for row in rows:
        batch.append(list(map(_cell, row)))
        size += 8 + sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row)
        if size > _BATCH:
            yield _encode(["rows", batch])
            batch, size = [], 0
    if batch:
        yield _encode(["rows", batch])


def _cell(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": b64encode(value).decode()}
    return value if not isinstance(value, float) or isfinite(value) else None


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
