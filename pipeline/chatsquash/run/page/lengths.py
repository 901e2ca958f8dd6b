"""How long the records of a result are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatsquash.records.datasets import rows
from chatsquash.records.reading import NotARecordError, parsed, record
from chatsquash.run.page.result import Result
from chatsquash.templates.counting import texts

if TYPE_CHECKING:
    import polars as pl


def lengths(result: Result) -> pl.DataFrame:
    """Of each record its file, its row and its characters, as ``chatsquash stats`` counts them."""
    import polars as pl

    found: list[tuple[str, int, int]] = []
    if result.run["counts"]["conversations"]["written"]:
        for row in rows(str(result.path)):
            file = row.file.relative_to(result.path).as_posix()
            try:
                characters = sum(map(len, texts(record(parsed(row.data)))))
            except NotARecordError:
                raise result.damaged(file) from None
            found.append((file, row.number, characters))
    schema = {"file": pl.String, "row": pl.Int64, "characters": pl.Int64}
    return pl.DataFrame(found, schema=schema, orient="row")
