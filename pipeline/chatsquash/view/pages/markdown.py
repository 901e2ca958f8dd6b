"""Markdown rendering: HTML is built from the tokens of the parser, so no HTML of a text reaches a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from chatsquash.pages.html.markup import Html, outside_link, tag, text, together
from chatsquash.view.pages import code

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_DEEPEST = 20
"""The nesting at which the parser drops text; texts that reach it are not rendered."""
_MOST_CELLS = 10_000
"""Limit on table cells; the parser pads rows, so that a short text could produce very many."""
_OUTSIDE = re.compile(r"(?:https?://|mailto:)[^\s<>\"'\\]+", re.IGNORECASE)
_NAMES = {
    **dict.fromkeys(("p", "blockquote", "ul", "ol", "li", "thead", "tbody", "tr", "th", "td")),
    "strong": None,
    "em": None,
    "s": None,
    "table": "table",
}
"""Elements without attributes."""
_HEADING = re.compile("h[1-6]")


def rendered(said: str) -> Html | None:
    """Render a text as Markdown; return ``None`` if it must be shown as it is.

    Links lead to http, https and mailto only, images are not loaded, and HTML is shown as text.
    """
    if "\0" in said or code.has_bare_diff(said):  # the parser replaces the one, and the other looks like lists
        return None
    if _count_cells(said) > _MOST_CELLS:
        return None
    try:
        tokens = _parser().parse(said)
    except RecursionError:
        return None
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        return None
    return tag("div", _elements(tokens), class_="markdown", dir="auto")


def _count_cells(said: str) -> int:
    """Return an upper bound for the number of table cells after rows are padded."""
    cells = columns = 0
    for line in said.splitlines():
        if not line.strip("> \t"):
            columns = 0
        elif "|" in line and not line.strip("|-: \t>"):
            columns = line.count("|") + 1
        cells += columns
    return cells


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # which takes time to import

    options: dict[str, Any] = {"html": False, "breaks": True, "maxNesting": _DEEPEST}
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    return parser.disable("reference")  # definitions of references would disappear from the page


def _elements(tokens: Iterable[Token]) -> Html:
    """Build elements from opening and closing tokens."""
    open_tokens: list[Token] = []
    children: list[list[Html]] = [[]]
    for token in tokens:
        if token.nesting == 1:
            open_tokens.append(token)
            children.append([])
        elif token.nesting == -1:
            inside = together(children.pop())
            children[-1].append(_element(open_tokens.pop(), inside))
        else:
            children[-1].append(_leaf(token))
    return together(children[0])


def _element(token: Token, inside: Html) -> Html:
    name = token.tag
    if token.hidden:  # a paragraph of a list without empty lines
        return inside
    if token.type == "link_open":
        return _link(str(token.attrs.get("href", "")), inside)
    if _HEADING.fullmatch(name):
        return tag("p", inside, class_=f"heading {name}")
    if name == "ol":
        return tag("ol", inside, start=token.attrs.get("start"))
    return tag(name, inside) if name in _NAMES else inside


def _link(url: str, inside: Html) -> Html:
    """Render an external link, or the text with its target if the scheme is not allowed."""
    if _OUTSIDE.fullmatch(url):
        return outside_link(url, inside)
    return together([inside, text(f" ({url})")])


def _leaf(token: Token) -> Html:
    """Render a token that is a complete element or a text."""
    leaf = _LEAVES.get(token.type)
    return leaf(token) if leaf else text(token.content)


def _break(_: Token) -> Html:
    return together([tag("br"), text("\n")])


def _image(token: Token) -> Html:
    return tag("span", f"image: {token.content} ({token.attrs.get('src', '')})", class_="medium")


_LEAVES: dict[str, Callable[[Token], Html]] = {
    "inline": lambda token: _elements(token.children or []),
    "code_inline": lambda token: tag("code", token.content),
    "fence": lambda token: code.fenced(token.info, token.content),
    "code_block": lambda token: code.fenced("", token.content),
    "softbreak": _break,
    "hardbreak": _break,
    "hr": lambda _: tag("hr"),
    "image": _image,
}
