"""Assemble the report as a self-contained HTML file."""

from __future__ import annotations

from chatsquash.pages.html.markup import Html, meta, of_page, script, source, style, tag, together
from chatsquash.pages.report.advice import advice_list
from chatsquash.pages.report.charts import bounded, figure
from chatsquash.pages.report.findings import groups
from chatsquash.pages.report.sessions import Content, Figure, session

_RUN = 1_000
"""Maximum bytes of a description of the run."""
_KEYS = {
    "/": "search sessions",
    "n, p": "next and previous match",
    "j, k": "next and previous session",
    "u": "expand or collapse a session",
    "f": "filter findings",
}


def page(content: Content) -> bytes:
    """Render the page; the same content always gives the same bytes."""
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
    sections = {name: name.capitalize() for name in ("summary", "charts", "findings", "sessions")}
    sections = {"first": "Fix first", **sections}
    links = (tag("li", tag("a", name, href=f"#{part}")) for part, name in sections.items())
    return tag("header", tag("h1", content.title), tag("nav", tag("ul", *links), aria_label="Sections"))


def _sections(content: Content) -> list[Html]:
    links: dict[str, str] = {}
    for number, item in enumerate(content.sessions, 1):
        links |= {item.place: f"s{number}", f"{item.facts['log']}\n{item.facts['session']}": f"s{number}"}
    links.pop("", None)
    return [
        _section("first", "Fix first", advice_list(content.first)),
        _section("summary", "Summary", _run(content), tag("dl", *map(_figure, content.figures), class_="figures")),
        _section("charts", "Charts", tag("div", *map(figure, content.charts), class_="charts")),
        _section("findings", "Findings", groups(content.findings, content.code_counts, links)),
        _section("sessions", "Sessions worth a look", *_sessions(content)),
    ]


def _section(name: str, title: str, *inside: Html) -> Html:
    return tag("section", tag("h2", title, id=f"h-{name}"), *inside, id=name, aria_labelledby=f"h-{name}")


def _run(content: Content) -> Html:
    """Render the description of the run."""
    pairs = (tag("div", tag("dt", name), tag("dd", bounded(value, _RUN), dir="auto")) for name, value in content.run)
    return tag("dl", *pairs, class_="facts run")


def _figure(figure: Figure) -> Html:
    value = tag("dd", figure.value, class_=f"severity-{figure.severity}" if figure.severity else None)
    more = tag("dd", bounded(figure.details, _RUN), class_="quiet") if figure.details else None
    return tag("div", tag("dt", figure.name), value, more)


def _sessions(content: Content) -> list[Html]:
    count = len(content.sessions)
    rest = ", then a random sample of ten" if count < content.total else ""
    selection = f"those with lost replies, errors or secrets first, and the longest{rest}"
    search = tag(
        "form",
        tag("label", "Search sessions ", tag("input", type="search", id="q", autocomplete="off")),
        tag("button", "Previous", type="button", id="q-previous"),
        tag("button", "Next", type="button", id="q-next"),
        tag("button", "Expand all", type="button", id="unfold"),
        tag("button", "Collapse all", type="button", id="fold"),
        tag("output", f"{count:,} of {count:,} sessions", id="q-count", for_="q"),
        id="search",
        role="search",
        aria_label="Sessions",
        hidden=True,
    )
    keys = tag(
        "details",
        tag("summary", "Keyboard shortcuts"),
        tag("label", tag("input", type="checkbox", id="keys", checked=True), " Enable single-key shortcuts"),
        tag("dl", *(tag("div", tag("dt", tag("kbd", key)), tag("dd", what)) for key, what in _KEYS.items())),
        class_="keys",
        id="keys-told",
        hidden=True,
    )
    items = (session(number, each) for number, each in enumerate(content.sessions, 1))
    return [
        tag("p", f"{count:,} of {content.total:,} sessions: {selection}."),
        search,
        keys,
        tag("div", *items, id="all"),
    ]
