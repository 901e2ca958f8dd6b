"""Findings as text for people and as JSON for programs."""

from __future__ import annotations

from pipeline.checks.registry import escaped
from pipeline.model import Finding, Rejected
from pipeline.report.shown import shown


def as_text(finding: Finding) -> str:
    """One line of the integrity report."""
    at = f"messages[{finding.message}]: " if finding.message is not None else ""
    session, where = escaped(finding.session), place(finding.file, finding.line)
    return f"{finding.severity.upper()}\tsession={session}\tinput={where}\t[{finding.code}] {at}{finding.text}"


def place(file: str, line: int | None) -> str:
    """Where something was found, as ``FILE:LINE``."""
    return escaped(file) + (f":{line}" if line is not None else "")


def as_json(finding: Finding) -> bytes:
    """One line of ``findings.jsonl``."""
    return shown({**finding._asdict(), "file": printable(finding.file), "session": printable(finding.session)})


def rejected_as_json(file: str, rejected: Rejected) -> bytes:
    """One line of ``rejected.jsonl``."""
    return shown({"file": printable(file), **rejected._asdict()})


def printable(text: str) -> str:
    """A text as UTF-8 can hold it: file names may be any bytes."""
    return text.encode("utf-8", "backslashreplace").decode()
