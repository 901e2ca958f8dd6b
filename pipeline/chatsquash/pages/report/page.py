"""The page as one file that loads nothing."""

from __future__ import annotations

from chatsquash.pages.html import policy
from chatsquash.pages.html.markup import Html, tag, together
from chatsquash.pages.report.bounds import bounded
from chatsquash.pages.report.charts import figure
from chatsquash.pages.report.data import Content, Figure
from chatsquash.pages.report.findings import table
from chatsquash.pages.report.sessions import session

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
    script = policy.source("chatsquash.pages.report", "page.js")
    style = policy.source("chatsquash.pages.html", "base.css") + policy.source("chatsquash.pages.report", "page.css")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        policy.meta(policy.of_page([script], [style])),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", content.title),
        policy.style(style),
    )
    body = tag("body", _header(content), tag("main", *_sections(content)), policy.script(script))
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
        _section("findings", "Findings", table(content.findings, content.found, links)),
        _section("sessions", "Sessions worth a look", *_sessions(content)),
    ]


def _section(name: str, title: str, *inside: Html) -> Html:
    return tag("section", tag("h2", title, id=f"h-{name}"), *inside, id=name, aria_labelledby=f"h-{name}")


def _run(content: Content) -> Html:
    """What tells this run from others."""
    pairs = (tag("div", tag("dt", name), tag("dd", bounded(value, _RUN), dir="auto")) for name, value in content.run)
    return tag("dl", *pairs, class_="facts run")


def _figure(told: Figure) -> Html:
    value = tag("dd", told.value, class_=f"severity-{told.severity}" if told.severity else None)
    more = tag("dd", bounded(told.told, _RUN), class_="quiet") if told.told else None
    return tag("div", tag("dt", told.name), value, more)


def _sessions(content: Content) -> list[Html]:
    shown = len(content.sessions)
    rest = ", and ten by chance" if shown < content.total else ""
    told = f"{shown:,} of {content.total:,}: those with lost replies, errors, secrets, the longest{rest}."
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
    return [tag("p", told), search, keys, tag("div", *folded, id="all")]
