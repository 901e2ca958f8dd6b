"""Days of agents behind a gateway come out as they were played."""

from collections import Counter

import pytest

from tests.simulator.conversion import scored
from tests.simulator.days import DAYS, play_day
from tests.simulator.exchanges import exchanges, last_text
from tests.simulator.not_yet import DAYS_NOT_YET
from tests.simulator.score import DAY_GOALS

SEEDS = range(2)


@pytest.mark.parametrize("ids", [True, False], ids=["with ids", "without ids"])
@pytest.mark.parametrize("name", DAYS)
def test_a_day_comes_out_as_it_was_played(name, ids):
    score = scored([play_day(name, seed, ids=ids) for seed in SEEDS])
    misses = "\n".join(map(str, score.misses[:20]))
    if name in DAYS_NOT_YET:
        assert min(score.share(goal) for goal in DAY_GOALS) >= DAYS_NOT_YET[name], misses
    else:
        assert not score.failed(DAY_GOALS), misses


@pytest.mark.parametrize("name", DAYS)
def test_a_day_has_sessions_that_overlap_and_more_than_turns(name):
    met = set()
    for seed in range(6):
        played = play_day(name, seed)
        logged = exchanges(played)
        assert {each.session_id is None for each in logged} == {not DAYS[name].ids}
        assert len(played.truth.sessions) > 1
        met |= {each.reply.behaviour for each in logged}
        met |= {each.kind for each in played.truth.conversations.values()}
    assert set(DAYS[name].events) - met <= {"side-probe", "emptied-then-rewind", "regenerate"}
    assert {"main", "branch", "side", "subagent", "compacted"} <= met


@pytest.mark.parametrize("name", [name for name, day in DAYS.items() if day.each_turn])
def test_a_request_of_each_turn_ends_a_day(name):
    logged = exchanges(play_day(name, 0))
    texts = Counter(last_text(each) for each in logged if each.reply.kind == "side")
    assert texts.most_common(1)[0][1] > 3
    assert logged[-1].reply.kind == "side"


def test_a_seed_gives_the_same_day():
    for name in DAYS:
        assert play_day(name, 1).files == play_day(name, 1).files
