"""Times at the precision of the log."""

import json
from datetime import UTC, datetime

import pytest

from chatsquash.core.times import Moment, day, moment, read, utc
from chatsquash.sources.names import is_day

SECOND = 10**9


def at(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp()) * SECOND


NOON = at(2026, 1, 13, 12)
ROWS = [
    ("Z is UTC", b'"2026-01-13T12:00:00Z"', Moment(NOON)),
    ("an offset counts", b'"2026-01-13T13:30:00+01:30"', Moment(NOON)),
    ("no offset is read as UTC and said so", b'"2026-01-13T12:00:00"', Moment(NOON, naive=True)),
    ("a space for the T", b'"2026-01-13 12:00:00+00:00"', Moment(NOON)),
    ("a date alone is its first instant", b'"2026-01-13"', Moment(at(2026, 1, 13), naive=True)),
    ("milliseconds", b'"2026-01-13T12:00:00.125Z"', Moment(NOON + 125_000_000)),
    ("nanoseconds are not cut", b'"2026-01-13T12:00:00.123456789Z"', Moment(NOON + 123_456_789)),
    ("digits below nanoseconds are cut", b'"2026-01-13T12:00:00.1234567891Z"', Moment(NOON + 123_456_789)),
    ("a comma before the fraction", b'"2026-01-13T12:00:00,5Z"', Moment(NOON + SECOND // 2)),
    ("before the epoch", b'"1969-12-31T23:59:59.5Z"', Moment(-SECOND // 2)),
    ("escapes in the string", rb'"2026-01-13T12:00:00\u005a"', Moment(NOON)),
    ("epoch seconds", b"1768305600", Moment(NOON)),
    ("epoch seconds with nanoseconds", b"1768305600.123456789", Moment(NOON + 123_456_789)),
    ("from 1e11 on milliseconds", b"1768305600000", Moment(NOON)),
    ("from 1e14 on microseconds", b"1768305600000001", Moment(NOON + 1000)),
    ("from 1e17 on nanoseconds", b"1768305600000000001", Moment(NOON + 1)),
    ("just below 1e11 seconds", b"99999999999", Moment(99999999999 * SECOND)),
    ("1e11 itself", b"1e11", Moment(10**17)),
    ("negative numbers", b"-1.5", Moment(-1_500_000_000)),
    ("an offset that leads out of the last year", b'"9999-12-31T23:59:59-23:59"', None),
    ("an offset that leads out of the first year", b'"0001-01-01T00:00:00+23:59"', None),
    ("the last second", b'"9999-12-31T23:59:59Z"', Moment(at(9999, 12, 31, 23, 59, 59))),
    ("a year that no date has", b"1e300", None),
    ("an exponent that no memory holds", b"1e999999999", None),
    ("NaN", b"NaN", None),
    ("a boolean", b"true", None),
    ("null", b"null", None),
    ("nothing", b"", None),
    ("an object", b"{}", None),
    ("a string of something else", b'"yesterday"', None),
    ("an empty string", b'""', None),
    ("a string of digits is no ISO time", b'"1768305600"', None),
    ("a day that the month has not", b'"2026-02-30T00:00:00Z"', None),
]


@pytest.mark.parametrize(("sentence", "raw", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_moment(sentence, raw, expected):
    assert moment(raw) == expected


@pytest.mark.parametrize(("sentence", "raw", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_a_time_that_is_parsed_already(sentence, raw, expected):
    try:
        value = json.loads(raw)
    except ValueError:
        return
    found = read(value)
    if type(value) is float and expected:  # which has fewer digits
        assert abs(found.at - expected.at) < 1000
    else:
        assert found == expected


def test_a_number_with_more_digits_than_any_time_is_none():
    assert read(10**10_000) is None


def test_day():
    assert day(NOON) == "2026-01-13"
    assert day(-1) == "1969-12-31"
    assert day(moment(b'"9999-12-31T23:59:59.999999999Z"').at) == "9999-12-31"


@pytest.mark.parametrize(("seconds", "year"), [(-1, 1970), (0, 1970), (253_402_300_799, 9999), (10**30, 9999)])
def test_times_outside_the_calendar_become_the_nearest_one(seconds, year):
    assert utc(seconds).year == year


@pytest.mark.parametrize("text", ["2026-1-13", "20260113", "2026-02-30", "2026-W03-2", "x026-01-13", "", "2026-01-130"])
def test_what_is_no_day(text):
    assert not is_day(text)
    assert is_day("2026-01-13")
