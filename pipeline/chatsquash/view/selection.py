"""Filters, order and pages of the list of sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from chatsquash.view.result import ViewerResult

if TYPE_CHECKING:
    import polars as pl

PAGE = 100
"""Sessions on a page."""
SORTS = ("session", "format", "model", "start", "duration", "turns", "tokens", "outcome", "findings", "lost", "log")
NUMBERS = ("duration", "turns", "tokens", "findings", "lost")
"""Columns that are sorted in descending order first."""
_TEXTS = ("session", "log", "model")
_LONGEST_VALUE = 200
"""Characters of a query parameter; names in the session table are not longer."""


class SessionQuery(NamedTuple):
    """The query parameters of the list, as in the URL; an empty value does not filter."""

    text: str = ""
    """A part of the session's id, its log or its model."""
    format: str = ""
    model: str = ""
    outcome: str = ""
    finding: str = ""
    """The code of a finding of the session."""
    only: str = ""
    """``errors``, ``warnings`` or ``lost``: only sessions with any of these."""
    turns: str = ""
    tokens: str = ""
    """Minimum, as for ``turns``."""
    sort: str = ""
    """A column; ``-COLUMN`` sorts in descending order, an empty value keeps the order of the run."""
    page: str = ""
    """Page number, from 1."""

    @property
    def number(self) -> int:
        """The page number."""
        return max(1, _number(self.page) or 1)

    def query(self) -> dict[str, str]:
        """Return the query parameters of the URL, without empty ones."""
        return {name: value for name, value in self._asdict().items() if value}


class SessionPage(NamedTuple):
    """One page of the list."""

    rows: list[dict[str, Any]]
    children: dict[int, list[dict[str, Any]]]
    """The sub-agents of the sessions on the page, by the row of the session."""
    row_count: int
    """Number of matching rows, without sub-agents that are listed below their session."""
    all: int
    sessions: tuple[int, int]
    """Numbers of matching sessions and of all; a session with several records has a row for each."""
    records: tuple[int, int]


def parse_query(query: Mapping[str, str]) -> SessionQuery:
    """Parse the query of a URL; unknown parameters are ignored."""
    return SessionQuery(**{name: query[name][:_LONGEST_VALUE] for name in SessionQuery._fields if name in query})


def select_sessions(result: ViewerResult, query: SessionQuery) -> SessionPage:
    """Return one page of sessions; only columns that the query needs are copied."""
    frame = result.sessions
    matches = _matches(result, query)
    rows_in_list = _listed_rows(matches)
    rows = list(frame[rows_in_list.slice((query.number - 1) * PAGE, PAGE)].iter_rows(named=True))
    children = result.children([row["at"] for row in rows])
    sessions, records = zip(_counts(matches), _counts(frame), strict=True)
    return SessionPage(rows, children, rows_in_list.len(), frame.height, sessions, records)


class Neighbours(NamedTuple):
    """The rows before and after a row in the list, or ``None`` at its ends."""

    before: int | None
    after: int | None


def neighbours(result: ViewerResult, query: SessionQuery, at: int) -> Neighbours:
    """Return the sessions before and after a row in a list; for a sub-agent, those around its session."""
    rows_in_list = _listed_rows(_matches(result, query))
    under = result.sessions["under"][at]
    place = next(
        (
            position
            for each in (at, under)
            if each is not None and (position := rows_in_list.index_of(each)) is not None
        ),
        None,
    )
    if place is None:
        return Neighbours(None, None)
    before = rows_in_list[place - 1] if place else None
    return Neighbours(before, rows_in_list[place + 1] if place + 1 < rows_in_list.len() else None)


def _matches(result: ViewerResult, query: SessionQuery) -> pl.DataFrame:
    """Return the rows that match a query, in its order."""
    matches = result.sessions.lazy().filter(*_conditions(result, query))
    order, is_descending = _order(query.sort)
    if order is not None:
        matches = matches.sort(order, descending=is_descending, nulls_last=True, maintain_order=True)
    return matches.select("at", "nth", "file", "under").collect()


def _listed_rows(matches: pl.DataFrame) -> pl.Series:
    """Return the listed rows: all except sub-agents that are collapsed below one of these rows."""
    under = matches["under"]
    if under.null_count() == matches.height:
        return matches["at"]
    return matches.filter(under.is_null() | ~under.is_in(matches["at"].implode()))["at"]


def _counts(frame: pl.DataFrame) -> tuple[int, int]:
    """Return the numbers of sessions and records."""
    return frame["nth"].n_unique(), frame.height - frame["file"].null_count()


def _conditions(result: ViewerResult, query: SessionQuery) -> Iterator[pl.Expr]:
    import polars as pl  # which takes time

    if query.text:
        said = query.text.lower()
        columns = (pl.col(name).cast(pl.String).str.to_lowercase() for name in _TEXTS)
        yield pl.any_horizontal(column.str.contains(said, literal=True).fill_null(value=False) for column in columns)
    for name in ("format", "model", "outcome"):
        if value := getattr(query, name):
            yield pl.col(name).cast(pl.String) == value
    if query.finding:
        keys = result.findings.filter(pl.col("code").cast(pl.String) == query.finding)["key"].unique()
        yield pl.col("key").is_in(keys.implode())
    if query.only in ("errors", "warnings", "lost"):
        yield pl.col(query.only) > 0
    for name in ("turns", "tokens"):
        if (least := _number(getattr(query, name))) is not None:
            yield pl.col(name) >= least


def _order(sort: str) -> tuple[pl.Expr | None, bool]:
    import polars as pl

    name = sort.removeprefix("-")
    if name not in SORTS:
        return None, False
    order = pl.col(name) if name != "findings" else pl.col("errors").cast(pl.Int64) * 1_000_000 + pl.col("warnings")
    order = order.cast(pl.String) if name in ("format", "model", "outcome") else order
    return order, sort.startswith("-")


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
