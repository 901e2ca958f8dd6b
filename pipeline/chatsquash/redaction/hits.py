"""What a search for private data finds in a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Hit(NamedTuple):
    """A value that is to be replaced, and where it stands."""

    start: int
    end: int
    """Offsets of the characters that a placeholder takes the place of: of an encoded value those that encode it."""
    kind: str
    """The word of its placeholder, in upper case: ``AWS_ACCESS_KEY_ID``."""
    rule: str
    """The name of the rule that found it: ``aws-access-key-id``."""
    value: str
    """The value itself, decoded; the same value gets the same placeholder however it is written."""


class Value(NamedTuple):
    """A value that was found."""

    kind: str
    rule: str
    value: str


def value_of(hit: Hit) -> Value:
    """The value of a hit."""
    return Value(hit.kind, hit.rule, hit.value)


Finder = Callable[[str], list[Hit]]
"""Finds values in a text: in order, none within another.  It takes time linear in the text."""
