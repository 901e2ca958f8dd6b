"""The sessions of results in a temporary database, with digests of their logs and records, in bounded memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import PurePath
from typing import Any, NamedTuple

from xxhash import xxh3_128_digest

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.dataset import columns
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.records import places
from chatsquash.records.datasets import COLUMNS, PARQUET
from chatsquash.results import output as outputs
from chatsquash.results.output import ResultFolder

_SCHEMA = """
CREATE TABLE log (side INTEGER, path TEXT, hash TEXT);
CREATE TABLE record (side INTEGER, file TEXT, row INTEGER, digest BLOB, PRIMARY KEY (side, file, row)) WITHOUT ROWID;
CREATE TABLE session (
    side INTEGER, at INTEGER, key BLOB, session TEXT, log TEXT, hash TEXT, why TEXT, records INTEGER, digest BLOB,
    file TEXT, row INTEGER, offset INTEGER, line INTEGER
);
"""
_INDEXES = """
CREATE TABLE paired AS SELECT *, ROW_NUMBER() OVER (PARTITION BY side, key ORDER BY at) AS nth FROM session;
CREATE INDEX paired_key ON paired (side, key, nth);
CREATE INDEX paired_line ON paired (side, line);
"""
_LOG_INDEXES = """
CREATE INDEX log_path ON log (side, path);
CREATE INDEX log_hash ON log (side, hash);
"""
_INSERT_SESSION = "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_LOG_HASH = "SELECT hash FROM log WHERE side = ? AND path = ?"
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("log", "session"), str),
    **dict.fromkeys(("file", "left_out", "filtered"), str | None),
    **dict.fromkeys(("row", "offset", "record"), int | None),
}
"""The columns of the session table that are compared, with their types."""
_BATCH = 1_000
_PARQUET_COLUMNS = (*COLUMNS, "text", "label")
_METADATA = frozenset(
    each.name
    for each in (
        *(*columns.METADATA, *columns.ENDING, *columns.STEPS, *columns.CONVERSATION, *columns.SAMPLE),
        *(columns.FRONT_TRUNCATED, columns.TOOLS_SUPPLIED, columns.TOKENS),
    )
)
"""The columns about the origin of a record, which are not compared."""


class Side(NamedTuple):
    """A result, with its ``run.json``."""

    path: str
    result: ResultFolder
    run: dict[str, Any]

    @property
    def has_parquet(self) -> bool:
        """Whether its records are in Parquet files."""
        return any(name.endswith(PARQUET) for name in self.result.record_files)


class SessionRows:
    """Loads the sessions of two results, 0 and 1, into a database."""

    def __init__(self, database: sqlite3.Connection, sides: tuple[Side, Side]) -> None:
        self._database, self._sides = database, sides
        has_parquet = [side.has_parquet for side in sides]
        # Parquet files have null members instead of missing ones, and other columns.
        self._differs = has_parquet[0] != has_parquet[1]

    def load(self) -> None:
        """Load both results; raise ``UsageError`` for a damaged one."""
        self._database.executescript(_SCHEMA)
        for number, side in enumerate(self._sides):
            self._put("INSERT INTO log VALUES (?, ?, ?)", self._logs(number, side))
        self._database.executescript(_LOG_INDEXES)
        for number, side in enumerate(self._sides):
            self._put("INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?)", self._records(number, side))
            self._put(_INSERT_SESSION, self._sessions(number, side))
        self._database.executescript(_INDEXES)

    def _put(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        for batch in _batches(rows):
            self._database.execute("BEGIN")  # otherwise each row is a transaction
            self._database.executemany(statement, batch)
            self._database.execute("COMMIT")

    def _logs(self, number: int, side: Side) -> Iterator[tuple[Any, ...]]:
        try:
            for each in side.run["inputs"]:
                yield number, str(each["path"]), str(each["xxh3_128"])
        except (KeyError, TypeError):
            raise UsageError(f"{side.path}/run.json: invalid content; convert again") from None

    def _records(self, number: int, side: Side) -> Iterator[tuple[Any, ...]]:
        for name in side.result.record_files:
            for row in places.rows(side.result.folder, name, _PARQUET_COLUMNS):
                yield number, name, row.number, self._digest(row.data)

    def _digest(self, data: bytes) -> bytes:
        """Return the digest of a record, whatever the order of its keys and the format of its file."""
        try:
            value = jsonio.loads(data)
            if isinstance(value, dict):
                if self._differs:
                    value = {name: _without_nulls(value[name]) for name in _PARQUET_COLUMNS if name in value}
                else:
                    value = {name: member for name, member in value.items() if name not in _METADATA}
            return xxh3_128_digest(jsonio.dumps(value, sort_keys=True))
        except (ValueError, RecursionError):
            return xxh3_128_digest(data)

    def _sessions(self, number: int, side: Side) -> Iterator[tuple[Any, ...]]:
        is_chain = side.run["options"].get("sessions_by") == "chain"
        hashes = iter(side.run["inputs"])
        line = 0
        for at, lines in enumerate(_sessions_of(side.result)):
            first = lines[0]
            entry = None if is_chain else next(hashes, None)
            log, log_hash = first["log"], ""
            if entry:
                log, log_hash = str(entry["path"]), str(entry["xxh3_128"])
            elif is_chain:
                row = self._database.execute(_LOG_HASH, (number, log)).fetchone()
                log_hash = row[0] if row else ""
            key = xxh3_128_digest(f"{first['session']}\0{PurePath(log).name}".encode("utf-8", "surrogatepass"))
            why = str(first["filtered"] or first["left_out"] or "") if first["file"] is None else ""
            digests = [
                self._record_digest(number, each["file"], each["row"]) for each in lines if each["file"] is not None
            ]
            digest = xxh3_128_digest(b"".join(digests) + why.encode())
            place = (first["file"], first["row"], first["offset"])
            yield number, at, key, first["session"], log, log_hash, why, len(digests), digest, *place, line
            line += len(lines)

    def _record_digest(self, number: int, file: str, row: int) -> bytes:
        query = "SELECT digest FROM record WHERE side = ? AND file = ? AND row = ?"
        match = self._database.execute(query, (number, file, row)).fetchone()
        if match is None:
            raise UsageError(f"{self._sides[number].path}/{file}:{row}: no such record; convert again")
        return bytes(match[0])


def _batches(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], ...]]:
    remaining = iter(rows)
    while batch := tuple(islice(remaining, _BATCH)):
        yield batch


def _sessions_of(result: ResultFolder) -> Iterator[list[dict[str, Any]]]:
    """Yield the lines of each session of the session table."""
    lines: list[dict[str, Any]] = []
    for line in outputs.lines(result.folder, SESSIONS, *_TYPES):
        texts, numbers = (line["log"], line["session"]), (line["row"], line["record"])
        if not all(isinstance(each, str) for each in texts) or not all(
            isinstance(each, int | None) for each in numbers
        ):
            raise outputs.damage(result.folder, SESSIONS)
        if lines and line["record"] in (None, 1):
            yield lines
            lines = []
        lines.append(line)
    if lines:
        yield lines


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(member) for name, member in value.items() if member is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value
