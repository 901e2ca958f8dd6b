"""Modifiers of records, with the values that are tried with one another."""

from __future__ import annotations

from itertools import product
from typing import Any

_MODIFIERS: dict[str, tuple[Any, ...]] = {
    "reasoning": ("keep", "inline", "drop"),
    "system": ("keep", "drop"),
    "merge_consecutive": (False, True),
    "split_parallel": (False, True),
    "split_text_and_calls": (False, True),
    "bridge_results": ("keep", "join"),
}
_LOSS = ("none", "weight")


def combinations(**others: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Every combination of modifiers and of others, with flags and without."""
    given = {**_MODIFIERS, **others, "loss": _LOSS}
    return [dict(zip(given, chosen, strict=True)) for chosen in product(*given.values())]
