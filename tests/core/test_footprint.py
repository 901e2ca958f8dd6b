"""What the parsed form of JSON takes is told from its bytes, never much too low, and hardly for what is short."""

import json
import tracemalloc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core import footprint, jsonio

N = 20_000
SHAPES = {
    "empty lists": "[" + "[]," * N + "1]",
    "empty objects": "[" + "{}," * N + "1]",
    "small numbers": "[" + "1," * N + "1]",
    "numbers": "[" + "77777," * N + "1]",
    "fractions": "[" + "1.25," * N + "1]",
    "fractions with too many digits": "[" + "0.1234567890123456789," * N + "1]",
    "lists of one": "[" + "[1]," * N + "1]",
    "lists in lists": "[" + ("[" * 200 + "]" * 200 + ",") * 100 + "1]",
    "objects of one": "[" + '{"":1},' * N + "1]",
    "objects in objects": "[" + ('{"":' * 100 + "1" + "}" * 100 + ",") * 100 + "1]",
    "names": "{" + ",".join(f'"{n}":1' for n in range(N)) + "}",
    "objects with names of their own": "[" + ",".join(f'{{"k{n}":1}}' for n in range(N)) + "]",
    "short texts": "[" + '"ab",' * N + "1]",
    "one long text": '"' + "x" * N * 10 + '"',
    "a long text with one character that takes four bytes": '"' + "x" * N * 10 + '\U0001f600"',
    "the same as an escape": '"' + "x" * N * 10 + '\\ud83d\\ude00"',
    "texts that hold JSON": json.dumps(["[[],{},[]]" * 100] * 100),
    "backslashes": json.dumps(['\\"' * 1000] * 100),
    "spaced": "[" + "[ ] , " * N + "1]",
}


def taken(data: bytes) -> int:
    tracemalloc.start()
    try:
        held = jsonio.loads(data)
        return tracemalloc.get_traced_memory()[0] if held is not None else 0
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", SHAPES)
def test_what_a_shape_takes_is_told_and_not_much_more(name):
    data = SHAPES[name].encode()
    weight = footprint.weigh(data)
    assert taken(data) * 0.95 <= weight
    assert weight <= footprint.FACTOR * len(data)
    assert weight <= 8 * taken(data) + 1000


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "fractions with too many digits"])
@pytest.mark.parametrize("window", [64, 1000])
def test_it_hardly_matters_where_a_window_ends(name, window, monkeypatch):
    """A pair of brackets, a number with many digits or an escape may be cut, and then counts a little otherwise."""
    data = SHAPES[name].encode()
    whole = footprint.weigh(data)
    monkeypatch.setattr(footprint, "_WINDOW", window)
    assert whole * 0.95 <= footprint.weigh(data) <= whole * 1.05


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=60,
)


@given(VALUES, st.booleans())
def test_whatever_is_parsed_takes_about_what_was_told(value, spaced):
    data = json.dumps(value, ensure_ascii=spaced).encode()
    msgspec.json.decode(b"1")
    assert taken(data) <= 1.3 * footprint.weigh(data) + 2000


def test_a_text_counts_by_what_stands_outside_of_its_strings():
    """Else a long text about code would be refused."""
    code = json.dumps(["[{},{},[]]" * 1000])
    assert footprint.weigh(code.encode()) < 2 * len(code) + 1000
    assert not footprint.exceeds(code, 3 * len(code))
    assert footprint.exceeds("[" + "[]," * 1000 + "1]", 3000)


def test_what_can_never_take_too_much_is_not_looked_at(monkeypatch):
    monkeypatch.setattr(footprint, "weigh", lambda data: pytest.fail("looked at"))
    assert not footprint.exceeds(b"[" * 1000, footprint.FACTOR * 1000)


def test_nothing_is_parsed_anywhere_that_would_take_more_than_the_default(monkeypatch):
    monkeypatch.setattr(footprint, "MOST", 100_000)
    monkeypatch.setattr(jsonio, "LARGE", 100)
    with pytest.raises(jsonio.TooLargeError, match="take more than 100,000 bytes"):
        jsonio.loads(SHAPES["empty lists"])
    assert jsonio.loads("[" + "1," * 100 + "1]")[-1] == 1
