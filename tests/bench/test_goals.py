"""A promise is met, missed or not measured, and the page says which."""

import re

import pytest

from bench import goals, options, page, table
from bench.commands import BASE
from bench.generate import PROFILES
from bench.goals import COST, GROWTH, MEMORY, TIMES, Row, verdict
from bench.scaling import Length
from tests.conftest import cases


def run(cpu=1.0, seconds=1.0, peak=30_000_000, others=0.0):
    return {"cpu": cpu, "seconds": seconds, "peak": peak, "others": others, "codes": [0]}


def results(times, **others):
    sizes = {name: {"bytes": 10_000_000, "sessions": 5} for name in times}
    facts = {"base": "abc", "no_base": None, "load": 0.0, "rounds": 2, "share": 1, "machine": {}}
    return {**facts, "times": times, "sizes": sizes, **others}


def row(what):
    (found,) = [each for each in goals.ROWS if each.what == what]
    return found


def shown(results, what):
    (line,) = [line for line in table.summary(results).splitlines() if f"| {what} " in line]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


@cases(
    "unit, value, told",
    (TIMES, 2.2, "aim"),
    (TIMES, 1.9, "met"),
    (TIMES, 1.896, "met"),
    (TIMES, 1.894, "**missed**"),
    (COST, 1.9, "aim"),
    (COST, 2.2, "met"),
    (COST, 2.21, "**missed**"),
)
def test_a_number_is_held_to_a_promise_with_the_digits_that_are_shown(unit, value, told):
    at_least, aim = (1.9, 2.2) if unit.more else (2.2, 1.9)
    assert verdict(Row("", "", unit, at_least, aim, lambda _: value), value) == told


@cases("unit, value, told", (GROWTH, 0.4, "aim"), (GROWTH, 0.6, "**missed**"), (MEMORY, 35.6, "**missed**"))
def test_no_more_than_is_promised_leaves_no_room(unit, value, told):
    limit = 0 if unit is GROWTH else 35
    assert verdict(Row("", "", unit, limit, limit, lambda _: value), value) == told


def test_a_gain_is_the_median_over_the_rounds_and_not_of_the_medians():
    times = {"one": [run(1), run(10), run(2)], "one" + BASE: [run(3), run(20), run(2)]}
    found = results({"standard": times})
    assert goals.gain(found, "standard", "one") == 2
    assert row("one worker, standard, CPU vs {base}").value(found) == 2


@pytest.mark.parametrize(
    ("others", "load", "told"),
    [([0.0, 0.9, 0.05], 9, 1.5), ([0.5, 0.3, 0.2], 0, None), ([None] * 3, 0.4, 1.5), ([None] * 3, 0.6, None)],
    ids=["mostly idle", "busy", "idle by the load", "busy by the load"],
)
def test_two_workers_are_measured_on_idle_cores_alone(others, load, told):
    times = {"one": [run(seconds=3, others=others[-1])] * 3, "two": [run(seconds=2, others=each) for each in others]}
    found = results({"standard": times}, load=load)
    if told is None:
        with pytest.raises(goals.NotMeasuredError, match="not idle"):
            row("two workers vs one, standard").value(found)
    else:
        assert row("two workers vs one, standard").value(found) == told


def test_the_table_says_what_was_missed_and_what_was_not_measured():
    times = {"one": [run()], "two": [run(others=1.0)], "naive": [run()], "wc": [run()]}
    found = results({"standard": times}, no_base="abc: no such revision")
    assert shown(found, "one worker, standard, CPU vs naive")[2:] == ["1.00x", "**missed**"]
    assert shown(found, "one worker, standard, CPU vs abc")[2:] == ["", "not measured: abc: no such revision"]
    assert shown(found, "peak memory of any process, standard")[2:] == ["30 MB", "aim"]


def test_every_promise_is_of_logs_that_are_made_and_every_profile_is_described():
    assert {each.profile for each in goals.ROWS} <= set(PROFILES)
    assert set(page._LOGS) == set(PROFILES)
    assert options.LOGS in PROFILES


def test_the_page_says_how_straight_the_cost_of_long_sessions_is_and_the_chart_shows_it():
    def length(added, ours, theirs):
        runs = {"one": [run(ours)], "one" + BASE: [run(theirs)], "wc": [run(0.1)]}
        return Length(added, added * 1_000_000, added * 30_000_000, runs)

    found = results({}, lengths=[length(1, 1.1, 1.1), length(2, 2.1, 1.5), length(3, 3.1, 9.9)])
    assert "explains 100.0% of the variation." in " ".join(page.lengths(found).split())
    bent = results({}, lengths=[length(1, 1.1, 1.1), length(2, 1.5, 1.5), length(3, 9.9, 9.9)])
    assert "explains 78.4% of the variation." in " ".join(page.lengths(bent).split())
    assert {">chatsquash<", ">abc<", ">wc<"} <= set(re.findall(">[a-z]+<", page.drawn(found)))


def test_the_page_has_a_section_for_all_that_was_measured():
    times = {"one": [run(2)], "one" + BASE: [run(4)], "naive": [run(3)], "wc": [run(0.1)], "two": [run()]}
    peers = [
        {"peer": "other", "version": "1.2", "logs": "standard", "runs": [run(5)], "bytes": 20_000_000},
        {"peer": "another", "version": "", "logs": "standard", "why": "it cannot"},
    ]
    text = page.internal(results({"standard": times}, peers=peers))
    assert "| standard | 4.000    | 2.000    | 2.00x" in text
    options_times = {**times, **{key: [run(3)] for key in goals.OPTIONS}}
    optional = {"tiny": options_times, "standard": options_times}
    text = page.page(results(optional, peers=peers), "chart.svg")
    assert re.search(r"\| standard \| +5 +\| 10 +\| 5 +\| 2 +\|", text)
    assert re.search(r"\| `--complete` +\| 1\.50x \| 1\.50x +\|", text)
    assert "| other     | 1.2     | standard | 5.000       | 4                 | 5 " in text
    assert re.search(r"\| it cannot +\|", text)
    assert re.search(r"\| 1 worker +\| 1\.000 +\| 10 +\| 2\.000 ", text)
    assert "abc" not in text
    assert "## Options" not in text


def test_the_page_compares_with_no_older_version_where_none_was_timed():
    times = {"one": [run(2)], "naive": [run(3)], "wc": [run(0.1)], "two": [run()]}
    text = page.internal(results({"standard": times}, no_base="no revision was named"))
    assert "## CPU time" not in text
    assert "not measured: no revision was named" in text
