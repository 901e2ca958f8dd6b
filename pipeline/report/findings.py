"""Findings as text for people and as JSON for programs."""

from __future__ import annotations

from pipeline import codec
from pipeline.checks.registry import escaped
from pipeline.model import Finding, Rejected


def as_text(finding: Finding) -> str:
    """One line of the integrity report."""
    place = escaped(finding.file) + (f":{finding.line}" if finding.line is not None else "")
    at = f"messages[{finding.message}]: " if finding.message is not None else ""
    session = escaped(finding.session)
    return f"{finding.severity.upper()}\tsession={session}\tinput={place}\t[{finding.code}] {at}{finding.text}"


def as_message(finding: Finding) -> str:
    """A finding as an error message: where, what, and its code."""
    place = escaped(finding.file) + (f":{finding.line}" if finding.line is not None else "")
    return f"{place}: {finding.text} [{finding.code}]"


def as_json(finding: Finding) -> bytes:
    """One line of ``findings.jsonl``."""
    return codec.dumps({**finding._asdict(), "file": printable(finding.file), "session": printable(finding.session)})


def rejected_as_json(file: str, rejected: Rejected) -> bytes:
    """One line of ``rejected.jsonl``."""
    return codec.dumps({"file": printable(file), **rejected._asdict()})


def printable(text: str) -> str:
    """A text as UTF-8 can hold it: file names may be any bytes."""
    return text.encode("utf-8", "backslashreplace").decode()
