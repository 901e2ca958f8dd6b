"""No format loses what it can hold; the table of all of them is in docs/formats.md."""

import pytest

from tests.formats.kinds import KINDS
from tests.formats.round_trip import AT_LEAST, FORMATS, cell, is_worse

TEXT_ONLY = {("is_error", name) for name in ("openai_responses", "ollama", "portable", "oumi")}
"""Formats without a place for the mark keep the text as it is; nothing is put into it or taken out of it."""


def test_the_kinds_are_those_of_the_table():
    assert list(KINDS) == list(AT_LEAST)
    assert len(KINDS) == 43


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", AT_LEAST)
def test_no_cell_is_worse_than_it_can_be(kind, name):
    expected = AT_LEAST[kind][FORMATS.index(name)]
    if (kind, name) not in TEXT_ONLY:
        assert not is_worse(cell(kind, name), expected)
