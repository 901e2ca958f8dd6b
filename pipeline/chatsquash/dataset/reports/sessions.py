"""The reports with lines for each session: findings, malformed lines, the session table, and outcomes for merges."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import asdict

from chatsquash.core.log import Log
from chatsquash.core.model import Finding, RejectedLine
from chatsquash.core.outcome import Place
from chatsquash.core.text import printable, printable_json
from chatsquash.dataset.claim import FINDINGS, REJECTED
from chatsquash.dataset.findings_text import as_json, as_text
from chatsquash.dataset.reports import ProcessedSession, Report, ReportDeclaration, ReportLine
from chatsquash.dataset.session_table import SESSIONS, RecordOutcome, line_of
from chatsquash.dataset.stored_sessions import (
    OUTCOMES,
    StoredLine,
    StoredLog,
    StoredSession,
    encode,
    without_contents,
)

TEXT = "reports/integrity-report.txt"


class Findings(Report):
    """Writes findings in the order of sessions."""

    def add(self, session: ProcessedSession) -> Iterable[ReportLine]:
        """Return the findings of a session, with their records."""
        if not session.outcome.findings:
            return ()
        places, filtered = session.places, session.filtered
        only = str(places[0]) if len(places) == 1 else None
        by_conversation: dict[str, Place] = {}
        lines: list[ReportLine] = []
        for finding in session.outcome.findings:
            record = only
            if finding.conversation:
                by_conversation = by_conversation or _by_conversation(session)
                place = by_conversation.get(finding.conversation)
                record = str(place) if place else None
            lines += _lines(finding, record, filtered)
        return lines

    def note(self, finding: Finding) -> Iterable[ReportLine]:
        """Return a finding that is not about a session."""
        return _lines(finding, None, None)


def _by_conversation(session: ProcessedSession) -> dict[str, Place]:
    """Return the places of a session's records; if several contain a conversation, that of the last."""
    conversations = [record.conversation for record in session.outcome.records]
    return dict(zip(conversations, session.places, strict=True))


def _lines(finding: Finding, record: str | None, filtered: str | None) -> tuple[ReportLine, ...]:
    text = as_text(finding, "filtered" if filtered else record or "")
    return (TEXT, text.encode("utf-8", "backslashreplace")), (FINDINGS, as_json(finding, record, filtered))


class Outcomes(Report):
    """Writes outcomes in the order of sessions."""

    def add(self, session: ProcessedSession) -> Iterable[ReportLine]:
        """Return the outcome of a session."""
        selection = session.selection
        stored_session = StoredSession(
            StoredLog.of(session.log, size=0),
            without_contents(selection.outcome),
            session.places,
            selection.record_count,
            selection.turns,
            selection.filtered,
            selection.duplicates,
            session.kept_lines,
        )
        return [(OUTCOMES, encode(StoredLine(stored_session)))]

    def note(self, finding: Finding) -> Iterable[ReportLine]:
        """Return a finding about a file; findings about the dataset are recomputed by a merge."""
        return [(OUTCOMES, encode(StoredLine(finding=finding)))] if finding.file else ()


class RejectedLines(Report):
    """Writes rejected lines in the order of sessions."""

    def add(self, session: ProcessedSession) -> list[ReportLine]:
        """Return the locations of the malformed lines of a session, with the reasons."""
        return [(REJECTED, _rejected_row(session.log, rejected)) for rejected in session.outcome.report.rejected]


def _rejected_row(log: Log, rejected: RejectedLine) -> bytes:
    file, line, offset = log.place(rejected.line, rejected.offset)
    return printable_json({"file": printable(file), **asdict(rejected), "line": line, "offset": offset})


class SessionTable(Report):
    """Writes sessions in order."""

    def add(self, session: ProcessedSession) -> Iterable[ReportLine]:
        """Return the lines of a session."""
        log, outcome = session.log, session.outcome
        if not session.places:
            line = line_of(log, outcome, None, session.turns, RecordOutcome(filtered=session.filtered))
            return [(SESSIONS, line.encode())]
        return [
            (SESSIONS, line_of(log, outcome, record, session.turns, RecordOutcome(place, number)).encode())
            for number, (record, place) in enumerate(zip(outcome.records, session.places, strict=True), 1)
        ]


REPORTS = (
    ReportDeclaration((TEXT, FINDINGS), lambda _: Findings(), has_places=True),
    ReportDeclaration((OUTCOMES,), lambda _: Outcomes(), has_places=True),
    ReportDeclaration((REJECTED,), lambda _: RejectedLines()),
    ReportDeclaration((SESSIONS,), lambda _: SessionTable(), has_places=True),
)
