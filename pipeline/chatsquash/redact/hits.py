"""What a search for private data finds in a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Hit(NamedTuple):
    """A value that is to be replaced, and where it stands."""

    start: int
    end: int
    """Offsets of the characters that a placeholder takes the place of; an encoded value is replaced as it is written."""
    kind: str
    """The word of its placeholder, in upper case: ``AWS_ACCESS_KEY_ID``."""
    rule: str
    """The name of the rule that found it: ``aws-access-key-id``."""
    value: str
    """The value itself, decoded; the same value gets the same placeholder however it is written."""


Finder = Callable[[str], list[Hit]]
"""Finds values in a text: in order, none within another.  It takes time linear in the text."""
