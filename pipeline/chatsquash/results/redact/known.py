"""What is found in one record of a session is looked for in all of its records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from chatsquash.records.datasets import PARQUET, rows_whole
from chatsquash.records.reading import NotARecordError, parsed
from chatsquash.redact import lists
from chatsquash.redact.hits import Hit
from chatsquash.redact.placeholders import Placeholders
from chatsquash.redact.redactor import Redactor, UnsearchedError
from chatsquash.redact.texts import Texts
from chatsquash.results.redact import tables

SESSION = "session_id"
"""The column that names a record's session, as ``--metadata`` writes it."""


class _Named(msgspec.Struct):
    session_id: Any = None


_named = msgspec.json.Decoder(_Named)


class Known:
    """What is found in the records of sessions that have several."""

    def __init__(self, redactor: Redactor, key: bytes, files: Iterable[Path]) -> None:
        self._redactor, self._placeholders = redactor, Placeholders(key)
        self._hits: dict[str, set[Hit]] = {}
        self._last: tuple[str, Redactor | None] | None = None
        files = list(files)
        if several := _several(files):
            for file in files:
                for value in _values(file):
                    if isinstance(value, dict) and isinstance(name := value.get(SESSION), str) and name in several:
                        self._note(name, value)

    def _note(self, session: str, value: dict[str, Any]) -> None:
        try:
            hits = self._redactor.hits(Texts([value]).joined)
        except UnsearchedError:
            return  # the record is left out when its turn comes
        if hits:
            self._hits.setdefault(session, set()).update(hit._replace(start=0, end=0) for hit in hits)

    def of(self, value: Any) -> Redactor | None:
        """Replaces what is known of the session of a record; ``None`` where that is nothing."""
        session = value.get(SESSION) if isinstance(value, dict) else None
        if not isinstance(session, str) or session not in self._hits:
            return None
        if self._last is None or self._last[0] != session:
            finder = self._redactor.remembered(sorted(self._hits[session]))
            self._last = session, Redactor([finder], self._placeholders, known=lists.values) if finder else None
        return self._last[1]


def _several(files: Iterable[Path]) -> set[str]:
    """The sessions that several records name."""
    seen, several = set[str](), set[str]()
    for file in files:
        for session in _sessions(file):
            (several if session in seen else seen).add(session)
    return several


def _sessions(file: Path) -> Iterator[str]:
    if file.suffix.lower() == PARQUET:
        yield from (each for each in tables.column(file, SESSION) if isinstance(each, str))
        return
    for row in rows_whole(str(file)):
        if SESSION.encode() in row.data:
            try:
                named = _named.decode(row.data).session_id
            except (msgspec.MsgspecError, ValueError, RecursionError):
                continue  # no object, or one that another parser reads: its records are looked through one by one
            if isinstance(named, str):
                yield named


def _values(file: Path) -> Iterator[Any]:
    if file.suffix.lower() == PARQUET:
        yield from (row.value for row in tables.rows(file))
        return
    for row in rows_whole(str(file)):
        if SESSION.encode() in row.data:
            try:
                yield parsed(row.data)
            except NotARecordError:
                continue
