"""Which preset and modifiers a record would have to be converted with so that a template shows all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pipeline.model import Conversation
from pipeline.write.presets import named


class Cure(NamedTuple):
    """Options of ``convert``."""

    preset: str
    modifiers: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((f"--preset {self.preset}", *self.modifiers))

    def apply(self, conversation: Conversation) -> dict[str, Any] | None:
        """The record that they make of a conversation; ``None`` where they cannot."""
        return named(self.preset).shape(conversation).record


CURES = (Cure("hf"),)
"""The simplest first."""

Codes = frozenset[str]


class Cures:
    """Finds cures by trying them, those first that helped where the same was wrong."""

    def __init__(self, codes: Callable[[dict[str, Any]], Codes]) -> None:
        self._codes = codes
        """The codes of what is wrong with a record."""
        self._known: dict[object, dict[str, Cure]] = {}

    def find(self, conversation: Conversation, wrong: Codes, like: object) -> dict[str, Cure]:
        """Of each code the first cure; ``like`` says what records are to be taken for alike.

        A cure takes the code away and brings no other.
        """
        known = self._known.get(like, {})
        if known and all(code in self._taken(cure, conversation, wrong) for code, cure in known.items()):
            return known
        found: dict[str, Cure] = {}
        for cure in self._candidates(wrong, found):
            for code in self._taken(cure, conversation, wrong):
                found.setdefault(code, cure)
        self._known[like] = found
        return found

    def _candidates(self, wrong: Codes, found: dict[str, Cure]) -> Iterator[Cure]:
        return (cure for cure in CURES if wrong - found.keys())

    def _taken(self, cure: Cure, conversation: Conversation, wrong: Codes) -> Codes:
        """The codes that a cure takes away."""
        record = cure.apply(conversation)
        if record is None:
            return frozenset()
        left = self._codes(record)
        return wrong - left if left <= wrong else frozenset()
