"""What is said when another run writes to the folder that is shown."""

import pytest

from chatsquash import Options, convert
from chatsquash.view.pages import layout
from tests.conftest import log_line, user, write_log
from tests.view import markup
from tests.view.conftest import Reader

QUIET = Options(anonymize=False)


@pytest.fixture
def reader(here):
    write_log(here / "logs/a.jsonl", log_line(user("first"), session_id="a"))
    convert("logs", "out", QUIET)
    return Reader(here / "out")


@pytest.fixture
def replaced(reader, here):
    """The pages before another run, which then writes another result."""
    tag = reader.viewer.tag
    reader.of(0)
    write_log(here / "logs/0.jsonl", log_line(user("another"), session_id="b"))
    convert("logs", "out", QUIET)
    return tag


@pytest.mark.parametrize("ends", ["made", ValueError("moved"), OSError(2, "gone"), IndexError()], ids=str)
def test_a_page_that_is_made_while_the_folder_is_replaced_says_so(reader, here, monkeypatch, ends):
    from chatsquash.view import app

    def late(*_, **__):
        (here / "out/run.json").touch()
        if ends != "made":
            raise ends
        return "of both"

    monkeypatch.setattr(app.conversations, "conversation_page", late)
    answer = reader.of(0)
    assert answer.status_code == 409
    assert "was replaced" in answer.text


@pytest.mark.parametrize("ends", [None, ValueError("moved")])
def test_a_search_ends_where_the_folder_is_replaced(reader, here, monkeypatch, ends):
    from chatsquash.view.pages import search
    from chatsquash.view.pages.search import Progress

    def late(*_):
        yield Progress(0, 1)
        (here / "out/run.json").touch()
        if ends:
            raise ends
        yield Progress(1, 1)

    monkeypatch.setattr(search, "hits", late)
    told = reader.get(f"/r/{reader.viewer.tag}/search/stream", q="first").text.splitlines()
    assert len(told) == 2
    assert "was replaced while being searched" in told[1]


def test_an_error_that_no_other_run_caused_is_no_replacement(reader, monkeypatch):
    from chatsquash.view import app

    def fail(*_, **__):
        raise ValueError("of ours")

    monkeypatch.setattr(app.conversations, "conversation_page", fail)
    with pytest.raises(ValueError, match="of ours"):
        reader.of(0)


def test_the_state_says_so(reader, replaced):
    assert reader.get("/state").json() == {"result": replaced, "replaced": True}


@pytest.mark.parametrize("path", ["", "/find?q=x", "/text/0", "/copy.json", "/log", "/tree"])
def test_pages_of_the_old_result_say_so_and_show_nothing_of_the_new_one(reader, replaced, path):
    for _ in range(2):
        answer = reader.get(f"/r/{replaced}/s/0{path}")
        assert answer.status_code == 409
        markup.hold(answer.text)
        assert "was replaced" in answer.text
        reader.get("/")  # which shows the new one from now on


def test_the_list_shows_what_is_there_now_and_says_so_once(reader, replaced):
    first, second = reader.get("/").text, reader.get("/").text
    assert "The output folder was replaced" in first
    assert "The output folder was replaced" not in second
    assert reader.viewer.tag != replaced
    assert reader.get("/state").json() == {"result": reader.viewer.tag, "replaced": False}
    assert "another" in reader.of(0).text


def test_the_same_run_again_replaces_nothing(reader):
    convert("logs", "out", QUIET)
    assert reader.get("/state").json()["replaced"] is False


def test_a_folder_that_is_gone_is_said_and_no_crash(reader, here):
    (here / "out").rename(here / "elsewhere")
    assert reader.of(0).status_code == 409
    answer = reader.get("/")
    assert answer.status_code == 404
    markup.hold(answer.text)
    assert "run.json: cannot be read" in answer.text
    (here / "elsewhere").rename(here / "out")
    assert reader.get("/").status_code == 200


def test_urls_name_the_result_so_that_they_last_as_long_as_it_does(reader, here):
    url = layout.url(reader.result, "s", 0, m=3, find="a b&c", empty="", fragment="m3")
    assert url == f"/r/{reader.viewer.tag}/s/0?m=3&find=a+b%26c#m3"
    assert Reader(here / "out").viewer.tag == reader.viewer.tag
