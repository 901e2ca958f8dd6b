"""What loaders do not give back of the specified record is found however rare it is."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core.model import Conversation
from chatsquash.records.shaping import specified_record_violations

HASTY = 0.7
KEYS = st.sampled_from(["a", "a\\", 'a"', "\\\\", "é", "1.5", ""])
VALUES = st.recursive(
    st.one_of(st.just(HASTY), st.integers(-9, 9), st.text(max_size=3)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def codes(value):
    conversation = Conversation([{"role": "user", "content": [value]}], [])
    return [found.code for found in specified_record_violations(conversation, orjson.dumps(value))]


def holds(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value == HASTY or any(map(holds, inner))


@given(VALUES)
def test_a_float_that_loaders_round_is_found_wherever_it_stands(value):
    assert ("float-rounded" in codes(value)) == holds(value)


@pytest.mark.parametrize("value", [5e-324, -1.7976931348623157e308, 2.5e-05, 0.7], ids=str)
def test_a_float_is_found_however_it_is_written(value):
    assert codes([value]) == codes({"a\\": value}) == codes({"a": [1, value]}) == ["float-rounded"]
