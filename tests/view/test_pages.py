"""Every page of the sample run and of the hostile run: there, bounded, and nothing on it but what is ours."""

import json
import time
from html import unescape

import pytest

from chatsquash.pages.html.markup import text as shown_as
from tests import hostile_logs
from tests.conftest import cases, user
from tests.hostile_logs import LARGE, NAME, TEXTS, TURNS
from tests.view import markup

PAGES = ("", "/tree", "/log", "?as=written")
MOST = 4_000_000
"""Bytes of a page."""


def hold(answer, status=200):
    assert answer.status_code == status, answer.text[-500:]
    assert len(answer.content) < MOST
    markup.hold(answer.text)


@pytest.fixture(params=["samples", "hostile_run"])
def reader(request):
    from tests.view.conftest import Reader

    return Reader(request.getfixturevalue(request.param))


def test_every_page_of_every_session_is_ours(reader):
    for at in range(reader.result.sessions.height):
        for path in PAGES:
            hold(reader.of(at, path))


def test_the_list_and_the_search_are_ours(reader):
    hold(reader.get("/"))
    hold(reader.get("/", text=NAME, sort="-tokens", finding=NAME, model=NAME, page="9", only="x", turns="x"))
    hold(reader.get(f"/r/{reader.viewer.tag}/search", q='"><script>'))


def test_every_hostile_pair_is_ours(hostile_reader):
    for number in range(1, len(TEXTS) + 1):  # one with all texts, and none with a surrogate
        answer = hostile_reader.get(f"/r/{hostile_reader.viewer.tag}/pairs/{number}")
        hold(answer)
        assert "not so: " in markup.said(answer.text)
    assert "There is no such pair." in hostile_reader.get(f"/r/{hostile_reader.viewer.tag}/pairs/{number + 1}").text


def test_every_request_and_its_difference_is_ours(reader):
    for at in range(min(12, reader.result.sessions.height)):
        for row in reader.viewer.logs.look(at).rows[:3]:
            if row.repeated_count + row.added_count:
                hold(reader.of(at, f"/log/{row.line}"))
                hold(reader.of(at, f"/log/{row.line}/difference"))


@cases("path", "/x", "/r/0/s/0", "/r/{tag}/s/99999", "/r/{tag}/s/x", "/r/{tag}/s/-1", "/r/{tag}/pairs/1x")
def test_what_is_not_there_says_so_on_a_page_that_is_ours(sample_reader, path):
    answer = sample_reader.get(path.format(tag=sample_reader.viewer.tag))
    assert answer.status_code in (200, 404, 409)
    hold(answer, answer.status_code)


def test_all_texts_of_hostile_sessions_are_shown_and_none_is_run(hostile_reader):
    rows = hostile_reader.result.sessions
    shown = {}
    for number, (name, text) in enumerate(TEXTS.items()):
        (at,) = rows.filter(rows["session"].str.starts_with(f"{number} "))["at"]
        hold(hostile_reader.of(at))
        shown[name] = markup.said(hostile_reader.of(at, **{"as": "written"}).text)
        # In the system prompt, the question, the reply and its reasoning, the two results, the answer and its question.
        assert name == "surrogate" or shown[name].count(unescape(shown_as(text))) >= 8, name
    assert "This session has no record: lone-surrogate." in shown["surrogate"]
    assert r"\x1b[2J\x1b]0;owned\x07\x9b31m \x08" in shown["terminal"]
    assert r"\x00NUL\x00" in shown["NUL"]
    assert r"admin\u202egnp.exe\u2066 \u200b\u2028 \ufeff \u200f" in shown["direction"]


def test_a_message_of_10_mb_is_cut_and_has_a_place_of_its_own(hostile_reader):
    at = hostile_reader.at("large")
    began = time.monotonic()
    answer = hostile_reader.of(at)
    assert time.monotonic() - began < 5
    assert len(answer.content) < 500_000
    assert f'href="/r/{hostile_reader.viewer.tag}/s/{at}/text/0"' in answer.text
    whole = hostile_reader.of(at, "/text/0")
    assert len(whole.content) == LARGE // 3 * 3
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"
    assert whole.headers["x-content-type-options"] == "nosniff"


def test_a_session_of_2000_turns_comes_in_windows_that_lead_to_each_other(hostile_reader):
    at = hostile_reader.at("long")
    answer = hostile_reader.of(at)
    assert answer.text.count('<article class="message') == 50
    assert "messages 1 to 50 of 4,002" in answer.text
    assert "?m=50" in answer.text
    last = hostile_reader.of(at, m=2 * TURNS)
    assert "the last" in last.text
    assert 'id="m4000"' in last.text
    assert "Later messages" not in last.text


def test_the_same_message_is_in_one_window_whichever_link_leads_there(sample_reader):
    for at in range(sample_reader.result.sessions.height):
        from chatsquash.view.conversation import Conversation

        shown = Conversation(sample_reader.result, at)
        seen = []
        number = 0
        while number is not None:
            window = shown.window(number)
            seen += window.record.places or []
            number = shown.number(window.stop) if window.stop < len(shown.record.messages) else None
        assert seen == [shown.number(each) for each in range(len(shown.record.messages))]


def test_findings_stand_at_their_messages_and_lead_to_them(sample_reader):
    result = sample_reader.result
    told = [json.loads(line) for line in (result.path / "reports/findings.jsonl").read_bytes().splitlines()]
    about = [each for each in told if each["message"] is not None]
    assert about
    for each in about:
        rows = result.sessions
        file, row = each["record"].rsplit(":", 1)
        at = int(rows.filter((rows["file"] == file) & (rows["row"] == int(row)))["at"][0])
        page = sample_reader.of(at, m=each["message"]).text
        assert f"<code>{each['code']}</code>" in page
        assert f'#m{each["message"]}"' in page
        findings = page.split('data-findings="')[1].split('"')[0].split()
        assert str(each["message"]) in findings


def test_a_session_without_a_record_says_why(here):
    from chatsquash import Options, convert
    from tests.conftest import log_line, write_log
    from tests.view.conftest import Reader

    write_log(here / "logs/a.jsonl", log_line("hi", at="2026-01-13T10:00:00Z"))
    write_log(here / "logs/b.jsonl", log_line("one", session_id="x"), log_line("two", session_id="y"))
    convert("logs", "out", Options(anonymize=False, sessions_by="file"))
    reader = Reader(here / "out")
    at = int(reader.result.sessions.filter(reader.result.sessions["file"].is_null())["at"][0])
    page = reader.of(at)
    hold(page)
    assert "This session has no record: session-id-mismatch." in page.text
    hold(reader.of(at, "/log"))
    hold(reader.of(at, "/tree"))


def test_prompts_errors_and_findings_are_told_to_the_keys(sample_reader):
    page = sample_reader.of(0).text
    told = {name: page.split(f'data-{name}="')[1].split('"')[0] for name in ("prompts", "errors", "findings")}
    shown = sample_reader.of(0, "/copy.json").json()
    users = [at for at, message in enumerate(shown["messages"]) if message["role"] == "user"]
    assert told["prompts"] == " ".join(map(str, users))
    assert told["errors"] == told["findings"] == "6"


def test_copies_hold_the_whole_record(sample_reader):
    record = json.loads((sample_reader.result.path / "2026-01-12.jsonl").read_bytes().splitlines()[0])
    assert sample_reader.of(0, "/copy.json").json() == record
    copied = sample_reader.of(0, "/copy.md")
    assert copied.headers["content-type"] == "text/plain; charset=utf-8"
    assert copied.text.startswith("# 1768212345678901234\n\n## system\n\n")
    assert copied.text.count("\n## ") == len(record["messages"])


def test_no_fence_of_a_markdown_copy_is_ended_by_what_it_holds():
    from chatsquash.view.pages.code import markdown

    text = markdown([{"role": "tool", "tool_call_id": "c", "content": "a\n```\n````\nb"}], "t")
    assert "`````\na\n```\n````\nb\n`````\n" in text


# Images


def test_an_image_is_answered_as_the_bytes_of_the_record_with_the_type_that_they_show(here):
    from chatsquash import Options, convert
    from tests.conftest import log_line, user, write_log
    from tests.view.conftest import Reader

    images = [
        hostile_logs.image(kind, data)
        for kind, data in (("image/gif", hostile_logs.PNG), ("image/png", hostile_logs.SVG))
    ]
    write_log(here / "logs/a.jsonl", log_line(user([{"type": "text", "text": "look"}, *images]), session_id="i"))
    convert("logs", "out", Options(anonymize=False))
    reader = Reader(here / "out")
    page = reader.of(0).text
    markup.hold(page)
    assert page.count("<img ") == 1
    url = page.split('<img src="')[1].split('"')[0]
    answer = reader.get(url)
    assert answer.content == hostile_logs.PNG
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; sandbox")
    assert reader.get(url.replace(".png", ".svg")).status_code == 404
    assert reader.get(url.rsplit("/", 1)[0] + "/..%2f..%2frun.json").status_code == 404


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_an_image_beside_the_record_is_shown(here, form):
    from chatsquash import Options, convert
    from tests.conftest import log_line, user, write_log
    from tests.view.conftest import Reader

    pngs = [hostile_logs.PNG + bytes([at]) for at in range(2)]
    parts = [{"type": "text", "text": "look"}, *(hostile_logs.image("image/png", each) for each in pngs)]
    write_log(here / "logs/a.jsonl", log_line(user(parts), session_id="i"))
    convert("logs", "out", Options(anonymize=False, media="keep", preset="hf", format=form))
    reader = Reader(here / "out")
    urls = [part.split('"')[0] for part in reader.of(0).text.split('<img src="')[1:]]
    answers = [reader.get(url) for url in urls]
    assert [(each.content, each.headers["content-type"]) for each in answers] == [(png, "image/png") for png in pngs]


# Bounds

CALLS = 300


def _opened(here, *messages):
    from chatsquash import Options, convert
    from tests.conftest import log_line, write_log
    from tests.view.conftest import Reader

    write_log(here / "logs/a.jsonl", log_line(*messages, session_id="a"))
    convert("logs", "out", Options(anonymize=False))
    return Reader(here / "out")


def _calling(number, given):
    from tests.conftest import assistant

    calls = [
        {"id": f"{number} {each}", "type": "function", "function": {"name": "t", "arguments": given}}
        for each in range(CALLS)
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "done"} for call in calls]
    return [assistant(None, tool_calls=calls), *results]


def test_of_calls_that_a_page_does_not_show_none_is_made(here, monkeypatch):
    from chatsquash.pages.html import record

    made = []
    monkeypatch.setattr(record, "_call", lambda *told, call=record._call: made.append(1) or call(*told))
    turns = [message for number in range(40) for message in _calling(number, json.dumps({"x": "<" * 4_000}))]
    turns.sort(key=lambda message: message["role"])  # so that all that call are on one page
    reader = _opened(here, user("go"), *turns)
    answer = reader.of(0)
    hold(answer)
    assert "more parts of this message" in answer.text
    assert "all text of this message" in answer.text
    assert len(made) * 4_000 * len("&lt;") < 2 * MOST


COLOURED = {
    "numbers": "```json\n" + "1," * 10_000,
    "a diff": "```diff\n" + "+\n" * 10_000,
    "deep and wide": json.dumps(eval("[" * 60 + "1," * 4_000 + "]" * 60)),
    "marks": "&" * 16_000,
}


@pytest.mark.parametrize("text", COLOURED.values(), ids=COLOURED)
def test_a_page_is_bounded_whatever_its_messages_say(here, text):
    from tests.conftest import assistant

    turns = []
    for number in range(24):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "t", "arguments": text}}
        turns += [
            assistant(text, tool_calls=[call], reasoning_content=text),
            {"role": "tool", "tool_call_id": f"c{number}", "content": text},
            user(text),
        ]
    reader = _opened(here, user("go"), *turns)
    hold(reader.of(0))
    hold(reader.of(0, "/log"))
    assert len(reader.of(0, "/copy.md").content) < 40 * 4 * 24 * len(text)


NAMED = 300_000
"""Characters of a name."""


def test_names_of_any_length_make_no_large_page(here):
    from chatsquash import Options, convert
    from tests.conftest import assistant, log_line, write_log
    from tests.view.conftest import Reader

    for at in range(30):
        name = f"{at} " + "&" * NAMED
        call = {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}}
        result = {"role": "tool", "tool_call_id": name, "name": name, "content": "r"}
        line = log_line(
            user("q"), assistant(None, tool_calls=[call]), result, {**user("go on"), "name": name}, session_id=name
        )
        line["request"]["model"] = line["response"]["model"] = name
        line["response"]["choices"][0]["finish_reason"] = name
        write_log(here / f"logs/{at}.jsonl", line)
    convert("logs", "out", Options(anonymize=False))
    reader = Reader(here / "out")
    for path in (
        "/",
        f"/r/{reader.viewer.tag}/search",
        *(f"/r/{reader.viewer.tag}/s/0{each}" for each in (*PAGES, "/log/1")),
    ):
        answer = reader.get(path)
        hold(answer)
        assert len(answer.content) < MOST / 4
    models = [name for name, _ in reader.result.facets["model"]]
    assert len(models) == 30
    assert all(len(name) <= 200 for name in models)
    assert "1 of 30 sessions, 1 of 30 records" in reader.get("/", model=models[0]).text
    assert len(reader.get(f"/r/{reader.viewer.tag}/search/stream", q="go on").content) < MOST / 4
