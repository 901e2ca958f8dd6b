"""Render charts as static SVG without styles or scripts, and shorten texts to fit the page."""

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
"""Width of a chart in pixels, which fits a screen of 360 pixels without scaling."""
_HEIGHT, _ROW = 150, 17
_LABEL = 28
"""Maximum characters of a label; tool names can be arbitrarily long."""
_LAYOUT_FONT_SIZE, _FONT_SIZE = 13, 11
"""Font sizes for layout and for display; layout reserves more space because a reader's font may be wider."""
_STEPS, _THOUSANDS = 4, 10_000
"""Maximum steps of an axis, and the number from which its labels use SI prefixes."""
_LETTER = 7
"""Estimated width of a letter in pixels."""

_AXES: dict[str, Any] = {
    "labelColor": "var(--ink)",
    "titleColor": "var(--quiet)",
    "titleFontWeight": "normal",
    "domainColor": "var(--line)",
    "tickColor": "var(--line)",
    "gridColor": "var(--line)",
    "labelFontSize": _LAYOUT_FONT_SIZE,
    "titleFontSize": _LAYOUT_FONT_SIZE,
}


class Bar(NamedTuple):
    """One part of a bar; parts with the same label are stacked."""

    label: str
    part: str
    number: int
    explanation: str = ""
    """Explanation of the label, for the table."""


class Chart(NamedTuple):
    """A chart with a description."""

    title: str
    text: str
    parts: dict[str, str]
    """The parts of bars, with the names of their colours."""
    bars: Sequence[Bar]
    unit: str
    """Unit of the counts, as the axis title."""
    is_horizontal: bool = False
    """Whether bars are horizontal, which leaves space for long labels."""


def figure(chart: Chart) -> Html:
    """Render a chart and a table of its numbers; without bars, only the description."""
    heading = tag("h3", chart.title)
    if not chart.bars:
        return tag("figure", tag("figcaption", heading, tag("p", chart.text)))
    svg = sanitize(
        _svg(chart), {f"{_LAYOUT_FONT_SIZE}px": f"{_FONT_SIZE}px"}, f"{chart.title}: the numbers are in the table below"
    )
    table = tag("details", tag("summary", "as a table"), _table(chart))
    return tag("figure", tag("figcaption", heading, tag("p", chart.text), _legend(chart)), svg, table)


def _legend(chart: Chart) -> Html | None:
    """Render the legend; return ``None`` for a single colour."""
    if len(chart.parts) < 2:
        return None
    keys = (tag("li", tag("span", class_=f"key {colour}"), bounded(part)) for part, colour in chart.parts.items())
    return tag("ul", *keys, class_="legend")


def _labels(chart: Chart) -> dict[str, str]:
    """Shorten labels to fit the chart and keep them distinct."""
    labels: dict[str, str] = {}
    for label in dict.fromkeys(bar.label for bar in chart.bars):
        escaped_label = escape(label[:_LABEL])
        short = escaped_label if len(escaped_label) <= _LABEL else f"{escaped_label[: _LABEL - 1]}…"
        existing = set(labels.values())
        number = 2
        while short in existing:
            short = f"{short[: _LABEL - 4]} ({number})"
            number += 1
        labels[label] = short
    return labels


def _table(chart: Chart) -> Html:
    counts = {(bar.label, bar.part): bar.number for bar in chart.bars}
    explanation = {bar.label: f": {bar.explanation}" for bar in chart.bars if bar.explanation}
    head = tag("tr", tag("td"), *(tag("th", bounded(part), scope="col") for part in chart.parts))
    rows = [
        tag(
            "tr",
            tag("th", bounded(label), explanation.get(label), scope="row"),
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
    specification = (
        alt.Chart(alt.InlineData(values=data))
        .mark_bar(stroke="var(--page)", strokeWidth=0.5)
        .encode(**_channels(chart, list(labels.values())))
        .properties(
            width=_WIDTH,
            height=_ROW * len(labels) if chart.is_horizontal else _HEIGHT,
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        )
        .configure(font="sans-serif", background="transparent", padding=2)
        .configure_view(stroke=None)
        .configure_axis(**_AXES)
    )
    return str(vl_convert.vegalite_to_svg(specification.to_dict()))


def _longest(chart: Chart) -> int:
    """Return the length of the longest stacked bar."""
    sums = Counter[str]()
    for bar in chart.bars:
        sums[bar.label] += bar.number
    return max(sums.values())


def _ticks(chart: Chart) -> list[int]:
    """Return integer ticks from 0 to about the longest bar, in round steps."""
    longest, step = max(1, _longest(chart)), 1
    while longest // step > _STEPS:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return list(range(0, longest + 1, step))


def _channels(chart: Chart, labels: list[str]) -> dict[str, Any]:
    """Return the encodings of position, length and colour."""
    import altair as alt

    is_short = len(labels) * (1 + max(map(len, labels))) * _LETTER < _WIDTH - 40
    angle = 0 if chart.is_horizontal or is_short else -90
    ticks = _ticks(chart)
    along = alt.Axis(values=ticks, format="~s" if ticks[-1] >= _THOUSANDS else ",d")
    across = alt.Axis(labelOverlap=not chart.is_horizontal, labelLimit=180, labelAngle=angle)
    reach = alt.Scale(domain=[0, max(ticks[-1], _longest(chart))], nice=False)
    counts: dict[str, Any] = {"title": chart.unit, "axis": along, "scale": reach}
    names: dict[str, Any] = {"sort": labels, "title": None, "axis": across}
    colours = [f"var(--{colour})" for colour in chart.parts.values()]
    scale = alt.Scale(domain=list(range(len(colours))), range=colours)
    look = {"color": alt.Color("place:N", scale=scale, legend=None), "order": alt.Order("place:Q")}
    if chart.is_horizontal:
        return {**look, "x": alt.X("count:Q", **counts), "y": alt.Y("label:N", **names)}
    return {**look, "x": alt.X("label:N", **names), "y": alt.Y("count:Q", **counts)}


NAME = 160
"""Maximum bytes of a name."""


def bounded(text: str, limit: int = NAME) -> str:
    """Shorten a text to ``limit`` bytes; an ellipsis marks the cut."""
    beginning, remaining = cut(text, limit)
    return f"{beginning}…" if remaining else beginning


_ELEMENTS = frozenset(("g", "path", "line", "rect", "text", "circle"))
_SHAPE = (
    *("d", "x", "y", "x1", "x2", "y1", "y2", "dx", "dy", "cx", "cy", "r", "rx", "ry"),
    *("width", "height", "transform"),
)
_STYLE = (
    *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap"),
    *("stroke-linejoin", "stroke-miterlimit", "opacity", "display", "visibility"),
    *("font-family", "font-size", "font-weight", "font-style", "text-anchor", "dominant-baseline"),
)
_ATTRIBUTES = frozenset((*_SHAPE, *_STYLE))
_VALUE = re.compile(r"[\w\s.,#%()+-]*")
_ELSEWHERE = re.compile("url|script|expression|import", re.IGNORECASE)
_DEFAULTS = {("opacity", "1"), ("stroke-width", "1"), ("font-style", "normal")}


def sanitize(svg: str, sizes: Mapping[str, str], label: str) -> Html:
    """Convert an SVG from Vega to safe HTML.

    Declarations in ``style`` become attributes.  Elements and attributes that charts do not need are removed, as are
    values that could load something.

    Args:
        svg: The SVG document.
        sizes: Replacements of font sizes.
        label: The accessible name of the image.
    """
    root = ET.fromstring(svg)  # noqa: S314 - written by vl-convert, which escapes what it is given
    width, height = (re.sub(r"[^\d.]", "", root.get(name, "")) for name in ("width", "height"))
    box = {"viewBox": f"0 0 {width} {height}", "width": width, "height": height}
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
    """Yield the safe attributes of an element; declarations in ``style`` override attributes."""
    attributes = dict(element.attrib)
    for declaration in attributes.pop("style", "").split(";"):
        name, _, value = declaration.partition(":")
        attributes[name.strip()] = value.strip()
    for name, value in attributes.items():
        is_safe = _VALUE.fullmatch(value) and not _ELSEWHERE.search(value)
        if name in _ATTRIBUTES and is_safe and (name, value) not in _DEFAULTS:
            yield name, value
