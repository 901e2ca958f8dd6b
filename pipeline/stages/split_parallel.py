"""Give each of several calls in a message a message of its own, for templates that take one call at a time."""

from __future__ import annotations

from collections import Counter
from itertools import takewhile

from pipeline import chat
from pipeline.checks import shapes
from pipeline.formats.openai_chat.members import identifier
from pipeline.ledger import Ledger
from pipeline.model import Conversation, Json, Message


def split_parallel(conversation: Conversation, ledger: Ledger, line: int) -> Conversation:
    """Every call is followed by its result; the text stays with the first. How many were split off is noted.

    Calls of which one has no result stay together, which is noted, too.
    """
    messages: list[Message] = []
    counts: Counter[str] = Counter()
    todo = iter(range(len(conversation.messages)))
    for at in todo:
        message = conversation.messages[at]
        if len(chat.calls(message)) < 2:
            messages.append(message)
            continue
        block = list(takewhile(lambda each: each["role"] != "assistant", conversation.messages[at + 1 :]))
        split = _split(message, block)
        counts["calls with a message of their own" if split else "parallel calls without all results, not split"] += 1
        messages += split or [message, *block]
        for _ in block:
            next(todo)
    if counts:
        ledger.note(shapes.shape_changed(counts), line)
    return Conversation(messages, conversation.tools)


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
