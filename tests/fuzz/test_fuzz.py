"""Damaged logs neither break the reader nor escape the accounting; by chance, by seed, and those that once did."""

from pathlib import Path

import pytest

from tests.fuzz.hold import hold
from tests.fuzz.mutate import damaged, samples

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())
COUNT, LOTS = 400, 8
"""`make fuzz-fixed` tries 20,000, these among them."""


def test_the_samples_are_of_many_formats():
    assert sum(bool(lines) for lines in samples()) > 30


@pytest.mark.parametrize("path", CORPUS, ids=[path.name for path in CORPUS])
def test_a_log_that_once_broke_something(path):
    hold(path.read_bytes())


@pytest.mark.parametrize("lot", range(LOTS))
def test_damaged_samples(lot):
    for seed in range(lot * COUNT // LOTS, (lot + 1) * COUNT // LOTS):
        try:
            hold(damaged(seed))
        except BaseException as problem:
            problem.add_note(f"seed {seed}: python -m tests.fuzz --seed {seed} shows and keeps it")
            raise
