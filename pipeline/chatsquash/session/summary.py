"""What an outcome tells of a session beside its record."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from hashlib import sha256
from typing import BinaryIO

from xxhash import xxh3_64_intdigest, xxh3_128

from chatsquash.checks import reading
from chatsquash.core import chat, jsonio
from chatsquash.core.log import Log
from chatsquash.core.model import Finding, Found, Message, Seen
from chatsquash.core.outcome import Meeting
from chatsquash.core.text import printable
from chatsquash.reading.session_log import Reading
from chatsquash.reading.sessions import SPAN
from chatsquash.session import cleaning
from chatsquash.session.session import Noted, Session, Snapshot
from chatsquash.sources.identity import Hashed


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
    return is_cut or log.is_part or session.sizes.all == file.tell()


_TOLD_LINES = ("role-sequence", "short-tail", "session-id-mismatch", "timestamp-order", "tool-conflict")
"""Findings whose texts name other lines."""
_LINE = re.compile(r"\bline ([\d,]+)")


def in_files(findings: list[Finding], log: Log) -> list[Finding]:
    """The findings of a session with the files of their lines, where it has lines in several."""
    return [_in_file(each, log) for each in findings] if log.pieces or log.agents else findings


def _in_file(found: Finding, log: Log) -> Finding:
    file, line = log.at(found.line)

    def named(told: re.Match[str]) -> str:
        other, at = log.at(int(told[1].replace(",", "")))
        return f"line {at:,} of {printable(other)}"

    text = _LINE.sub(named, found.text) if found.code in _TOLD_LINES else found.text
    return found._replace(file=file, line=line, text=text)


def hash_of(file: BinaryIO, log: Log) -> str:
    """The hash of a session's lines in the order of its file, whichever order they are taken in."""
    digest = xxh3_128()
    spans = log.spans or array("Q")
    for at in sorted(range(0, len(spans), SPAN), key=spans.__getitem__):
        file.seek(spans[at + 1])
        digest.update(file.read(spans[at + 2]))
    return digest.hexdigest()


def meeting(session: Session) -> Meeting | None:
    """By what a session is told to be a part of a longer one."""
    first, last = session.followed.first, session.followed.last
    if first is None or last is None:
        return None
    user = next((message for message in last.messages if message["role"] == "user"), None)
    before = next((message for message in reversed(first.messages) if message["role"] == "assistant"), None)
    return met(session.id, user, before, last.reply.message)


def met(session_id: str | None, user: Message | None, before: Message | None, reply: Message | None) -> Meeting:
    """The same by what the user said first, the last reply that the first request holds, and the last one of all."""
    named = xxh3_64_intdigest(session_id.encode("utf-8", "surrogatepass")) if session_id else 0
    said = (chat.text(user) if user else None) or ""
    return Meeting(named, _said(said, before), _said(said, reply))


def _said(user: str, reply: Message | None) -> int:
    """A hash of a reply and of what a conversation began with; 0 for what many conversations have in common."""
    if reply is None:
        return 0
    text, calls = (chat.text(reply) or "").strip(), [chat.call_name(call) for call in chat.calls(reply)]
    if not calls:
        from chatsquash.trees.texts import is_long  # which most sessions do not need

        if not is_long(f"{user} {text}"):
            return 0
    return xxh3_64_intdigest(jsonio.dumps([user.strip(), text, calls]))


def digest_of(read: Reading, digest: Hashed) -> str:
    """The hash of a log; that of a document is found with its first conversation."""
    held = read.document
    if held is None:
        return digest.hexdigest()
    held.digest = held.digest or digest.hexdigest()
    return str(held.digest)


def cleaned(session: Session, sets: tuple[str, ...]) -> list[Noted]:
    """What cleaning did."""
    snapshot = session.snapshot
    changed = {**(snapshot.entry.cleaned if snapshot else {}), **session.dropped}
    return [(snapshot.entry.line if snapshot else None, found) for found in told_of_cleaning(changed, sets)]


def told_of_cleaning(changed: dict[str, int], sets: tuple[str, ...]) -> list[Found]:
    """What the rules of some sets did, given how many messages or entries each changed."""
    if not any(changed.values()):
        return []
    counts = {rule.replace("_", " "): changed.get(rule, 0) for rule in cleaning.names(sets)}
    return [reading.cleaned(counts, by_default=sets == ("goose",))]


def unfit(seen: Seen | None, session: Session) -> Found | None:
    """Why nothing can be made of a log."""
    cleaned = session.lines.cleaned
    if seen and seen.why and not seen.format and (seen.conflict or not (session.snapshot or cleaned)):
        return reading.unknown_format(seen.why)
    return None if session.snapshot else reading.empty_session(cleaned, len(session.rejected))


def taken_apart(log: Log) -> Iterator[Noted]:
    """How the lines of a session were taken out of their files."""
    if log.apart:
        yield None, reading.unrelated_requests(log.apart)
    if log.reordered:
        yield None, reading.reordered(log.reordered)
