"""Charts as SVG without styles or scripts, drawn when the page is made, and texts cut to the room a page has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from chatsquash.core.text import escape
from chatsquash.pages.html.markup import Html, tag, text
from chatsquash.pages.html.record import cut

_WIDTH = 328
"""The pixels of a chart: it fits a screen of 360 pixels as it is."""
_HEIGHT, _ROW = 150, 17
_LABEL = 28
"""Characters of a label; tools may have any name."""
_MEASURED, _DRAWN = 13, 11
"""The size of letters that room is made for, and their own: a reader's font may be wider than that of the measure."""
_STEPS, _THOUSANDS = 4, 10_000
"""Steps of an axis, at most, and the number from which on it tells thousands."""
_LETTER = 7
"""The pixels that a letter takes."""

_AXES: dict[str, Any] = {
    "labelColor": "var(--ink)",
    "titleColor": "var(--quiet)",
    "titleFontWeight": "normal",
    "domainColor": "var(--line)",
    "tickColor": "var(--line)",
    "gridColor": "var(--line)",
    "labelFontSize": _MEASURED,
    "titleFontSize": _MEASURED,
}


class Bar(NamedTuple):
    """How many there are of something; bars of one label are stacked."""

    label: str
    part: str
    number: int
    words: str = ""
    """What the label means, for the table."""


class Chart(NamedTuple):
    """A chart, and what it says in words."""

    title: str
    text: str
    parts: dict[str, str]
    """What bars are made of, each with the name of its colour."""
    bars: Sequence[Bar]
    what: str
    """What is counted, for the axis."""
    lies: bool = False
    """Whether bars lie, so that their labels can be long."""


def figure(chart: Chart) -> Html:
    """A chart with its numbers as a table; without bars the words alone."""
    heading = tag("h3", chart.title)
    if not chart.bars:
        return tag("figure", tag("figcaption", heading, tag("p", chart.text)))
    drawn = sanitize(_svg(chart), {f"{_MEASURED}px": f"{_DRAWN}px"}, f"{chart.title}: the table below has its numbers")
    table = tag("details", tag("summary", "as a table"), _table(chart))
    return tag("figure", tag("figcaption", heading, tag("p", chart.text), _legend(chart)), drawn, table)


def _legend(chart: Chart) -> Html | None:
    """What the colours mean; nothing where there is one."""
    if len(chart.parts) < 2:
        return None
    keys = (tag("li", tag("span", class_=f"key {colour}"), bounded(part)) for part, colour in chart.parts.items())
    return tag("ul", *keys, class_="legend")


def _labels(chart: Chart) -> dict[str, str]:
    """What is written at bars: short, and different where labels are."""
    labels: dict[str, str] = {}
    for label in dict.fromkeys(bar.label for bar in chart.bars):
        shown = escape(label[:_LABEL])
        short = shown if len(shown) <= _LABEL else f"{shown[: _LABEL - 1]}…"
        taken = set(labels.values())
        number = 2
        while short in taken:
            short = f"{short[: _LABEL - 4]} ({number})"
            number += 1
        labels[label] = short
    return labels


def _table(chart: Chart) -> Html:
    counts = {(bar.label, bar.part): bar.number for bar in chart.bars}
    words = {bar.label: f": {bar.words}" for bar in chart.bars if bar.words}
    head = tag("tr", tag("td"), *(tag("th", bounded(part), scope="col") for part in chart.parts))
    rows = [
        tag(
            "tr",
            tag("th", bounded(label), words.get(label), scope="row"),
            *(tag("td", f"{counts.get((label, part), 0):,}") for part in chart.parts),
        )
        for label in dict.fromkeys(bar.label for bar in chart.bars)
    ]
    return tag("table", tag("thead", head), tag("tbody", *rows))


def _svg(chart: Chart) -> str:
    import altair as alt
    import vl_convert

    labels = _labels(chart)
    parts = list(chart.parts)
    data = [{"label": labels[bar.label], "place": parts.index(bar.part), "count": bar.number} for bar in chart.bars]
    drawn = (
        alt.Chart(alt.InlineData(values=data))
        .mark_bar(stroke="var(--page)", strokeWidth=0.5)
        .encode(**_channels(chart, list(labels.values())))
        .properties(
            width=_WIDTH,
            height=_ROW * len(labels) if chart.lies else _HEIGHT,
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        )
        .configure(font="sans-serif", background="transparent", padding=2)
        .configure_view(stroke=None)
        .configure_axis(**_AXES)
    )
    return str(vl_convert.vegalite_to_svg(drawn.to_dict()))


def _longest(chart: Chart) -> int:
    """The longest bar, with all its parts."""
    sums = Counter[str]()
    for bar in chart.bars:
        sums[bar.label] += bar.number
    return max(sums.values())


def _ticks(chart: Chart) -> list[int]:
    """Whole numbers from 0 to about the longest bar, a round step apart."""
    most, step = max(1, _longest(chart)), 1
    while most // step > _STEPS:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return list(range(0, most + 1, step))


def _channels(chart: Chart, labels: list[str]) -> dict[str, Any]:
    """What says where bars are, how long, and in which colour."""
    import altair as alt

    is_short = len(labels) * (1 + max(map(len, labels))) * _LETTER < _WIDTH - 40
    angle = 0 if chart.lies or is_short else -90
    ticks = _ticks(chart)
    along = alt.Axis(values=ticks, format="~s" if ticks[-1] >= _THOUSANDS else ",d")
    across = alt.Axis(labelOverlap=not chart.lies, labelLimit=180, labelAngle=angle)
    reach = alt.Scale(domain=[0, max(ticks[-1], _longest(chart))], nice=False)
    counts: dict[str, Any] = {"title": chart.what, "axis": along, "scale": reach}
    names: dict[str, Any] = {"sort": labels, "title": None, "axis": across}
    colours = [f"var(--{colour})" for colour in chart.parts.values()]
    scale = alt.Scale(domain=list(range(len(colours))), range=colours)
    look = {"color": alt.Color("place:N", scale=scale, legend=None), "order": alt.Order("place:Q")}
    if chart.lies:
        return {**look, "x": alt.X("count:Q", **counts), "y": alt.Y("label:N", **names)}
    return {**look, "x": alt.X("label:N", **names), "y": alt.Y("count:Q", **counts)}


NAME = 160
"""Bytes of a name that are shown."""


def bounded(text: str, most: int = NAME) -> str:
    """The beginning of a text, with a mark where it is cut."""
    beginning, left = cut(text, most)
    return f"{beginning}…" if left else beginning


_ELEMENTS = frozenset(("g", "path", "line", "rect", "text", "circle"))
_SHAPE = (
    *("d", "x", "y", "x1", "x2", "y1", "y2", "dx", "dy", "cx", "cy", "r", "rx", "ry"),
    *("width", "height", "transform"),
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


def sanitize(drawn: str, sizes: Mapping[str, str], label: str) -> Html:
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
    for declaration in named.pop("style", "").split(";"):
        name, _, value = declaration.partition(":")
        named[name.strip()] = value.strip()
    for name, value in named.items():
        is_safe = _VALUE.fullmatch(value) and not _ELSEWHERE.search(value)
        if name in _ATTRIBUTES and is_safe and (name, value) not in _USUAL:
            yield name, value
