"""Overviews as text and as HTML."""

import pytest

from chatsquash.core.overview import Headline, Overview, Row, comma_separated, count_parts
from tests.conftest import cases

LOST = Headline(("230 of 366 replies are not in any record;", "add --complete to keep them"), "warning")
SESSIONS = Row("sessions", 1234, ("1,200 written,", "34 left out (timestamp-order)"))
NOTES = Row("notes", 7, ("5 no-tools,", "2 cleaned"), "info", "--verbose lists them")
WHOLE = Overview((Headline(("1,200 records written to out (3 files)",)), Headline(("needs attention:", "1 error"), "error")), (SESSIONS, NOTES), LOST)  # fmt: skip


def test_lines_that_matter_are_above_a_table_and_the_next_step_is_below():
    assert WHOLE.as_text().splitlines() == [
        "1,200 records written to out (3 files)",
        "needs attention: 1 error",
        "",
        "sessions  1,234  1,200 written, 34 left out (timestamp-order)",
        "notes         7  --verbose lists them",
        "",
        "230 of 366 replies are not in any record; add --complete to keep them",
    ]


def test_details_are_printed_on_request():
    assert "notes         7  5 no-tools, 2 cleaned" in WHOLE.as_text(verbose=True).splitlines()


@cases(
    "width, expected",
    ("a line breaks between its parts", 50, ["230 of 366 replies are not in any record;", "add --complete to keep them"]),
    ("a part that is too long breaks between words", 24, ["230 of 366 replies are", "not in any record;", "add --complete to keep", "them"]),
    ("a word is never broken", 5, ["230", "of", "366", "replies", "are", "not", "in", "any", "record;", "add", "--complete", "to", "keep", "them"]),
)  # fmt: skip
def test_lines_are_wrapped(width, expected):
    assert Overview((LOST,)).as_text(width).splitlines() == expected


@pytest.mark.parametrize("width", [60, 80, 120])
def test_rows_are_wrapped_below_their_first_part(width):
    row = Row("warnings", 60, count_parts((f"code-{number}", number) for number in range(1, 40)))
    lines = Overview((), (row,)).as_text(width).splitlines()
    assert all(len(line) <= width for line in lines)
    assert all(line[:14].isspace() and not line[14].isspace() for line in lines[1:])
    assert [word for line in lines for word in line.split()] == ["warnings", "60", *" ".join(row.parts).split()]


def test_rows_without_a_total_are_in_line_with_others():
    rows = (Row("time", None, ("2.00 s",)), Row("lines", 10, ("selected",)), Row("files", 3))
    assert Overview((), rows).as_text().splitlines() == ["time       2.00 s", "lines  10  selected", "files   3"]


def test_severities_are_painted():
    painted = WHOLE.as_text(paint=lambda text, severity: f"<{severity}>{text}</>" if severity else text)
    assert painted.splitlines()[1:5] == [
        "<error>needs attention: 1 error</>",
        "",
        "sessions  1,234  1,200 written, 34 left out (timestamp-order)",
        "<info>notes         7</>  --verbose lists them",
    ]


def test_counts_of_names_are_parts_without_those_of_zero():
    assert count_parts([("selected", 1200), ("cut", 0), ("blank", 1)]) == ("1,200 selected,", "1 blank")
    assert count_parts([("selected", 3), ("cut", 0)]) == ("selected",)
    assert (count_parts([]), comma_separated([])) == ((), ())


def test_what_does_not_print_is_escaped():
    hostile = Overview((Headline(("to \x1b[2J",)),), (Row("not read", 1, ("\u202e.md\n",)),), Headline(("\x07",)))
    assert hostile.as_text().splitlines() == ["to \\x1b[2J", "", "not read  1  \\u202e.md\\n", "", "\\x07"]


def test_notebooks_show_a_table_without_markup_of_others():
    html = Overview((Headline(("<b>out</b>",)),), (Row("notes", 1200, ("<i>",), "info", "short"),), LOST).as_html()
    assert "&lt;b&gt;out&lt;/b&gt;" in html
    assert "<td>1,200</td>" in html
    assert "&lt;i&gt;" in html
    assert "add --complete to keep them" in html
    assert not any(each in html for each in ("<b>", "<i>", "short", "script"))
