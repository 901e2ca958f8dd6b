"""What sessions begin with, as their records have it: by that they are kept in one split."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from itertools import takewhile

from chatsquash.core import jsonio
from chatsquash.core.model import Conversation, Message
from chatsquash.core.options import Options
from chatsquash.records.line import digest
from chatsquash.records.reading import record
from chatsquash.redact.pseudonyms import anonymizer
from chatsquash.session.plan import Plan, plan, through
from chatsquash.session.stages.compose import normalise

_REPLY: Message = {"role": "assistant", "content": "."}
"""Stands behind a beginning, since presets hold no conversation without a reply."""


def of_line(line: bytes) -> str:
    """The digest of what a record begins with; of all of it where parsing it would take more memory than may be."""
    try:
        return prefix(record(jsonio.loads(line)).messages)
    except jsonio.TooLargeError:
        return digest(line).hex()


def of_messages(messages: Iterable[Message], options: Options, *, loaded: bool) -> str:
    """The digest of what the record of a conversation would begin with, which may not be written itself.

    Where the preset cannot hold the beginning, no record has it, and what was logged tells such sessions apart.
    """
    # All that is said before a reply, since some presets make one message of several.
    said = takewhile(lambda message: message["role"] != "assistant", messages)
    first = [normalise(message) for message in said]
    made = _plan(options)
    conversation, _ = through(made.logged, Conversation([*first, _REPLY], [], loaded=loaded))
    conversation, _ = through(made.conversation, conversation)
    line = made.record(conversation).data
    return prefix(first) if line is None else of_line(line)


@lru_cache(maxsize=1)
def _plan(options: Options) -> Plan:
    """That of the run, with pseudonyms of its own, which are the same with one key."""
    return plan(options, anonymizer(options))


def prefix(messages: list[Message]) -> str:
    """A digest of what a conversation begins with: its system prompt and its first message of anybody else."""
    digest = sha256()
    for message in messages:
        role = message["role"]
        digest.update(jsonio.dumps([role, message.get("content")]))
        if role not in ("system", "developer"):
            break
    return digest.hexdigest()[:32]
