"""The reports of logged replies: the record that contains each, or the reason why none does, and their labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from chatsquash.core.accounting import STEP_FACTS, ReplyOutcome
from chatsquash.core.options import Options
from chatsquash.core.scores import by_name
from chatsquash.core.text import numbered_id, printable, printable_json
from chatsquash.dataset.claim import LABELS, REPLIES
from chatsquash.dataset.reports import ProcessedSession, Report, ReportDeclaration, ReportLine

if TYPE_CHECKING:
    from chatsquash.dataset.label_outcomes import LossLabels


class Replies(Report):
    """Writes replies in the order of files and lines; those of a file with several sessions are sorted."""

    def __init__(self, *, across_files: bool) -> None:
        self._across_files = across_files
        """Whether a session may have lines in several files."""
        self._pending: list[tuple[str, int, bytes]] = []

    def add(self, session: ProcessedSession) -> Iterator[ReportLine]:
        """Add the replies of a session, and return those of the previous file once it is complete."""
        log = session.log
        rows = [_row(session, reply) for reply in session.outcome.replies.rows]
        if self._pending and not self._across_files and self._pending[0][0] != log.display_path:
            yield from self.render()
        self._pending += rows

    def render(self) -> Iterator[ReportLine]:
        """Return the buffered replies."""
        self._pending.sort()
        for _, _, row in self._pending:
            yield REPLIES, row
        self._pending = []


def _row(session: ProcessedSession, reply: ReplyOutcome) -> tuple[str, int, bytes]:
    """Return the row of a reply, with its file and line as the sort key."""
    file, line = session.log.at(reply.line)
    name, scores = printable(session.outcome.session), by_name(each for each in reply.scores if not each.is_shared)
    row = printable_json(
        {
            "file": printable(file),
            "line": line,
            "id": reply.id or (numbered_id(name, reply.nth) if reply.nth else None),
            "session": name,
            "kind": reply.kind,
            "status": reply.status,
            "why": reply.why,
            "record": str(session.places[reply.record]) if reply.record is not None else None,
            "message": reply.message,
            "loss": reply.loss,
            "conversation": reply.conversation,
            "parent": reply.parent,
            **{kind: kind in reply.facts for kind in STEP_FACTS},
            **({"scores": scores} if scores else {}),
            **({"redacted": True} if reply.redacted else {}),
        }
    )
    return file, line or 0, row


def _replies(options: Options) -> Replies | None:
    """Return the report if ``--trace-replies`` requests it."""
    return Replies(across_files=options.sessions_by == "chain") if options.trace_replies else None


def _loss_labels(options: Options) -> LossLabels | None:
    """Return the report of the outcome of each row of ``--loss-labels``, if there are labels."""
    if options.loss_labels is None:
        return None
    from chatsquash.core.labels import unpack  # rarely needed
    from chatsquash.dataset.label_outcomes import LossLabels

    return LossLabels(unpack(options.loss_labels).rows)


REPORTS = (
    ReportDeclaration((REPLIES,), _replies, has_places=True),
    ReportDeclaration((LABELS,), _loss_labels, is_complete=True),
)
