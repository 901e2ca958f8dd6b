"""The plain way gives what the general path gives, of every log that it takes."""

from __future__ import annotations

from random import Random

import pytest

from tests.plain import logs
from tests.plain.hold import OPTIONS, Both, small_pieces

TAKEN, LOTS = 5000, 20
"""How many logs the plain way has to take; `make fuzz-plain` tries more."""


@pytest.mark.parametrize("lot", range(LOTS))
def test_logs_that_grow_and_what_may_happen_to_them(lot, tmp_path):
    both = [Both(options) for options in OPTIONS]
    taken, seed = 0, lot * 10**6
    while taken < TAKEN // LOTS:
        seed += 1
        assert seed < lot * 10**6 + 10 * TAKEN // LOTS, "too few logs are taken"
        taken += held(both, seed, tmp_path)
