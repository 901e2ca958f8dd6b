"""The model of a run over machines gives what can be worked out by hand, and the page shows what it gives."""

import math
from dataclasses import fields, replace

import pytest

from bench import scale
from bench.cluster import HOUR, MB, Cluster, Given, divided, own_speed, share, simulate
from bench.compared import _LOCAL, Compared
from bench.kept import Kept, keep, kept
from tests.conftest import cases

QUIET = replace(_LOCAL, core=100, log=10, records=0.1, start=2, divide=0, join=0, copy=50, shard=1000)
"""Nothing happens by chance; a shard takes 2 s to start and 10 s to convert."""


def seconds(given, shards=10, machines=1, seed=0):
    return Cluster(given, [1000.0] * shards, machines, seed).seconds()


@cases(
    "sentence, given, shards, machines, expected",
    ("one slot takes all shards in turns", {}, 10, 1, 120),
    ("two machines take half of them each", {}, 10, 2, 60),
    ("two slots of a machine do as two machines", {"cores": 2}, 10, 1, 60),
    ("more slots than cores share these, where nothing is waited for", {"slots": 2}, 10, 1, 5 * (2 + 20)),
    ("a slot more than there are shards is idle", {}, 2, 3, 12),
    ("the last shard is waited for", {}, 3, 2, 24),
    ("a machine that comes up late", {"boot": 30}, 10, 1, 150),
    ("a shard that has to be placed", {"place": 1}, 10, 1, 130),
    ("a slower machine", {"slow": 1, "slower": 3}, 10, 1, 360),
    ("a network that gives less than the core takes", {"network": 50}, 10, 1, 220),
    ("which slots of a machine share", {"network": 50, "cores": 2}, 10, 1, 5 * (2 + 40)),
    ("a store that answers 5 reads a second, of 10 MB each", {"requests": 5, "part": 10}, 10, 1, 220),
    ("the same of 5 MB each", {"requests": 5, "part": 5}, 10, 1, 420),
    ("which all machines share", {"requests": 5, "part": 10}, 10, 2, 5 * (2 + 40)),
    ("reading takes the core as well", {"fetch": 100}, 10, 1, 220),
    ("each log is waited for", {"wait": 0.1}, 10, 1, 10 * (2 + 20)),
    ("two logs are waited for at a time", {"wait": 0.1, "ahead": 2}, 10, 1, 10 * (2 + 15)),
    ("slots wait for each other's sake", {"wait": 0.1, "slots": 2}, 10, 1, 5 * (2 + 20)),
)
def test_what_can_be_worked_out_by_hand(sentence, given, shards, machines, expected):
    assert seconds(replace(QUIET, **given), shards, machines) == pytest.approx(expected), sentence


def test_a_shard_that_fails_is_tried_until_it_is_done():
    cluster = Cluster(replace(QUIET, fails=0.5), [1000.0] * 50, 2, seed=1)
    assert cluster.seconds() > 300
    assert 70 < cluster.attempts < 140


def test_shards_of_a_lost_machine_are_done_by_others():
    given = replace(QUIET, lost=100, notice=5, boot=1)
    cluster = Cluster(given, [1000.0] * 50, 2, seed=1)
    assert cluster.seconds() > 305
    assert cluster.attempts > 50


def test_a_machine_that_is_lost_while_it_waits_takes_no_shard_with_it():
    given = replace(QUIET, cores=4, lost=500, notice=1, boot=0)
    for seed in range(20):
        cluster = Cluster(given, [1000.0] * 3, 1, seed)
        assert math.isfinite(cluster.seconds())


def test_chance_alone_makes_nothing_faster():
    even, uneven = QUIET, replace(QUIET, spread=0.3)
    assert seconds(uneven, 2000) == pytest.approx(seconds(even, 2000), rel=0.03)
    assert seconds(uneven, 40, 20) > seconds(even, 40, 20)


def test_the_same_seed_gives_the_same_run():
    first, same, other = (simulate(Given(), 1e12, 4, seed) for seed in (1, 1, 2))
    assert first == same != other


def test_listing_and_merging_are_done_by_one_machine():
    took = simulate(replace(QUIET, page=0.5, keys=10, divide=0.01, join=0.02), 10_000 * MB, 5)
    assert took.listing * HOUR == pytest.approx(2 + 100 * 0.5 + 1000 * 0.01)
    assert took.converting * HOUR == pytest.approx(24)
    assert took.merging * HOUR == pytest.approx(2 + 1000 * 0.02 + 1000 / 50)
    assert took.machines == pytest.approx(5 * took.converting + took.listing + took.merging)
    assert took.hours == took.listing + took.converting + took.merging


def test_shards_are_no_larger_than_they_should_be():
    assert divided(QUIET, 2500) == [pytest.approx(2500 / 3)] * 3
    assert divided(QUIET, 10) == [10]


def test_a_number_below_nothing_is_refused():
    with pytest.raises(AssertionError):
        replace(QUIET, boot=-1)


def test_every_assumption_has_a_source():
    for each in fields(Given):
        assert each.metadata["what"], each.name
        assert each.metadata["source"], each.name


def test_what_moves_the_result_most_comes_first():
    found = scale.swings(replace(QUIET, boot=1000, place=0.1), 10_000 * MB, 1)
    assert found[0].what == "boot"
    assert [each.width for each in found] == sorted((each.width for each in found), reverse=True)
    assert {each.what for each in found} == {each.name for each in fields(Given)}


def test_an_error_says_by_how_much_too_much_was_predicted():
    assert Compared("x", 1, 1, "shards", 1, 12.0, 10.0, 0.0).error == pytest.approx(0.2)


def test_runs_disturbed_by_other_programs_do_not_count():
    runs = [Compared("x", 1, 1, "shards", 1, 12.0, 10.0, 0.0), Compared("x", 1, 1, "shards", 1, 15.0, 10.0, 1.0)]
    made = scale.regions(Kept(kept().rates, runs), [])["compared"]
    assert made == "1 runs with 1 nodes, of *x*: errors from +20% to +20%, median +20%."


def test_what_was_measured_is_kept(tmp_path):
    known = Kept(kept().rates, [Compared("x", 1, 2, "shards", 1, 3.0, 4.0, 0.5)])
    keep(known, tmp_path / "rates.json")
    assert kept(tmp_path / "rates.json") == known


def test_the_rate_of_a_shape_is_what_it_takes_beyond_a_start():
    rate = next(iter(kept().rates.shapes.values()))
    assert rate.speed(rate.cpu / 2) == pytest.approx(2 * rate.speed(0))


def test_the_page_shows_what_the_model_gives_now():
    page = scale.DOCS.read_text(encoding="utf-8")
    made = scale.regions(kept(), ["1 TB"])
    assert made
    assert scale.placed(page, made) == page, "write it anew with: make scale"


def test_regions_are_placed_by_their_names_and_others_stay():
    page = "<!-- generated: a -->\n\nold\n\n<!-- /generated -->\n<!-- generated: b -->\n<!-- /generated -->\n"
    assert scale.placed(page, {"a": "new"}) == page.replace("old", "new")
    assert list(scale.shown(page)) == ["a", "b"]


def test_a_slot_has_its_part_of_what_is_shared():
    given = replace(QUIET, cores=4, network=100, requests=10, part=5)
    assert [share(given, machines, 100) for machines in (1, 2)] == [12.5, 6.25]
    assert share(given, 1, 2) == 25  # the others have nothing to do
    assert own_speed(replace(given, fetch=25), 1, 100) == pytest.approx(20)


def test_what_others_leave_is_shared_by_those_that_are_left():
    given = replace(QUIET, start=0, network=100, cores=2, spread=0)
    assert seconds(given, 3) == pytest.approx(20 + 10)


def test_a_slow_machine_is_no_slower_where_the_network_is():
    given = replace(QUIET, network=20, slow=1, slower=3, start=0)
    assert seconds(given, 2) == pytest.approx(100)
