"""Secrets are red, what is trained on is marked, and replies say when they were made, on the page of a session."""

import json
import re

import pytest

from chatsquash import Options, convert
from chatsquash.pages.html.markup import Html
from chatsquash.view.pages.texts import MAX_SEARCHED, in_red, secrets_in
from tests.conftest import assistant, log_line, user, write_log
from tests.view import markup
from tests.view.conftest import Reader

KEY_ID = "AKIAQ6H4LXZT7JW3VN2P"
TOKEN = "ghp_x7Tq9VbN2mKd8RwZ4LcJ6yHs1PfG3eAu0BtQ"


def red(page):
    return re.findall(r'<mark class="secret">([^<]*)</mark>', page)


def opened(here, *messages, **options):
    write_log(here / "logs/a.jsonl", log_line(*messages, session_id="a"))
    convert("logs", "out", Options(anonymize=False, **options))
    return Reader(here / "out")


def test_secrets_are_red_wherever_a_page_has_them(here):
    call = {"id": "c", "type": "function", "function": {"name": "t", "arguments": json.dumps({"key": TOKEN})}}
    result = {"role": "tool", "tool_call_id": "c", "content": f"**{KEY_ID}**"}
    reader = opened(here, f"use `{KEY_ID}`", assistant(None, tool_calls=[call]), result)
    page = reader.of(0).text
    markup.hold(page)
    assert red(page).count(KEY_ID) == 3  # in the title, the prompt and the result
    assert red(page).count(TOKEN) == 2  # in the call, and on its line
    assert set(red(reader.of(0, "", **{"as": "written"}).text)) == {KEY_ID, TOKEN}
    assert set(red(reader.of(0, "/log/1").text)) == {KEY_ID, TOKEN}


def test_placeholders_are_not_secrets(here):
    reader = opened(here, f"use {KEY_ID}", redact="secrets")
    assert KEY_ID not in reader.of(0).text
    assert red(reader.of(0).text) == []


def test_a_secret_is_red_in_texts_only():
    page = Html('<a href="/secret-1"><b class="secret-1">secret-1</b> &lt;secret-1&gt;</a>')
    marked = '<mark class="secret">secret-1</mark>'
    assert in_red(page, ["secret-1"]) == f'<a href="/secret-1"><b class="secret-1">{marked}</b> &lt;{marked}&gt;</a>'


def test_the_longest_of_secrets_in_each_other_is_red_once():
    assert in_red(Html("<p>abcdef-gh</p>"), ["abcdef", "abcdef-gh"]) == '<p><mark class="secret">abcdef-gh</mark></p>'


def test_only_so_much_of_a_page_is_searched_and_the_page_says_so(here):
    assert secrets_in(["a " * MAX_SEARCHED, f"key {KEY_ID}"]) == []
    turns = [each for _ in range(20) for each in (user("a b " * 4_000), assistant("a"))]
    page = opened(here, *turns, "go").of(0).text
    assert f"Secrets are only highlighted in the first {MAX_SEARCHED:,} characters of a page." in page


@pytest.mark.parametrize("options", [{}, {"loss": "weight", "loss_skip_failed": True}])
def test_what_is_trained_on_is_marked(here, options):
    call = {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "c", "content": "Error: it failed"}
    reader = opened(here, "one", assistant("first"), "two", assistant(None, tool_calls=[call]), result, **options)
    marks = re.findall(r'class="(?:training|untrained)">([^<]*)<', reader.of(0).text)
    record = reader.of(0, "/copy.json").json()
    flags = [message.get("weight", 1) for message in record["messages"] if message["role"] == "assistant"]
    assert marks == ["trained on" if flag else "not trained on" for flag in flags]
    assert "trained on" in marks


def test_replies_say_when_they_were_made_by_which_model_with_how_many_tokens(here):
    first = log_line("one", reply="a", session_id="a", at="2026-01-13T10:00:00Z")
    second = log_line("one", assistant("a"), "two", reply="b", session_id="a", at="2026-01-13T10:01:00Z")
    for tokens, line in enumerate((first, second), 10):
        line["response"] |= {"model": "<b>m", "usage": {"prompt_tokens": 1_000 + tokens, "completion_tokens": tokens}}
    write_log(here / "logs/a.jsonl", first, second)
    convert("logs", "out", Options(anonymize=False))
    reader = Reader(here / "out")
    assert reader.of(0, "/facts").json() == {
        "1": "2026-01-13 10:00:00, <b>m, 1,010 tokens in, 10 tokens out",
        "3": "2026-01-13 10:01:00, <b>m, 1,011 tokens in, 11 tokens out",
    }


def test_replies_in_files_of_agents_say_so_too(sample_reader):
    at = sample_reader.at("5d0c7e52-93b4-4b6e-8f0a-2a4f7a1c9e31")
    record = sample_reader.of(at, "/copy.json").json()["messages"]
    facts = sample_reader.of(at, "/facts").json()
    assert facts
    assert {record[int(number)]["role"] for number in facts} == {"assistant"}
    assert all(re.match(r"2026-01-\d\d \d\d:\d\d:\d\d, claude", words) for words in facts.values())


def test_without_its_log_a_record_has_no_facts(here):
    reader = opened(here, "one")
    (here / "logs/a.jsonl").unlink()
    assert reader.of(0, "/facts").json() == {}


def test_a_large_log_is_not_read_unasked(here, monkeypatch):
    reader = opened(here, "one")
    monkeypatch.setattr("chatsquash.view.logs._SMALL", 10)
    assert reader.of(0, "/facts").json() == {}
    reader.of(0, "/log")
    assert reader.of(0, "/facts").json() == {"1": "2026-01-13 10:00:00"}
