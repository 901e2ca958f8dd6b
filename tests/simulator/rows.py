"""What a row of ``reports/replies.jsonl`` looks like, by the words of the contract."""

from __future__ import annotations

from typing import Any

from chatsquash.core.accounting import STEP_FACTS

ROW = {
    "file": str,
    "line": int,
    "id": (str, type(None)),
    "session": str,
    "kind": {"main", "compacted", "branch", "subagent", "side", "retry"},
    "status": {"carried", "rewritten", "lost"},
    "why": {None, "compacted", "branch", "subagent", "side-request", "retry", "short-tail", "filtered", "duplicate", "refused"},
    "record": (str, type(None)),
    "message": (int, type(None)),
    "loss": {0, 1},
    "conversation": str,
    "parent": (str, type(None)),
    **{name: {False, True} for name in STEP_FACTS},
}  # fmt: skip
"""The members of a row, with their types or all their values."""


def misshapen(row: dict[str, Any]) -> str | None:
    """What is wrong with a row by itself."""
    if list(row) != list(ROW):
        return f"its members are {list(row)}"
    for name, wanted in ROW.items():
        value = row[name]
        if not (value in wanted if isinstance(wanted, set) else isinstance(value, wanted)):
            return f"{name} is {value!r}"
    lost = row["status"] == "lost"
    if {lost, row["record"] is None, row["message"] is None, row["why"] is not None} != {lost}:
        return f"{row['status']}, but {row['why']}, in {row['record']}, message {row['message']}"
    return "lost with loss" if lost and row["loss"] else None
