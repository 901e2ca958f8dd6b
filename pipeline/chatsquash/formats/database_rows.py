"""Helpers for rows of agents' databases: sort order, keys and JSON in cells."""

from __future__ import annotations

from typing import Any, TypeVar

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats.base import TurnError
from chatsquash.formats.values import Object

T = TypeVar("T")


def order(value: Json, errors: str = "surrogatepass") -> tuple[int, Any]:
    """Return a sort key that orders values as SQLite does: null, numbers, strings, bytes."""
    if value is None:
        return 0, 0
    if isinstance(value, int | float):
        return 1, value
    return (2, value.encode("utf-8", errors)) if isinstance(value, str) else (3, value)


def key(value: Json) -> object:
    """Return a key for a session id: numbers equal their digits, and missing ids are all different."""
    # SQLite columns may contain both numbers and their digits for the same id.
    return object() if value is None else str(value)


def id_text(value: Json) -> str | None:
    """Return a session id as a string, or ``None`` for a value that is not an id."""
    return str(value) if isinstance(value, str | int) and value != "" else None


def roots(parents: dict[T, T]) -> dict[T, T]:
    """Return the root ancestor of each session; for sessions in a cycle, one member of the cycle."""
    known: dict[T, T] = {}
    for start in parents:
        path, name = dict[T, None](), start
        while name not in known and name not in path:
            path[name] = None
            above = parents[name]
            # The parent is missing from the database, so this session is a root.
            if above not in parents:
                break
            name = above
        root = known.get(name, name)
        known.update(dict.fromkeys(path, root))
    return known


def parse_cell(row: Object, column: str, place: str) -> Json:
    """Parse the JSON in a cell, which may be a string or bytes; raise ``TurnError`` if it is invalid."""
    cell: Any = row.get(column)
    try:
        # SQLite does not check the encoding of text, so strings may contain escaped invalid bytes.
        return jsonio.loads(cell.encode("utf-8", "surrogateescape") if isinstance(cell, str) else cell)
    except (ValueError, TypeError, RecursionError):
        raise TurnError(f"{place}: {column} is not valid JSON") from None


def readable(value: Json) -> Json:
    """Return the value of a cell, with invalid UTF-8 replaced and bytes as null."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if not value.isascii() else value
    return None if isinstance(value, bytes) else value


def row_label(row: Object, table: str) -> str:
    """Return the label of a row for error messages."""
    return f"{table} {readable(row.get('id'))}"
