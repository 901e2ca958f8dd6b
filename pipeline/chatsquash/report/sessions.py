"""The session table: a line for each record, and for each session without one."""

from __future__ import annotations

from collections import Counter
from typing import get_args

from chatsquash.model import Chosen, Log, Outcome, Place, Severity
from chatsquash.text import printable, shown

_SEVERITIES: tuple[Severity, ...] = get_args(Severity)
_NONE = dict.fromkeys(_SEVERITIES, 0)
_UNKNOWN = Chosen(None, None, None, None, None)


def as_json(log: Log, outcome: Outcome, place: Place | None, turns: int | None, filtered: str | None) -> bytes:
    """One line of ``sessions.jsonl``; ``turns`` are those of the assistant, ``filtered`` what filtered the session."""
    chosen = outcome.chosen or _UNKNOWN
    return shown(
        {
            "file": place.file if place else None,
            "row": place.row if place else None,
            "log": printable(log.shown),
            "line": chosen.line,
            "session": printable(outcome.session),
            "start": chosen.started,
            "end": chosen.ended,
            "model": printable(chosen.model) if chosen.model else None,
            "entries": chosen.entries,
            "turns": turns,
            "findings": _counted(outcome),
            "left_out": outcome.left_out,
            "filtered": filtered,
        }
    )


def _counted(outcome: Outcome) -> dict[Severity, int]:
    """How many findings there are of each severity."""
    if not outcome.findings:
        return _NONE
    counts = Counter(finding.severity for finding in outcome.findings)
    return {severity: counts[severity] for severity in _SEVERITIES}
