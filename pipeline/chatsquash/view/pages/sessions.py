"""The list of sessions: filters over the columns of the session table, sorting, and its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from chatsquash.core.text import escape, pluralize
from chatsquash.dataset.omissions import lacks
from chatsquash.pages.html.markup import Child, Html, tag, together
from chatsquash.view.pages.layout import address, choice, comma_list, field, page, short, spaced, table, url
from chatsquash.view.result import ViewerResult

if TYPE_CHECKING:
    import polars as pl

_TITLES = {"format": "source", "start": "began", "lost": "lost replies"}
_ONLY = [("errors", "errors"), ("warnings", "warnings"), ("lost", "lost replies")]
_REASONS = 30
"""Why something was left out: chatsquash has fewer codes."""


def sessions(result: ViewerResult, query: SessionQuery, selection: SessionPage, *, is_new: bool = False) -> Html:
    """A page of the list; ``is_new``: it is of another result than the pages before."""
    heads: list[Child] = [_head(name, query) for name in SORTS]
    rows = list(_rows(result, selection))
    summary = f"{_of(selection.sessions, 'session')}, {_of(selection.records, 'record')}"
    note = (
        "Each row is a record, or a session without one. Tokens, findings and lost replies are those of the whole "
        "session: they stand in its first row here. Tokens are those that the log counts, each once."
    )
    body: list[Child] = [
        tag("h1", "Sessions"),
        tag("p", "The output folder was replaced: this is what is there now.", class_="replaced") if is_new else None,
        _filters(result, query),
        tag("p", summary, role="status", id="found"),
        _left_out(result),
        table(heads, rows, class_="sessions") if rows else tag("p", "No session is like that."),
        _pages(query, selection),
        tag("p", note, class_="quiet"),
    ]
    return page("Sessions", result, *body, modules=("sessions.js",))


def _filters(result: ViewerResult, query: SessionQuery) -> Html:
    facets = {
        name: [(value, f"{_cut(value)} ({count:,})") for value, count in counts]
        for name, counts in result.facets.items()
    }
    return tag(
        "form",
        field("text", "id, log or model has", query.text, type="search"),
        choice("format", "source", facets["format"], query.format),
        choice("model", "model", facets["model"], query.model),
        choice("outcome", "outcome", facets["outcome"], query.outcome),
        choice("finding", "finding", facets["finding"], query.finding),
        choice("only", "has", _ONLY, query.only),
        field("turns", "turns at least", query.turns, inputmode="numeric", size=6),
        field("tokens", "tokens at least", query.tokens, inputmode="numeric", size=9),
        tag("input", type="hidden", name_="sort", value=query.sort),
        tag("button", "Filter"),
        tag("a", "Reset", href="/"),
        action="/",
        class_="filters",
        role="search",
    )


def _cut(value: str) -> str:
    shown = escape(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"


def _head(name: str, query: SessionQuery) -> Html:
    is_sorted = query.sort.removeprefix("-") == name
    usual, turned = (f"-{name}", name) if name in NUMBERS else (name, f"-{name}")
    other = turned if query.sort == usual else usual
    arrow = (" ↓" if query.sort.startswith("-") else " ↑") if is_sorted else ""
    values = {**query.query(), "sort": other, "page": ""}
    link = tag("a", f"{_TITLES.get(name, name)}{arrow}", href=address("/", **values))
    return tag("th", link, scope="col", aria_sort=_direction(query) if is_sorted else None)


def _direction(query: SessionQuery) -> str:
    return "descending" if query.sort.startswith("-") else "ascending"


def _of(counts: tuple[int, int], one: str) -> str:
    return f"{counts[0]:,} of {pluralize(counts[1], one)}"


def _left_out(result: ViewerResult) -> Html | None:
    """What the run left out or lost, as its counts say; what the list can show of it is a link."""
    parts = [*_lacking(result)]
    return tag("p", "Left out by the run: ", comma_list(parts), ".", class_="quiet", id="left-out") if parts else None


def _lacking(result: ViewerResult) -> Iterator[Child]:
    codes = {code for code, _ in result.facets["finding"]}
    outcomes = {outcome for outcome, _ in result.facets["outcome"]}
    why: list[Child]
    for lack in lacks(result.counts):
        counts = {code: count for code, count in lack.why.items() if count}
        why = [
            _filter(
                f"{count:,} {short(code)}" if len(counts) > 1 else short(code),
                "outcome" if code in outcomes else "finding",
                code,
                outcomes | codes,
            )
            for code, count in islice(counts.items(), _REASONS)
        ]
        yield together([f"{lack.what} (", comma_list(why), ")"])
    if lost := result.counts["replies"]["lost"]:
        many = pluralize(sum(lost.values()), "logged reply", "logged replies")
        yield together([tag("a", many, href=address("/", only="lost")), f" ({_numbers(lost)})"])
    if others := result.counts["other_files"]:
        yield f"{pluralize(sum(others.values()), 'file')} not read ({_numbers(others)})"


def _numbers(why: dict[str, int]) -> str:
    reasons = [f"{count:,} {short(reason)}" for reason, count in islice(why.items(), _REASONS)]
    return ", ".join([*reasons, "…"] if len(why) > _REASONS else reasons)


def _filter(said: str, name: str, value: str, known: set[str]) -> Child:
    return tag("a", said, href=address("/", **{name: value})) if value in known else escape(said)


def _rows(result: ViewerResult, selection: SessionPage) -> Iterator[list[Child]]:
    seen = set[object]()
    for row in selection.rows:
        yield _row(result, row, is_first=row["nth"] not in seen)
        seen.add(row["nth"])


def _row(result: ViewerResult, row: dict[str, Any], *, is_first: bool) -> list[Child]:
    link = tag("a", short(row["session"] or "without an id", 48), href=url(result, "s", row["at"]), dir="auto")
    kind = tag("span", str(row["kind"]), class_="quiet") if row["kind"] else None
    start = (row["start"] or "")[:16].replace("T", " ")
    tokens = f"{row['tokens']:,}" if is_first and row["tokens"] is not None else ""
    turns = "" if row["turns"] is None else f"{row['turns']:,}"
    counts: list[Child] = [each for name in ("error", "warning", "info") if (each := _count(row, name))]
    return [
        spaced(link, kind),
        escape(row["format"] or ""),
        tag("span", short(row["model"] or "", 32), dir="auto"),
        escape(start),
        turns,
        tokens,
        escape(str(row["outcome"])),
        comma_list(counts) if is_first else "",
        f"{row['lost']:,}" if is_first and row["lost"] else "",
        tag("span", short(row["log"] or "", 48), dir="auto", title=short(row["log"] or "", 500)),
    ]


def _count(row: dict[str, Any], name: str) -> Html | None:
    count = row[f"{name}s"]
    return tag("span", f"{pluralize(count, name)}", class_=f"severity-{name}") if count else None


def _pages(query: SessionQuery, selection: SessionPage) -> Html | None:
    last = max(1, -(-selection.row_count // PAGE))
    if last == 1:
        return None
    number = min(query.number, last)
    links: list[Child] = []
    for text, to, rel in (("Previous", number - 1, "prev"), ("Next", number + 1, "next")):
        values = {**query.query(), "page": str(to)}
        links.append(tag("a", text, href=address("/", **values), rel=rel) if 1 <= to <= last else None)
    return tag(
        "nav",
        spaced(links[0], f"page {number:,} of {last:,}", links[1]),
        class_="pages",
        aria_label="Pages of the list",
    )


PAGE = 100
"""Sessions on a page."""
SORTS = ("session", "format", "model", "start", "turns", "tokens", "outcome", "findings", "lost", "log")
NUMBERS = ("turns", "tokens", "findings", "lost")
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

    rows: list[dict[str, object]]
    row_count: int
    """How many rows the filters leave."""
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
    matches = frame.lazy().filter(*_conditions(result, query))
    order, is_descending = _order(query.sort)
    if order is not None:
        matches = matches.sort(order, descending=is_descending, nulls_last=True, maintain_order=True)
    kept = matches.select("at", "nth", "file").collect()
    page = frame[kept["at"].slice((query.number - 1) * PAGE, PAGE)]
    sessions, records = zip(_counts(kept), _counts(frame), strict=True)
    return SessionPage(list(page.iter_rows(named=True)), kept.height, frame.height, sessions, records)


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
    order = pl.col(name) if name != "findings" else pl.col("errors") * 1_000_000 + pl.col("warnings")
    order = order.cast(pl.String) if name in ("format", "model", "outcome") else order
    return order, sort.startswith("-")


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
