"""A finished result without the sessions that ``forget`` removes."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec.structs import replace

from chatsquash.conversion.forget.selection import Removal
from chatsquash.core.labels import LabelRow
from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.dataset.stored_sessions import StoredSession
from chatsquash.results.finished import FinishedResult

_DUPLICATE = re.compile(r"(.*\bthe record of )(.*)(, which is written.*)", re.DOTALL)
_OTHER_FILE = re.compile(r"(has the same session_id as|continues|continues in) (.*): .*", re.DOTALL)
_COPY = re.compile(r"(not read because )?('.*') (has the same content|is read instead.*)", re.DOTALL)
"""The findings that contain the path of another log."""
_UNNAMED = "a forgotten session"


class RemainingResult(FinishedResult):
    """A finished result from which sessions are removed while it is read."""

    removal: Removal
    _rejected_lines: Iterator[bytes] = iter(())

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """See ``FinishedResult``."""
        if self.options["sessions_by"] == "chain":  # these are logs, not sessions
            return [each for each in super().inputs if each["path"] not in self.removal.paths]
        return [each for number, each in enumerate(super().inputs) if number not in self.removal.arguments]

    @property
    def records_made(self) -> dict[str, Any]:
        """See ``FinishedResult``; the digests of filtered records are not known, so the sum still contains them."""
        counts = super().records_made
        total = (int(counts["xxh3_128_sum"], 16) - self.removal.digests) % (1 << 128)
        return {"count": counts["count"] - self.removal.records_made, "xxh3_128_sum": f"{total:032x}"}

    def sessions(self, options: Options) -> Iterator[StoredSession | Finding]:
        """See ``FinishedResult``."""
        number, self.removal.duplicates = -1, 0
        for each in super().sessions(options):
            if isinstance(each, Finding):
                if each.file not in self.removal.paths and not self._names_removed(_COPY, each):
                    yield each
                continue
            number += 1
            if number in self.removal.arguments:
                deque(islice(self._rejected_lines, each.kept_lines), maxlen=0)
            else:
                yield self._without_names(each)

    def labels(self) -> Iterator[LabelRow]:
        """See ``FinishedResult``."""
        rows = self.removal.labels
        return (row for row in super().labels() if row.number not in rows and row.repeats not in rows)

    def rejected_lines(self) -> Iterator[bytes]:
        """See ``FinishedResult``; ``sessions`` skips the lines of removed sessions."""
        self._rejected_lines = super().rejected_lines()
        return self._rejected_lines

    def _without_names(self, session: StoredSession) -> StoredSession:
        """Remove the paths of removed logs from the findings about another session."""
        report = session.outcome.report
        findings = list(filter(None, map(self._without_name, report.findings)))
        if findings == report.findings:
            return session
        return replace(session, outcome=replace(session.outcome, report=replace(report, findings=findings)))

    def _without_name(self, finding: Finding) -> Finding | None:
        if finding.code == "divided-session":
            return None if self._names_removed(_OTHER_FILE, finding) else finding
        if finding.code != "duplicate-record" or not self._names_removed(_DUPLICATE, finding):
            return finding
        self.removal.duplicates += 1
        return finding._replace(text=_DUPLICATE.sub(rf"\1{_UNNAMED}\3", finding.text))

    def _names_removed(self, pattern: re.Pattern[str], finding: Finding) -> bool:
        match = pattern.match(finding.text)
        return match is not None and match[2] in self.removal.shown_paths
