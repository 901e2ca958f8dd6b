"""The reports of findings: each is a line of text and a JSON object."""

from __future__ import annotations

from collections.abc import Iterable

from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.core.outcome import Place
from chatsquash.dataset.claim import FINDINGS
from chatsquash.dataset.findings_text import as_json, as_text
from chatsquash.dataset.reports import ProcessedSession, Report, ReportLine

TEXT = "reports/integrity-report.txt"
FILES = TEXT, FINDINGS
WHOLE, PLACES = False, True


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


def report(options: Options) -> Findings:
    """Return the report, which every run writes."""
    del options
    return Findings()


def _by_conversation(session: ProcessedSession) -> dict[str, Place]:
    """Return the places of a session's records; if several contain a conversation, that of the last."""
    conversations = [record.conversation for record in session.outcome.records]
    return dict(zip(conversations, session.places, strict=True))


def _lines(finding: Finding, record: str | None, filtered: str | None) -> tuple[ReportLine, ...]:
    text = as_text(finding, "filtered" if filtered else record or "")
    return (TEXT, text.encode("utf-8", "backslashreplace")), (FINDINGS, as_json(finding, record, filtered))
