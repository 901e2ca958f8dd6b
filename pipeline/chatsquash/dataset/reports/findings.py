"""The findings: a line of text and a JSON object each."""

from __future__ import annotations

from collections.abc import Iterable

from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.dataset.findings_text import as_json, as_text
from chatsquash.dataset.reports import Report, ReportLine, TakenSession

TEXT, FINDINGS = "reports/integrity-report.txt", "reports/findings.jsonl"
FILES = TEXT, FINDINGS
WHOLE, PLACES = False, True


class Findings(Report):
    """Writes findings as they come."""

    def add(self, taken: TakenSession) -> Iterable[ReportLine]:
        """The findings of a session, which name the record that they are about."""
        if not taken.outcome.findings:
            return ()
        records = (record.conversation for record in taken.outcome.records)
        places = dict(zip(records, map(str, taken.places), strict=True))
        only = next(iter(places.values())) if len(taken.places) == 1 else None
        lines: list[ReportLine] = []
        for finding in taken.outcome.findings:
            record = places.get(finding.conversation) if finding.conversation else only
            lines += _lines(finding, record, taken.filtered)
        return lines

    def note(self, finding: Finding) -> Iterable[ReportLine]:
        """A finding about no session."""
        return _lines(finding, None, None)


def report(options: Options) -> Findings:
    """Every run writes it."""
    del options
    return Findings()


def _lines(finding: Finding, record: str | None, filtered: str | None) -> tuple[ReportLine, ...]:
    text = as_text(finding, "filtered" if filtered else record or "")
    return (TEXT, text.encode("utf-8", "backslashreplace")), (FINDINGS, as_json(finding, record, filtered))
