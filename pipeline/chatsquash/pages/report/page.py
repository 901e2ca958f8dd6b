"""The page as one file that loads nothing, with the table of findings that its script filters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chatsquash.pages.html.markup import Html, meta, of_page, script, source, style, tag, together
from chatsquash.pages.report.charts import bounded, figure
from chatsquash.pages.report.sessions import Content, Figure, session

_RUN = 1_000
"""Bytes of what is said of the run."""
_KEYS = {
    "/": "search the sessions",
    "n, p": "next and previous place that was found",
    "j, k": "next and previous session",
    "u": "unfold or fold all of a session",
    "f": "filter the findings",
}


def page(content: Content) -> bytes:
    """The page: its bytes follow from what it shows alone."""
    code = source("chatsquash.pages.report", "page.js")
    sheet = source("chatsquash.pages.html", "base.css") + source("chatsquash.pages.report", "page.css")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        meta(of_page([code], [sheet])),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", content.title),
        style(sheet),
    )
    body = tag("body", _header(content), tag("main", *_sections(content)), script(code))
    return together([Html("<!doctype html>\n"), tag("html", head, body, lang="en"), Html("\n")]).encode()


def _header(content: Content) -> Html:
    parts = {"summary": "Summary", "charts": "Charts", "findings": "Findings", "sessions": "Sessions"}
    links = (tag("li", tag("a", name, href=f"#{part}")) for part, name in parts.items())
    return tag("header", tag("h1", content.title), tag("nav", tag("ul", *links), aria_label="Parts"))


def _sections(content: Content) -> list[Html]:
    links: dict[str, str] = {}
    for number, shown in enumerate(content.sessions, 1):
        links |= {shown.place: f"s{number}", f"{shown.facts['log']}\n{shown.facts['session']}": f"s{number}"}
    links.pop("", None)
    return [
        _section("summary", "Summary", _run(content), tag("dl", *map(_figure, content.figures), class_="figures")),
        _section("charts", "Charts", tag("div", *map(figure, content.charts), class_="charts")),
        _section("findings", "Findings", table(content.findings, content.code_counts, links)),
        _section("sessions", "Sessions worth a look", *_sessions(content)),
    ]


def _section(name: str, title: str, *inside: Html) -> Html:
    return tag("section", tag("h2", title, id=f"h-{name}"), *inside, id=name, aria_labelledby=f"h-{name}")


def _run(content: Content) -> Html:
    """What tells this run from others."""
    pairs = (tag("div", tag("dt", name), tag("dd", bounded(value, _RUN), dir="auto")) for name, value in content.run)
    return tag("dl", *pairs, class_="facts run")


def _figure(figure: Figure) -> Html:
    value = tag("dd", figure.value, class_=f"severity-{figure.severity}" if figure.severity else None)
    more = tag("dd", bounded(figure.details, _RUN), class_="quiet") if figure.details else None
    return tag("div", tag("dt", figure.name), value, more)


def _sessions(content: Content) -> list[Html]:
    shown = len(content.sessions)
    rest = ", and ten by chance" if shown < content.total else ""
    figure = f"{shown:,} of {content.total:,}: those with lost replies, errors, secrets, the longest{rest}."
    search = tag(
        "form",
        tag("label", "Search the sessions ", tag("input", type="search", id="q", autocomplete="off")),
        tag("button", "Previous", type="button", id="q-previous"),
        tag("button", "Next", type="button", id="q-next"),
        tag("button", "Unfold all", type="button", id="unfold"),
        tag("button", "Fold all", type="button", id="fold"),
        tag("output", f"{shown:,} of {shown:,} sessions", id="q-count", for_="q"),
        id="search",
        role="search",
        aria_label="Sessions",
        hidden=True,
    )
    keys = tag(
        "details",
        tag("summary", "Keys"),
        tag("label", tag("input", type="checkbox", id="keys", checked=True), " single keys work"),
        tag("dl", *(tag("div", tag("dt", tag("kbd", key)), tag("dd", what)) for key, what in _KEYS.items())),
        class_="keys",
        id="keys-told",
        hidden=True,
    )
    folded = (session(number, each) for number, each in enumerate(content.sessions, 1))
    return [tag("p", figure), search, keys, tag("div", *folded, id="all")]


_LONGEST = 400
"""Bytes of a finding's text that are shown."""
_CODES = 200
"""Codes that can be chosen."""
_CHUNK = 50
"""Rows that a browser lays out together, once they are near what is seen."""
_MOST = 1_100_000
"""Bytes of the table."""


def table(
    findings: Sequence[Mapping[str, Any]], code_counts: Mapping[tuple[str, str], int], links: Mapping[str, str]
) -> Html:
    """The findings with what filters them; ``links`` leads from records to sessions of the page.

    ``code_counts`` has how many there are by severity and code, also of those for which the page has no room.
    """
    if not code_counts:
        return tag("p", "No findings.")
    rows, total = _fitting(findings, links), sum(code_counts.values())
    severities, codes = Counter[str](), Counter[str]()
    for (severity, code), count in code_counts.items():
        severities[severity] += count
        codes[bounded(code)] += count
    ordered = {name: severities[name] for name in ("error", "warning", "info") if severities[name]}
    filters = tag(
        "form",
        tag("label", "Text ", tag("input", type="search", id="f-text", autocomplete="off")),
        tag("label", "Severity ", _select("f-severity", ordered)),
        tag("label", "Code ", _select("f-code", dict(sorted(codes.items())[:_CODES]))),
        id="filters",
        role="search",
        aria_label="Findings",
        hidden=True,
    )
    shown = tag("output", _count(len(rows), total), id="f-count", for_="f-text f-severity f-code", data_all=total)
    names = ("Severity", "Code", "Session", "Where", "Finding")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    chunks = (tag("tbody", *rows[at : at + _CHUNK]) for at in range(0, len(rows), _CHUNK))
    made = tag("table", tag("thead", head), *chunks, class_="findings", id="f-rows")
    return tag("div", filters, tag("p", shown), *_rest(len(rows), total), made)


def _count(shown: int, total: int) -> str:
    """As the script says it of what it filters."""
    return f"{total:,} of {total:,} findings" if shown == total else f"{shown:,} of {total:,} findings are on this page"


def _rest(shown: int, total: int) -> Iterable[Html]:
    if shown < total:
        figure = f"The page holds {shown:,} of {total:,}, the gravest first and some of each code; "
        yield tag("p", figure, tag("code", "reports/findings.jsonl"), " has all.", class_="quiet")


def _fitting(findings: Sequence[Mapping[str, Any]], links: Mapping[str, str]) -> list[Html]:
    rows: list[Html] = []
    left = _MOST
    for finding in findings:
        row = _row(finding, links)
        left -= len(row.encode())
        if left < 0:
            break
        rows.append(row)
    return rows


def _row(finding: Mapping[str, Any], links: Mapping[str, str]) -> Html:
    severity, code = str(finding["severity"]), str(finding["code"])
    session, record = finding.get("session") or "", finding.get("record") or ""
    at = finding.get("file") or ""
    where = f"{at}:{finding['line']}" if finding.get("line") is not None else at
    link = links.get(record) or links.get(f"{at}\n{session}")
    name = bounded(session)
    return tag(
        "tr",
        tag("td", severity, class_=f"severity-{severity}"),
        tag("td", tag("code", bounded(code))),
        tag("td", tag("a", name, href=f"#{link}") if link else name, dir="auto"),
        tag("td", bounded(where), *([tag("br"), bounded(record)] if record else []), dir="auto"),
        tag("td", bounded(finding["text"], _LONGEST), dir="auto"),
    )


def _select(name: str, choices: Mapping[str, int]) -> Html:
    """Choices, and how many findings of all there are of each."""
    options = (tag("option", f"{each} ({count:,})", value=each, data_all=count) for each, count in choices.items())
    return tag("select", tag("option", "all", value=""), *options, id=name)
