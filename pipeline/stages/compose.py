"""Make a snapshot the conversation of its record."""

from __future__ import annotations

from pipeline.checks import log
from pipeline.ledger import Ledger
from pipeline.model import Conversation, Message
from pipeline.stages.select import Snapshot


def compose(snapshot: Snapshot, ledger: Ledger) -> Conversation:
    """Append the reply and normalise roles; what is missing about the reply is noted."""
    entry = snapshot.entry
    reply = entry.reply
    messages = list(entry.messages)
    if reply.message is None:
        ledger.note(log.missing_reply(reply.problem or ""), entry.line)
    else:
        messages.append(reply.message)
        if reply.finish_reason == "length":
            ledger.note(log.reply_truncated(), entry.line)
    if reply.choices > 1:
        ledger.note(log.extra_choices(reply.choices), entry.line)
    return Conversation([normalise(message) for message in messages], snapshot.tools)


def normalise(message: Message) -> Message:
    """``developer`` becomes ``system``, null-valued fields go; nothing else changes."""
    if message["role"] != "developer" and None not in message.values():
        return message
    kept = {key: value for key, value in message.items() if value is not None}
    if kept["role"] == "developer":
        kept["role"] = "system"
    return kept  # type: ignore[return-value]
