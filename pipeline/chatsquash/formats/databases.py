"""Agent databases, read session by session in a confined process.

The format of a database defines three functions in addition to those of a document format:

- ``tables(columns)`` returns the columns to index for each table, or ``None`` for a database of another program
- ``families(index)`` returns, for each session, the row numbers of the session and its sub-agents
- ``from_rows(rows)`` returns the objects of one family, for ``conversations``
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.formats.base import DocumentFormat, TurnError
from chatsquash.storage.confine.process import BeyondBoundsError, Confined, EndedError, OutOfMemoryError, OutOfTimeError

_STRUCTURE = b"[{,:"
_PARSED = 64
"""The memory in bytes for a parsed list, object or value, in addition to the size of its JSON."""

Index = dict[str, list[tuple[Any, ...]]]
"""The rows of each table: row numbers with the values of some columns."""
Family = dict[str, list[int]]
"""The row numbers of each table."""


class Database:
    """A database in memory, or in a file that does not change."""

    def __init__(self, options: Options, data: bytes | bytearray | None = None, path: str | None = None) -> None:
        self._options = options
        self._process = Confined("chatsquash.storage.confine.tables", options.max_memory, options.max_database_time)
        self._limit_message = ""
        """The reason why the database cannot be read any further; empty while it can."""
        self.close: Callable[[], object] = self._process.close
        try:
            list(self._request({"do": "open"} if path is None else {"do": "open", "path": path}, data or b""))
        except BaseException:
            # The process would otherwise outlive a failed constructor.
            self.close()
            raise

    def tables(self) -> dict[str, list[str]]:
        """Return the columns of each table; raises like ``index``."""
        return {name: columns for _, name, columns in self._request({"do": "tables"})}

    def index(self, table: str, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
        """Return the row numbers of a table with the values of these columns.

        Raises:
            TurnError: if the database is corrupt
            BeyondBoundsError: if reading takes more memory or time than the options allow
        """
        request = {"do": "index", "table": table, "columns": columns}
        return [tuple(_cells(row)) for _, rows in self._request(request) for row in rows]

    def has_rows(self, table: str) -> bool:
        """Return whether a table has any rows; raises like ``index``."""
        request = {"do": "index", "table": table, "columns": (), "most": 1}
        frames = list(self._request(request))  # consumed completely, because stopping early would end the process
        return any(rows for _, rows in frames)

    def rows(self, table: str, columns: list[str], rowids: list[int]) -> list[dict[str, Json]]:
        """Return the rows with these numbers; raises like ``index``."""
        request = {"do": "rows", "table": table, "columns": columns, "rowids": rowids}
        return [dict(zip(columns, _cells(row), strict=True)) for _, rows in self._request(request) for row in rows]

    def _request(self, request: dict[str, Any], data: bytes | bytearray = b"") -> Iterator[list[Any]]:
        memory, seconds = self._options.max_memory, self._options.max_database_time
        remaining = memory
        if self._limit_message:
            raise BeyondBoundsError(self._limit_message)
        try:
            self._process.begin(jsonio.dumps(request) + b"\n", cast("bytes", data))
            for frame in self._process.answers(memory):
                remaining -= len(frame) + _PARSED * sum(map(frame.count, _STRUCTURE))
                if remaining < 0:
                    raise OutOfMemoryError  # noqa: TRY301 - handled like an error of the confined process
                answer = jsonio.loads(frame) if frame else ["nothing"]
                if answer[0] == "broken":
                    raise TurnError(f"corrupt database ({answer[1]})")
                if answer[0] != "nothing":
                    yield answer
        except OutOfTimeError:
            self._limit_message = f"its tables take more than {seconds} s to read (--max-database-time allows more)"
        except OutOfMemoryError:
            self._limit_message = (
                f"its tables take more than {memory:,} bytes of memory to read (--max-memory allows more)"
            )
        except EndedError as problem:
            self._limit_message = f"reading its tables failed: {problem}"
        if self._limit_message:
            raise BeyondBoundsError(self._limit_message)


def _cells(row: list[Any]) -> list[Json]:
    """Return the values of cells, with bytes decoded from the objects that represent them."""
    # The confined process sends JSON, which has no bytes.
    if dict not in map(type, row):
        return row
    return [b64decode(cell["base64"]) if isinstance(cell, dict) else cell for cell in row]


class AgentDatabase:
    """A database that is read with the format of its agent."""

    def __init__(self, database: Database, form: DocumentFormat, columns: dict[str, tuple[str, ...]]) -> None:
        self._database, self._form, self._key_columns = database, form, columns
        self.tables = list(columns)
        sessions = [name for name in form.SESSIONS if name in columns] or self.tables[:1]
        self.is_empty = not any(map(database.has_rows, sessions))
        """Whether the tables with sessions (those in ``SESSIONS``, or else the first table) have no rows."""
        self._columns = database.tables()

    def families(self) -> list[Family]:
        """Return the row numbers of each session; raises like ``Database.index``."""
        index = {table: self._database.index(table, columns) for table, columns in self._key_columns.items()}
        families: list[Family] = self._form.families(index)
        return families

    def objects(self, family: Family) -> list[Json]:
        """Return the objects of a session; raises like ``Database.index``."""
        read = {
            table: self._database.rows(table, self._columns[table], rowids)
            for table, rowids in family.items()
            if table in self._columns
        }
        return self._form.from_rows(read)


def recognise_database(
    database: Database, known: Iterable[DocumentFormat]
) -> tuple[DocumentFormat, AgentDatabase] | None:
    """Return the format of a database, and a reader for its sessions, or ``None`` for an unknown database.

    Raises:
        TurnError: if the database matches the formats of two agents
    """
    tables = database.tables()
    candidates = [
        (form, key_columns) for form in known if form.tables and (key_columns := form.tables(tables)) is not None
    ]
    if len(candidates) > 1:
        raise TurnError(f"more than one format matches: {candidates[0][0].NAME} and {candidates[1][0].NAME}")
    if not candidates:
        return None
    form, key_columns = candidates[0]
    return form, AgentDatabase(database, form, key_columns)
