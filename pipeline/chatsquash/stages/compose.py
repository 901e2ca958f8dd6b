"""Make a snapshot the conversation of its record."""

from __future__ import annotations

from itertools import count

from chatsquash import chat
from chatsquash.checks import reading
from chatsquash.ledger import Ledger
from chatsquash.model import Conversation, Message
from chatsquash.stages.select import Snapshot


def compose(snapshot: Snapshot, ledger: Ledger) -> Conversation:
    """Append the reply and normalise roles; what is missing about the reply is noted."""
    entry = snapshot.entry
    reply = entry.reply
    messages = list(entry.messages)
    if reply.message is None and not reply.included:
        ledger.note(reading.missing_reply(reply.problem or ""), entry.line)
    elif reply.message is not None:
        messages.append(_numbered(reply.message, messages))
        if reply.cut:
            ledger.note(reading.stream_cut(), entry.line)
        if reply.finish_reason == "length":
            ledger.note(reading.reply_truncated(), entry.line)
    if reply.choices > 1:
        ledger.note(reading.extra_choices(reply.choices), entry.line)
    for at, message in enumerate(messages):
        if None in message.values() or message["role"] == "developer":
            messages[at] = normalise(message)
    return Conversation(messages, snapshot.tools)


def _numbered(reply: Message, messages: list[Message]) -> Message:
    """A reply whose calls got ids from us, counted on from those of the request."""
    made = [call for call in chat.calls(reply) if chat.private(call).get("synthetic_id")]
    if not made:
        return reply
    logged = [call for call in chat.calls(reply) if call not in made]
    taken = {call.get("id") for call in [*logged, *(call for message in messages for call in chat.calls(message))]}
    free = (f"call_{number}" for number in count(1) if f"call_{number}" not in taken)
    calls = [{**call, "id": next(free)} if call in made else call for call in chat.calls(reply)]
    return {**reply, "tool_calls": calls}


def normalise(message: Message) -> Message:
    """``developer`` becomes ``system``, null-valued fields go; nothing else changes."""
    kept = {key: value for key, value in message.items() if value is not None}
    if kept["role"] == "developer":
        kept["role"] = "system"
    return kept  # type: ignore[return-value]
