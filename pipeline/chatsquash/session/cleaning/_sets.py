"""The sets of cleaning rules, as the values of an option."""

from __future__ import annotations

from chatsquash.session.cleaning import sets


def names() -> tuple[str, ...]:
    """The names of all sets."""
    return sets()
