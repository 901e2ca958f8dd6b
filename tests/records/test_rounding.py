"""Which floats ``datasets`` gives back as others, pinned to what version 5.2 gave."""

import pytest

from chatsquash.records.notes import float_text, is_rounded

# The number, what comes back from JSON lines, and what from Parquet.
GIVEN_BACK = [
    (0.5, 0.5, 0.5),
    (0.1, 0.1, 0.1),
    (0.7, 0.7000000000000001, 0.7000000000000001),
    (-0.7, -0.7000000000000001, -0.7000000000000001),
    (0.95, 0.9500000000000001, 0.9500000000000001),
    (0.97, 0.97, 0.97),
    (0.103, 0.10300000000000001, 0.10300000000000001),
    (2.5e-05, 2.4999999999999998e-05, 2.4999999999999998e-05),
    (1 / 3, 0.33333333330000003, 0.33333333333333304),
    (123.456, 123.456, 123.456),
    (3.0, 3.0, 3.0),
    (1e-12, 0.0, 1e-12),
    (1e-10, 1e-10, 1e-10),
    (1e-05, 1e-05, 1e-05),
    (5e-324, 0.0, 0.0),
    (1e16, 1e16, 1e16),
    (1e22, 1e22, 1e22),
    (1.5e300, 1.5e300, 1.5e300),
    (123456789.12345679, 123456789.12345679, 123456789.12345679),
    (0.12345678901, 0.12345678900000001, 0.12345678901),
    (6.02e23, 6.02e23, 6.02e23),
    (1.7976931348623157e308, float("inf"), 1.7976931348623151e308),
    (-0.0, 0.0, 0.0),
    (2.2250738585072014e-308, 2.2250738589999998e-308, 2.225073858507201e-308),
    (0.30000000000000004, 0.30000000000000004, 0.30000000000000004),
    (1000000000000000.5, 1000000000000000.5, 1000000000000000.5),
    (0.1234567891, 0.1234567891, 0.1234567891),
]


@pytest.mark.parametrize(("value", "from_lines", "from_parquet"), GIVEN_BACK, ids=[repr(row[0]) for row in GIVEN_BACK])
def test_a_float_changes_where_one_of_the_loaders_gives_another(value, from_lines, from_parquet):
    assert is_rounded(value) == (not value == from_lines == from_parquet)


def test_a_float_is_shown_as_the_record_has_it():
    assert [float_text(value) for value in (0.7, 1e-12, 2.5e-05)] == ["0.7", "1e-12", "0.000025"]
