"""The search for the words that identify secrets."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.redaction import shapes
from chatsquash.redaction.rules import builtin
from chatsquash.redaction.shapes import Bytes, Words

LITERALS = sorted({literal for rule in builtin() if rule.value != "shape" for literal in rule.literals})


@pytest.fixture(params=["all at once", "one by one"])
def words(request, monkeypatch):
    """The words of the built-in rules, with and without the package that finds all at once."""
    if request.param == "one by one":
        monkeypatch.setattr(shapes, "_multi_pattern_search", lambda words: None)
    return Words(LITERALS)


@given(st.lists(st.one_of(st.sampled_from(LITERALS), st.text(max_size=3)), max_size=12).map("".join))
def test_every_place_of_every_word_is_found(text):
    lower = text.encode("ascii", "replace").lower().decode()
    expected = sorted(
        {
            (match.start(), word.lower())
            for word in LITERALS
            for match in re.finditer(f"(?={re.escape(word.lower())})", lower)
        }
    )
    assert sorted(set(Words(LITERALS).places(Bytes(text)))) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shapes, "_multi_pattern_search", lambda words: None)
        assert sorted(set(Words(LITERALS).places(Bytes(text)))) == expected


@pytest.mark.parametrize("text", ["", "token", "a TOKEN=x, -p y", "sqlplus --user me" * 100])
def test_words_that_contain_others_come_last(words, text):
    """The rule of a hit is that of the first word that leads to it."""
    places = words.places(Bytes(text))
    contained = [(at, word) for at, word in places if not any(word != each and each in word for _, each in places)]
    assert places[: len(contained)] == sorted(contained)
    assert bool(places) == bool(text)
