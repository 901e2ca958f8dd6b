"""The list says what its rows are, and what the run left out."""

import re
import shutil
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.view.selection import SessionQuery, select_sessions
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
        rows = re.findall(r"<tr>(<td .*?)</tr>", reader.get("/", text="a.jsonl", sort=sort).text)
        assert len(rows) == 2
        assert ["error" in row for row in rows] == [True, False]
        empty = [set(re.findall(r'data-name="([^"]*)"></td>', row)) for row in rows]
        assert empty[1] - empty[0] == {"findings"}


def test_what_the_run_left_out_is_said_and_leads_to_the_rows_about_it(reader):
    page = reader.get("/").text
    told = (
        "Skipped by the run: 1 session (session-id-mismatch), 1 line (bad-line), "
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


# What people recognise a session by

GOLDEN = Path(__file__).parents[1] / "golden"


def cell(page, name):
    """What the cells of a column say."""
    cells = re.findall(rf'<td data-name="{name}">(.*?)</td>', page)
    return [re.sub("<[^>]*>", "", each) for each in cells]


def test_the_title_of_a_session_is_its_first_prompt_and_its_id_is_below(reader):
    page = reader.get("/").text
    assert re.findall(r'class="title">([^<]*)</a>', page) == ["one", "one", "x", "three"]  # x has no record
    assert cell(page, "session")[3] == "threec"


TITLES = {
    "of several lines in one": ("a\n\tb  c", "a b c"),
    "with what clients add left out": ("<system-reminder>be brief</system-reminder>go", "go"),
    "cut where it is long": ("x" * 300, "x" * 199 + "…"),
    "escaped": ("<b>\u202e", "&lt;b&gt;\\u202e"),
}


@pytest.mark.parametrize(("prompt", "title"), TITLES.values(), ids=TITLES)
def test_a_title_is_short_and_safe(here, prompt, title):
    write_log(here / "logs/a.jsonl", log_line(prompt, session_id="a"))
    convert("logs", "out", Options(anonymize=False))
    page = Reader(here / "out").get("/").text
    markup.hold(page)
    assert f'class="title">{title}</a>' in page


def test_titles_that_take_too_long_to_read_come_with_the_next_request(here, monkeypatch):
    for name in "ab":
        write_log(here / f"logs/{name}.jsonl", log_line(f"says {name}", session_id=name))
    convert("logs", "out", Options(anonymize=False))
    reader = Reader(here / "out")
    monkeypatch.setattr("chatsquash.view.result._SECONDS", 0)
    assert cell(reader.get("/").text, "session") == ["says aa", "b"]
    assert cell(reader.get("/").text, "session") == ["says aa", "says bb"]


def test_a_session_has_its_agent_model_time_duration_tokens_outcome_and_findings(sample_reader):
    page = sample_reader.get("/", text="disk-alert").text
    told = {name: cell(page, name)[0] for name in re.findall('data-name="([^"]*)"', page)}
    assert told["agent"] == "openai_chat"
    assert told["model"] == "gpt-4.1-2025-04-14"
    assert (told["began"], told["duration"]) == ("2026-01-12 10:05", "7 min 15 s")
    assert (told["tokens"], told["outcome"], told["findings"]) == ("25,360", "stop", "1 info")


@pytest.fixture
def sub_agents(here):
    shutil.copytree(GOLDEN / "claude_code/a_sub_agent_in_a_folder_of_its_session/logs", here / "logs/one")
    shutil.copytree(GOLDEN / "openai_chat/conversations_subagents_interleaved/logs", here / "logs/two")
    convert("logs", "out", Options(anonymize=False, conversations="all"))
    return Reader(here / "out")


def test_sub_agents_are_folded_below_their_session(sub_agents):
    page = sub_agents.get("/").text
    markup.hold(page)
    assert page.count("<tr><td") == 2
    assert page.count("<summary>1 sub-agent</summary>") == 2
    assert "2 of 2 sessions, 4 of 4 records" in page or "3 of 3 sessions, 4 of 4 records" in page
    folded = re.findall(r'<details class="children">.*?href="(/r/[0-9a-f]+/s/\d+)"', page)
    for link in folded:
        assert "subagent" in sub_agents.get(link).text


def test_a_sub_agent_is_listed_alone_if_its_session_is_filtered_out(sub_agents):
    page = sub_agents.get("/", text="agent-g1").text
    assert page.count("<tr><td") == 1
    assert "subagent" in cell(page, "session")[0]


def test_a_sub_agent_without_a_session_is_a_row_of_its_own(here):
    shutil.copytree(GOLDEN / "claude_code/a_sub_agent_in_a_file_of_its_own/logs", here / "logs")
    convert("logs", "out", Options(anonymize=False, conversations="all"))
    page = Reader(here / "out").get("/").text
    assert page.count("<tr><td") == 1
