"""What the page shows of a result: which sessions, which findings, and how days and sizes become bars."""

from collections import Counter

import polars as pl

from chatsquash.pages.report import chart_data as bins
from chatsquash.pages.report.selection import BY_CHANCE, MOST, _most_of_each, pick_sessions
from tests.conftest import cases


def table(*rows):
    """A session table of these rows; what they do not tell is as in most."""
    texts, numbers = ("left_out", "filtered", "kind"), ("line", "sample")
    usual = {"replies_lost": 0, "findings_error": 0, "characters": 10, **dict.fromkeys((*texts, *numbers))}
    made = [
        {"log": f"{n}.jsonl", "session": f"s{n}", "file": "f.jsonl", "row": n + 1, **usual, **row}
        for n, row in enumerate(rows)
    ]
    schema = dict.fromkeys(("log", "session", "file", *texts), pl.String)
    schema |= dict.fromkeys(("row", "replies_lost", "findings_error", "characters", *numbers), pl.Int64)
    return pl.DataFrame(made, schema=schema)


def reasons(picked, session):
    return next((each.why for each in picked if each.facts["session"] == session), None)


def test_each_reason_has_its_turn_and_ten_come_by_chance():
    rows = [{"replies_lost": n + 1, "characters": 1000 - n} for n in range(100)]
    rows += [{"findings_error": 3, "characters": 1}, {"characters": 5000}, {}]
    picked = pick_sessions(table(*rows), Counter({("102.jsonl", "s102"): 2}))
    assert len(picked) == MOST
    assert sum(each.why[-1] == "random sample" for each in picked) == BY_CHANCE
    assert [each.facts["session"] for each in picked[:4]] == ["s99", "s100", "s102", "s101"]
    assert reasons(picked, "s99")[0] == "100 lost replies"
    assert reasons(picked, "s100") == ["3 errors", "1 character"]
    assert reasons(picked, "s101") == ["one of the longest, 5,000 characters"]
    assert reasons(picked, "s102")[0] == "2 kinds of secrets"


def test_the_same_sessions_are_chosen_each_time_and_chance_does_not_follow_the_order():
    rows = [{} for _ in range(500)]
    first = [each.facts["session"] for each in pick_sessions(table(*rows), Counter())]
    assert first == [each.facts["session"] for each in pick_sessions(table(*rows), Counter())]
    assert len(set(first)) == MOST
    assert first[-BY_CHANCE:] != sorted(first[-BY_CHANCE:])


def test_a_session_is_chosen_once_however_many_records_it_has():
    rows = [{"log": "a.jsonl", "session": "s"}, {"log": "a.jsonl", "session": "s"}, {"log": "b.jsonl", "session": "s"}]
    assert len(pick_sessions(table(*rows), Counter())) == 2


def test_of_the_records_of_a_session_the_main_one_is_shown_and_the_others_are_named():
    rows = [{"log": "a", "session": "s", "kind": kind} for kind in ("branch", "main", "side")]
    (picked,) = pick_sessions(table(*rows), Counter())
    assert picked.facts["row"] == 2
    assert [(each["row"], each["kind"]) for each in picked.others] == [(1, "branch"), (3, "side")]


def test_a_session_without_a_record_is_one_too():
    picked = pick_sessions(
        table({"file": None, "characters": None, "left_out": "empty-session", "findings_error": 1}), Counter()
    )
    assert picked[0].why == ["1 error", "no record"]
    assert pick_sessions(table(), Counter()) == []


@cases(
    "counts, most, expected",
    ([], 10, 10),
    ([3, 4], 10, 10),
    ([1, 100], 10, 9),
    ([100, 100, 1, 1], 20, 9),
    ([50, 50, 50], 10, 3),
)
def test_no_code_crowds_out_the_others(counts, most, expected):
    each = _most_of_each(counts, most)
    assert each == expected
    assert sum(min(count, each) for count in counts) <= most


@cases("values, expected",
    ([], []),
    ([0], [("0", 1)]),
    ([2, 4, 4, 5], [("2", 1), ("3", 0), ("4", 2), ("5", 1)]),
    ([1, 1, 4, 40], [("1", 2), ("2-4", 1), ("5-9", 0), ("10-19", 0), ("20-49", 1)]),
    ([1500, 2_500_000], [("1k-2k", 1), *[(name, 0) for name in ("2k-5k", "5k-10k", "10k-20k", "20k-50k", "50k-100k", "100k-200k", "200k-500k", "500k-1M", "1M-2M")], ("2M-5M", 1)]),
    ([500, 999], [("500-999", 2)]),
)  # fmt: skip
def test_sizes_become_bars(values, expected):
    assert bins.sizes(values) == expected


def test_lengths_are_told_by_tenths_of_what_may_be():
    found = dict(bins.shares([0, 1, 10, 11, 99, 100, 101], 100))
    assert {name: count for name, count in found.items() if count} == {
        "0-10%": 3,
        "10-20%": 1,
        "90-100%": 2,
        "over": 1,
    }


@cases(
    "days, name, last",
    (["2026-01-01", "2026-01-02"], "day", "2026-01-02"),
    ([f"2026-{m:02}-{d:02}" for m in (1, 2, 3) for d in range(1, 29)], "day", "2026-03-28"),
    ([f"2026-{m:02}-{d:02}" for m in (1, 3, 5, 7, 9) for d in (1, 9, 17, 25)], "day", "2026-09-25"),
    ([f"2026-{m:02}-{d:02}" for m in range(1, 7) for d in range(1, 29)], "week", "2026-06-22"),
    ([f"{y}-{m:02}-{d:02}" for y in range(2020, 2027) for m in range(1, 13) for d in (1, 9, 17)], "month", "2026-12"),
    ([f"{y}-{m:02}-01" for y in range(2000, 2026) for m in range(1, 13)], "year", "2025"),
    ([f"{y}-01-01" for y in range(1800, 2026)], "decade", "2020s"),
    ([f"{y:04}-01-01" for y in range(1, 2026)], "century", "2000s"),
    (["0001-01-01"], "day", "0001-01-01"),
)
def test_days_become_as_few_bars_as_there_is_room_for(days, name, last):
    period = bins.periods(days)
    assert (period.name, period.label(period.of(days[-1]))) == (name, last)
    assert len(list(period.axis())) <= bins._BARS


@cases(
    "days, labels",
    ("a few", ["2026-01-01", "2026-01-03"], ["2026-01-01", "2026-01-02", "2026-01-03"]),
    ("many", ["2026-01-01", "2026-01-20"], ["2026-01-01", "… 2026-01-19", "2026-01-20"]),
    ("those of a wrong clock", ["1970-01-01", "2026-01-20"], ["1970-01-01", "… 2026-01-19", "2026-01-20"]),
)
def test_days_without_records_have_room(days, labels):
    assert [label for _, label in bins.periods(days).axis()] == labels


def test_what_is_no_day_is_known():
    assert [each for each in ("2026-01-01", "2026-13-01", "yesterday", "20260101", "") if bins.is_day(each)] == [
        "2026-01-01"
    ]
