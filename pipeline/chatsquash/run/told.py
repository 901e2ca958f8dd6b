"""What an outcome tells of a session beside its record."""

from __future__ import annotations

from hashlib import sha256
from typing import BinaryIO

from chatsquash import chat, jsonio
from chatsquash.checks import reading
from chatsquash.log import Log
from chatsquash.model import Found, Message, Seen
from chatsquash.stages import cleaning
from chatsquash.stages.session import Noted, Session, Snapshot


def trace(snapshot: Snapshot) -> str:
    """The role trace of a snapshot and its reply."""
    reply = snapshot.entry.reply.message
    return chat.trace([*snapshot.entry.messages, *([reply] if reply else [])])


def prefix(messages: list[Message]) -> str:
    """A digest of what a conversation begins with: its system prompt and its first message of anybody else."""
    digest = sha256()
    for message in messages:
        role = message["role"]
        digest.update(jsonio.dumps([role, message.get("content")]))
        if role not in ("system", "developer"):
            break
    return digest.hexdigest()[:32]


def is_whole(session: Session, file: BinaryIO, log: Log) -> bool:
    """Whether every byte of a file that is one session was counted, unless the rest of it was not read."""
    is_cut = any(found.code == "cut-short" for _, found in session.found)
    return is_cut or log.part is not None or log.spans is not None or session.sizes.all == file.tell()


def cleaned(session: Session, sets: tuple[str, ...]) -> list[Noted]:
    """What cleaning did."""
    snapshot = session.snapshot
    changed = {**(snapshot.entry.cleaned if snapshot else {}), **session.dropped}
    if not any(changed.values()):
        return []
    counts = {rule.replace("_", " "): changed.get(rule, 0) for rule in cleaning.names(sets)}
    found = reading.cleaned(counts, by_default=sets == ("goose",))
    return [(snapshot.entry.line if snapshot else None, found)]


def unfit(seen: Seen | None, session: Session) -> Found | None:
    """Why nothing can be made of a log."""
    cleaned = session.lines.cleaned
    if seen and seen.why and not seen.format and (seen.conflict or not (session.snapshot or cleaned)):
        return reading.unknown_format(seen.why)
    return None if session.snapshot else reading.empty_session(cleaned, len(session.rejected))
