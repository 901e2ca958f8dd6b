"""The frame of all pages, URLs, and small elements such as tables, facts and form fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from chatsquash.core.text import escape
from chatsquash.pages.html.markup import Child, Html, module, tag, together
from chatsquash.view.result import ViewerResult

if TYPE_CHECKING:
    from chatsquash.view.conversation import Conversation

_SHORT = 80


def url(result: ViewerResult, *parts: object, **query: Any) -> str:
    """Return the URL of a page about a result; query parameters that are ``None`` or empty are omitted."""
    return address("/", "r", result.tag, *parts, **query)


def session_url(conversation: Conversation, *parts: object, **query: Any) -> str:
    """Return the URL of a page of a session, with the query parameters that its links carry over."""
    return url(conversation.result, "s", conversation.at, *parts, **{**conversation.link_parameters, **query})


def address(first: str, *parts: object, **query: Any) -> str:
    """Return a URL of this server."""
    path = first + "/".join(quote(str(part), safe="") for part in parts)
    fragment = query.pop("fragment", None)
    query_string = urlencode({key: value for key, value in query.items() if value not in (None, "")})
    return f"{path}{'?' if query_string else ''}{query_string}{f'#{fragment}' if fragment else ''}"


def page(title: str, result: ViewerResult | None, *body: Child, modules: tuple[str, ...] = (), **main: Any) -> Html:
    """Return a complete page; ``main`` are attributes of the element around the body."""
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
    skip = tag("a", "Skip to content", href="#main", class_="skip")
    main_part = tag("main", *body, id="main", tabindex="-1", **main)
    inside = tag("body", skip, _header(result), banner, main_part, data_result=result.tag if result else None)
    return Html(f"<!doctype html>\n{tag('html', head, inside, lang='en')}\n")


def _header(result: ViewerResult | None) -> Html:
    links: list[Child] = [tag("a", "Sessions", href="/")]
    if result:
        links.append(tag("a", "Search", href=url(result, "search")))
        if any(name.startswith("pairs/") for name in result.outputs):
            links.append(tag("a", "Preference pairs", href=url(result, "pairs", 1)))
    title = tag("span", short(result.title, 200), class_="output", dir="auto") if result else None
    return tag("header", tag("strong", "chatsquash"), tag("nav", *links, aria_label="Pages"), title, class_="top")


def short(text: object, most: int = _SHORT) -> str:
    """Shorten a name or path to its end, which is more informative than its beginning."""
    whole = str(text)
    end = escape(whole[-2 * most :])  # of which hardly more is shown
    return end if len(end) <= most and len(whole) <= most else f"…{end[1 - most :]}"


def facts(values: Mapping[str, Child]) -> Html:
    """Render names and values as a list, without unknown values."""
    rows = (tag("div", tag("dt", name), tag("dd", value)) for name, value in values.items() if value not in (None, ""))
    return tag("dl", *rows, class_="facts")


def table(heads: list[Html], rows: list[list[Child]], names: list[str], **attributes: Any) -> Html:
    """Render a table; on narrow screens it becomes a list of cards, with the column name at each cell."""
    body = (
        tag("tr", *(tag("td", cell, data_name=name) for name, cell in zip(names, row, strict=True))) for row in rows
    )
    inside = tag("thead", tag("tr", *heads)), tag("tbody", *body)
    whole = tag("table", *inside, **attributes)
    return tag("div", whole, class_="wide", tabindex="0", role="region", aria_label="Table")


def span(seconds: int | None) -> str:
    """Format a duration in its two largest units; return an empty string if it is unknown."""
    if seconds is None or seconds < 0:
        return ""
    minutes, hours, days = seconds // 60, seconds // 3_600, seconds // 86_400
    if days:
        return f"{days:,} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {seconds % 60} s" if minutes else f"{seconds} s"


def choice(name: str, label: str, values: list[tuple[str, str]], selected: str) -> Html:
    """Render a drop-down field from values and their labels."""
    options = (tag("option", text, value=value, selected=value == selected) for value, text in [("", "any"), *values])
    return tag("label", label, tag("select", *options, name_=name))


def field(name: str, label: str, value: str, **attributes: Any) -> Html:
    """Render a text field."""
    return tag("label", label, tag("input", name_=name, value=value, **attributes))


def spaced(*parts: Child) -> Html:
    """Join parts with spaces."""
    present = [part for part in parts if part is not None]
    spaced: list[Child] = []
    for part in present:
        spaced += [" ", part] if spaced else [part]
    return together(spaced)


def comma_list(parts: list[Child]) -> Html:
    """Join parts with commas."""
    return together([together((", ", each)) if number else each for number, each in enumerate(parts)])
