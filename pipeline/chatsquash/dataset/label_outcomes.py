"""The outcomes of the rows of ``--loss-labels``, from the outcomes of the replies about which they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from chatsquash.core.accounting import ReplyOutcome
from chatsquash.core.labels import LabelRow
from chatsquash.core.text import plain_id, printable_json
from chatsquash.dataset.claim import LABELS
from chatsquash.dataset.reports import ProcessedSession, Report, ReportLine
from chatsquash.trees.loss import LABEL

IN_EFFECT, UNKNOWN, _NOT_TRAINED = "applied", "unknown", "not-trained"
_OUTCOMES_OF_ALL = {UNKNOWN, "ambiguous", "contradiction"}
"""The outcomes of a row that rows with the same id and place also have; others are duplicates."""
_RANK = {IN_EFFECT: 0, _NOT_TRAINED: 1, "lost": 2}
"""The outcomes of a row in several sessions, of which the first is reported; all others come last."""


class _RowOutcome(NamedTuple):
    """The outcome of a row."""

    rank: int
    outcome: str
    why: str | None = None


_UNKNOWN = _RowOutcome(len(_RANK) + 1, UNKNOWN)


class LossLabels(Report):
    """Determines the outcomes of rows from the replies about which they are."""

    def __init__(self, rows: Iterable[LabelRow]) -> None:
        self._rows = {row.number: row for row in rows}
        self._outcomes: dict[int, _RowOutcome] = {}
        self._sessions: Counter[int] = Counter()
        """The number of sessions in which each row is applied."""
        self.counts: dict[str, object] = {}
        """The number of rows by outcome, once all sessions were added."""

    def set_rows(self, rows: Iterable[LabelRow]) -> None:
        """Set the rows of the file if they are only known from earlier reports."""
        self._rows = {row.number: row for row in rows}

    def add(self, session: ProcessedSession) -> Iterable[ReportLine]:
        """Add the outcomes of the rows about a session's replies."""
        in_effect: set[int] = set()
        for reply in session.outcome.replies.rows:
            for number, note in reply.labels:
                row = self._rows.get(number)
                outcome = _outcome(reply, note, row.weight if row else None)
                if outcome.rank < self._outcomes.get(number, _UNKNOWN).rank:
                    self._outcomes[number] = outcome
                if outcome.outcome == IN_EFFECT:
                    in_effect.add(number)
        self._sessions.update(in_effect)
        return ()

    def render(self) -> Iterator[ReportLine]:
        """Return the table, and set the counts."""
        totals: Counter[str] = Counter()
        in_several = 0
        lines = []
        for number, row in self._rows.items():
            _, outcome, why = self._outcomes.get(row.repeats or number, _UNKNOWN)
            if row.repeats and outcome not in _OUTCOMES_OF_ALL:
                outcome, why = "duplicate", None
            outcome = row.problem or outcome
            totals[outcome] += 1
            count = self._sessions[number] if outcome == IN_EFFECT else 0
            in_several += count > 1
            lines.append(
                printable_json(
                    {
                        "row": number,
                        "id": plain_id(row.id) or None,
                        "weight": row.weight,
                        "outcome": outcome,
                        "why": why,
                        **({"sessions": count} if count > 1 else {}),
                        **({"repeats": row.repeats} if row.repeats else {}),
                    }
                )
                + b"\n"
            )
        others = {name: count for name, count in sorted(totals.items()) if name != IN_EFFECT}
        self.counts = {"rows": len(self._rows), "applied": totals[IN_EFFECT], "not_applied": others}
        if in_several:
            self.counts["in_several_sessions"] = in_several
        yield LABELS, b"".join(lines)


def _outcome(reply: ReplyOutcome, note: str, weight: float | None) -> _RowOutcome:
    """Return the outcome of a row about a reply."""
    if note:
        outcome, why = note, None
    elif reply.status == "lost" and reply.why == LABEL:
        outcome, why = IN_EFFECT, None
    elif reply.status == "lost":
        outcome, why = "lost", reply.why
    elif reply.redacted:
        outcome, why = _NOT_TRAINED, "redacted"
    elif reply.loss or (weight == 0 and reply.untrained == LABEL):
        outcome, why = IN_EFFECT, None
    else:
        outcome, why = _NOT_TRAINED, reply.untrained or None
    return _RowOutcome(_RANK.get(outcome, len(_RANK)), outcome, why)
