"""Which sessions the list shows: filters over the columns of the session table, and their order."""

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
"""Those of which people want the largest first."""
_TEXTS = ("session", "log", "model")
_LONGEST_VALUE = 200
"""Characters of what is asked for; names in the session table are no longer."""


class SessionQuery(NamedTuple):
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


class SessionPage(NamedTuple):
    """The sessions of a page."""

    rows: list[dict[str, Any]]
    children: dict[int, list[dict[str, Any]]]
    """The sub-agents of the sessions of the page, by the rows of these."""
    row_count: int
    """How many rows the filters leave, without sub-agents that are listed below their session."""
    all: int
    sessions: tuple[int, int]
    """How many they leave, and how many there are: a session may have several records, and a row for each."""
    records: tuple[int, int]


def parse_query(query: Mapping[str, str]) -> SessionQuery:
    """What a query asks for; what it should not hold is left aside."""
    return SessionQuery(**{name: query[name][:_LONGEST_VALUE] for name in SessionQuery._fields if name in query})


def select_sessions(result: ViewerResult, query: SessionQuery) -> SessionPage:
    """The sessions of one page; columns that nothing asks about are not copied."""
    frame = result.sessions
    matches = _matches(result, query)
    rows_in_list = _listed_rows(matches)
    rows = list(frame[rows_in_list.slice((query.number - 1) * PAGE, PAGE)].iter_rows(named=True))
    children = result.children([row["at"] for row in rows])
    sessions, records = zip(_counts(matches), _counts(frame), strict=True)
    return SessionPage(rows, children, rows_in_list.len(), frame.height, sessions, records)


class Neighbours(NamedTuple):
    """The rows before and after a row in a list; ``None`` at its ends."""

    before: int | None
    after: int | None


def neighbours(result: ViewerResult, query: SessionQuery, at: int) -> Neighbours:
    """The sessions before and after a row in the list of a query; a sub-agent has those of its session."""
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
    """The rows that a query leaves, in its order."""
    matches = result.sessions.lazy().filter(*_conditions(result, query))
    order, is_descending = _order(query.sort)
    if order is not None:
        matches = matches.sort(order, descending=is_descending, nulls_last=True, maintain_order=True)
    return matches.select("at", "nth", "file", "under").collect()


def _listed_rows(matches: pl.DataFrame) -> pl.Series:
    """The rows that are listed: all but the sub-agents that are folded below one of them."""
    under = matches["under"]
    if under.null_count() == matches.height:
        return matches["at"]
    return matches.filter(under.is_null() | ~under.is_in(matches["at"].implode()))["at"]


def _counts(frame: pl.DataFrame) -> tuple[int, int]:
    """Sessions and records."""
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
