"""The page with the list of sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from chatsquash.core.errors import ChatsquashError
from chatsquash.core.text import escape, pluralize
from chatsquash.dataset.omissions import list_omissions
from chatsquash.dataset.session_table import row_of
from chatsquash.pages.html.markup import Child, Html, tag, together
from chatsquash.results.titles import ending
from chatsquash.view.frames import OUTCOME_WRITTEN
from chatsquash.view.pages.layout import (
    address,
    choice,
    comma_list,
    field,
    page,
    short,
    spaced,
    span,
    table,
    url,
)
from chatsquash.view.result import ViewerResult
from chatsquash.view.selection import NUMBERS, PAGE, SORTS, SessionPage, SessionQuery

_TITLES = {"format": "agent", "start": "began", "lost": "lost replies"}
_ONLY = [("errors", "errors"), ("warnings", "warnings"), ("lost", "lost replies")]
_REASONS = 30
"""Reasons that are listed; chatsquash has fewer codes."""
_CHILDREN = 200
"""Sub-agents of a session that are listed."""


def sessions(result: ViewerResult, query: SessionQuery, selection: SessionPage, *, is_new: bool = False) -> Html:
    """Return a page of the list; ``is_new`` means that another run has replaced the result."""
    summary = f"{_of(selection.sessions, 'session')}, {_of(selection.records, 'record')}"
    note = (
        "Each row is a record, or a session without one. Tokens, findings and lost replies belong to the session and "
        "are shown in its first row. Tokens are as logged, each counted once."
    )
    body: list[Child] = [
        tag("h1", "Sessions"),
        tag("p", "The output folder was replaced. This is the new result.", class_="replaced") if is_new else None,
        _filters(result, query),
        tag("p", summary, role="status", id="found"),
        _omissions(result),
        tag("div", _table(result, query, selection), _pages(query, selection), id="list"),
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
        field("text", "id, log or model contains", query.text, type="search"),
        choice("format", "agent", facets["format"], query.format),
        choice("model", "model", facets["model"], query.model),
        choice("outcome", "outcome", facets["outcome"], query.outcome),
        choice("finding", "finding", facets["finding"], query.finding),
        choice("only", "has", _ONLY, query.only),
        field("turns", "minimum turns", query.turns, inputmode="numeric", size=6),
        field("tokens", "minimum tokens", query.tokens, inputmode="numeric", size=9),
        tag("input", type="hidden", name_="sort", value=query.sort),
        tag("button", "Filter"),
        tag("a", "Reset", href="/"),
        action="/",
        class_="filters",
        role="search",
    )


def _cut(value: str) -> str:
    label = escape(value)
    return label if len(label) <= 60 else f"{label[:59]}…"


def _head(name: str, query: SessionQuery) -> Html:
    is_sorted = query.sort.removeprefix("-") == name
    usual, reversed_sort = (f"-{name}", name) if name in NUMBERS else (name, f"-{name}")
    other = reversed_sort if query.sort == usual else usual
    arrow = (" ↓" if query.sort.startswith("-") else " ↑") if is_sorted else ""
    values = {**query.query(), "sort": other, "page": ""}
    link = tag("a", f"{_TITLES.get(name, name)}{arrow}", href=address("/", **values))
    return tag("th", link, scope="col", aria_sort=_direction(query) if is_sorted else None)


def _direction(query: SessionQuery) -> str:
    return "descending" if query.sort.startswith("-") else "ascending"


def _of(counts: tuple[int, int], one: str) -> str:
    return f"{counts[0]:,} of {pluralize(counts[1], one)}"


def _omissions(result: ViewerResult) -> Html | None:
    """Render what the run skipped or lost according to its counts, with links where the list can show it."""
    parts = [*_omission_items(result)]
    return tag("p", "Skipped by the run: ", comma_list(parts), ".", class_="quiet", id="left-out") if parts else None


def _omission_items(result: ViewerResult) -> Iterator[Child]:
    codes = {code for code, _ in result.facets["finding"]}
    outcomes = {outcome for outcome, _ in result.facets["outcome"]}
    why: list[Child]
    for lack in list_omissions(result.counts):
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
    if lost_replies := result.counts["replies"]["lost"]:
        many = pluralize(sum(lost_replies.values()), "logged reply", "logged replies")
        yield together([tag("a", many, href=address("/", only="lost")), f" ({_numbers(lost_replies)})"])
    if others := result.counts["other_files"]:
        yield f"{pluralize(sum(others.values()), 'file')} not read ({_numbers(others)})"


def _numbers(why: dict[str, int]) -> str:
    reasons = [f"{count:,} {short(reason)}" for reason, count in islice(why.items(), _REASONS)]
    return ", ".join([*reasons, "…"] if len(why) > _REASONS else reasons)


def _filter(said: str, name: str, value: str, known: set[str]) -> Child:
    return tag("a", said, href=address("/", **{name: value})) if value in known else escape(said)


def _table(result: ViewerResult, query: SessionQuery, selection: SessionPage) -> Html:
    """Render the sessions of a page; the title of each is its first prompt."""
    if not selection.rows:
        return tag("p", "No sessions match.")
    row_numbers = [row["at"] for row in selection.rows]
    row_numbers += [child["at"] for children in selection.children.values() for child in children[:_CHILDREN]]
    titles = result.titles(row_numbers)
    names = [_TITLES.get(name, name) for name in SORTS]
    seen = set[object]()
    rows: list[list[Child]] = []
    for row in selection.rows:
        children = selection.children.get(row["at"], [])
        title = together([_title(result, query, row, titles), _children(result, query, children, titles)])
        rows.append([title, *_cells(result, row, is_first=row["nth"] not in seen)])
        seen.add(row["nth"])
    return table([_head(name, query) for name in SORTS], rows, names, class_="sessions")


def _title(result: ViewerResult, query: SessionQuery, row: dict[str, Any], titles: dict[int, str]) -> Html:
    """Render the title of a session as a link, and its id."""
    id_ = short(row["session"] or "without an id", 48)
    title = titles.get(row["at"])
    link = tag(
        "a",
        escape(title) if title else id_,
        href=url(result, "s", row["at"], list=urlencode(query.query())),
        dir="auto",
        class_="title",
    )
    kind = tag("span", str(row["kind"])) if row["kind"] not in (None, "main") else None
    beside = spaced(kind, tag("code", id_, dir="auto") if title else None)
    return together([link, tag("div", beside, class_="quiet") if beside else None])


def _children(
    result: ViewerResult, query: SessionQuery, children: list[dict[str, Any]], titles: dict[int, str]
) -> Html | None:
    """Render the sub-agents of a session, collapsed."""
    if not children:
        return None
    items = [
        tag("li", _title(result, query, each, titles), tag("span", _in_words(result, each), class_="quiet"))
        for each in children[:_CHILDREN]
    ]
    if len(children) > _CHILDREN:
        items.append(tag("li", f"{len(children) - _CHILDREN:,} more"))
    return tag("details", tag("summary", pluralize(len(children), "sub-agent")), tag("ul", *items), class_="children")


def _in_words(result: ViewerResult, row: dict[str, Any]) -> str:
    """Return the facts about a sub-agent as one line."""
    turns = pluralize(row["turns"], "turn") if row["turns"] is not None else ""
    return escape(
        ", ".join(filter(None, (str(row["model"] or ""), turns, span(row["duration"]), outcome(result, row))))
    )


def _cells(result: ViewerResult, row: dict[str, Any], *, is_first: bool) -> list[Child]:
    """Render the columns of a row except the first; values of the session only appear in its first row."""
    tokens = f"{row['tokens']:,}" if is_first and row["tokens"] is not None else ""
    turns = "" if row["turns"] is None else f"{row['turns']:,}"
    counts: list[Child] = [each for name in ("error", "warning", "info") if (each := _count(row, name))]
    return [
        escape(row["format"] or ""),
        tag("span", short(row["model"], 32), dir="auto") if row["model"] else "",
        escape((row["start"] or "")[:16].replace("T", " ")),
        span(row["duration"]),
        turns,
        tokens,
        outcome(result, row),
        comma_list(counts) if is_first else "",
        f"{row['lost']:,}" if is_first and row["lost"] else "",
        tag("span", short(row["log"] or "", 32), dir="auto", title=short(row["log"] or "", 500)),
    ]


def outcome(result: ViewerResult, row: dict[str, Any]) -> str:
    """Return how the conversation of a record ended if known, else the outcome of the session."""
    end = None
    if row["outcome"] == OUTCOME_WRITTEN:
        with suppress(ChatsquashError):  # the page of a damaged record reports the problem
            end = ending(row_of(result.session_lines[row["at"]]))
    return short(end or row["outcome"], 40)


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
