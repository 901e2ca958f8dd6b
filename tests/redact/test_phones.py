"""Phone numbers are found as people write them; orders, times, versions and other numbers stay."""

import sys

import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core.errors import UsageError
from chatsquash.redaction.phones import phones
from tests.conftest import cases
from tests.redact.rows import rows

FOUND = [
    (None, "+49 30 901820", "+4930901820"),
    (None, "+49 (0)30 901820", "+4930901820"),
    (None, "+4930901820", "+4930901820"),
    (None, "+1 (415) 555-2671", "+14155552671"),
    (None, "+1-415-555-2671", "+14155552671"),
    (None, "+1.415.555.2671", "+14155552671"),
    (None, "0049 30 901820", "+4930901820"),
    (None, "004930901820", "+4930901820"),
    (None, "+33 6 12 34 56 78", "+33612345678"),
    (None, "+44 20 7946 0958", "+442079460958"),
    (None, "+49\u201130\u00a0901820", "+4930901820"),
    (None, "\uff0b49 30 901820", "+4930901820"),
    (None, "+\uff14\uff19 30 901820", "+4930901820"),
    ("DE", "030 901820", "+4930901820"),
    ("DE", "030/901820", "+4930901820"),
    ("DE", "(030) 90 18 20", "+4930901820"),
    ("DE", "+1 415 555 2671", "+14155552671"),
    ("US", "(415) 555-2671", "+14155552671"),
    ("US", "415-555-2671", "+14155552671"),
]


@cases("around", *rows("phones.a_number_is_found"))
@pytest.mark.parametrize("region, written, number", FOUND, ids=[f"{row[0]} {row[1]}" for row in FOUND])
def test_a_number_is_found(region, written, number, around):
    text = around.format(written)
    found = [(text[hit.start : hit.end], hit.kind, hit.rule, hit.value) for hit in phones(region)(text)]
    assert [each[1:] for each in found] == [("PHONE", "phone", number)]
    assert found[0][0] == written


SAID = [
    (None, "Registrant Phone: +1.4155552671", "+14155552671"),
    (None, "?tel=%2B49%2030%20901820", "+4930901820"),
    (None, "\\u002b49 30 901820", "+4930901820"),
    ("DE", "Tel. 030901820", "+4930901820"),
    ("US", "phone=4155552671", "+14155552671"),
]


@pytest.mark.parametrize("region, text, number", SAID, ids=[row[1] for row in SAID])
def test_a_number_that_is_said_to_be_one_is_found(region, text, number):
    assert [hit.value for hit in phones(region)(text)] == [number]


KEPT = [
    (None, "order 4155552671, id 004-155, ts 1700000000, 1700000000123"),
    (None, "030901820, 0171 39, 4155552671"),
    (None, "2026-01-02T10:00:00+02:00 2026-01-02 10:00:00 +0200"),
    (None, "x = +1.4142135624 - 1e+10"),
    (None, "@@ -1,2 +1,3 @@\n-4930901819\n+4930901820\n"),
    (None, "00 49 20 30 12 34 56 78 00 00 00 01"),
    (None, "00000000 0000000000049"),
    (None, "192.168.10.20 54.12.33.44 1.2.3.4"),
    (None, "c0ffee+49309018201 a+4930901820"),
    (None, "550e8400-e29b-41d4-a716-446655440000"),
    (None, "4111 1111 1111 1111"),
    (None, "+1 555"),
    ("DE", "2026-01-02 10:00, 01.02.2026 10, 02/01/2026 10"),
    ("DE", "order 0301234567 and 192.168.1.1 and 4.15.0-213"),
    ("US", "123-45-6789, 4155552671, 415.555.2671.1"),
]


@pytest.mark.parametrize("region, text", KEPT, ids=[row[1] for row in KEPT])
def test_what_is_no_number_stays(region, text):
    assert phones(region)(text) == []


EXAMPLES = {
    region: phonenumbers.example_number_for_type(region, phonenumbers.PhoneNumberType.MOBILE)
    for region in sorted(phonenumbers.SUPPORTED_REGIONS)
}


@pytest.mark.parametrize("form", ["INTERNATIONAL", "E164", "RFC3966"])
def test_the_numbers_of_every_country_are_found(form):
    written = {
        region: phonenumbers.format_number(number, getattr(phonenumbers.PhoneNumberFormat, form))
        for region, number in EXAMPLES.items()
        if number
    }
    assert [region for region, text in written.items() if not phones(None)(f"to {text}, please")] == []


def test_without_the_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "phonenumbers", None)
    with pytest.raises(UsageError, match=r"pip install 'chatsquash\[redact\]'"):
        phones(None)


def test_an_unknown_region_is_an_error():
    with pytest.raises(UsageError, match="--phone-region de: unknown region"):
        phones("de")


@given(st.text("0123456789+ -().\n\uff0bé/", max_size=80))
def test_any_text_is_searched(text):
    for hit in phones("DE")(f"{text} x +49 30 901820"):
        assert 0 <= hit.start < hit.end <= len(text) + 16
