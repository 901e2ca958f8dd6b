"""Findings as text for people and as JSON for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from msgspec import Struct

from chatsquash.core.model import Finding, Severity
from chatsquash.core.text import escape, printable, printable_struct

_MAX_PER_CODE = 20
"""Maximum number of findings shown per code."""


def as_text(finding: Finding, record: str | None = None) -> str:
    """Format a finding as a line of the integrity report, with its record unless it is about the dataset."""
    at = f"messages[{finding.message}]: " if finding.message is not None else ""
    session = escape(finding.session)
    where = f"\tinput={place(finding.file, finding.line)}"
    where += "" if record is None else f"\trecord={escape(record)}"
    return f"{finding.severity.upper()}\tsession={session}{where}\t[{finding.code}] {at}{finding.text}"


class FindingLine(Struct, frozen=True, gc=False):
    """A line of ``findings.jsonl``; its members are in the order of the file."""

    code: str
    severity: Severity
    session: str | None
    file: str | None
    line: int | None
    record: str | None
    filtered: str | None
    message: int | None
    text: str


class FirstFindings:
    """Shows the first findings of each code and the number of further ones."""

    def __init__(self, show: Callable[[str], object]) -> None:
        self._show = show
        self._counts: Counter[str] = Counter()

    def show(self, finding: Finding) -> None:
        """Show a finding, unless many with its code were shown."""
        self._counts[finding.code] += 1
        if self._counts[finding.code] <= _MAX_PER_CODE:
            self._show(as_text(finding))

    def finish(self) -> None:
        """Show how many findings of each code were omitted."""
        for code, count in sorted(self._counts.items()):
            if count > _MAX_PER_CODE:
                self._show(f"... and {count - _MAX_PER_CODE:,} more: {code}")


def place(file: str, line: int | None) -> str:
    """Format a location as ``FILE:LINE``."""
    return escape(file) + (f":{line}" if line is not None else "")


def as_json(finding: Finding, record: str | None = None, filtered: str | None = None) -> bytes:
    """Format a finding as a line of ``findings.jsonl``.

    Args:
        finding: The finding.
        record: The place of its record.
        filtered: The option that filtered its session.
    """
    code, severity, session, file, line, message, text, _ = finding
    session, file = printable(session), printable(file)
    member = FindingLine(code, severity, session or None, file or None, line, record, filtered, message, text)
    return printable_struct(member, has_fraction=False)
