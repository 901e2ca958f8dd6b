"""Results of a search for private data."""

# No ``from __future__ import annotations``: tuples compile annotations that are texts.
from collections.abc import Callable
from typing import NamedTuple


class Hit(NamedTuple):
    """A value to replace, and its position."""

    start: int
    end: int
    """The offsets of the characters to replace; for an encoded value, those of its encoded form."""
    kind: str
    """The kind in the placeholder, in upper case: ``AWS_ACCESS_KEY_ID``."""
    rule: str
    """The name of the rule: ``aws-access-key-id``."""
    value: str
    """The decoded value; equal values get the same placeholder however they are written."""


class Value(NamedTuple):
    """A detected value without its position."""

    kind: str
    rule: str
    value: str


def value_of(hit: Hit) -> Value:
    """Return the value of a hit."""
    return Value(hit.kind, hit.rule, hit.value)


class UnsearchedError(Exception):
    """The error for a text that cannot be searched."""


Finder = Callable[[str], list[Hit]]
"""A function that returns the values in a text, sorted and not nested, in time linear in the text."""
