"""A finished result without the sessions that ``forget`` removes."""

from __future__ import annotations

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

_DUPLICATE = ("the record of ", ", which is written")
_OTHER_FILE = ("has the same session_id as ", "continues in ", "continues ")
_COPY = (" has the same content", " is read instead")
"""The texts around the path of another log in findings."""
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
                if each.file not in self.removal.paths and _copied_file(each.text) not in self.removal.shown_paths:
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
            return None if _other_file(finding.text) in self.removal.shown_paths else finding
        start, path, end = _around_duplicate(finding.text)
        if finding.code != "duplicate-record" or path not in self.removal.shown_paths:
            return finding
        self.removal.duplicates += 1
        return finding._replace(text=f"{start}{_UNNAMED}{end}")


def _other_file(text: str) -> str:
    """Return the path in a finding about the other file of a divided session, or an empty string."""
    start = next((each for each in _OTHER_FILE if text.startswith(each)), None)
    return "" if start is None else text[len(start) :].rpartition(": ")[0]


def _copied_file(text: str) -> str:
    """Return the path in a finding about a copy of a file, or an empty string."""
    text = text.removeprefix("not read because ")
    return next((path for each in _COPY if (path := text.rpartition(each)[0])), "")


def _around_duplicate(text: str) -> tuple[str, str, str]:
    """Return the path in a finding about a duplicate, between the texts around it."""
    before, start, rest = text.partition(_DUPLICATE[0])
    path, end, after = rest.rpartition(_DUPLICATE[1])
    return f"{before}{start}", path, f"{end}{after}"
