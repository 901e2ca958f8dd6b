"""The logged replies: a line for each, with the record that holds it, or why none does."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash.options import Options
from chatsquash.outcome import LoggedReply, Place
from chatsquash.report.files import Report, ReportLine, TakenSession
from chatsquash.text import printable, shown

REPLIES = "reports/replies.jsonl"
FILES = (REPLIES,)
WHOLE, PLACES = False, True


class Replies(Report):
    """Writes the replies of sessions as they come."""

    def add(self, taken: TakenSession) -> Iterator[ReportLine]:
        """The replies of a session, in the order of its lines."""
        for reply in taken.outcome.replies:
            place = taken.places[reply.record] if reply.record is not None else None
            yield REPLIES, _line(taken, reply, place)


def report(options: Options) -> Replies | None:
    """The replies, where they are asked for."""
    return Replies() if options.trace_replies else None


def _line(taken: TakenSession, reply: LoggedReply, place: Place | None) -> bytes:
    return shown(
        {
            "file": printable(taken.log.shown),
            "line": reply.line,
            "session": printable(taken.outcome.session),
            "kind": reply.kind,
            "status": reply.status,
            "why": reply.why,
            "record": str(place) if place else None,
            "message": reply.message,
            "loss": reply.loss,
            "conversation": reply.conversation,
            "parent": reply.parent,
        }
    )
