"""Give each of several calls in a message a message of its own, for templates that take one call at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from chatsquash.checks import shapes
from chatsquash.core import chat
from chatsquash.core.marks import divided
from chatsquash.core.model import Conversation, Json, Message, Staged
from chatsquash.formats.providers.openai_chat.members import identifier

_TOGETHER = "parallel calls without all results, not split"


def split_parallel(conversation: Conversation) -> Staged:
    """Every call is followed by its result; the text stays with the first. How many were split off is reported.

    Calls of which one has no result stay together, which is reported, too.
    """
    messages: list[Message] = []
    counts: Counter[str] = Counter()
    parts: list[int] = []
    for first, *rest in _blocks(conversation.messages):
        split = None
        if len(chat.calls(first)) > 1:
            split = _split(first, rest)
            counts["parallel calls with messages of their own" if split else _TOGETHER] += 1
        messages += split or [first, *rest]
        if first["role"] == "assistant":
            parts.append(len(chat.calls(first)) if split else 1)
    found = [shapes.shape_changed(counts)] if counts else []
    return Conversation(messages, conversation.tools, marks=divided(conversation, parts)), found


def _blocks(messages: list[Message]) -> Iterator[list[Message]]:
    """Each message of the assistant and what follows it up to the next one; what is before the first, too."""
    block: list[Message] = []
    for message in messages:
        if message["role"] == "assistant" and block:
            yield block
            block = []
        block.append(message)
    if block:
        yield block


def _split(message: Message, block: list[Message]) -> list[Message] | None:
    """The message and what follows it, call by call; ``None`` where not every call has a result."""
    calls: list[Json] = message["tool_calls"]
    rest = list(block)
    done: list[Message] = []
    for call in calls:
        place = _place_of_result(call, rest)
        if place is None:
            return None
        around: Message = {"role": "assistant", "content": ""} if done else message
        done += [{**around, "tool_calls": [call]}, rest.pop(place)]
    return [*done, *rest]


def _place_of_result(call: Json, messages: list[Message]) -> int | None:
    if not isinstance(call, dict):
        return None
    ident = identifier(call.get("id"))
    for place, message in enumerate(messages):
        if message["role"] == "tool" and identifier(message.get("tool_call_id")) == ident:
            return place
    return None
