"""What an outcome tells of a session beside its record."""

from __future__ import annotations

import re
from array import array
from functools import partial
from hashlib import sha256
from typing import BinaryIO

from xxhash import xxh3_64_intdigest, xxh3_128

from chatsquash import chat, jsonio
from chatsquash.log import Log
from chatsquash.model import Finding, Message
from chatsquash.outcome import Meeting
from chatsquash.read.reader import Reading
from chatsquash.read.sessions import SPAN
from chatsquash.stages.session import Session, Snapshot
from chatsquash.text import printable
from chatsquash.tree.texts import is_long


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


_TOLD_LINES = ("role-sequence", "short-tail", "session-id-mismatch", "timestamp-order", "tool-conflict")
"""Findings whose texts name other lines."""
_LINE = re.compile(r"\bline ([\d,]+)")


def in_files(findings: list[Finding], log: Log) -> list[Finding]:
    """The findings of a session with the files of their lines, where it has lines in several."""
    return [_in_file(each, log) for each in findings] if log.pieces else findings


def _in_file(found: Finding, log: Log) -> Finding:
    file, line = log.at(found.line)
    text = _LINE.sub(partial(_named, log), found.text) if found.code in _TOLD_LINES else found.text
    return found._replace(file=file, line=line, text=text)


def _named(log: Log, found: re.Match[str]) -> str:
    file, line = log.at(int(found[1].replace(",", "")))
    return f"line {line:,} of {printable(file)}"


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
    user = next((chat.text(message) for message in last.messages if message["role"] == "user"), None) or ""
    before = next((message for message in reversed(first.messages) if message["role"] == "assistant"), None)
    named = xxh3_64_intdigest(session.id.encode("utf-8", "surrogatepass")) if session.id else 0
    return Meeting(named, _said(user, before), _said(user, last.reply.message))


def _said(user: str, reply: Message | None) -> int:
    """A hash of a reply and of what a conversation began with; 0 for what many conversations have in common."""
    if reply is None:
        return 0
    text, calls = (chat.text(reply) or "").strip(), [chat.call_name(call) for call in chat.calls(reply)]
    if not calls and not is_long(f"{user} {text}"):
        return 0
    return xxh3_64_intdigest(jsonio.dumps([user.strip(), text, calls]))


def digest_of(read: Reading, digest: xxh3_128) -> str:
    """The hash of a log; that of a document is found with its first conversation."""
    held = read.document
    if held is None:
        return digest.hexdigest()
    held.digest = held.digest or digest.hexdigest()
    return str(held.digest)
