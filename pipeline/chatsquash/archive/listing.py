"""Tables of the files and snapshots of an archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from chatsquash.archive.restoring import select, snapshot_problems
from chatsquash.archive.selection import CopyProblem
from chatsquash.core.text import align_columns, escape, printable_json
from chatsquash.core.times import utc
from chatsquash.storage.archive.files import archived_files, snapshot_name
from chatsquash.storage.archive.layout import DamageError, Snapshot, snapshot_parts
from chatsquash.storage.archive.repository import Archive

Row = dict[str, Any]


class Listing(NamedTuple):
    """A table, and the snapshots that cannot be read."""

    rows: list[Row]
    problems: list[CopyProblem]


def files(archive: Archive, patterns: Iterable[str], until: int | None = None) -> Listing:
    """Return a row for each file that matches a pattern, or for all."""
    archive.update_index()
    archived = archived_files(archive, until)
    rows = [
        {
            "size": each.entry.content.size,
            "changed": each.entry.modified // 10**9,
            "deleted": each.entry.deletion or None,
            "name": each.name,
        }
        for each in select(archived.files, patterns)
    ]
    return Listing(rows, snapshot_problems(archived))


def snapshots(archive: Archive, until: int | None = None) -> Listing:
    """Return a row for each snapshot."""
    rows, problems = list[Row](), list[CopyProblem]()
    for key in archive.snapshot_keys():
        parts = snapshot_parts(key)
        if not parts or (until is not None and parts[1] > until):
            continue
        try:
            rows.append(_snapshot_row(archive.snapshot(key)))
        except DamageError as problem:
            problems.append(CopyProblem(snapshot_name(key), f"cannot be read ({problem.strerror})"))
    rows.sort(key=lambda row: (row["time"], row["machine"], row["sources"]))
    return Listing(rows, problems)


def _snapshot_row(snapshot: Snapshot) -> Row:
    return {
        "time": snapshot.time,
        "machine": snapshot.machine,
        "files": snapshot.files,
        "size": snapshot.size,
        "sources": ", ".join(snapshot.sources),
    }


def as_text(rows: list[Row]) -> Iterator[str]:
    """Yield the lines of a table for a terminal."""
    if rows:
        cells = [tuple(rows[0]), *(tuple(_cell(name, value) for name, value in row.items()) for row in rows)]
        yield from (line.rstrip() for line in align_columns(cells))


def as_json(rows: list[Row]) -> Iterator[str]:
    """Yield a JSON object for each row, with times in seconds since the epoch."""
    for row in rows:
        yield printable_json(row).decode()


def _cell(name: str, value: Any) -> str:
    if name in ("changed", "deleted", "time"):
        return f"{utc(value):%Y-%m-%d %H:%M}" if value else "-"
    return f"{value:,}" if isinstance(value, int) else escape(str(value))
