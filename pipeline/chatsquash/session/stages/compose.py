"""Make a snapshot the conversation of its record."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from chatsquash.checks import reading
from chatsquash.core import chat
from chatsquash.core.model import Conversation, Found, Message, Reply, Staged
from chatsquash.session.session import Snapshot

_OTHER = "developer"
"""What OpenAI calls the system since its models reason."""


def compose(
    snapshot: Snapshot, *, loaded: bool = False, source: str | None = None, version: str | None = None
) -> Staged:
    """Append the reply and normalise roles; says what is missing about the reply.

    ``loaded``, ``source`` and ``version`` are as in ``Conversation``.
    """
    reply = snapshot.entry.reply
    messages = list(snapshot.entry.messages)
    if reply.message is not None:
        messages.append(_numbered(reply.message, messages))
    for at in [at for at, message in enumerate(messages) if None in message.values() or message["role"] == _OTHER]:
        messages[at] = normalise(messages[at])
    return Conversation(messages, snapshot.tools, loaded=loaded, source=source, version=version), _missing(reply)


def _missing(reply: Reply) -> Iterator[Found]:
    if reply.message is None and not reply.included:
        yield reading.missing_reply(reply.problem or "")
    if reply.message is not None and reply.cut:
        yield reading.stream_cut()
    if (reply.message is not None or reply.included) and reply.finish_reason == "length":
        yield reading.reply_truncated()
    if reply.choices > 1:
        yield reading.extra_choices(reply.choices)


def _numbered(reply: Message, messages: list[Message]) -> Message:
    """A reply whose calls got ids from us, counted on from those of the request."""
    flags = chat.made_up(reply)
    if not flags:
        return reply
    pairs = list(zip(chat.calls(reply), flags, strict=True))
    logged = [call for call, is_made_up in pairs if not is_made_up]
    taken = {call.get("id") for call in [*logged, *(call for message in messages for call in chat.calls(message))]}
    free = (f"call_{number}" for number in count(1) if f"call_{number}" not in taken)
    calls = [{**call, "id": next(free)} if is_made_up else call for call, is_made_up in pairs]
    return {**reply, "tool_calls": calls}


def normalise(message: Message) -> Message:
    """``developer`` becomes ``system``, null-valued fields go; nothing else changes."""
    kept = {key: value for key, value in message.items() if value is not None}
    if kept["role"] == _OTHER:
        kept["role"] = "system"
    return kept  # type: ignore[return-value]
