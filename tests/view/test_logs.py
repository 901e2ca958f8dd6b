"""A record beside its log: entries, raw lines, requests, differences, the tree."""

import json
import os
import re
import shutil
import sys
from html import unescape
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.session import chains
from chatsquash.sources.find import discover
from chatsquash.view.difference import steps
from chatsquash.view.logs import LoggedSession
from tests.conftest import assistant, log_line, user, write_log
from tests.conversion.shapes import SHAPES
from tests.view import markup
from tests.view.conftest import Reader

GOLDEN = Path(__file__).parents[1] / "golden" / "claude_code"
QUIET = Options(anonymize=False)


@pytest.fixture
def branched(here):
    """A session whose second prompt was asked otherwise once more, and a line that is no JSON."""
    write_log(
        here / "logs/a.jsonl",
        log_line("one", reply="first answer", at="2026-01-13T10:00:00Z"),
        log_line("one", assistant("first answer"), "left behind", reply="lost answer", at="2026-01-13T10:01:00Z"),
        "{ this is no JSON",
        log_line("one", assistant("first answer"), "gone on", reply="kept answer", at="2026-01-13T10:02:00Z"),
        log_line(
            "one", assistant("first answer"), "gone on", assistant("kept answer"), "more", at="2026-01-13T10:03:00Z"
        ),
    )
    convert("logs", "out", QUIET)
    return Reader(here / "out")


def said(answer):
    assert answer.status_code == 200
    markup.hold(answer.text)
    return markup.said(answer.text)


def test_entries_say_when_how_large_and_what_became_of_them(branched):
    page = said(branched.of(0, "/log"))
    for text in (
        "line 1, 2026-01-13 10:00:00, ",
        "B. The request has 1 message (user). The reply has text (",
        "superseded: a later entry became the record; its reply: in this record, message 1",
        "line 3, 17 B. not read: ",
        "The request repeats 3 messages of the previous request and adds 2 messages (assistant, user). ",
        "selected: this entry became the record; ",
        "its reply: branch, lost: it is on a branch, which --conversations all writes",
        "its reply: in this record, message 1",
    ):
        assert text in page, text


@pytest.mark.parametrize(("name", "session"), [("a", "s \ud800"), ("\udcff\udcfe", "s")])
def test_a_log_is_found_whose_name_or_session_is_no_utf_8(here, name, session):
    if sys.platform == "darwin" and name != "a":
        pytest.skip("names of files are UTF-8 there")
    write_log(here / f"logs/{name}.jsonl", log_line("one", session_id=session))
    convert("logs", "out", QUIET)
    page = said(Reader(here / "out").of(0, "/log"))
    assert "line 1, 2026-01-13 10:00:00, " in page
    assert "The log has changed" not in page


def test_a_line_is_shown_as_it_stands_in_the_log(branched, here):
    lines = (here / "logs/a.jsonl").read_bytes().split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        answer = branched.of(0, f"/log/{number}/raw")
        assert answer.content == line
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert branched.of(0, "/log/99/raw").status_code == 404


def test_a_line_is_shown_on_several_lines_without_what_hides_text_in_it(here):
    from chatsquash.pages.html.markup import text

    hidden = "a\u202eb\u034f\u3164\u200b\ufff0\U000e0001c <b>&amp;"
    told = log_line(hidden, reply="x" * 300_000, session_id="a")
    write_log(here / "logs/a.jsonl", json.dumps(told, ensure_ascii=False), f"no JSON {hidden}")
    convert("logs", "out", QUIET)
    reader = Reader(here / "out")
    for line, begin in ((1, '{\n  "session_id": "a",\n'), (2, "no JSON a")):
        answer = reader.of(0, f"/log/{line}/shown")
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.text.startswith(begin)
        assert unescape(text(answer.text)) == answer.text
        assert r"a\u202eb\u034f\u3164\u200b\ufff0" in answer.text
        assert "c <b>&amp;" in answer.text
    cut = reader.of(0, "/log/1/shown").text[-90:]
    assert re.search(r"x\n… 1\d\d,\d{3} more characters \(see the original line\)$", cut)


def test_a_request_leads_to_the_ones_before_and_behind_it_and_not_to_itself(branched):
    base = f"/r/{branched.viewer.tag}/s/0/log"
    for path, other in (("", "/difference"), ("/difference", "")):
        nav = branched.of(0, f"/log/4{path}").text.split('aria-label="Pages of this request"')[1].split("</nav>")[0]
        assert re.findall('href="([^"]*)"', nav) == [base, f"{base}/4{other}", f"{base}/2{path}", f"{base}/5{path}"]
        assert nav.count('aria-current="page"') == 1
    for path in ("", "/difference"):
        assert "Previous request" not in branched.of(0, f"/log/1{path}").text
        assert "Next request" not in branched.of(0, f"/log/5{path}").text


def test_a_request_is_a_conversation_with_its_reply(branched):
    page = said(branched.of(0, "/log/2"))
    assert "left behind" in page
    assert "lost answer" in page
    assert "kept answer" not in page
    assert branched.of(0, "/log/99").status_code == 404


def test_a_difference_tells_what_a_request_has_and_the_one_before_had(branched):
    page = said(branched.of(0, "/log/4/difference"))
    assert "From line 2 to line 4:" in page
    assert "2 messages as before (0 to 1)" in page
    assert "message 2 changed" in page
    assert '-  "content": "left behind"' in page
    assert '+  "content": "gone on"' in page
    assert "the first request" in said(branched.of(0, "/log/1/difference"))


A, B, C, D = (user(text) for text in "abcd")
X = assistant("x")
STEPS = {
    "nothing": ([A, X], [A, X], [("kept", 0, 2, 2)]),
    "one more": ([A], [A, X, B], [("kept", 0, 1, 1), ("added", 1, 0, 2)]),
    "one less": ([A, X, B], [A], [("kept", 0, 1, 1), ("removed", 1, 2, 0)]),
    "another": ([A, B, C], [A, D, C], [("kept", 0, 1, 1), ("changed", 1, 1, 1), ("kept", 2, 1, 1)]),
    "of another role": ([A], [X], [("removed", 0, 1, 0), ("added", 0, 0, 1)]),
    "all": ([], [A], [("added", 0, 0, 1)]),
    "twice the same": ([A, A], [A, A, A], [("kept", 0, 2, 2), ("added", 2, 0, 1)]),
    "moved": ([A, B, C, D], [A, C, B, D], None),
}


@pytest.mark.parametrize(("before", "now", "expected"), STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("compared", [0, 4000])
def test_steps_lead_from_one_request_to_the_other(before, now, expected, compared, monkeypatch):
    monkeypatch.setattr("chatsquash.view.difference._MAX_MESSAGES", compared)
    told = steps(before, now)
    assert [message for step in told for message in step.before] == before
    assert [message for step in told for message in step.now] == now
    if expected is not None:
        assert [(step.kind, step.begin, len(step.before), len(step.now)) for step in told] == expected


def test_the_tree_says_which_path_is_the_record_and_what_the_other_one_is(branched):
    page = said(branched.of(0, "/tree"))
    assert "2 conversations, 4 logged replies." in page
    assert "main: 3 replies, lines 1, 4-5, " in page
    assert "branch: 1 reply, line 2, 2026-01-13 10:01:00; lost: it is on a branch, " in page
    html = branched.of(0, "/tree").text
    assert '/s/0/log/2">read it</a>' in html
    base = f"/r/{branched.viewer.tag}/s/0"
    assert f'<a href="{base}?m=1#m1" class="path main" aria-current="true">main</a>' in html
    assert f'<a href="{base}/log/2" class="path branch">branch</a>' in html
    assert 'aria-label="3 carried">' in html
    assert html.count('class="reply carried"') == 3
    assert html.count('class="reply lost"') == 1


def test_a_conversation_that_names_itself_as_parent_is_drawn_all_the_same():
    from chatsquash.core.accounting import ReplyOutcome
    from chatsquash.core.outcome import Outcome, SessionReplies
    from chatsquash.view.pages.tree import LogPart, nodes

    replies = [
        ReplyOutcome(1, "main", "lost", "branch", "a", "b"),
        ReplyOutcome(2, "branch", "lost", "branch", "b", "a"),
    ]
    looked = LoggedSession(None, Outcome("s", replies=SessionReplies(rows=replies)), (), (), "", changed=False)
    assert [node.id for node in nodes(LogPart(0, looked, {}))] == ["a", "b"]


def test_with_all_conversations_each_path_leads_to_the_record_that_it_is(branched, here):
    convert("logs", "all", Options(anonymize=False, conversations="all"))
    reader = Reader(here / "all")
    by_kind = {row["kind"]: row["at"] for row in reader.result.sessions.iter_rows(named=True)}
    main, branch = by_kind["main"], by_kind["branch"]
    page = said(reader.of(main, "/tree"))
    assert (
        "main: 3 replies, lines 1, 4-5, 2026-01-13 10:00:00 to 2026-01-13 10:03:00; in this record, message 1" in page
    )
    assert f"branch: 1 reply, line 2, 2026-01-13 10:01:00; in {reader.named(branch)}, message 3" in page
    page = said(reader.of(branch, "/tree"))
    assert f"main: 3 replies, lines 1, 4-5, 2026-01-13 10:00:00 to 2026-01-13 10:03:00; in {reader.named(main)}" in page
    assert "branch: 1 reply, line 2, 2026-01-13 10:01:00; in this record, message 3" in page
    assert f'/s/{branch}?m=3#m3">{reader.named(branch)}, message 3</a>' in reader.of(main, "/log").text


def test_a_path_whose_record_stands_for_another_says_so(here):
    for name, other in (("a", "two"), ("b", "three")):
        lines = [log_line(text, reply=f"to {text}", session_id=name) for text in ("one", other)]
        write_log(here / f"logs/{name}.jsonl", *lines)
    convert("logs", "out", Options(anonymize=False, conversations="all", duplicates="exact"))
    reader = Reader(here / "out")
    page = said(reader.of(reader.at("b"), "/tree"))
    assert "in a record that was skipped in favor of another" in page
    assert "in this record, message 1" in page


AGENTS = {
    "a_compaction_and_what_went_before": ("main", "compacted"),
    "a_sub_agent_in_a_folder_of_its_session": ("main", "subagent"),
}


@pytest.mark.parametrize("conversations", [None, "all"])
@pytest.mark.parametrize(("case", "kinds"), AGENTS.items(), ids=AGENTS)
def test_the_tree_of_an_agent_has_all_parts_and_files_of_the_session(here, case, kinds, conversations):
    shutil.copytree(GOLDEN / case / "logs", here / "logs")
    convert("logs", "out", Options(anonymize=False, conversations=conversations or Options().conversations))
    reader = Reader(here / "out")
    assert reader.result.sessions.height == 2
    for at in range(2):
        page = said(reader.of(at, "/tree"))
        assert "2 conversations" in page
        other = reader.named(1 - at)
        for kind in kinds:
            assert re.search(rf"{kind}: \d+ repl(y|ies), [^;]*; in (this record|{re.escape(other)})", page), page
        assert page.count("in this record") == 1
        assert f"/s/{1 - at}?m=" in reader.of(at, "/tree").text


def test_every_session_of_the_samples_has_its_log_and_its_tree(sample_reader):
    for at in range(sample_reader.result.sessions.height):
        looked = sample_reader.viewer.logs.look(at)
        row = sample_reader.result.sessions.row(at, named=True)
        assert looked.outcome.session == row["session"]
        assert not looked.changed
        lost = sum(reply.status == "lost" for reply in looked.replies)
        assert lost == row["lost"]
        assert looked.rows


def test_replies_lead_to_the_messages_that_hold_them(sample_reader):
    led = 0
    for at in range(sample_reader.result.sessions.height):
        shown = sample_reader.of(at, "/copy.json").json()
        for reply in sample_reader.viewer.logs.look(at).replies:
            if reply.message is not None and "messages" in shown:
                assert shown["messages"][reply.message]["role"] == "assistant"
                led += 1
    assert led > 200


def test_a_log_that_changed_is_said(branched, here):
    with (here / "logs/a.jsonl").open("a") as log:
        log.write("\n")
    assert "The log has changed since it was converted." in said(branched.of(0, "/log"))


GONE = {
    "removed": (lambda here: (here / "logs/a.jsonl").unlink(), "the log does not exist"),
    "a folder": (lambda here: ((here / "logs/a.jsonl").unlink(), (here / "logs/a.jsonl").mkdir()), "the log does not exist"),
    "another session": (
        lambda here: write_log(here / "logs/a.jsonl", log_line("x", session_id="other")),
        "no longer contains this session",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "why"), GONE.values(), ids=GONE)
def test_a_log_that_cannot_be_read_is_said_beside_the_record(branched, here, change, why):
    change(here)
    page = said(branched.of(0, "/log"))
    assert why in page
    assert "kept answer" in page
    assert why in said(branched.of(0, "/tree"))
    answer = branched.of(0, "/log/1")
    assert answer.status_code == 404
    markup.hold(answer.text)


def test_nothing_is_fetched_for_a_log_in_a_store(branched, here):
    table = here / "out/reports/sessions.jsonl"
    told = json.loads(table.read_bytes())
    table.write_text(json.dumps({**told, "log": "https://evil.example/a.jsonl"}) + "\n")
    page = said(Reader(here / "out").of(0, "/log"))
    assert "the viewer does not access" in page


def test_the_tree_of_a_file_with_many_conversations_takes_one_more_look_at_it(here, monkeypatch):
    (here / "logs").mkdir(exist_ok=True)
    (here / "logs/a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SHAPES["edited_prompts"](20)))
    convert("logs", "out", Options(anonymize=False))
    reader, looks = Reader(here / "out"), []
    monkeypatch.setattr(chains, "discover", lambda *given: looks.append(given) or discover(*given))
    page = said(reader.of(0, "/tree"))
    assert "11 conversations, 20 logged replies." in page
    assert page.count(": 1 reply, ") == 10
    assert len(looks) == 2


def test_a_session_among_others_of_its_file_is_found(here):
    write_log(
        here / "logs/a.jsonl",
        *(log_line(f"{name} says", session_id=name, at=f"2026-01-13T10:0{at}:00Z") for at, name in enumerate("abc")),
    )
    convert("logs", "out", Options(anonymize=False, sessions_by="id"))
    reader = Reader(here / "out")
    for name in "abc":
        assert reader.viewer.logs.look(reader.at(name)).outcome.session == name
        assert f"{name} says" in said(reader.of(reader.at(name), "/log"))


MAIL = "anna@firma.pl"


def test_pages_about_a_log_show_it_as_it_is_and_all_others_what_the_run_wrote(here):
    line = log_line(f"write to {MAIL}", reply=f"to {MAIL}", session_id="a")
    write_log(here / "logs/a.jsonl", line, f"no JSON of {MAIL}")
    convert("logs", "out", Options(anonymize_key=b"a key for the tests of redaction"))
    reader = Reader(here / "out")
    search = f"/r/{reader.viewer.tag}/search/stream"
    written = [reader.get("/"), reader.get(search, q=MAIL), reader.get(search, q="write to")]
    written += [reader.of(0, path) for path in ("", "/log", "/tree", "/text/0", "/copy.md", "/copy.json")]
    for answer in written:
        assert answer.status_code == 200
        assert MAIL not in answer.text
    assert "write to" in written[2].text
    assert reader.of(0, "/find", q=MAIL).json()["total"] == 0
    for path in ("/log/1", "/log/1/raw", "/log/2/raw"):
        assert MAIL in reader.of(0, path).text, path


def test_a_path_in_which_something_private_was_replaced_is_said(here):
    write_log(here / f"logs/{MAIL}.jsonl", log_line("x", session_id="a"))
    convert("logs", "out", Options(anonymize_key=b"a key for the tests of redaction"))
    reader = Reader(here / "out")
    page = said(reader.of(0, "/log"))
    assert "the run replaced private parts of the path" in page
    assert MAIL not in page


def test_a_log_whose_name_is_no_text_is_read(here):
    name = os.fsencode(here / "logs") + b"/a\xff.jsonl"
    (here / "logs").mkdir()
    with open(name, "w") as log:
        log.write(json.dumps(log_line("x", session_id="a")) + "\n")
    convert("logs", "out", QUIET)
    page = said(Reader(here / "out").of(0, "/log"))
    assert "line 1, " in page
    assert "has changed since" not in page
