"""Tables of the files and snapshots of an archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from chatsquash.archive.restoring import select
from chatsquash.core.text import align_columns, escape, printable_json
from chatsquash.storage.archive.files import archived_files
from chatsquash.storage.archive.layout import snapshot_parts
from chatsquash.storage.archive.repository import Archive

Row = dict[str, Any]
_LATEST = 253_402_300_799
"""The last second of the year 9999."""


def files(archive: Archive, patterns: Iterable[str], until: int | None = None) -> list[Row]:
    """Return a row for each file that matches a pattern, or for all."""
    archive.update_index()
    return [
        {
            "size": each.entry.content.size,
            "changed": each.entry.modified // 10**9,
            "deleted": each.entry.deletion or None,
            "name": each.name,
        }
        for each in select(archived_files(archive, until), patterns)
    ]


def snapshots(archive: Archive, until: int | None = None) -> list[Row]:
    """Return a row for each snapshot."""
    rows = list[Row]()
    for key in archive.snapshot_keys():
        parts = snapshot_parts(key)
        if parts and (until is None or parts[1] <= until):
            snapshot = archive.snapshot(key)
            rows.append(
                {
                    "time": snapshot.time,
                    "machine": snapshot.machine,
                    "files": snapshot.files,
                    "size": snapshot.size,
                    "sources": ", ".join(snapshot.sources),
                }
            )
    return sorted(rows, key=lambda row: (row["time"], row["machine"], row["sources"]))


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
        return f"{datetime.fromtimestamp(min(max(value, 0), _LATEST), UTC):%Y-%m-%d %H:%M}" if value else "-"
    return f"{value:,}" if isinstance(value, int) else escape(str(value))
