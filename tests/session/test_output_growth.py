"""Sessions whose records would take very many times the bytes of their log."""

import json

import pytest

from chatsquash import Options, convert_session
from tests.conversion.shapes import SHAPES

LONG = "water levels of all harbours " * 100


def refused(shape, **options):
    """The records of a session of a shape with a long first prompt, and what refuses them."""
    lines = [json.dumps(row).replace("question 0", LONG).encode() for row in SHAPES[shape](12)]
    outcomes = convert_session(lines, Options(anonymize=False, **options))
    texts = [found.text for outcome in outcomes for found in outcome.findings if found.code == "output-growth"]
    return sum(len(outcome.records) for outcome in outcomes), texts


@pytest.mark.parametrize("options", [{"conversations": "all"}, {"conversations": "all", "samples": "reply"}])
def test_branches_of_a_long_history_are_refused_beyond_the_bound(options):
    records, why = refused("references", max_output_growth=3, **options)
    assert records == 0
    assert why[0].endswith("times the size of the log exceed --max-output-growth 3")


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ("references", {"conversations": "all"}),
        ("references", {"conversations": "all", "max_output_growth": 20}),
        ("references", {"max_output_growth": 3}),
        ("branches", {"conversations": "all", "max_output_growth": 3}),
        ("chain_by_id", {"samples": "reply", "max_output_growth": 13}),
        ("edited_prompts", {"conversations": "main", "max_output_growth": 1}),
        ("edited_prompts", {"conversations": "last", "max_output_growth": 1}),
    ],
)
def test_records_within_the_bound_are_written(shape, options):
    records, why = refused(shape, **options)
    assert records
    assert why == []
