"""Where a record ends that is cut before a call without a result."""

from __future__ import annotations

from chatsquash import chat
from chatsquash.checks import shapes
from chatsquash.formats.openai_chat.members import identifier
from chatsquash.model import Message
from chatsquash.records.notes import CannotHoldError, Notes


def cut(messages: list[Message], notes: Notes) -> list[Message]:
    """The messages before the first with a call that has no result when the assistant goes on.

    Raises ``CannotHoldError`` where the assistant says nothing before.
    """
    place = _first(messages)
    if place is None:
        return messages
    if not any(message["role"] == "assistant" for message in messages[:place]):
        what = "a call has no result, and the assistant says nothing before it with which the record could end"
        raise CannotHoldError(shapes.unpaired_call(what, place, "--unpaired close gives it a result, "))
    notes.changed["records cut before a call without a result"] += 1
    notes.dropped["messages from a call without a result on"] += len(messages) - place
    return messages[:place]


def _first(messages: list[Message]) -> int | None:
    """The place of the message with the first such call."""
    waiting: list[str | None] = []
    place = 0
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            if waiting:
                return place
            waiting, place = [identifier(call.get("id")) for call in chat.calls(message)], at
        elif message["role"] == "tool" and (logged := identifier(message.get("tool_call_id"))) in waiting:
            waiting.remove(logged)
    return None
