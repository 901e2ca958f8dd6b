"""The known name that a wrong one may have been meant for."""

from __future__ import annotations

from collections.abc import Iterable


def meant(name: str, known: Iterable[str], otherwise: str) -> str:
    """What is asked of somebody who wrote an unknown name; ``otherwise`` is said where no known one is like it."""
    from difflib import get_close_matches  # which only an error needs

    near = get_close_matches(name, [*known], 1)
    return f"did you mean {near[0]}?" if near else otherwise
