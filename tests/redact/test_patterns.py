"""Patterns of users run in an engine of linear time, and what they fit is found at its exact place."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chatsquash.core.errors import UsageError
from chatsquash.redaction.patterns import is_all, pattern, refuse_pattern, spans
from tests.conftest import cases


@cases(
    "regex, text, found",
    ("a group", r"a(b)c", "abc abc", ["abc", "abc"]),
    ("alternatives, of which the first that fits is taken", r"a|ab", "ab", ["a"]),
    ("a flag", r"(?i)abc", "ABC abc", ["ABC", "abc"]),
    ("a flag for lines", r"(?m)^b$", "a\nb\nb", ["b", "b"]),
    ("named groups", r"(?P<one>a)(?<two>b)", "ab", ["ab"]),
    ("anchors, of each of the texts that are joined", r"^a\w*z$", "az\n\0\nab\n\0\nabz", ["az", "abz"]),
    ("nothing across two texts", r"(?s)a.*b", "a\n\0\nb, a b", ["a b"]),
    ("a class of all else", r"[^x]+", "ab\n\0\ncd", ["ab", "cd"]),
    ("nothing at all", r"x*", "abxxc", ["xx"]),
    ("characters of four bytes", "😀+b", "é😀😀b", ["😀😀b"]),
    ("private characters", r"\w", "\U000f0000a\ue000b\U000f0001", ["a", "b"]),
    ("lone surrogates", r"b+", "\ud800bb\udfffb", ["bb", "b"]),
    ("a dollar sign", r"\$\{1\}", "${1}", ["${1}"]),
    ("a NUL", r"a\x00b", "a\0b", ["a\0b"]),
)
def test_what_fits_is_found(regex, text, found):
    assert [text[start:end] for start, end in spans(regex, text)] == found


def test_a_pattern_has_the_kind_of_its_name():
    hits = pattern("order-id", r"#\d{4}")("see #1234")
    assert [tuple(hit) for hit in hits] == [(4, 9, "ORDER_ID", "order-id", "#1234")]


@cases(
    "name, regex, message",
    ("look-ahead", "id", "a(?=b)", "id: the pattern is invalid"),
    ("a reference back", "id", r"(a)\1", "id: the pattern is invalid"),
    ("a group that does not end", "id", "(a", "id: the pattern is invalid"),
    ("a group that ends twice", "id", "a)(b", "id: the pattern is invalid"),
    ("what is too large", "id", "(a{1000}){1000}", "id: the pattern is invalid"),
    ("no name", "", "a", "write NAME=REGEX"),
    ("a name with a space", "a b", "a", "write NAME=REGEX"),
    ("no pattern", "id", "", "write NAME=REGEX"),
)
def test_a_wrong_pattern_is_refused(name, regex, message):
    with pytest.raises(UsageError, match=message):
        pattern(name, regex)


@cases(
    "regex, value, fits",
    ("ab", "ab", True),
    ("a|ab", "ab", True),
    ("a", "ab", False),
    ("^a", "ab", False),
    ("(?i)AB", "ab", True),
    (".", "\n", False),
)
def test_a_pattern_fits_all_of_a_value(regex, value, fits):
    assert is_all(regex, value) is fits


ATOM = st.sampled_from(
    ["a", "b", "é", "[ab]", "[^a]", "(a)", "(?:ab)", "(b|ab)", "a|b", "(?i:B)", "😀", "(?P<n>b)", "."]
)
REGEX = st.lists(
    st.builds("{}{}".format, ATOM, st.sampled_from(["", "+", "*", "?", "{1,2}", "+?"])), min_size=1, max_size=4
)


@given(REGEX.map("".join), st.text("abABé😀\ue000 ", max_size=20))
def test_two_engines_agree_on_what_both_know(regex, text):
    assume(regex.count("?P<n>") <= 1)
    assume(not re.compile(regex).fullmatch(""))  # where a match is empty, one of them looks at its place once more
    refuse_pattern(regex, "here")
    assert spans(regex, text) == [each.span() for each in re.finditer(regex, text)]
