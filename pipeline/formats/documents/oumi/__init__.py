"""Oumi: history files with branches, and the conversations that it is trained on."""

from __future__ import annotations

from pipeline.formats.base import Marks, TurnError
from pipeline.formats.documents.oumi import history, training
from pipeline.formats.documents.oumi.history import Branch, branches
from pipeline.formats.documents.oumi.history import dump as dump_history
from pipeline.formats.documents.oumi.training import dump
from pipeline.formats.values import kind
from pipeline.model import Conversation, Json

NAME = "oumi"
DOCUMENT = True
marks = Marks()
lines = True

__all__ = [
    "DOCUMENT",
    "NAME",
    "Branch",
    "branches",
    "conversations",
    "dump",
    "dump_history",
    "fits",
    "lines",
    "marks",
]


def fits(objects: list[Json]) -> str | None:
    """Objects that are all histories, or all conversations of a training set."""
    for test in (history.fits, training.fits):
        seen = [test(each) for each in objects if isinstance(each, dict)]
        if seen and len(seen) == len(objects) and None not in seen:
            return seen[0]
    return None


def conversations(objects: list[Json]) -> list[Conversation]:
    """One for each conversation of a training set and for each branch of a history that no other goes on from.

    Raises ``TurnError``.
    """
    found: list[Conversation] = []
    for number, each in enumerate(objects, 1):
        try:
            found += _loaded(each)
        except TurnError as problem:
            raise TurnError(f"conversation {number}: {problem}" if len(objects) > 1 else str(problem)) from None
    return found


def _loaded(document: Json) -> list[Conversation]:
    if not isinstance(document, dict):
        raise TurnError(f"is {kind(document)}, not an object")
    return [training.load(document)] if "messages" in document else history.load(document)
