"""What loggers cut of a session, and whether a record may be made of it all the same."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash.checks import reading
from chatsquash.core import chat
from chatsquash.core.model import Found, Message
from chatsquash.core.options import Options
from chatsquash.records import presets
from chatsquash.session.session import Noted, Session

_MARKS = ("[truncated]", "[TRUNCATED]", "(truncated)", "<truncated>")
"""What texts end with that were cut; results of tools may, since tools cut them for the model."""
_CODE = "cut-by-logger"


def marked(session: Session) -> Iterator[Noted]:
    """The messages that end with a mark of what was cut."""
    entry = session.snapshot.entry if session.snapshot else None
    if entry is None:
        return
    said = [*enumerate(entry.messages), (None, entry.reply.message)]
    for at, message in said:
        if message is not None and message["role"] != "tool" and _is_cut(message):
            fact = reading.cut_by_logger(f"what the {message['role']} said", 1)
            yield entry.line, fact._replace(at=at)


def _is_cut(message: Message) -> bool:
    text = message.get("content")
    if isinstance(text, list):
        text = chat.text(message)
    return isinstance(text, str) and text.rstrip().endswith(_MARKS)


def refused(session: Session, noted: list[Noted], options: Options) -> Found | None:
    """Why no record is made of a session of which something was cut; ``None`` where one may be."""
    if options.preset == presets.DEFAULT or options.keep_cut:
        return None
    repeated = next((each for each in session.repeated if each.code == _CODE), None)
    if repeated:
        return reading.cut_by_logger(repeated.values[0], 1)
    return next((found for _, found in noted if found.code == _CODE), None)
