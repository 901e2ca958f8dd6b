"""goose's database: the rows of its two tables, each session as its export."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from chatsquash import jsonio
from chatsquash.formats.base import TurnError
from chatsquash.formats.values import Object, string
from chatsquash.model import Json
from chatsquash.options import Options

DEFAULTS = Options()
_STRUCTURE = b"[{,:"
_PARSED = 64
"""Bytes of memory that a list, an object or a value takes once it is parsed, beside those that it is spelled with."""


def from_database(data: bytes, options: Options = DEFAULTS) -> list[Json] | None:
    """The sessions in the bytes of a ``sessions.db``, each as its export; ``None`` for a database of anybody else's.

    Raises ``TurnError`` for one that is broken, and ``BeyondBoundsError`` for one that takes more memory or time to
    read than the options allow.
    """
    sessions: list[Object] = []
    by_id: dict[object, list[Json]] = {}
    name, columns = "", list[str]()
    for what, *told_of in _read(data, None, options):
        if what == "table":
            name, columns = told_of
            continue
        for cells in told_of[0]:
            # What came as an object is bytes.
            held = [b64decode(cell["base64"]) if isinstance(cell, dict) else cell for cell in cells]
            row = dict(zip(columns, held, strict=True))
            if name == "sessions":
                header = {name: value for name, value in row.items() if isinstance(value, str | int | float)}
                sessions.append({"working_dir": "", **header, "conversation": []})
                by_id.setdefault(_id(row["id"]), sessions[-1]["conversation"])
            elif (told := by_id.get(_id(row["session_id"]))) is not None:
                told.append(_message(row))
    return sessions if name else None


def holds_sessions(data: bytes, options: Options = DEFAULTS) -> bool:
    """Whether a database has sessions of goose, told by its first rows; raises as ``from_database``."""
    tables = [what for what, *_ in _read(data, 1, options)]
    return tables[:2] == ["table", "rows"]


def _read(data: bytes, rows: int | None, options: Options) -> Iterator[list[Any]]:
    """The tables that hold sessions, as ``chatsquash.confine.tables`` tells them; nothing where they are not there."""
    from chatsquash.confine.process import BeyondBoundsError, Confined, EndedError, OutOfMemoryError, OutOfTimeError

    asked = {"tables": {"sessions": ["created_at", "id"], "messages": ["id", "session_id"]}, "rows": rows}
    memory, seconds = options.max_memory, options.max_database_time
    try:
        with closing(Confined("chatsquash.confine.tables", memory, seconds)) as process:
            left = memory
            process.begin(jsonio.dumps(asked) + b"\n", data)
            for frame in process.answers(memory):
                left -= len(frame) + _PARSED * sum(map(frame.count, _STRUCTURE))
                if left < 0:
                    raise OutOfMemoryError  # noqa: TRY301 - as if that process had told it
                told = jsonio.loads(frame)
                if told[0] == "none":
                    return
                if told[0] == "broken":
                    raise TurnError(f"is no database of goose ({told[1]})")
                yield told
    except OutOfTimeError:
        text = f"its tables take more than {seconds} s to read (--max-database-time allows more)"
        raise BeyondBoundsError(text) from None
    except OutOfMemoryError:
        text = f"its tables take more than {memory:,} bytes of memory to read (--max-memory allows more)"
        raise BeyondBoundsError(text) from None
    except EndedError as problem:
        raise BeyondBoundsError(f"reading its tables failed: {problem}") from None


def _id(value: Json) -> object:
    """What tells sessions apart: numbers are as their digits, and what is missing is like nothing else."""
    return object() if value is None else str(value)


def _message(row: Object) -> Object:
    place = f"message {row.get('id')} of session {row.get('session_id')}"
    role = row.get("role")
    if isinstance(role, str) and _bytes(role) != role.encode("utf-8", "replace"):
        raise TurnError(f"{place} has a role that is no UTF-8")
    message = {"role": role, "created": row.get("created_timestamp")}
    message |= {"tokens": row["tokens"]} if row.get("tokens") is not None else {}
    for member, column in (("content", "content_json"), ("metadata", "metadata_json")):
        if (written := row.get(column)) is not None:
            try:
                message[member] = jsonio.loads(_bytes(written))
            except (ValueError, TypeError, RecursionError):
                raise TurnError(f"{place} has a {column} that is no JSON") from None
    return {"id": string(row, "message_id") or None, **message}


def _bytes(written: Json) -> Json:
    """A text as it stands in the database, where it may be no UTF-8."""
    return written.encode("utf-8", "surrogateescape") if isinstance(written, str) else written
