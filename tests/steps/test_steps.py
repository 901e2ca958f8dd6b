"""The facts about replies are right on sessions with labels written by hand, without knowing the detectors.

Recordings and golden cases have few facts (``python -m tests.steps`` prints how many), because agents ran there without faults:
they show that ordinary replies have none. The bounds are for all together.
"""

import pytest

from tests.steps import planted
from tests.steps.measurement import held_out_sessions, measure, planted_sessions, real_sessions
from tests.steps.sessions import KINDS

PRECISION, RECALL = 0.98, 0.90


@pytest.mark.parametrize("kind", KINDS)
def test_a_fact_is_precise_and_rarely_missed(kind):
    scores, wrong = measure((*planted_sessions(), *held_out_sessions(), *real_sessions()))
    assert scores[kind].precision >= PRECISION, [each for each in wrong if each.kind == kind]
    assert scores[kind].recall >= RECALL, [each for each in wrong if each.kind == kind]


@pytest.mark.parametrize("kind", KINDS)
def test_each_fact_has_sessions_with_it_and_look_alikes(kind):
    has_fact = [any(kind in kinds for kinds in each.labels.values()) for each in planted.sessions(kind)]
    assert has_fact.count(True) >= 12
    assert has_fact.count(False) >= 12


def test_enough_replies_of_recordings_are_labelled():
    assert len(real_sessions()) >= 60
    assert sum(len(each.labels) for each in real_sessions()) >= 300
