"""Findings as text for people and as JSON for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from chatsquash.core.model import Finding
from chatsquash.core.text import escape, printable, printable_json

_SHOWN = 20
"""Findings of a code."""


def as_text(finding: Finding, record: str | None = None) -> str:
    """One line of the integrity report, which names the record; not one of the findings about datasets."""
    at = f"messages[{finding.message}]: " if finding.message is not None else ""
    session, where = escape(finding.session), place(finding.file, finding.line)
    stands = "" if record is None else f"\trecord={escape(record)}"
    return f"{finding.severity.upper()}\tsession={session}\tinput={where}{stands}\t[{finding.code}] {at}{finding.text}"


class Some:
    """Shows the first findings of each code, and how many more there are."""

    def __init__(self, show: Callable[[str], object]) -> None:
        self._show = show
        self._counts: Counter[str] = Counter()

    def say(self, finding: Finding) -> None:
        """Show a finding, unless there were many of its kind."""
        self._counts[finding.code] += 1
        if self._counts[finding.code] <= _SHOWN:
            self._show(as_text(finding))

    def finish(self) -> None:
        """Say how many were not shown."""
        for code, count in sorted(self._counts.items()):
            if count > _SHOWN:
                self._show(f"... and {count - _SHOWN:,} more: {code}")


def place(file: str, line: int | None) -> str:
    """Where something was found, as ``FILE:LINE``."""
    return escape(file) + (f":{line}" if line is not None else "")


def as_json(finding: Finding, record: str | None = None, filtered: str | None = None) -> bytes:
    """One line of ``findings.jsonl``; ``record`` is where the record stands, ``filtered`` what filtered the session."""
    return printable_json(
        {
            "code": finding.code,
            "severity": finding.severity,
            "session": printable(finding.session) or None,
            "file": printable(finding.file) or None,
            "line": finding.line,
            "record": record,
            "filtered": filtered,
            "message": finding.message,
            "text": finding.text,
        }
    )
