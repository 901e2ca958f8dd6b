"""The filters and the order of the list."""

import json

import pytest

from chatsquash import frame
from chatsquash.view.result import ViewerResult
from chatsquash.view.selection import PAGE, SORTS, SessionQuery, select_sessions


@pytest.fixture
def result(samples):
    return ViewerResult(samples)


@pytest.fixture
def table(samples):
    return frame(samples)


def sessions(result, **asked):
    return [row["session"] for row in select_sessions(result, SessionQuery(**asked)).rows]


def test_the_table_in_small_says_what_the_session_table_says(result, table):
    small = result.sessions
    assert small.height == table.height
    for ours, theirs in {"errors": "findings_error", "lost": "replies_lost", "turns": "turns", "log": "log"}.items():
        assert small[ours].to_list() == table[theirs].to_list()
    both = zip(table["usage_prompt_tokens"], table["usage_completion_tokens"], strict=True)
    assert small["tokens"].to_list() == [None if p is c is None else (p or 0) + (c or 0) for p, c in both]


def test_without_filters_all_stand_in_the_order_of_the_run(result, table):
    chosen = select_sessions(result, SessionQuery())
    assert (chosen.row_count, chosen.all) == (85, 85)
    assert chosen.sessions == (85, 85)
    assert chosen.records == (85, 85)
    assert [row["session"] for row in chosen.rows] == table["session"].to_list()[:PAGE]


FILTERS = {
    "a text of the log, whatever its case": ({"text": "DISK-alert"}, lambda row: "disk-alert" in row["log"].lower()),
    "a text that is no pattern": ({"text": "[.*"}, lambda _: False),
    "a source": ({"format": "anthropic"}, lambda row: row["format"] == "anthropic"),
    "a model": ({"model": "gpt-4.1-2025-04-14"}, lambda row: row["model"] == "gpt-4.1-2025-04-14"),
    "an outcome": ({"outcome": "written"}, lambda row: row["row"] is not None),
    "lost replies": ({"only": "lost"}, lambda row: row["replies_lost"] > 0),
    "errors": ({"only": "errors"}, lambda row: row["findings_error"] > 0),
    "turns": ({"turns": "4"}, lambda row: (row["turns"] or 0) >= 4),
    "tokens": ({"tokens": "30000"}, lambda row: (row["usage_prompt_tokens"] or 0) + (row["usage_completion_tokens"] or 0) >= 30000),
    "two at once": ({"text": "disk", "turns": "2"}, lambda row: "disk" in row["log"] and row["turns"] >= 2),
    "what is no number": ({"turns": "-1"}, lambda _: True),
    "what is no word": ({"only": "session"}, lambda _: True),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "holds"), FILTERS.values(), ids=FILTERS)
def test_a_filter_leaves_what_it_says(result, table, asked, holds):
    assert sessions(result, **asked) == [row["session"] for row in table.iter_rows(named=True) if holds(row)][:PAGE]


def test_a_finding_leaves_the_sessions_that_have_it(result, samples):
    told = [json.loads(line) for line in (samples / "reports/findings.jsonl").read_bytes().splitlines()]
    for code in {each["code"] for each in told}:
        having = {(each["file"], each["session"]) for each in told if each["code"] == code}
        rows = select_sessions(result, SessionQuery(finding=code)).rows
        assert {(row["log"], row["session"]) for row in rows} == {each for each in having if each[1] is not None}


@pytest.mark.parametrize("name", SORTS)
def test_every_column_sorts_both_ways_with_what_is_not_known_last(result, name):
    if name == "findings":

        def key(row):
            return row["errors"] * 1_000_000 + row["warnings"]
    else:

        def key(row):
            return row[name]

    for sort in (name, f"-{name}"):
        values = [key(row) for row in select_sessions(result, SessionQuery(sort=sort)).rows]
        known = [value for value in values if value is not None]
        assert values[: len(known)] == known
        assert known == sorted(known, reverse=sort.startswith("-"))


def test_pages_follow_each_other(result, monkeypatch):
    monkeypatch.setattr("chatsquash.view.selection.PAGE", 30)
    whole = [sessions(result, page=str(page)) for page in (1, 2, 3, 4)]
    assert [len(page) for page in whole] == [30, 30, 25, 0]
    assert sessions(result) == whole[0]


def test_the_findings_of_a_session_are_its_own(result, samples):
    told = [json.loads(line) for line in (samples / "reports/findings.jsonl").read_bytes().splitlines()]
    for row in result.sessions.iter_rows(named=True):
        own = [each for each in told if (each["file"], each["session"]) == (row["log"], row["session"])]
        assert result.findings_of(row["key"]) == own
