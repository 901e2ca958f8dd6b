"""The rows of tables in an SQLite database, read inside a process that is confined.

Only what stands in tables is read: a view, a virtual table or a column that is computed would run what the database
says.  The database lies in memory, or in a file that is opened as one that nobody changes, since SQLite would write
beside any other.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from base64 import b64encode
from collections.abc import Iterable, Iterator
from math import isfinite

TYPE_CHECKING = False  # as typing has it, which takes time to import
if TYPE_CHECKING:
    from typing import Any

_BATCH = 1 << 18
"""Characters that are sent at a time, and a row more."""
_TABLE = re.compile(r"CREATE TABLE [\"'`\[]?(\w+)(?![\w$])", re.IGNORECASE)
_SETTINGS = (
    "cell_size_check = ON",
    "query_only = ON",
    "temp_store = MEMORY",
    "automatic_index = OFF",
)
_SWITCHES = {"DEFENSIVE": True, "ENABLE_TRIGGER": False, "ENABLE_VIEW": False}
"""Settings of a connection that Python has since 3.12."""
_SMALLEST = 100
"""Bytes of the header of a database."""
_TABLES = 10_000
"""Tables that are looked at."""
_LONGEST = 1_000_000_000
"""Bytes of a value that SQLite allows."""
_LEAST = 1 << 20
"""Bytes of the longest value, at least: what SQLite itself has to spell."""


_database: sqlite3.Connection | None = None
"""The database that was opened last."""


def answers(request: memoryview) -> Iterator[bytes]:
    """A request is a line of JSON; the answer is values of JSON, one in each frame.

    - ``{"do": "open"}`` with the database behind the line, or with its ``path``: a file that nobody changes meanwhile.
    - ``{"do": "tables"}``: ``["table", name, [columns]]`` of each table.
    - ``{"do": "index", "table", "columns"}``: ``["rows", [[rowid, cell]]]``, all rows in the order in which they stand,
      or ``most`` of them; where rows have no ids, they are numbered.
    - ``{"do": "rows", "table", "columns", "rowids"}``: ``["rows", [[cell]]]`` of these rows, in this order.

    ``["broken", why]`` comes where the rest cannot be read.  A cell that is bytes is ``{"base64": text}``.
    """
    end = bytes(request[:_LEAST]).find(b"\n")
    end = len(request) if end < 0 else end
    asked = json.loads(bytes(request[:end]))
    try:
        if asked["do"] == "open":
            _open(asked.get("path"), request[end + 1 :])
        elif _database:
            yield from _answer(_database, asked)
    except (sqlite3.Error, _BrokenError) as problem:
        yield _spelled(["broken", str(problem)])


class _BrokenError(Exception):
    """A database that is not what it says."""


def _open(path: str | None, data: memoryview) -> None:
    global _database  # noqa: PLW0603 - the one of this process
    if _database:
        _database.close()
        _database = None
    _database = _of_file(path) if path is not None else _in_memory(data)


def _answer(database: sqlite3.Connection, asked: dict[str, Any]) -> Iterator[bytes]:
    if asked["do"] == "tables":
        database.set_authorizer(_only_reads({"sqlite_master"}))
        for (name,) in database.execute("SELECT name FROM sqlite_master LIMIT ?", (_TABLES,)).fetchall():
            if isinstance(name, str) and _is_table(database, name):
                yield _spelled(["table", name, _columns(database, name)])
        return
    name, columns = asked["table"], asked["columns"]
    database.set_authorizer(_only_reads({name, "sqlite_master"}))
    if not _is_table(database, name) or not {*columns} <= {*_columns(database, name)}:
        raise _BrokenError(f"the table {name} is not what it was")
    key, columns = _key(database, name), list(map(_quoted, columns))
    if asked["do"] == "index":
        yield from _batches(_all(database, name, key, columns, asked.get("most", -1)))
    else:
        find = _by_keys if key else _by_places
        yield from _batches(find(database, name, columns, asked["rowids"]))


def _in_memory(data: memoryview) -> sqlite3.Connection:
    if len(data) < _SMALLEST:
        raise _BrokenError("it is cut off")
    data[18:20] = b"\1\1"  # one that several write to says so here, and would be opened only from a file
    database = _bounded(sqlite3.connect(":memory:", isolation_level=None), len(data))
    database.deserialize(data)
    return _distrusted(database)


def _of_file(path: str) -> sqlite3.Connection:
    """A database that stands in a file: as one that nobody changes, so that nothing is written beside it."""
    place = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    database = sqlite3.connect(f"file:{place}?mode=ro&immutable=1", uri=True, isolation_level=None)
    database = _bounded(database, os.stat(path).st_size)  # noqa: PTH116 - as little as can be is imported
    return _distrusted(database)


def _bounded(database: sqlite3.Connection, size: int) -> sqlite3.Connection:
    """A connection that runs nothing that a database says."""
    # A text may be no UTF-8: what each byte was stays known.
    database.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    for name, switch in _SWITCHES.items():
        if number := getattr(sqlite3, f"SQLITE_DBCONFIG_{name}", None):
            database.setconfig(number, switch)  # type: ignore[attr-defined]
    for setting in _SETTINGS:
        database.execute(f"PRAGMA {setting}")
    # No value is longer than its file.
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(max(size, _LEAST), _LONGEST))
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    return database


def _distrusted(database: sqlite3.Connection) -> sqlite3.Connection:
    """A connection whose schema is parsed, and then trusted no longer.

    Kilo's index over ``json_extract()`` could not be parsed otherwise. Parsing computes nothing, and no query uses it.
    """
    database.execute("SELECT 1 FROM sqlite_master LIMIT 0")
    database.execute("PRAGMA trusted_schema = OFF")
    return database


def _columns(database: sqlite3.Connection, name: str) -> list[str]:
    """The columns of a table, without those that are computed or hidden, which hold nothing."""
    listed = database.execute(f"PRAGMA table_xinfo({_quoted(name)})")
    return [row[1] for row in listed if row[6] == 0]


def _key(database: sqlite3.Connection, name: str) -> str | None:
    """The name by which rows are numbered, which is no column's; ``None`` where there is none."""
    listed = {row[1].lower() for row in database.execute(f"PRAGMA table_xinfo({_quoted(name)})")}
    for key in ("rowid", "oid", "_rowid_"):
        if key not in listed:
            try:
                database.execute(f"SELECT {key} FROM {_quoted(name)} LIMIT 0")  # noqa: S608 - quoted
            except sqlite3.OperationalError:
                return None
            return key
    return None


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
    row = database.execute("SELECT type, rootpage, sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()
    if row is None or row[0] != "table" or not isinstance(row[1], int) or row[1] <= 0:
        return False
    made = _TABLE.match(row[2]) if isinstance(row[2], str) else None
    return made is not None and made[1] == name


# Without indexes, since these may be made of what has to be computed, and may be wrong.


def _all(
    database: sqlite3.Connection, name: str, key: str | None, columns: list[str], most: int
) -> Iterator[tuple[Any, ...]]:
    chosen = ", ".join([key, *columns] if key else columns)
    rows = database.execute(f"SELECT {chosen} FROM {_quoted(name)} NOT INDEXED LIMIT ?", (most,))  # noqa: S608 - quoted
    return rows if key else ((number, *row) for number, row in enumerate(rows))


def _by_keys(database: sqlite3.Connection, name: str, columns: list[str], keys: list[int]) -> Iterator[tuple[Any, ...]]:
    key = _key(database, name)
    query = f"SELECT {', '.join(columns)} FROM {_quoted(name)} NOT INDEXED WHERE {key} = ?"  # noqa: S608 - quoted
    return (row for each in keys for row in database.execute(query, (each,)))


def _by_places(
    database: sqlite3.Connection, name: str, columns: list[str], places: list[int]
) -> Iterator[tuple[Any, ...]]:
    """Rows without ids, for which all are gone through."""
    wanted = {*places}
    rows = {number: row for number, *row in _all(database, name, None, columns, -1) if number in wanted}
    return (tuple(rows[number]) for number in places if number in rows)


def _batches(rows: Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
    batch: list[list[Any]] = []
    size = 0
    for row in rows:
        batch.append(list(map(_cell, row)))
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


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _spelled(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
