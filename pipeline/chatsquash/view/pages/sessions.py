"""The list of sessions: filters over the columns of the session table, sorting, and its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from chatsquash.core.text import counted, escaped
from chatsquash.dataset.omissions import lacks
from chatsquash.pages.html.markup import Child, Html, tag, together
from chatsquash.view.pages.layout import address, choice, field, joined, page, short, table, url
from chatsquash.view.result import Result

if TYPE_CHECKING:
    import polars as pl

_TITLES = {"format": "source", "start": "began", "lost": "lost replies"}
_ONLY = [("errors", "errors"), ("warnings", "warnings"), ("lost", "lost replies")]
_REASONS = 30
"""Why something was left out: chatsquash has fewer codes."""


def sessions(result: Result, asked: Wanted, chosen: Chosen, *, is_new: bool = False) -> Html:
    """A page of the list; ``is_new``: it is of another result than the pages before."""
    heads: list[Child] = [_head(name, asked) for name in SORTS]
    rows = list(_rows(result, chosen))
    found = f"{_of(chosen.sessions, 'session')}, {_of(chosen.records, 'record')}"
    told = (
        "Each row is a record, or a session without one. Tokens, findings and lost replies are those of the whole "
        "session: they stand in its first row here. Tokens are those that the log counts, each once."
    )
    body: list[Child] = [
        tag("h1", "Sessions"),
        tag("p", "The output folder was replaced: this is what is there now.", class_="replaced") if is_new else None,
        _filters(result, asked),
        tag("p", found, role="status", id="found"),
        _left_out(result),
        table(heads, rows, class_="sessions") if rows else tag("p", "No session is like that."),
        _pages(asked, chosen),
        tag("p", told, class_="quiet"),
    ]
    return page("Sessions", result, *body, modules=("sessions.js",))


def _filters(result: Result, asked: Wanted) -> Html:
    facets = {
        name: [(value, f"{_cut(value)} ({count:,})") for value, count in told] for name, told in result.facets.items()
    }
    return tag(
        "form",
        field("text", "id, log or model has", asked.text, type="search"),
        choice("format", "source", facets["format"], asked.format),
        choice("model", "model", facets["model"], asked.model),
        choice("outcome", "outcome", facets["outcome"], asked.outcome),
        choice("finding", "finding", facets["finding"], asked.finding),
        choice("only", "has", _ONLY, asked.only),
        field("turns", "turns at least", asked.turns, inputmode="numeric", size=6),
        field("tokens", "tokens at least", asked.tokens, inputmode="numeric", size=9),
        tag("input", type="hidden", name_="sort", value=asked.sort),
        tag("button", "Filter"),
        tag("a", "Reset", href="/"),
        action="/",
        class_="filters",
        role="search",
    )


def _cut(value: str) -> str:
    shown = escaped(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"


def _head(name: str, asked: Wanted) -> Html:
    is_sorted = asked.sort.removeprefix("-") == name
    usual, turned = (f"-{name}", name) if name in NUMBERS else (name, f"-{name}")
    other = turned if asked.sort == usual else usual
    arrow = (" ↓" if asked.sort.startswith("-") else " ↑") if is_sorted else ""
    told = {**asked.query(), "sort": other, "page": ""}
    link = tag("a", f"{_TITLES.get(name, name)}{arrow}", href=address("/", **told))
    return tag("th", link, scope="col", aria_sort=_sorted(asked) if is_sorted else None)


def _sorted(asked: Wanted) -> str:
    return "descending" if asked.sort.startswith("-") else "ascending"


def _of(counts: tuple[int, int], one: str) -> str:
    return f"{counts[0]:,} of {counted(counts[1], one)}"


def _left_out(result: Result) -> Html | None:
    """What the run left out or lost, as its counts say; what the list can show of it is a link."""
    told = [*_lacking(result)]
    return tag("p", "Left out by the run: ", _listed(told), ".", class_="quiet", id="left-out") if told else None


def _lacking(result: Result) -> Iterator[Child]:
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
        yield together([f"{lack.what} (", _listed(why), ")"])
    if lost := result.counts["replies"]["lost"]:
        many = counted(sum(lost.values()), "logged reply", "logged replies")
        yield together([tag("a", many, href=address("/", only="lost")), f" ({_numbers(lost)})"])
    if others := result.counts["other_files"]:
        yield f"{counted(sum(others.values()), 'file')} not read ({_numbers(others)})"


def _numbers(why: dict[str, int]) -> str:
    told = [f"{count:,} {short(reason)}" for reason, count in islice(why.items(), _REASONS)]
    return ", ".join([*told, "…"] if len(why) > _REASONS else told)


def _filter(said: str, name: str, value: str, known: set[str]) -> Child:
    return tag("a", said, href=address("/", **{name: value})) if value in known else escaped(said)


def _listed(parts: list[Child]) -> Html:
    return together([together((", ", each)) if number else each for number, each in enumerate(parts)])


def _rows(result: Result, chosen: Chosen) -> Iterator[list[Child]]:
    seen = set[object]()
    for row in chosen.rows:
        yield _row(result, row, is_first=row["nth"] not in seen)
        seen.add(row["nth"])


def _row(result: Result, row: dict[str, Any], *, is_first: bool) -> list[Child]:
    link = tag("a", short(row["session"] or "without an id", 48), href=url(result, "s", row["at"]), dir="auto")
    kind = tag("span", str(row["kind"]), class_="quiet") if row["kind"] else None
    start = (row["start"] or "")[:16].replace("T", " ")
    tokens = f"{row['tokens']:,}" if is_first and row["tokens"] is not None else ""
    turns = "" if row["turns"] is None else f"{row['turns']:,}"
    counts: list[Child] = [each for name in ("error", "warning", "info") if (each := _count(row, name))]
    return [
        joined(link, kind),
        escaped(row["format"] or ""),
        tag("span", short(row["model"] or "", 32), dir="auto"),
        escaped(start),
        turns,
        tokens,
        escaped(str(row["outcome"])),
        _listed(counts) if is_first else "",
        f"{row['lost']:,}" if is_first and row["lost"] else "",
        tag("span", short(row["log"] or "", 48), dir="auto", title=short(row["log"] or "", 500)),
    ]


def _count(row: dict[str, Any], name: str) -> Html | None:
    count = row[f"{name}s"]
    return tag("span", f"{counted(count, name)}", class_=f"severity-{name}") if count else None


def _pages(asked: Wanted, chosen: Chosen) -> Html | None:
    last = max(1, -(-chosen.found // PAGE))
    if last == 1:
        return None
    number = min(asked.number, last)
    links: list[Child] = []
    for text, to, rel in (("Previous", number - 1, "prev"), ("Next", number + 1, "next")):
        told = {**asked.query(), "page": str(to)}
        links.append(tag("a", text, href=address("/", **told), rel=rel) if 1 <= to <= last else None)
    return tag(
        "nav",
        joined(links[0], f"page {number:,} of {last:,}", links[1]),
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
    return Wanted(**{name: query[name][:_LONGEST_VALUE] for name in Wanted._fields if name in query})


def choose(result: Result, asked: Wanted) -> Chosen:
    """The sessions of one page; columns that nothing asks about are not copied."""
    frame = result.sessions
    found = frame.lazy().filter(*_conditions(result, asked))
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


def _conditions(result: Result, asked: Wanted) -> Iterator[pl.Expr]:
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
