"""A session leads to those beside it in the list, and a sub-agent to the call that began it and back."""

import re
import shutil
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.view.selection import SessionQuery, neighbours
from tests.conftest import log_line, write_log
from tests.view import markup
from tests.view.conftest import Reader

GOLDEN = Path(__file__).parents[1] / "golden"


def links(page, name):
    """Where the links with a name lead."""
    return re.findall(rf'<a href="([^"]*)"[^>]*>{name}</a>', page)


@pytest.fixture
def three(here):
    for name, turns in {"a": 1, "b": 3, "c": 2}.items():
        lines = [f"{name} {turn}" for turn in range(turns)]
        write_log(here / f"logs/{name}.jsonl", log_line(*lines, session_id=name))
    convert("logs", "out", Options(anonymize=False))
    return Reader(here / "out")


def test_a_session_leads_to_the_ones_before_and_after_it(three):
    pages = [three.of(at).text for at in range(3)]
    base = f"/r/{three.viewer.tag}/s"
    assert [links(page, "Next session") for page in pages] == [[f"{base}/1"], [f"{base}/2"], []]
    assert [links(page, "Previous session") for page in pages] == [[], [f"{base}/0"], [f"{base}/1"]]
    assert links(pages[0], "All sessions") == ["/"]


def test_a_list_that_is_filtered_and_sorted_is_kept(three):
    listed = three.get("/", text=".jsonl", sort="-session").text
    first, second = re.findall(r'<a href="([^"]*)" dir="auto" class="title">', listed)[:2]
    page = three.get(first.replace("&amp;", "&")).text
    assert links(page, "Next session") == [second]
    assert links(page, "All matches") == ["/?text=.jsonl&amp;sort=-session"]
    tree = links(page, "tree")[0].replace("&amp;", "&")
    assert "list=text%3D.jsonl%26sort%3D-session" in tree
    assert "list=text" in three.get(tree).text


@pytest.mark.parametrize("query", ["a" * 5_000, "text=zzz", "sort=x&page=y", "%00=\x00&text=<b>"])
def test_a_query_that_is_no_list_does_no_harm(three, query):
    answer = three.of(0, list=query)
    assert answer.status_code == 200
    markup.hold(answer.text)


@pytest.fixture
def sub_agents(here):
    shutil.copytree(GOLDEN / "claude_code/a_sub_agent_and_the_call_that_began_it/logs", here / "logs")
    convert("logs", "out", Options(anonymize=False, conversations="all"))
    return Reader(here / "out")


def rows(reader):
    return {row["kind"]: row["at"] for row in reader.result.sessions.iter_rows(named=True)}


def test_a_sub_agent_leads_to_its_call_and_the_call_back(sub_agents):
    child, parent = rows(sub_agents)["subagent"], rows(sub_agents)["main"]
    base = f"/r/{sub_agents.viewer.tag}/s"
    page = sub_agents.of(child).text
    assert links(page, "Find out why the table is late., message 1") == [f"{base}/{parent}?m=1#m1"]
    called = sub_agents.of(parent).text
    message = called.split('id="m1"')[1].split("</article>")[0]
    assert links(message, "Look for what makes the tide table slow.") == [f"{base}/{child}"]
    assert "1 sub-agent</summary>" in called


def test_a_sub_agent_has_the_neighbours_of_its_session(sub_agents):
    both = [neighbours(sub_agents.result, SessionQuery(), at) for at in rows(sub_agents).values()]
    assert both == [(None, None), (None, None)]


def test_only_so_many_arguments_are_looked_through_for_the_call(sub_agents, monkeypatch):
    monkeypatch.setattr("chatsquash.view.pages.relations._ARGUMENTS", 10)
    child, parent = rows(sub_agents)["subagent"], rows(sub_agents)["main"]
    base = f"/r/{sub_agents.viewer.tag}/s"
    assert links(sub_agents.of(child).text, "Find out why the table is late.") == [f"{base}/{parent}"]
