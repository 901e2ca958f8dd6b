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
        "Items have `usage.completion_tokens`, but no finish reason, and no limit (`promptLogs[].completionOptions`)."
    ),
    Cell("copilot_cli", "length", "files"): (
        "The reply at its limit was never written, and the next request had it: the reply to that has weight 0."
    ),
    Cell("droid", "length", "files"): "Lines have neither a finish reason nor the tokens of a reply.",
    Cell("droid", "truncated", "files"): (
        "Lines have neither a finish reason nor the tokens of a reply, and the turn's outcome is `completed`."
    ),
    Cell("gemini_cli", "length", "files"): (
        "Messages have `tokens`, but no finish reason; only a terminal gets the notice that a reply was truncated."
    ),
    Cell("gemini_cli", "stopped", "files"): (
        "A reply gets its calls when they have run: those of a killed process are in no file."
    ),
    Cell("kimi_cli", "length", "files"): (
        "Neither `_usage` in the context nor `StatusUpdate` in `wire.jsonl` has a finish reason or a limit."
    ),
    Cell("kimi_cli", "stopped", "files"): (
        "The context has the token count of the interrupted reply and not the reply, which only the events that the"
        " terminal showed contain (`wire.jsonl`)."
    ),
    Cell("openhands", "length", "files"): (
        "Events have no finish reason, `agent.llm.max_output_tokens` is not set, and `stats` is of the last process."
    ),
}


def reason(agent: str, scenario: str, source: str) -> str:
    """Why a cell cannot be decided; an empty text if it can."""
    return UNDECIDABLE.get(Cell(agent, scenario, source), "")
