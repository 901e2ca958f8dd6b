"""The session table as the page has it: held to what a run writes, and with what the records themselves tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatsquash.core.logged import ELSEWHERE
from chatsquash.dataset.commit import RUN
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.pages.result.lengths import Observer, lengths
from chatsquash.results.frame import frame_of
from chatsquash.results.output import ResultFolder, damaged
from chatsquash.results.types import SessionRow

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
