"""The list of sessions, with filters."""

from __future__ import annotations

from typing import Any

from chatsquash.html.markup import Child, Html, tag, together
from chatsquash.text import counted, escaped
from chatsquash.view.choose import PAGE, SORTS, Chosen, Wanted
from chatsquash.view.pages.layout import address, choice, field, joined, page, short, table, url
from chatsquash.view.result import Result

_TITLES = {"format": "source", "start": "began", "lost": "lost replies"}
_ONLY = [("errors", "errors"), ("warnings", "warnings"), ("lost", "lost replies")]


def sessions(result: Result, asked: Wanted, chosen: Chosen, *, is_new: bool = False) -> Html:
    """A page of the list; ``is_new``: it is of another result than the pages before."""
    heads: list[Child] = [_head(name, asked) for name in SORTS]
    rows = [_row(result, row) for row in chosen.rows]
    found = f"{chosen.found:,} of {counted(chosen.all, 'row')}"
    told = "Each row is a record, or a session without one. Tokens are those that the log counts, each once."
    body: list[Child] = [
        tag("h1", "Sessions"),
        tag("p", "The output folder was replaced: this is what is there now.", class_="replaced") if is_new else None,
        _filters(result, asked),
        tag("p", found, role="status", id="found"),
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
    other = f"-{name}" if asked.sort == name else name
    arrow = " ↕" if is_sorted else ""
    told = {**asked.query(), "sort": other, "page": ""}
    link = tag("a", f"{_TITLES.get(name, name)}{arrow}", href=address("/", **told))
    return tag("th", link, scope="col", aria_sort=_sorted(asked, name) if is_sorted else None)


def _sorted(asked: Wanted, name: str) -> str:
    is_numeric = name in ("turns", "tokens", "lost", "findings")
    return "descending" if is_numeric != asked.sort.startswith("-") else "ascending"


def _row(result: Result, row: dict[str, Any]) -> list[Child]:
    link = tag("a", short(row["session"] or "without an id", 48), href=url(result, "s", row["at"]), dir="auto")
    kind = tag("span", str(row["kind"]), class_="quiet") if row["kind"] else None
    start = (row["start"] or "")[:16].replace("T", " ")
    tokens = "" if row["tokens"] is None else f"{row['tokens']:,}"
    turns = "" if row["turns"] is None else f"{row['turns']:,}"
    counts = [each for name in ("error", "warning", "info") if (each := _count(row, name))]
    commas = [together((", ", each)) if number else each for number, each in enumerate(counts)]
    return [
        joined(link, kind),
        escaped(row["format"] or ""),
        tag("span", short(row["model"] or "", 32), dir="auto"),
        escaped(start),
        turns,
        tokens,
        escaped(str(row["outcome"])),
        together(commas),
        f"{row['lost']:,}" if row["lost"] else "",
        tag("span", short(row["log"] or "", 48), dir="auto", title=escaped(str(row["log"] or ""))[:500]),
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
