"""Calls and results that stand alone, which services refuse."""

from chatsquash.translate.logs import unlinked
from tests.conftest import cases
from tests.formats.kinds import KINDS, answers, calling, gives, says


@cases(
    "turns, expected",
    (KINDS["parallel calls"].turns, {}),
    (KINDS["unanswered call"].turns, {"calls without a result": 1}),
    (KINDS["orphan result"].turns, {"results without a call": 1}),
    ([says(calling("")), answers(gives("x", to=""))], {}),
    ([says(calling("a")), answers(gives("x", to="a"), gives("x", to="a"))], {"results without a call": 1}),
)
def test_calls_and_results_that_stand_alone(turns, expected):
    assert dict(unlinked(turns)) == expected
