"""Rows of a database: what orders them, what tells them apart, and the JSON in their cells."""

from __future__ import annotations

from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.model import Json, Tokens
from chatsquash.formats.base import TurnError
from chatsquash.formats.values import Object, at, count


def order(value: Json) -> tuple[int, Any]:
    """What sorts values as SQLite does: nothing, then numbers, texts and bytes."""
    if value is None:
        return 0, 0
    if isinstance(value, int | float):
        return 1, value
    return (2, value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else (3, value)


def key(value: Json) -> object:
    """What tells sessions apart: numbers are as their digits, and what is missing is like nothing else."""
    return object() if value is None else str(value)


def roots(parents: dict[object, object]) -> dict[object, object]:
    """Of each session the first one of those that began it; of sessions that began each other, one of them."""
    found: dict[object, object] = {}
    for start in parents:
        way, name = dict[object, None](), start
        while name not in found and name not in way:
            way[name] = None
            above = parents[name]
            if above not in parents:
                break
            name = above
        root = found.get(name, name)
        found.update(dict.fromkeys(way, root))
    return found


def parsed(row: Object, column: str, place: str) -> Json:
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


def named(row: Object, table: str) -> str:
    """A row as errors name it."""
    return f"{table} {readable(row.get('id'))}"


BROKEN_OFF = "incomplete"
"""Why a reply ended that was stopped or failed, and does not say itself why."""


def tokens(used: Json, *, is_split: bool = False) -> Tokens:
    """Those that were sent, with those from the cache, and those that came back; none where all are zero.

    Reasoning stands beside the output (``is_split``), or within it as in older versions, which their sum may tell.
    """
    sent = [count(at(used, *path)) for path in (("input",), ("cache", "read"), ("cache", "write"))]
    output, reasoning, total = (count(at(used, name)) for name in ("output", "reasoning", "total"))
    prompt = sum(each or 0 for each in sent) if sent[0] is not None else None
    is_split = is_split or (total is not None and total != (prompt or 0) + (output or 0))
    completion = output + (reasoning or 0) if is_split and output is not None else output
    return Tokens(prompt, completion) if prompt or completion else Tokens()
