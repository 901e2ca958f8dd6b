"""Finds a record of a dataset by number, session or place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.outcome import Place
from chatsquash.core.text import escape, printable, quote
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.records import NotARecordError, StoredRecord
from chatsquash.records.datasets import DatasetRow, rows
from chatsquash.records.places import read
from chatsquash.records.reading import native, parse, record
from chatsquash.results.output import damage, lines
from chatsquash.storage.folder import Folder

MIN_ID_LENGTH = 7
"""Characters of an id that lists show at least."""
_MAX_LISTED = 5
"""Sessions listed in an error."""
_TYPES = {"session": str, "log": str, "file": str | None, "row": int | None, "offset": int | None}
"""Columns of the session table that locate a record, with their types."""


class RecordView(NamedTuple):
    """A record with its row of the session table."""

    row: DatasetRow
    record: StoredRecord
    facts: dict[str, Any]
    """The row of the session table; empty if there is no table."""
    others: list[str]
    """The places of the session's other records."""

    def title(self) -> str:
        """Return the place of the record and its session, format, model and time, in one line."""
        parts = [f"{printable(str(self.row.file))}:{self.row.number}"]
        parts += [f"session {self.facts['session']}"] if self.facts.get("session") else []
        parts += [str(self.facts[name]) for name in ("format", "model", "start") if self.facts.get(name)]
        parts += [f"also {', '.join(self.others[:_MAX_LISTED])}"] if self.others else []
        return escape(", ".join(parts))

    def as_json(self) -> dict[str, Any]:
        """Return the record with its place and facts as a JSON value."""
        value = jsonio.loads(self.row.data)
        return {
            "file": printable(str(self.row.file)),
            "row": self.row.number,
            "facts": self.facts or None,
            "record": value,
        }


def show(dataset: str, which: str) -> RecordView:
    """Find a record of a dataset.

    Args:
        dataset: A dataset file, or an output folder.
        which: A number, counted from 1 over all files sorted by name; a place, ``FILE:ROW``; or a session id or its
            beginning.  A beginning of only digits needs at least ``MIN_ID_LENGTH`` of them.

    Raises:
        UsageError: There is no such record, several sessions match, or the row is not a record.
    """
    with closing(Folder(Path(dataset))) as folder:
        matches = list(_table(folder, lambda line: which in (line["session"], f"{line['file']}:{line['row']}")))
        is_number = which.isascii() and which.isdigit()
        if not matches and not (is_number and len(which) < MIN_ID_LENGTH):
            matches = list(_table(folder, lambda line: line["session"].startswith(which)))
        if not matches and is_number:
            row = _by_number(dataset, int(which))
            place = row.file.relative_to(dataset).as_posix() if row.file != Path(dataset) else ""
            return _view(row, list(_table(folder, lambda line: (line["file"], line["row"]) == (place, row.number))))
        if not matches:
            hint = "pass a number, FILE:ROW or a session id"
            raise UsageError(f"{dataset}: no record {quote(which)}; {hint}")
        one_session((line["session"] for line in matches), which, dataset)
        with_record = [line for line in matches if None not in (line["file"], line["row"])]
        if not with_record:
            why = matches[0]["left_out"] or matches[0]["filtered"]
            raise UsageError(f"{dataset}: session {quote(matches[0]['session'])} has no record ({why})")
        stands = Place(with_record[0]["file"], with_record[0]["row"], with_record[0]["offset"])
        return _view(DatasetRow(Path(dataset, stands.file), stands.row, read(folder, stands)), with_record)


def one_session(ids: Iterable[str], which: str, source: str) -> str | None:
    """Return the id that equals ``which``, or else the only one that begins with it, or ``None`` without a match.

    Raises ``UsageError`` if several begin with it.
    """
    candidates = list(dict.fromkeys(each for each in ids if each.startswith(which)))
    if which in candidates or len(candidates) < 2:
        return which if which in candidates else next(iter(candidates), None)
    listed_ids = ", ".join(map(quote, candidates[:_MAX_LISTED]))
    raise UsageError(f"{source}: several sessions begin with {quote(which)}: {listed_ids}; use a longer part of the id")


def with_session(arguments: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    """Split arguments into paths and a session id or its beginning, if the last of several is not a path."""
    *others, last = arguments
    is_path = os.path.lexists(last) or any(sign in last for sign in "/\\*?[")
    return (arguments, None) if not others or is_path else (tuple(others), last)


def _table(folder: Folder, matches: Callable[[dict[str, Any]], bool]) -> Iterator[dict[str, Any]]:
    """Yield the matching rows of the session table, which may be very large; none without a table."""
    if folder.status(SESSIONS) is None:
        return
    for line in lines(folder, SESSIONS, *_TYPES, "left_out", "filtered"):
        if any(not isinstance(line[name], kind) for name, kind in _TYPES.items()):
            raise damage(folder, SESSIONS)
        if matches(line):
            yield line


def _by_number(dataset: str, number: int) -> DatasetRow:
    row = next(islice(rows(dataset), number - 1, None), None) if number else None
    if row is None:
        raise UsageError(f"{dataset}: no record {number}; it has {sum(1 for _ in rows(dataset)):,}")
    return row


def _view(row: DatasetRow, lines: list[dict[str, Any]]) -> RecordView:
    """Return a record, given the session table's rows of all records of its session, its own first."""
    try:
        native_record = native(record(parse(row.data)))
    except NotARecordError as problem:
        raise UsageError(f"{row.file}:{row.number}: {problem}") from None
    own = lines[0] if lines else {}
    others = [f"{line['file']}:{line['row']}{_other_log(line, own)}" for line in lines[1:]]
    return RecordView(row, native_record, own, others)


def _other_log(line: dict[str, Any], own: dict[str, Any]) -> str:
    """Return a note about the log of a record, if sessions of several logs have the same id."""
    return "" if line["log"] == own["log"] else f" of {line['log']}"
