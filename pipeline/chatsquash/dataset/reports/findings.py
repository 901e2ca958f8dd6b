"""The reports of findings: each is a line of text and a JSON object."""

from __future__ import annotations

from collections.abc import Iterable

from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.dataset.findings_text import as_json, as_text
from chatsquash.dataset.reports import ProcessedSession, Report, ReportLine

TEXT, FINDINGS = "reports/integrity-report.txt", "reports/findings.jsonl"
FILES = TEXT, FINDINGS
WHOLE, PLACES = False, True


class Findings(Report):
    """Writes findings in the order of sessions."""

    def add(self, session: ProcessedSession) -> Iterable[ReportLine]:
        """Return the findings of a session, with their records."""
        if not session.outcome.findings:
            return ()
        records = (record.conversation for record in session.outcome.records)
        places = dict(zip(records, map(str, session.places), strict=True))
        only = next(iter(places.values())) if len(session.places) == 1 else None
        lines: list[ReportLine] = []
        for finding in session.outcome.findings:
            record = places.get(finding.conversation) if finding.conversation else only
            lines += _lines(finding, record, session.filtered)
        return lines

    def note(self, finding: Finding) -> Iterable[ReportLine]:
        """Return a finding that is not about a session."""
        return _lines(finding, None, None)


def report(options: Options) -> Findings:
    """Return the report, which every run writes."""
    del options
    return Findings()


def _lines(finding: Finding, record: str | None, filtered: str | None) -> tuple[ReportLine, ...]:
    text = as_text(finding, "filtered" if filtered else record or "")
    return (TEXT, text.encode("utf-8", "backslashreplace")), (FINDINGS, as_json(finding, record, filtered))
