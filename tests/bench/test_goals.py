"""A promise is met, missed or not measured, and the page says which."""

import re

import pytest

from bench import goals, options, page, table
from bench.commands import BASE
from bench.generate import CONTENT, PROFILES
from bench.goals import COST, GROWTH, MEMORY, TIMES, Row, verdict
from bench.peers import PEERS
from bench.run import ON_PAGE, VARIANTS_ON_PAGE
from bench.scaling import CORES, Division, Length
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


def test_a_number_below_a_mere_aim_is_not_missed():
    only_an_aim = Row("", "", TIMES, None, 1, lambda _: 0.9)
    assert verdict(only_an_aim, 0.9) == "below the aim"
    assert verdict(only_an_aim, 1.1) == "aim"


def test_every_promise_is_of_logs_that_are_made_and_every_profile_is_described():
    assert {each.profile for each in goals.ROWS} <= set(PROFILES)
    assert set(CONTENT) == {*PROFILES, "own"}
    assert options.LOGS in PROFILES
    assert set(ON_PAGE) < set(PROFILES)


def test_other_converters_and_older_options_are_compared_on_the_same_logs():
    peers = [
        {"peer": "teich", "version": "1", "logs": "codex", "runs": [run(4)], "bytes": 20_000_000},
        {"peer": "teich", "version": "1", "logs": "pi", "why": "fails"},
    ]
    option_times = {"none": [run(1)], "none" + BASE: [run(1)], "complete": [run(2)], "complete" + BASE: [run(3)]}
    found = results({name: {"one": [run(1)]} for name in ("codex", "pi", "real")}, peers=peers, options=option_times)
    assert row("one worker, codex, MB per CPU second vs teich").value(found) == 2
    assert row("real, `--complete`, CPU vs {base}").value(found) == 1.5
    for absent in ("one worker, pi, MB per CPU second vs teich", "real, `--sessions-by id`, CPU vs {base}"):
        with pytest.raises(goals.NotMeasuredError):
            row(absent).value(found)


def test_goals_that_other_commands_measure_name_the_command():
    times = {"one": [run()], "help": [run()], "session": [run()]}
    found = results({"one": times}, modules=200)
    assert shown(found, "opening a log")[2:] == ["", "not measured: see `make profile PROFILE=tiny`"]
    assert shown(found, "the same, modules imported")[2:] == ["200", "aim"]


def test_the_goals_say_how_straight_the_cost_of_long_sessions_is_and_the_chart_shows_it():
    def length(added, ours, theirs):
        runs = {"one": [run(ours)], "one" + BASE: [run(theirs)], "wc": [run(0.1)]}
        return Length(added, added * 1_000_000, added * 30_000_000, runs)

    straight = row("how far CPU seconds beyond `wc` are a straight line over what was added to a session")
    found = results({}, lengths=[length(1, 1.1, 1.1), length(2, 2.1, 1.5), length(3, 3.1, 9.9)])
    assert straight.value(found) == pytest.approx(1)
    bent = results({}, lengths=[length(1, 1.1, 1.1), length(2, 1.5, 1.5), length(3, 9.9, 9.9)])
    assert straight.value(bent) == pytest.approx(0.784, abs=0.001)
    text = page.lengths(found | {"drawing": "chart.svg"})
    assert "from 1 to 3 requests" in text
    assert "up to 30 times" in text
    assert text.endswith("(chart.svg)")
    assert {">chatsquash<", ">wc<"} <= set(re.findall(">[a-z]+<", page.drawn(found)))


def test_the_page_has_a_section_for_all_that_was_measured():
    times = {"one": [run(2)], "one" + BASE: [run(4)], "naive": [run(3)], "wc": [run(0.1)], "two": [run()]}
    peers = [
        {"peer": "other", "version": "1.2", "logs": "standard", "runs": [run(5)], "bytes": 20_000_000},
        {"peer": "other", "version": "1.2", "logs": "tiny", "why": "it cannot"},
        {"peer": "another", "version": "", "logs": "standard", "why": "it cannot"},
        {"peer": "another", "version": "", "logs": "tiny", "why": "it cannot"},
    ]
    text = page.internal(results({"standard": times}, peers=peers))
    assert "| standard | 4.000    | 2.000    | 2.00x" in text
    options_times = {**times, **{key: [run(3, peak=40_000_000)] for key in goals.COSTS}}
    tenfold = {"one": [run(1)], "tenth": [run(2)], "two": [run(seconds=0.6)]}
    optional = {"tiny": options_times, "standard": options_times, "standard10": tenfold}
    text = page.page(results(optional, peers=peers), "chart.svg")
    assert squeezed("| standard | gateway, about 27 requests per session | 10 | 5.0 | 2.5 | 30 |") in squeezed(text)
    assert squeezed("| | tiny | peak MB | standard | peak MB |") in squeezed(text)
    assert squeezed("| `--complete` | 1.50x | 40 | 1.50x | 40 |") in squeezed(text)
    assert squeezed("| 10 times the sessions, per MB | | | 0.50x | 30 |") in squeezed(text)
    assert squeezed("| the same, 2 workers, elapsed time | | | 0.60x | 30 |") in squeezed(text)
    assert squeezed("| chatsquash | 5 | 5 | 30 | |") in squeezed(text)
    assert squeezed("| other 1.2 | 4 | | 30 | tiny: it cannot |") in squeezed(text)
    assert squeezed("| another | | | | standard, tiny: it cannot |") in squeezed(text)
    assert "standard10 |" not in text
    assert "abc" not in text
    assert "## Options" not in text


def squeezed(text):
    return re.sub(r" +", "", text)


@cases("others, cell", (0.0, "0.50x"), (0.9, "not measured"))
def test_the_elapsed_time_of_two_workers_is_relative_to_one_and_only_of_idle_cores(others, cell):
    times = {"one": [run(seconds=2)], "two": [run(seconds=1, others=others)] * 2}
    times |= {key: [run()] for key in goals.COSTS}
    text = table.growth(results({"tiny": times}))
    assert squeezed(f"| 2 workers, elapsed time | {cell} | 30 |") in squeezed(text)


def test_speed_up_is_relative_to_one_folder():
    divided = [Division(1, 4.0, 4.0), Division(2, 2.5, 5.0)]
    text = table.division(results({}, division=divided))
    assert squeezed("| speed-up | 1.0x | 1.6x |") in squeezed(text)
    assert squeezed("| CPU time of all | 1.00x | 1.25x |") in squeezed(text)


def test_the_page_for_users_is_short():
    plain = {"one": [run()], "tenth": [run()]}
    times = dict.fromkeys(ON_PAGE, plain)
    for name in goals.WITH_OPTIONS:
        times[name] = {each: [run()] for each in VARIANTS_ON_PAGE}
    lengths = [Length(10, 1_000_000, 10_000_000, {})]
    division = [Division(cores, 4.0, 4.0) for cores in CORES]
    peers = [
        {"peer": each.package, "version": "1.0", "logs": name, "why": "could not be installed"}
        for each in PEERS
        for name in each.logs
    ]
    found = results(times, lengths=lengths, division=division, peers=peers)
    assert len(page.page(found, "performance.svg").split()) <= 1_250


def test_the_page_compares_with_no_older_version_where_none_was_timed():
    times = {"one": [run(2)], "naive": [run(3)], "wc": [run(0.1)], "two": [run()]}
    text = page.internal(results({"standard": times}, no_base="no revision was named"))
    assert "## CPU time" not in text
    assert "not measured: no revision was named" in text
