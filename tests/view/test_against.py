"""``view OUT --against A``: the sessions that differ, and each record next to its earlier version."""

from __future__ import annotations

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.view.serve import _comparison
from tests.conftest import assistant, log_line, write_log
from tests.view import markup
from tests.view.conftest import Reader

EVIL = "<script>window.evil=1</script>"
PLAIN = Options(anonymize=False)


@pytest.fixture(params=["jsonl", "parquet"])
def reader(here, request):
    """Of three sessions, one has a new reply, one is new and one is equal."""
    log = here / "logs"
    write_log(log / "a.jsonl", log_line("hi", assistant("hello"), "and?", reply=f"old {EVIL}", session_id="a"))
    write_log(log / "b.jsonl", log_line("same", reply="same reply", session_id="b"))
    convert("logs", "before", Options(anonymize=False, preset="hf", format="jsonl"))
    write_log(log / "a.jsonl", log_line("hi", assistant("hello"), "and?", reply=f"new {EVIL}", session_id="a"))
    write_log(log / "c.jsonl", log_line("added", reply="added reply", session_id="c"))
    convert("logs", "out", Options(anonymize=False, preset="hf", format=request.param))
    reader = Reader(here / "out")
    with _comparison(reader.viewer, "before"):
        yield reader


def shown(reader: Reader, path: str) -> str:
    answer = reader.get(f"/r/{reader.viewer.tag}{path}")
    assert answer.status_code == 200, answer.text
    markup.hold(answer.text)
    return answer.text


def test_the_sessions_that_differ_are_listed_with_their_reasons(reader):
    html = shown(reader, "/against")
    said = markup.said(html)
    assert "2 sessions differ" in said
    assert "1 do not" in said
    for session, kind, reason in (("a", "changed", "log changed"), ("c", "added", "new log")):
        assert f"{session}{kind}{reason}" in said.replace("\n", "")
        assert f'/s/{reader.at(session)}/against"' in html


def test_a_changed_reply_is_next_to_the_old_one(reader):
    said = markup.said(shown(reader, f"/s/{reader.at('a')}/against"))
    assert said.index("3 equal messages") < said.index(f"old {EVIL}") < said.index(f"new {EVIL}")
    assert "hello" not in said.split("3 equal messages")[1]


def test_a_new_session_has_nothing_to_compare_with(reader):
    said = markup.said(shown(reader, f"/s/{reader.at('c')}/against"))
    assert "no record" in said
    assert "added reply" in said


def test_an_equal_session_has_only_equal_messages(reader):
    said = markup.said(shown(reader, f"/s/{reader.at('b')}/against"))
    assert "2 equal messages" in said
    assert "same reply" not in said.split("2 equal messages")[1]


def test_the_pages_of_a_session_lead_to_the_comparison_only_if_there_is_one(reader):
    at = reader.at("a")
    assert f'/s/{at}/against"' in shown(reader, f"/s/{at}")
    reader.viewer.against = None
    assert f'/s/{at}/against"' not in shown(reader, f"/s/{at}")
    assert reader.of(at, "/against").status_code == 404


def test_records_of_several_conversations_are_compared_in_their_order(here):
    for word in ("before", "out"):
        lines = [log_line(f"q{n}", reply=f"{word if n == 2 else 'same'} {n}", session_id="s", at=n) for n in range(3)]
        write_log(here / "logs/a.jsonl", *lines)
        convert("logs", word, Options(anonymize=False, conversations="all"))
    reader = Reader(here / "out")
    with _comparison(reader.viewer, "before"):
        pages = [markup.said(reader.of(at, "/against").text) for at in range(3)]
    assert ["before 2" in page for page in pages] == [False, False, True]


def test_a_result_that_was_replaced_is_not_compared(here):
    write_log(here / "logs/a.jsonl", log_line("hi", reply="one"))
    convert("logs", "before", PLAIN)
    convert("logs", "out", PLAIN)
    reader = Reader(here / "out")
    with _comparison(reader.viewer, "before"):
        write_log(here / "logs/a.jsonl", log_line("hi", reply="two"))
        convert("logs", "out", PLAIN)
        assert reader.result.tag == reader.viewer.tag
        answer = reader.get(f"/r/{reader.viewer.tag}/against")
        assert answer.status_code == 404
        assert "start chatsquash view again" in answer.text


def test_a_folder_that_is_no_result_is_refused(here):
    write_log(here / "logs/a.jsonl", log_line("hi", reply="one"))
    convert("logs", "out", PLAIN)
    with pytest.raises(UsageError, match="logs: not a result"), _comparison(Reader(here / "out").viewer, "logs"):
        pass
