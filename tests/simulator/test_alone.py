"""Each behaviour that a log decides comes out as it was played, alone."""

import pytest

from tests.simulator.alone import WITHOUT_IDS, is_reached, plays, reached, scored
from tests.simulator.behaviours import behaviours
from tests.simulator.not_yet import NOT_MIXED, NOT_YET

SEEDS = 2


@pytest.mark.parametrize("name, played", list(plays()), ids=[name for name, _ in plays()])
def test_a_behaviour_comes_out_as_it_was_played(name, played):
    score = scored(played, range(1 if name.endswith(WITHOUT_IDS) else SEEDS))
    if name in NOT_YET:
        assert reached(score) >= NOT_YET[name], "\n".join(map(str, score.misses[:10]))
    else:
        assert is_reached(score), "\n".join(map(str, score.misses[:10]))


def test_only_behaviours_are_pending():
    assert NOT_YET.keys() <= {name for name, _ in plays()}
    assert NOT_MIXED <= behaviours().keys()
