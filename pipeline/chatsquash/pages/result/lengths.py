"""How long the records of a result are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from chatsquash.records.places import rows
from chatsquash.records.reading import NotARecordError, parsed, record
from chatsquash.results.output import ResultFolder, damaged
from chatsquash.templates.counting import texts

if TYPE_CHECKING:
    import polars as pl

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
