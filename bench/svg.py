"""A chart of points and lines, as the text of an SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import floor, log10
from typing import NamedTuple

_WIDTH, _HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 50, 60
_COLOURS = ("#0b6e4f", "#b2432f", "#777777", "#3d5a98")
_TICKS = 5
_HEAD = f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="13">
<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>"""


class Series(NamedTuple):
    """Points with a name; a line joins them, or one runs between two places of its own."""

    name: str
    points: Sequence[tuple[float, float]]
    line: Sequence[tuple[float, float]] = ()


def chart(title: str, across: str, up: str, series: Sequence[Series]) -> str:
    """The text of a chart, both of whose axes begin at 0."""
    points = [point for each in series for point in (*each.points, *each.line)]
    steps = tuple(step(max(values)) for values in zip(*points, strict=True))
    area = _Area(
        *(one * _ticks(max(values), one) for values, one in zip(zip(*points, strict=True), steps, strict=True))
    )
    parts = [
        _HEAD,
        _text(_WIDTH / 2, 22, title, "middle", ' font-size="15"'),
        *_axes(area, steps, across, up),
    ]
    for number, each in enumerate(series):
        parts += _drawn(area, each, _COLOURS[number % len(_COLOURS)], _TOP + 16 + 18 * number)
    return "\n".join([*parts, "</svg>"]) + "\n"


class _Area(NamedTuple):
    """The largest values of the axes."""

    width: float
    height: float

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Where a point stands."""
        wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        return round(_LEFT + wide * x / self.width, 1), round(_HEIGHT - _BOTTOM - high * y / self.height, 1)


def step(largest: float) -> float:
    """A round number of which some five make up the largest value."""
    rough = (largest or 1) / _TICKS
    unit = 10.0 ** floor(log10(rough))
    return float(next(unit * times for times in (1, 2, 5, 10) if unit * times >= rough * 0.999))


def _ticks(largest: float, one: float) -> int:
    count = 1
    while count * one < largest * 0.999:
        count += 1
    return count


def _axes(area: _Area, steps: Sequence[float], across: str, up: str) -> Iterator[str]:
    for number in range(_ticks(area.width, steps[0]) + 1):
        x, y = area.place(number * steps[0], 0)
        yield _line((x, _TOP), (x, y), "#dddddd")
        yield _text(x, y + 18, f"{number * steps[0]:g}", "middle")
    for number in range(_ticks(area.height, steps[1]) + 1):
        x, y = area.place(0, number * steps[1])
        yield _line((x, y), (_WIDTH - _RIGHT, y), "#dddddd")
        yield _text(x - 8, y + 4, f"{number * steps[1]:g}", "end")
    yield _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 18, across, "middle")
    yield _text(18, _HEIGHT / 2, up, "middle", f' transform="rotate(-90 18 {_HEIGHT / 2:g})"')


def _drawn(area: _Area, series: Series, colour: str, at: float) -> Iterator[str]:
    """The points of a series, its line, and its name beside its colour."""
    path = " ".join(",".join(map(str, area.place(*point))) for point in series.line or series.points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
    for point in series.points:
        x, y = area.place(*point)
        yield f'<circle cx="{x}" cy="{y}" r="4" fill="{colour}"/>'
    yield f'<circle cx="{_LEFT + 14}" cy="{at - 4}" r="4" fill="{colour}"/>'
    yield _text(_LEFT + 24, at, series.name, "start")


def _line(start: tuple[float, float], end: tuple[float, float], colour: str) -> str:
    return f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{more}>{escape(text)}</text>'
