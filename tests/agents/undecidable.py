"""Cells that no reader can get right, because what the agent wrote does not say which way it was, with the reason.

A cell of this table is not counted as wrong. ``test_checks.py`` fails when one of them is right, so that it leaves this table.
"""

from __future__ import annotations

from typing import NamedTuple


class Cell(NamedTuple):
    """One source of one scenario of one agent."""

    agent: str
    scenario: str
    source: str


UNDECIDABLE: dict[Cell, str] = {}


def reason(agent: str, scenario: str, source: str) -> str:
    """Why a cell cannot be decided; an empty text if it can."""
    return UNDECIDABLE.get(Cell(agent, scenario, source), "")
