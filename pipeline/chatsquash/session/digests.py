"""Digests of a session: of its bytes, and of the ends by which parts of one longer session are recognised."""

from __future__ import annotations

from array import array
from typing import BinaryIO

from xxhash import xxh3_64_intdigest, xxh3_128

from chatsquash.core import chat, jsonio
from chatsquash.core.log import Log
from chatsquash.core.model import Message
from chatsquash.core.outcome import Meeting
from chatsquash.reading.reader import Reading
from chatsquash.reading.sessions import SPAN
from chatsquash.session.session import Session
from chatsquash.sources.identity import Hashed


def is_whole(session: Session, file: BinaryIO, log: Log) -> bool:
    """Whether every byte of a file that is one session was counted, unless the rest of it was not read."""
    is_cut = any(finding.code == "cut-short" for _, finding in session.notes)
    return is_cut or log.is_part or session.sizes.all == file.tell()


def hash_of(file: BinaryIO, log: Log) -> str:
    """The hash of a session's lines in the order of its file, whichever order they are taken in."""
    digest = xxh3_128()
    spans = log.spans or array("Q")
    for at in sorted(range(0, len(spans), SPAN), key=spans.__getitem__):
        file.seek(spans[at + 1])
        digest.update(file.read(spans[at + 2]))
    return digest.hexdigest()


def digest_of(read: Reading, digest: Hashed) -> str:
    """The hash of a log; that of a document is found with its first conversation."""
    document = read.document
    if document is None:
        return digest.hexdigest()
    document.digest = document.digest or digest.hexdigest()
    return str(document.digest)


def meeting(session: Session) -> Meeting | None:
    """By what a session is told to be a part of a longer one."""
    first, last = session.followed.first, session.followed.last
    if first is None or last is None:
        return None
    user = next((message for message in last.messages if message["role"] == "user"), None)
    before = next((message for message in reversed(first.messages) if message["role"] == "assistant"), None)
    return meeting_of(session.id, user, before, last.reply.message)


def meeting_of(session_id: str | None, user: Message | None, before: Message | None, reply: Message | None) -> Meeting:
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
        from chatsquash.trees.canonical import is_long  # which most sessions do not need

        if not is_long(f"{user} {text}"):
            return 0
    return xxh3_64_intdigest(jsonio.dumps([user.strip(), text, calls]))
