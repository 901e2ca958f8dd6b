"""The plain way gives what the general path gives, of every log that it takes."""

from __future__ import annotations

import pytest

from tests.plain.hold import TAKING, both_folders
from tests.plain.logs import log
from tests.plain.lot import Lot

TAKEN, LOTS = 5000, 20
"""How many logs the plain way takes here; `make fuzz-plain` has it take more."""
APART = 10**6
"""How far the seeds of lots are apart."""


@pytest.mark.parametrize("lot", range(LOTS))
def test_logs_that_grow_and_what_may_happen_to_them(lot, tmp_path):
    Lot(tmp_path).until(TAKEN // LOTS, lot * APART)


@pytest.mark.parametrize("row", range(len(TAKING)))
def test_whole_outputs(row, tmp_path):
    data = [log(seed) for seed in range(row * APART + APART // 2, row * APART + APART // 2 + 40)]
    files, taken = both_folders(data, TAKING[row], tmp_path)
    assert "run.json" in files
    assert taken > 5
