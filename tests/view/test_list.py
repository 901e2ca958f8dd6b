"""The list says what its rows are, and what the run left out."""

import re

import pytest

from chatsquash import Options, convert
from chatsquash.view.pages.sessions import SessionQuery, select_sessions
from tests.conftest import assistant, log_line, write_log
from tests.view import markup
from tests.view.conftest import Reader


@pytest.fixture
def reader(here):
    """A session with two records and a lost reply, one without a record, a line that is no JSON, another file."""
    first = assistant("first")
    write_log(
        here / "logs/a.jsonl",
        log_line("one", reply=first, session_id="a", at="2026-01-13T10:00:00Z"),
        log_line("one", first, "this way", reply="x", session_id="a", at="2026-01-13T10:01:00Z"),
        log_line("one", first, "that way", reply="y", session_id="a", at="2026-01-13T10:02:00Z"),
        "{ no JSON",
    )
    write_log(here / "logs/b.jsonl", log_line("one", session_id="x"), log_line("two", session_id="y"))
    write_log(here / "logs/c.jsonl", log_line("three", session_id="c"))
    (here / "logs/notes.txt").write_text("no log")
    convert("logs", "out", Options(anonymize=False, conversations="all", sessions_by="file"))
    return Reader(here / "out")


def said(answer):
    markup.hold(answer.text)
    return markup.said(answer.text)


def test_sessions_and_records_are_counted(reader):
    assert "3 of 3 sessions, 3 of 3 records" in said(reader.get("/"))
    assert "1 of 3 sessions, 2 of 3 records" in said(reader.get("/", text="a.jsonl"))
    assert "1 of 3 sessions, 0 of 3 records" in said(reader.get("/", outcome="session-id-mismatch"))


def test_what_is_true_of_a_session_stands_in_its_first_row_alone(reader):
    for sort in ("", "turns", "-turns"):
        rows = re.findall(r"<tr>(<td>.*?)</tr>", reader.get("/", text="a.jsonl", sort=sort).text)
        assert len(rows) == 2
        assert ["error" in row for row in rows] == [True, False]
        assert [row.count("<td></td>") for row in rows] == [rows[0].count("<td></td>"), rows[0].count("<td></td>") + 1]


def test_what_the_run_left_out_is_said_and_leads_to_the_rows_about_it(reader):
    page = reader.get("/").text
    told = (
        "Left out by the run: 1 session (session-id-mismatch), 1 line (bad-line), "
        "2 logged replies (1 refused, 1 short-tail), 1 file not read (1 .txt)."
    )
    assert told in markup.said(page)
    links = re.findall(r'href="(/\?[^"]*)"', page.split('id="left-out"')[1].split("</p>")[0])
    assert links == ["/?outcome=session-id-mismatch", "/?finding=bad-line", "/?only=lost"]
    for link in links:
        assert "1 of 3 sessions" in said(reader.get(link))


def test_every_finding_that_can_be_chosen_leaves_as_many_sessions_as_it_says(reader):
    facets = reader.result.facets["finding"]
    told = reader.result.findings["code"].cast(str).unique().to_list()
    assert "file-not-read" in told
    assert facets
    assert "file-not-read" not in dict(facets)
    for code, count in facets:
        assert select_sessions(reader.result, SessionQuery(finding=code)).sessions[0] == count
