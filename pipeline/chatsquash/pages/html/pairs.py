"""Which result answers which call of a record, so that they can be shown side by side."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

from chatsquash.core import chat
from chatsquash.records.message_texts import RESULTS, made

Place = tuple[int, int]
"""The index of a message, and which of its calls it is."""


def answers(messages: list[Any]) -> dict[Place, int]:
    """Of each call that is answered the index of the message that does.

    A result answers the first open call with its id; one without an id, the first open call of the message before.
    """
    found: dict[Place, int] = {}
    by_id: dict[str | bytes, deque[Place]] = defaultdict(deque)
    last: deque[Place] = deque()
    for at, message in enumerate(messages):
        if message["role"] in RESULTS:
            key = chat.id_key(message.get("tool_call_id"))
            waiting = last if key is None else by_id.get(key, deque())
            place = _next(waiting, found)
            if place:
                found[place] = at
        elif message["role"] == "assistant":
            last = deque()
            for number, call in enumerate(made(message)):
                last.append((at, number))
                if (key := chat.id_key(call.get("id"))) is not None:
                    by_id[key].append((at, number))
    return found


def _next(waiting: deque[Place], found: dict[Place, int]) -> Place | None:
    while waiting:
        place = waiting.popleft()
        if place not in found:
            return place
    return None
