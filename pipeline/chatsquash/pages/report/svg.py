"""A chart's SVG as a part of a page: shapes and texts, without styles, places and all else that a page may not have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree as ET

from chatsquash.pages.html.markup import Html, tag, text

_ELEMENTS = frozenset(("g", "path", "line", "rect", "text", "circle"))
_SHAPE = (
    "d",
    "x",
    "y",
    "x1",
    "x2",
    "y1",
    "y2",
    "dx",
    "dy",
    "cx",
    "cy",
    "r",
    "rx",
    "ry",
    "width",
    "height",
    "transform",
)
_LOOK = (
    *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap"),
    *("stroke-linejoin", "stroke-miterlimit", "opacity", "display", "visibility"),
    *("font-family", "font-size", "font-weight", "font-style", "text-anchor", "dominant-baseline"),
)
_ATTRIBUTES = frozenset((*_SHAPE, *_LOOK))
_VALUE = re.compile(r"[\w\s.,#%()+-]*")
_ELSEWHERE = re.compile("url|script|expression|import", re.IGNORECASE)
_USUAL = {("opacity", "1"), ("stroke-width", "1"), ("font-style", "normal")}


def cleaned(drawn: str, sizes: Mapping[str, str], label: str) -> Html:
    """The SVG that Vega drew, as an image with a label; ``sizes`` are those of letters that take the place of others.

    Attributes ``style`` become attributes of their own; elements and attributes that a chart does not need are left
    out, and so are values that would load something.
    """
    root = ET.fromstring(drawn)  # noqa: S314 - written by vl-convert, which escapes what it is given
    wide, high = (re.sub(r"[^\d.]", "", root.get(name, "")) for name in ("width", "height"))
    box = {"viewBox": f"0 0 {wide} {high}", "width": wide, "height": high}
    return tag("svg", *_inside(root, sizes), role="img", aria_label=label, **box)


def _inside(element: ET.Element, sizes: Mapping[str, str]) -> Iterator[Html]:
    for each in element:
        name = str(each.tag).rpartition("}")[2]
        if name not in _ELEMENTS:
            continue
        attributes = dict(_attributes(each))
        if "font-size" in attributes:
            attributes["font-size"] = sizes.get(attributes["font-size"], attributes["font-size"])
        if attributes.get("display") == "none" or (name == "path" and not attributes.get("d")):
            continue
        inside = [*_inside(each, sizes), *([text(each.text)] if name == "text" and each.text else [])]
        if name == "g" and not inside:
            continue
        yield tag(name, *inside, **attributes)


def _attributes(element: ET.Element) -> Iterator[tuple[str, str]]:
    """The attributes that a chart needs; those of ``style`` come first, since others count less."""
    named = dict(element.attrib)
    for told in named.pop("style", "").split(";"):
        name, _, value = told.partition(":")
        named[name.strip()] = value.strip()
    for name, value in named.items():
        is_safe = _VALUE.fullmatch(value) and not _ELSEWHERE.search(value)
        if name in _ATTRIBUTES and is_safe and (name, value) not in _USUAL:
            yield name, value
