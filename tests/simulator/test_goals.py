"""chatsquash finds the conversations of simulated sessions; `make simulate` plays 2,000."""

import pytest

from tests.simulator.conversion import possible, scores
from tests.simulator.score import GOALS, HARD_GOALS

COUNT = 50
holds = pytest.mark.skipif(not possible(), reason="this version has not all options that the goals belong to")
"""Until it is one."""


@holds
@pytest.mark.parametrize("hard, goals", [(False, GOALS), (True, HARD_GOALS)], ids=["plain", "hard"])
def test_simulated_sessions_come_out_as_they_were_played(hard, goals):
    score = scores(range(COUNT), hard=hard)
    assert not score.failed(goals), "\n".join(map(str, score.misses[:20]))


@holds
def test_restored_replies_have_loss_where_that_is_asked_for():
    score = scores(range(10), only=("micro-compact",), restored_loss=True)
    assert not score.failed(GOALS), "\n".join(map(str, score.misses[:20]))
    assert score.share("loss") >= GOALS["loss"]
