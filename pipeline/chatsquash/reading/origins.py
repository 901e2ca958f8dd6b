"""Where in the file of an agent or a client something stands."""

from __future__ import annotations

from chatsquash.core.model import Entry, Origin, Violation


def first_line(origin: Origin) -> int | None:
    """The first line that is known to hold some of a conversation."""
    known = [*origin.lines, *(reply.line for reply in origin.replies)]
    return next((line for line in known if line is not None), None)


def line_of(entry: Entry, violation: Violation) -> int:
    """The line of the message that something is found of; in a document its own."""
    message = violation.at if violation.logged is None else violation.logged
    if message is None or entry.origin is None:
        return entry.line
    lines, replies = entry.origin.lines, entry.origin.replies
    known = lines[message] if message < len(lines) else None
    return known or next((reply.line for reply in replies if reply.at == message and reply.line), entry.line)
