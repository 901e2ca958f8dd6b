"""JSON in and out, also where the fast parser and the fast writer refuse."""

import json
import sys
from fractions import Fraction

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core import jsonio
from tests import oracle, strategies
from tests.conftest import cases

DEEP = 400  # levels, more than orjson takes


def described(value):
    """A value so that 1, 1.0, True and -0.0 differ."""
    return repr(value)


@cases("text",
    ("ordinary values", '{"a":[1,1.5,true,false,null,"x"],"b":{}}'),
    ("the order of keys", '{"b":1,"a":2}'),
    ("an empty object and list", "[{},[]]"),
    ("an empty key", '{"":1}'),
    ("letters of any script", '"é日😀"'),
    ("characters that JSON need not escape", '"\x7f\u2028\u2029/"'),
    ("characters that it must", '"\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f"'),
    ("the largest integer of 64 bits", "18446744073709551615"),
    ("the next one", "18446744073709551616"),
    ("the smallest integer of 64 bits", "-9223372036854775808"),
    ("the one before", "-9223372036854775809"),
    ("an integer of 4300 digits", "9" * 4300),
    ("integers beside floats", "[1,1.0,10.0,1e+16]"),
    ("zero with a sign", "-0.0"),
    ("the smallest number that is not zero", "5e-324"),
    ("the largest number", "1.7976931348623157e+308"),
    ("17 digits that a double holds", "0.30000000000000004"),
    ("a lone surrogate", '"\\ud800"'),
    ("the other kind of surrogate", '"a\\udfffb"'),
    ("a lone surrogate in a key", '{"\\ud800":{"\\udc00":1}}'),
    ("a lone surrogate beside all that is escaped", '"\\ud800\\"\\\\\\n\\u0000é😀\x7f"'),
    ("a deep list", "[" * DEEP + "]" * DEEP),
    ("a deep object", '{"a":' * DEEP + "1" + "}" * DEEP),
)  # fmt: skip
def test_what_is_read_is_what_is_written(text):
    for data in (text, text.encode()):
        assert jsonio.dumps(jsonio.loads(data)) == text.encode()
        assert jsonio.encode(jsonio.loads(data)) == (text.encode(), [])


@cases(
    "text, written",
    ("white space", ' [ 1 ,\t{ "a"\r\n: 2 } ] ', '[1,{"a":2}]'),
    ("escapes that need not be", '"\\u0041\\u00e9\\/\\ud83d\\ude00"', '"Aé/😀"'),
    ("the last of equal keys, in the place of the first", '{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'),
    ("other spellings of a float", "[1.50,1E5,1e-7,100e0,0.1e1]", "[1.5,100000.0,1e-7,100.0,1.0]"),
    ("minus zero without a point is an integer", "-0", "0"),
    ("surrogates that make up a pair", '"\\ud83d\\ude00"', '"😀"'),
)
def test_what_is_written_is_spelled_the_way_orjson_does(text, written):
    assert jsonio.dumps(jsonio.loads(text)) == written.encode()
    assert orjson.dumps(orjson.loads(written)) == written.encode()


@cases(
    "text",
    ("nothing", ""),
    ("half a value", '{"a": '),
    ("two values", "{} {}"),
    ("a trailing comma", "[1,]"),
    ("single quotes", "{'a':1}"),
    ("a key without quotes", "{a:1}"),
    ("a leading zero", "01"),
    ("a number without its fraction", "1."),
    ("a plus sign", "+1"),
    ("a control character", '"\n"'),
    ("a NUL behind it", "{}\x00"),
    ("a wrong escape", '"\\x41"'),
    ("a comment", "[1] // one"),
    ("Python's spelling", "[None, True]"),
    ("more digits than Python reads", "9" * 4301),
)
def test_what_is_no_json(text):
    for data in (text, text.encode()):
        with pytest.raises(ValueError):
            jsonio.loads(data)
    with pytest.raises(ValueError):
        json.loads(text)


@cases(
    "text",
    ("NaN", "NaN"),
    ("Infinity", "[Infinity]"),
    ("minus Infinity", '{"a":{"b":[-Infinity]}}'),
    ("a number too large for a double", "1e999"),
    ("the same with many digits", "-123456789012345678901234567890e300"),
    ("a number of very many digits", "1" * 400 + ".5"),
    ("NaN beside what only the slow parser takes", '["\\ud800",NaN]'),
)
def test_numbers_that_are_none(text):
    with pytest.raises(jsonio.NotFiniteError):
        jsonio.loads(text)


def test_damage_beside_nan_is_no_json_at_all():
    with pytest.raises(json.JSONDecodeError):
        jsonio.loads("[NaN, }")


def test_bytes_that_are_no_text_are_no_json():
    for data in (b'"\xff"', b'"\xc0\x80"', b'"a\xc3"', b'"\xf4\x90\x80\x80"'):
        with pytest.raises(ValueError):
            jsonio.loads(data)


def test_bytes_of_surrogates_are_taken_for_them():
    assert jsonio.loads(b'"\xed\xa0\x80"') == "\ud800"
    assert jsonio.dumps(jsonio.loads(b'"\xed\xa0\x80"')) == b'"\\ud800"'


def test_nesting_that_no_parser_follows_is_an_error_of_its_own():
    with pytest.raises(RecursionError):
        jsonio.loads("[" * 100_000 + "]" * 100_000)


def test_writing_goes_to_any_depth():
    deep = []
    for _ in range(10 * sys.getrecursionlimit()):
        deep = [deep, {"a": 2**70}]
    assert jsonio.dumps(deep).count(b"[") == 10 * sys.getrecursionlimit() + 1


@cases(
    "spelled, value",
    ("more digits than a double holds", "0.1234567890123456789", 0.12345678901234568),
    ("a large number with a fraction", "123456789012345678901234567890.5", 1.2345678901234568e29),
    ("a number so small that it is 0", "1e-400", 0.0),
    ("a number so small that it has few digits", "1.23456789e-320", 1.2347e-320),
    ("an exponent beyond all reason", "-1e-99999999999999999999", -0.0),
)
def test_numbers_that_lose_digits_say_so(spelled, value):
    found = jsonio.loads(f'{{"a":[1.5,{spelled}],"b":"\\ud800"}}')
    assert described(found["a"][1] + 0.0) == described(value + 0.0)
    assert jsonio.rounded(found) == [spelled]
    written, spellings = jsonio.encode(found)
    assert spellings == [spelled]
    assert written == b'{"a":[1.5,' + orjson.dumps(value) + b'],"b":"\\ud800"}'


@cases(
    "spelled",
    ("more zeros than needed", "0.50000000000000000000000"),
    ("zero in many digits", "0.0000000000000000000000"),
    ("zero with an exponent beyond all reason", "0.0e-99999999999999999999"),
    ("a large number that is exact", "123456789012345680000000.0e5"),
    ("the shortest spelling of 17 digits", "0.30000000000000004"),
    ("the smallest number", "5e-324"),
)
def test_numbers_that_are_only_spelled_otherwise_do_not(spelled):
    value = jsonio.loads(spelled)
    assert value == float(spelled)
    assert jsonio.encode([value]) == (orjson.dumps([float(spelled)]), [])


def test_all_numbers_that_lost_digits_are_named_in_order():
    long = "0.1234567890123456789"
    assert jsonio.encode(jsonio.loads(f'[{long},{{"a":{long}1}},{long}2]'))[1] == [long, long + "1", long + "2"]


def test_leaves_come_in_order_and_without_keys():
    value = {"k": [1, "a", {"x": None}], "l": True, "m": {}, "n": [], "o": 1.5}
    assert list(jsonio.leaves(value)) == [1, "a", None, True, 1.5]
    assert list(jsonio.leaves("a")) == ["a"]


def test_sorted_keys_tell_definitions_apart_whatever_their_order():
    first, second = {"b": [1, {"y": 1, "x": 2}], "a": 2**70}, {"a": 2**70, "b": [1, {"x": 2, "y": 1}]}
    assert jsonio.dumps(first, sort_keys=True) == jsonio.dumps(second, sort_keys=True)
    assert jsonio.dumps({"b": 1, "a": 2}, sort_keys=True) == b'{"a":2,"b":1}'
    assert jsonio.dumps({"b": "\ud800", "a": 2}, sort_keys=True) == b'{"a":2,"b":"\\ud800"}'
    distinct = [jsonio.dumps({"n": n}, sort_keys=True) for n in (1, 1.0, True, "1")]
    assert len(set(distinct)) == 4


TEXTS = st.text(st.characters(exclude_categories=()), max_size=8) | st.sampled_from(strategies.TEXTS)
NUMBERS = st.integers() | st.integers(-(2**200), 2**200) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(TEXTS, inside, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_values_are_written_as_the_oracle_writes_them(value):
    assert jsonio.dumps(value) == oracle.encode(value)
    try:
        fast = orjson.dumps(value)
    except orjson.JSONEncodeError:
        return
    assert jsonio.dumps(value) == fast


@given(VALUES, st.booleans())
def test_values_are_read_as_python_reads_them(value, escaped):
    text = json.dumps(value, ensure_ascii=escaped)
    for data in (text, text.encode("utf-8", "surrogatepass")):
        assert described(jsonio.loads(data)) == described(json.loads(text))


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_numbers_are_what_python_reads_or_named(spelled):
    expected = json.loads(spelled)
    try:
        value = jsonio.loads(spelled)
    except jsonio.NotFiniteError:
        assert expected in (float("inf"), float("-inf"))
        return
    assert type(expected) in type(value).__mro__
    assert value == expected
    written, named = jsonio.encode([value])
    assert (named == []) == (Fraction(spelled) == Fraction(written[1:-1].decode()))
