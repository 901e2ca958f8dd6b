"""What stands around every page, and how places are spelled as URLs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from chatsquash.core.text import escape
from chatsquash.pages.html.markup import Child, Html, module, tag, together
from chatsquash.view.result import ViewerResult

_SHORT = 80


def url(result: ViewerResult, *parts: object, **query: Any) -> str:
    """The URL of a page about a result; what is ``None`` or empty is left out of the query."""
    return address("/", "r", result.tag, *parts, **query)


def address(first: str, *parts: object, **query: Any) -> str:
    """A URL of this server."""
    path = first + "/".join(quote(str(part), safe="") for part in parts)
    fragment = query.pop("fragment", None)
    query_string = urlencode({key: value for key, value in query.items() if value not in (None, "")})
    return f"{path}{'?' if query_string else ''}{query_string}{f'#{fragment}' if fragment else ''}"


def page(title: str, result: ViewerResult | None, *body: Child, modules: tuple[str, ...] = (), **main: Any) -> Html:
    """A whole page; ``main`` are attributes of what holds the body."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{escape(title)} - chatsquash"),
        tag("link", rel="icon", href="/static/icon.svg"),
        tag("link", rel="stylesheet", href="/static/base.css"),
        tag("link", rel="stylesheet", href="/static/view.css"),
        *(module(f"/static/{name}") for name in ("page.js", *modules)),
    )
    banner = tag("p", id="replaced", class_="replaced", role="status", hidden=True)
    skip = tag("a", "To the content", href="#main", class_="skip")
    main_part = tag("main", *body, id="main", tabindex="-1", **main)
    inside = tag("body", skip, _header(result), banner, main_part, data_result=result.tag if result else None)
    return Html(f"<!doctype html>\n{tag('html', head, inside, lang='en')}\n")


def _header(result: ViewerResult | None) -> Html:
    links: list[Child] = [tag("a", "Sessions", href="/")]
    if result:
        links.append(tag("a", "Search", href=url(result, "search")))
        if any(name.startswith("pairs/") for name in result.outputs):
            links.append(tag("a", "Preference pairs", href=url(result, "pairs", 1)))
    named = tag("span", short(result.title, 200), class_="output", dir="auto") if result else None
    return tag("header", tag("strong", "chatsquash"), tag("nav", *links, aria_label="Pages"), named, class_="top")


def short(text: object, most: int = _SHORT) -> str:
    """A name or a path for a table: the end of it where it is long, since that tells more."""
    whole = str(text)
    shown = escape(whole[-2 * most :])  # of which hardly more is shown
    return shown if len(shown) <= most and len(whole) <= most else f"…{shown[1 - most :]}"


def facts(values: Mapping[str, Child]) -> Html:
    """Names and values as a list; what is not known is left out."""
    rows = (tag("div", tag("dt", name), tag("dd", value)) for name, value in values.items() if value not in (None, ""))
    return tag("dl", *rows, class_="facts")


def table(columns: list[Child], rows: list[list[Child]], **attributes: Any) -> Html:
    """A table, in a box of its own that scrolls where it is too wide."""
    head = tag("thead", tag("tr", *(each if type(each) is Html else tag("th", each, scope="col") for each in columns)))
    body = tag("tbody", *(tag("tr", *(tag("td", cell) for cell in row)) for row in rows))
    return tag(
        "div", tag("table", head, body, **attributes), class_="wide", tabindex="0", role="region", aria_label="Table"
    )


def choice(name: str, label: str, values: list[tuple[str, str]], chosen: str) -> Html:
    """A field of which one of some values is chosen; each has the text that stands for it."""
    options = (tag("option", text, value=value, selected=value == chosen) for value, text in [("", "any"), *values])
    return tag("label", label, tag("select", *options, name_=name))


def field(name: str, label: str, value: str, **attributes: Any) -> Html:
    """A field for a text."""
    return tag("label", label, tag("input", name_=name, value=value, **attributes))


def spaced(*parts: Child) -> Html:
    """Parts with spaces between them."""
    kept = [part for part in parts if part is not None]
    spaced: list[Child] = []
    for part in kept:
        spaced += [" ", part] if spaced else [part]
    return together(spaced)


def comma_list(parts: list[Child]) -> Html:
    """Parts with commas between them."""
    return together([together((", ", each)) if number else each for number, each in enumerate(parts)])
