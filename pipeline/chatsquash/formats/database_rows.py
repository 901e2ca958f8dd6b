"""Rows of agents' databases: their order, their keys, and the JSON in their cells."""

from __future__ import annotations

from typing import Any, TypeVar

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats.base import TurnError
from chatsquash.formats.values import Object

T = TypeVar("T")


def order(value: Json, errors: str = "surrogatepass") -> tuple[int, Any]:
    """Return a sort key that orders values as SQLite does: null, numbers, texts, bytes."""
    if value is None:
        return 0, 0
    if isinstance(value, int | float):
        return 1, value
    return (2, value.encode("utf-8", errors)) if isinstance(value, str) else (3, value)


def key(value: Json) -> object:
    """What tells sessions apart: numbers are as their digits, and what is missing is like nothing else."""
    return object() if value is None else str(value)


def id_text(value: Json) -> str | None:
    """Return the id of a session as a text; ``None`` for a value that is no id."""
    return str(value) if isinstance(value, str | int) and value != "" else None


def roots(parents: dict[T, T]) -> dict[T, T]:
    """Of each session the first one of those that began it; of sessions that began each other, one of them."""
    known: dict[T, T] = {}
    for start in parents:
        way, name = dict[T, None](), start
        while name not in known and name not in way:
            way[name] = None
            above = parents[name]
            if above not in parents:
                break
            name = above
        root = known.get(name, name)
        known.update(dict.fromkeys(way, root))
    return known


def parse_cell(row: Object, column: str, place: str) -> Json:
    """The JSON in a cell, which may be a text or bytes; raises ``TurnError`` for what is none."""
    written: Any = row.get(column)
    try:
        return jsonio.loads(written.encode("utf-8", "surrogateescape") if isinstance(written, str) else written)
    except (ValueError, TypeError, RecursionError):
        raise TurnError(f"{place} has a {column} that is no JSON") from None


def readable(value: Json) -> Json:
    """A cell; of a text that is no UTF-8 what can be read, and of bytes nothing."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if not value.isascii() else value
    return None if isinstance(value, bytes) else value


def row_label(row: Object, table: str) -> str:
    """A row as errors name it."""
    return f"{table} {readable(row.get('id'))}"
