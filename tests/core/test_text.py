"""Texts: how many characters a long one has."""

import pytest

from chatsquash.core import text


@pytest.mark.parametrize("sample", ["", "plain", "né", "✓ and 😀", "\u0800" * 70])
@pytest.mark.parametrize("window", [4, 5, 1 << 16])
def test_characters_are_counted_in_pieces_that_may_end_within_one(monkeypatch, sample, window):
    monkeypatch.setattr(text, "_WINDOW", window)
    assert text.count_characters(sample.encode()) == len(sample)


def test_an_incomplete_character_is_an_error():
    with pytest.raises(UnicodeDecodeError):
        text.count_characters(b"\xc3")
