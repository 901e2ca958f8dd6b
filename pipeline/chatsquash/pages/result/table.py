"""The session table of the page: checked against what a run writes, with the lengths of the records."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from chatsquash.core.logged import ELSEWHERE
from chatsquash.dataset.commit import RUN
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.records.places import rows
from chatsquash.records.reading import NotARecordError, parsed, record
from chatsquash.results.frame import frame_of
from chatsquash.results.output import ResultFolder, damaged
from chatsquash.results.types import SessionRow
from chatsquash.templates.counting import texts

if TYPE_CHECKING:
    import polars as pl

if TYPE_CHECKING:
    import polars as pl


def table(result: ResultFolder, observe: Observer | None = None) -> pl.DataFrame:
    """The session table with two columns more.

    ``characters`` are those of the record, and ``replies_elsewhere`` the replies for which another record stands;
    ``replies_lost`` are the others.  Raises ``UsageError`` for a table that no run wrote.
    """
    import polars as pl

    if SESSIONS not in result.outputs:
        raise damaged(result.folder, RUN)
    elsewhere = [_elsewhere(result, each) for each in result.objects(SESSIONS, SessionRow)]
    found = frame_of(result.folder)
    if len(found) != len(elsewhere):
        raise damaged(result.folder, SESSIONS)
    counts = pl.Series("replies_elsewhere", elsewhere, dtype=pl.Int64)
    places = found.select("file", "row")  # a join copies what it is of
    measured = places.join(lengths(result, observe), on=["file", "row"], how="left", maintain_order="left")
    if len(measured) != len(found):
        raise damaged(result.folder, SESSIONS)
    return found.with_columns(measured["characters"], counts, found["replies_lost"] - counts)


def _elsewhere(result: ResultFolder, told: SessionRow) -> int:
    """For how many of a session's replies another record stands; raises for a record where none can be."""
    file, row = told["file"], told["row"]
    if (file is None) != (not row) or (file is not None and file not in result.record_files):
        raise damaged(result.folder, SESSIONS)
    return told["replies"]["lost"].get(ELSEWHERE, 0)


Observer = Callable[[int, int], None]
"""Told how many bytes more are read, and the bytes of all files."""


def lengths(result: ResultFolder, observe: Observer | None = None) -> pl.DataFrame:
    """Of each record its file, its row and its characters, as ``chatsquash stats`` counts them."""
    import polars as pl

    schema = {"row": pl.Int64, "characters": pl.Int64}
    total = sum(result.record_files.values())
    frames = [pl.DataFrame(schema={"file": pl.String, **schema})]
    for name, size in result.record_files.items():
        done = 0
        found: list[tuple[int, int]] = []
        for row in rows(result.folder, name):
            try:
                characters = sum(map(len, texts(record(parsed(row.data)))))
            except NotARecordError:
                raise damaged(result.folder, name) from None
            found.append((row.number, characters))
            if observe:
                more = min(size - done, len(row.data) + 1)  # what is compressed has more than its file
                done += more
                observe(more, total)
        of_file = pl.DataFrame(found, schema=schema, orient="row")
        frames.append(of_file.select(pl.lit(name).alias("file"), *schema))
    return pl.concat(frames)
