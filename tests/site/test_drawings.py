"""Drawings have descriptions and both color schemes, and load nothing."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

DRAWINGS = sorted((Path(__file__).parents[2] / "docs" / "explanation").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"


def test_each_drawing_is_shown_on_a_page():
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "how-it-decides.md").read_text(encoding="utf-8")
    drawings = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page)
    assert sorted(drawings) == [drawing.name for drawing in DRAWINGS]


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.name)
def test_a_drawing_says_what_it_shows_and_follows_the_scheme(drawing):
    root = ET.parse(drawing).getroot()
    assert root.find(f"{SVG}title").text
    assert len(root.find(f"{SVG}desc").text.split()) > 20
    assert "@media (prefers-color-scheme: dark)" in root.find(f"{SVG}style").text


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.name)
def test_a_drawing_has_shapes_and_texts_alone(drawing):
    root = ET.parse(drawing).getroot()
    shapes = {f"{SVG}{name}" for name in ("svg", "title", "desc", "style", "rect", "text", "polyline", "path")}
    assert {element.tag for element in root.iter()} <= shapes
    assert not [name for element in root.iter() for name in element.attrib if "href" in name or name.startswith("on")]
    assert "url(" not in drawing.read_text(encoding="utf-8")


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.name)
def test_texts_can_be_read_where_the_drawing_is_360_pixels_wide(drawing):
    root = ET.parse(drawing).getroot()
    width = float(root.get("viewBox").split()[2])
    sizes = [float(part.split("px")[0]) for part in root.find(f"{SVG}style").text.split("font-size:")[1:]]
    assert min(sizes) * 360 / width >= 11
