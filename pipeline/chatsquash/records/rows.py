"""Turns that stand behind each other in a preset's shape: results and what the user says behind them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, pairwise

from chatsquash.records import media
from chatsquash.records.notes import Notes
from chatsquash.records.turns import Turn

_JOINED = "messages joined to the one before"


def bridged(turns: list[Turn], notes: Notes) -> list[Turn]:
    """The turns, with what the user says right behind a result behind the text of that result.

    What the user says with images stays, since results have texts only.
    """
    made: list[Turn] = []
    for turn in turns:
        if made and turn["role"] == "user" and made[-1]["role"] == "tool" and isinstance(turn["content"], str):
            notes.changed["messages of the user joined to the result before"] += 1
            made[-1] = {**made[-1], "content": media.together(made[-1]["content"], turn["content"])}
        else:
            made.append(turn)
    return made


def behind_results(turns: Iterable[Turn]) -> int:
    """How often the user speaks right behind a result."""
    return sum(before["role"] == "tool" and turn["role"] == "user" for before, turn in pairwise(turns))


def merged(turns: Iterable[Turn], notes: Notes, *roles: str) -> list[Turn]:
    """The turns, with those of these roles as one where they stand in a row; they have no calls."""
    made: list[Turn] = []
    for role, run in groupby(turns, key=lambda turn: turn["role"]):
        first, *rest = run
        if role not in roles:
            made += [first, *rest]
            continue
        for turn in rest:
            notes.changed[_JOINED] += 1
            first = {**first, "content": media.together(first["content"], turn["content"])}
        made.append(first)
    return made
