"""The picture of README.md shows what the commands print, and needs nothing but itself."""

import re
from xml.etree import ElementTree as ET

import pytest

from tests import picture
from tests.conftest import cases
from tests.picture import COLUMNS, PICTURE, Shown, drawn, timeless

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def written():
    return PICTURE.read_text(encoding="utf-8")


def texts(made):
    return [each.text for each in ET.fromstring(made).iter(f"{SVG}text")]


def test_the_picture_is_what_the_commands_print(written):
    assert timeless(written) == timeless(drawn(picture.session())), "draw it anew with: make docs"


def test_it_refers_to_no_other_file_and_runs_nothing(written):
    names = {each.tag.removeprefix(SVG) for each in ET.fromstring(written).iter()}
    assert names == {"svg", "title", "rect", "circle", "g", "text"}
    assert re.findall(r"https?:|href|url\(|@import|@font-face", written) == ["http:"]  # the name space


def test_the_readme_shows_it():
    assert "](docs/terminal.svg)" in (picture.ROOT / "README.md").read_text(encoding="utf-8")


def test_text_is_escaped_and_keeps_its_spaces():
    made = drawn([Shown("chatsquash <x>", ["  a & b", "", "c"])])
    assert texts(made) == ["$ chatsquash <x>", "  a & b", "c"]
    assert made.count('xml:space="preserve"') == 3


def test_a_long_line_goes_on_in_the_next():
    assert texts(drawn([Shown("x", ["a" * COLUMNS + "b"])])) == ["$ x", "a" * COLUMNS, "b"]


@cases(
    "sentence, one, other, same",
    ("times differ from run to run", "time  0.46 s for 1.9 MB", "time  10.02 s for 1.9 MB (1,234 MB/s)", True),
    ("sizes do not", "time  0.46 s for 1.9 MB", "time  0.46 s for 1.8 MB", False),
    ("nor does other text", "85 sessions", "84 sessions", False),
)
def test_pictures_are_compared_without_times(sentence, one, other, same):
    drawings = [timeless(drawn([Shown("x", [line])])) for line in (one, other)]
    assert (drawings[0] == drawings[1]) is same, sentence
