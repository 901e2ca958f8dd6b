"""A chart is well-formed, holds all its points, and shows any text as text."""

from xml.etree import ElementTree as ET

import pytest

from bench.svg import Series, chart, step
from tests.conftest import cases

SVG = "{http://www.w3.org/2000/svg}"


@cases("largest, expected", (5, 1), (4.9, 1), (5.1, 2), (11, 5), (0.3, 0.1), (0.04, 0.01), (730, 200), (0, 0.2))
def test_steps_are_round_and_about_five_make_up_the_whole(largest, expected):
    assert step(largest) == pytest.approx(expected)


def test_all_points_lie_between_the_axes_the_largest_at_their_ends():
    root = ET.fromstring(chart("t", "x", "y", [Series("a", [(0, 0), (5, 1), (10, 4)])]))
    circles = [(float(each.get("cx")), float(each.get("cy"))) for each in root.iter(f"{SVG}circle")]
    assert circles[:3] == [(70, 360), (385, 282.5), (700, 50)]


def test_a_line_of_its_own_is_drawn_instead_of_one_from_point_to_point():
    root = ET.fromstring(chart("t", "x", "y", [Series("a", [(1, 1), (2, 9), (10, 10)], [(0, 0), (10, 10)])]))
    (drawn,) = root.iter(f"{SVG}polyline")
    assert drawn.get("points") == "70.0,360.0 700.0,50.0"


def test_names_are_text_whatever_they_hold():
    name = '<script>"&</script>'
    root = ET.fromstring(chart(name, name, name, [Series(name, [(1, 1)])]))
    assert [each.text for each in root.iter(f"{SVG}text")].count(name) == 4
    assert not list(root.iter(f"{SVG}script"))
