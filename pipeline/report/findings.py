"""Findings as text for people and as JSON for programs."""

from __future__ import annotations

import json

from pipeline import codec
from pipeline.checks.registry import escaped
from pipeline.model import Finding, Json, Rejected


def as_text(finding: Finding, record: str | None = None) -> str:
    """One line of the integrity report, which names the record; not one of the findings about datasets."""
    at = f"messages[{finding.message}]: " if finding.message is not None else ""
    session, where = escaped(finding.session), place(finding.file, finding.line)
    stands = "" if record is None else f"\trecord={escaped(record)}"
    return f"{finding.severity.upper()}\tsession={session}\tinput={where}{stands}\t[{finding.code}] {at}{finding.text}"


def place(file: str, line: int | None) -> str:
    """Where something was found, as ``FILE:LINE``."""
    return escaped(file) + (f":{line}" if line is not None else "")


def as_json(finding: Finding, record: str | None = None, filtered: str | None = None) -> bytes:
    """One line of ``findings.jsonl``; ``record`` is where the record stands, ``filtered`` what filtered the session."""
    return as_line(
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


def rejected_as_json(file: str, rejected: Rejected) -> bytes:
    """One line of ``rejected.jsonl``."""
    return as_line({"file": printable(file), **rejected._asdict()})


def as_line(value: Json) -> bytes:
    """JSON in which what does not print is escaped, so that it can be shown on a terminal as it is."""
    spelled = codec.dumps(value)
    text = spelled.decode()
    if text.isprintable():
        return spelled
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text).encode()


def printable(text: str) -> str:
    """A text as UTF-8 can hold it: file names may be any bytes."""
    return text.encode("utf-8", "backslashreplace").decode()
