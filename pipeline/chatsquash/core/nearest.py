"""The known name that a wrong one may have been meant for."""

from __future__ import annotations

from collections.abc import Iterable

_ALIKE = 0.7
"""How like a known name one has to be, where names are short."""


def hint(name: str, known: Iterable[str]) -> str:
    """The known names that are like an unknown one, if any, and all known ones."""
    from difflib import get_close_matches

    names = [*known]
    near = get_close_matches(name, names, 3, _ALIKE)
    asked = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{asked}known are {', '.join(names)}"


def meant(name: str, known: Iterable[str], otherwise: str) -> str:
    """What is asked of somebody who wrote an unknown name; ``otherwise`` is said where no known one is like it."""
    from difflib import get_close_matches  # which only an error needs

    near = get_close_matches(name, [*known], 1)
    return f"did you mean {near[0]}?" if near else otherwise
