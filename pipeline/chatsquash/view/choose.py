"""The sessions that somebody wants to see, by filters over the columns of the session table, sorted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from chatsquash.view.result import Result

if TYPE_CHECKING:
    import polars as pl

PAGE = 100
"""Sessions on a page."""
SORTS = ("session", "format", "model", "start", "turns", "tokens", "outcome", "findings", "lost", "log")
NUMBERS = ("turns", "tokens", "findings", "lost")
"""Those of which people want the largest first."""
_TEXTS = ("session", "log", "model")
_LONGEST = 200
"""Characters of what is asked for; names in the session table are no longer."""


class Wanted(NamedTuple):
    """What is asked for, as the query of a URL spells it; empty: anything."""

    text: str = ""
    """Stands in the session's id, its log or its model."""
    format: str = ""
    model: str = ""
    outcome: str = ""
    finding: str = ""
    """The code of one that it has."""
    only: str = ""
    """``errors``, ``warnings`` or ``lost``: those that have some."""
    turns: str = ""
    tokens: str = ""
    """At least so many."""
    sort: str = ""
    """A column, the largest first behind ``-``; empty: in the order of the run."""
    page: str = ""
    """From 1."""

    @property
    def number(self) -> int:
        """The page."""
        return max(1, _number(self.page) or 1)

    def query(self) -> dict[str, str]:
        """The query of the URL."""
        return {name: value for name, value in self._asdict().items() if value}


class Chosen(NamedTuple):
    """The sessions of a page."""

    rows: list[dict[str, object]]
    found: int
    """How many rows the filters leave."""
    all: int
    sessions: tuple[int, int]
    """How many they leave, and how many there are: a session may have several records, and a row for each."""
    records: tuple[int, int]


def wanted(query: Mapping[str, str]) -> Wanted:
    """What a query asks for; what it should not hold is left aside."""
    return Wanted(**{name: query[name][:_LONGEST] for name in Wanted._fields if name in query})


def choose(result: Result, asked: Wanted) -> Chosen:
    """The sessions of one page; columns that nothing asks about are not copied."""
    frame = result.sessions
    found = frame.lazy().filter(*_filters(result, asked))
    order, is_descending = _order(asked.sort)
    if order is not None:
        found = found.sort(order, descending=is_descending, nulls_last=True, maintain_order=True)
    kept = found.select("at", "nth", "file").collect()
    page = frame[kept["at"].slice((asked.number - 1) * PAGE, PAGE)]
    sessions, records = zip(_counts(kept), _counts(frame), strict=True)
    return Chosen(list(page.iter_rows(named=True)), kept.height, frame.height, sessions, records)


def _counts(frame: pl.DataFrame) -> tuple[int, int]:
    """Sessions and records."""
    return frame["nth"].n_unique(), frame.height - frame["file"].null_count()


def _filters(result: Result, asked: Wanted) -> Iterator[pl.Expr]:
    import polars as pl  # which takes time

    if asked.text:
        said = asked.text.lower()
        columns = (pl.col(name).cast(pl.String).str.to_lowercase() for name in _TEXTS)
        yield pl.any_horizontal(column.str.contains(said, literal=True).fill_null(value=False) for column in columns)
    for name in ("format", "model", "outcome"):
        if value := getattr(asked, name):
            yield pl.col(name).cast(pl.String) == value
    if asked.finding:
        keys = result.findings.filter(pl.col("code").cast(pl.String) == asked.finding)["key"].unique()
        yield pl.col("key").is_in(keys.implode())
    if asked.only in ("errors", "warnings", "lost"):
        yield pl.col(asked.only) > 0
    for name in ("turns", "tokens"):
        if (least := _number(getattr(asked, name))) is not None:
            yield pl.col(name) >= least


def _order(sort: str) -> tuple[pl.Expr | None, bool]:
    import polars as pl

    name = sort.removeprefix("-")
    if name not in SORTS:
        return None, False
    order = pl.col(name) if name != "findings" else pl.col("errors") * 1_000_000 + pl.col("warnings")
    order = order.cast(pl.String) if name in ("format", "model", "outcome") else order
    return order, sort.startswith("-")


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
