"""What an outcome tells of a session beside its record."""

from __future__ import annotations

from hashlib import sha256
from typing import BinaryIO

from xxhash import xxh3_128

from chatsquash import chat, jsonio
from chatsquash.log import Log
from chatsquash.model import Message
from chatsquash.read.reader import Reading
from chatsquash.stages.session import Session, Snapshot


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


def digest_of(read: Reading, digest: xxh3_128) -> str:
    """The hash of a log; that of a document is found with its first conversation."""
    held = read.document
    if held is None:
        return digest.hexdigest()
    held.digest = held.digest or digest.hexdigest()
    return str(held.digest)
