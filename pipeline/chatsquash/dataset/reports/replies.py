"""The logged replies: a line for each, with the record that holds it, or why none does."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash.core.accounting import ReplyOutcome
from chatsquash.core.options import Options
from chatsquash.core.text import printable, printable_json
from chatsquash.dataset.reports import Report, ReportLine, TakenSession

REPLIES = "reports/replies.jsonl"
FILES = (REPLIES,)
WHOLE, PLACES = False, True


class Replies(Report):
    """Writes the replies in the order of files and lines, for which those of files with several sessions wait."""

    def __init__(self, *, across_files: bool) -> None:
        self._across_files = across_files
        """Whether a session may have lines in several files."""
        self._held: list[tuple[str, int, bytes]] = []

    def add(self, taken: TakenSession) -> Iterator[ReportLine]:
        """The replies of the sessions before, once nothing more of their file comes."""
        log = taken.log
        rows = [_row(taken, reply) for reply in taken.outcome.replies.rows]
        if self._held and not self._across_files and self._held[0][0] != log.display_path:
            yield from self.render()
        self._held += rows

    def render(self) -> Iterator[ReportLine]:
        """The replies that wait."""
        self._held.sort()
        for _, _, row in self._held:
            yield REPLIES, row
        self._held = []


def report(options: Options) -> Replies | None:
    """The replies, where they are asked for."""
    return Replies(across_files=options.sessions_by == "chain") if options.trace_replies else None


def _row(taken: TakenSession, reply: ReplyOutcome) -> tuple[str, int, bytes]:
    """A reply by its file and line."""
    file, line = taken.log.at(reply.line)
    row = printable_json(
        {
            "file": printable(file),
            "line": line,
            "session": printable(taken.outcome.session),
            "kind": reply.kind,
            "status": reply.status,
            "why": reply.why,
            "record": str(taken.places[reply.record]) if reply.record is not None else None,
            "message": reply.message,
            "loss": reply.loss,
            "conversation": reply.conversation,
            "parent": reply.parent,
            **({"redacted": True} if reply.redacted else {}),
        }
    )
    return file, line or 0, row
