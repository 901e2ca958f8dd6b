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


UNDECIDABLE: dict[Cell, str] = {
    Cell("continue_dev", "length", "files"): (
        "Items have `usage.completion_tokens`, but neither a finish reason nor the limit."
    ),
    Cell("copilot_cli", "length", "files"): (
        "The truncated reply is missing, but was part of the next request, so the next reply has weight 0."
    ),
    Cell("droid", "length", "files"): "Lines have neither a finish reason nor a token count.",
    Cell("droid", "truncated", "files"): (
        "Lines have neither a finish reason nor a token count, and the outcome of the turn is `completed`."
    ),
    Cell("gemini_cli", "length", "files"): (
        "Messages have `tokens`, but no finish reason; the truncation is only shown on the terminal."
    ),
    Cell("gemini_cli", "stopped", "files"): (
        "Calls are written after they have run, so those of a killed process are missing."
    ),
    Cell("kimi_cli", "length", "files"): (
        "Neither `_usage` in the context nor `StatusUpdate` in `wire.jsonl` has a finish reason or the limit."
    ),
    Cell("kimi_cli", "stopped", "files"): (
        "The context has the token count of the interrupted reply, but not its text, which is only in `wire.jsonl`."
    ),
    Cell("openhands", "length", "files"): (
        "Events have no finish reason, `agent.llm.max_output_tokens` is not set, and `stats` cover the last process only."
    ),
}


def reason(agent: str, scenario: str, source: str) -> str:
    """Why a cell cannot be decided; an empty text if it can."""
    return UNDECIDABLE.get(Cell(agent, scenario, source), "")
