"""What an option costs is what a run with it takes beyond one without, in the same round."""

import pytest

from bench import options
from bench.commands import BASE


def runs(*cpu):
    return [{"cpu": each} for each in cpu]


def test_a_cost_is_the_median_of_the_differences_within_the_rounds():
    times = {"none": runs(1, 5, 2), "gzip": runs(2, 7, 4)}
    assert options.cost(times, "gzip") == options.Cost(4, 2)


def test_an_option_that_a_version_does_not_have_costs_it_nothing():
    assert options.cost({"none": runs(1), "none" + BASE: runs(1), "gzip": runs(2)}, "gzip", BASE) is None


@pytest.mark.parametrize(
    ("ours", "theirs", "is_dearer"),
    [(2.0, 1.9, True), (2.0, 1.98, False), (1.0, 1.5, False), (2.0, None, False)],
    ids=["dearer", "as dear but for what runs differ by", "cheaper", "new"],
)
def test_what_costs_more_than_it_did_is_named(ours, theirs, is_dearer):
    times = {"none": runs(1.0), "none" + BASE: runs(1.0), "gzip": runs(ours)}
    if theirs is not None:
        times["gzip" + BASE] = runs(theirs)
    assert options.dearer(times) == (["gzip"] if is_dearer else [])


def test_a_run_that_takes_longer_as_a_whole_makes_no_option_dearer():
    times = {"none": runs(3.0), "none" + BASE: runs(1.0), "gzip": runs(3.5), "gzip" + BASE: runs(1.5)}
    assert options.dearer(times) == []


@pytest.mark.parametrize("name", options.ROWS)
def test_this_version_has_every_option_that_is_timed(command, name):
    found = command("convert", "/nowhere/at/all", *options.ROWS[name].split())
    assert "/nowhere/at/all: cannot be read" in found.err
