"""What a client took out of the history that the log still has: reasoning, results, messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec import Struct

from chatsquash import chat, reasoning
from chatsquash.model import Message
from chatsquash.tree.canonical import NOTHING
from chatsquash.tree.replies import Reply

Numbered = list[tuple[int, Message]]
"""Messages, each with what it is the same by."""


class Wanted(NamedTuple):
    """What is to be restored."""

    reasoning: bool = False
    results: bool = False
    messages: bool = False
    """Those that were left out, where a history was cut."""


class Restored(Struct):
    """A history with what was restored, and how much that is."""

    messages: list[Message]
    reasoning: int = 0
    results: int = 0
    inserted: int = 0


def restored(held: Numbered, path: list[Reply], wanted: Wanted, copied: Callable[[int], str]) -> Restored:
    """The messages of a request, with what the logged ones of its path have and they lack.

    ``copied`` gives the reasoning of a message that a compaction copied along, by what it is the same by; empty where
    that is not known.
    """
    found = Restored([])
    logged = [*_logged(path)]
    cut = wanted.messages and any(reply.how == "cut" for reply in path)
    at = 0
    for number, message in held:
        there = _find(logged, at, number)
        if there is None:
            found.messages.append(_with_text(message, copied(number), found) if wanted.reasoning else message)
            continue
        if cut:
            _insert(found, logged[at:there], wanted)
        _, original, reply = logged[there]
        at = there + 1
        found.messages.append(_restored(message, original, reply, wanted, found))
    return found


class _Place(NamedTuple):
    number: int
    message: Message
    reply: Reply | None
    """The reply that it is, if a model gave it."""


def _logged(path: list[Reply]) -> Iterator[_Place]:
    """What was sent and said on a path, each as it was when it came."""
    for reply in path:
        for number, message in zip(reply.added, reply.behind, strict=True):
            yield _Place(number, message, None)
        yield _Place(reply.said, reply.message, reply)


_AHEAD = 4000
"""Messages of a path among which the next one of a request is looked for."""


def _find(logged: list[_Place], at: int, number: int) -> int | None:
    """Where a message of a request stands on its path, from a place on."""
    if number == NOTHING:
        return None
    return next((place for place in range(at, min(at + _AHEAD, len(logged))) if logged[place].number == number), None)


def _insert(found: Restored, missing: list[_Place], wanted: Wanted) -> None:
    for place in missing:
        message = place.message
        if place.reply and not wanted.reasoning:
            message = without_reasoning(message)
        found.messages.append(message)
        found.inserted += 1


def _restored(message: Message, original: Message, reply: Reply | None, wanted: Wanted, found: Restored) -> Message:
    if message["role"] == "tool":
        if wanted.results and is_emptied(message, original):
            found.results += 1
            return {**message, "content": original.get("content")}
        return message
    if reply and wanted.reasoning and not reasoning.text(message):
        members = {name: value for name in reasoning.MEMBERS if (value := original.get(name))}
        if members and reasoning.text(original):
            found.reasoning += 1
            return {**message, **members}  # type: ignore[typeddict-item]
        return _with_text(message, reasoning.text(original), found)
    return message


def _with_text(message: Message, text: str, found: Restored) -> Message:
    """A message with reasoning, unless it has some, or there is none."""
    if not text.strip() or message["role"] != "assistant" or reasoning.text(message):
        return message
    found.reasoning += 1
    return {**message, reasoning.MEMBER: text}  # type: ignore[misc]


def without_reasoning(message: Message) -> Message:
    """A message without the members that hold reasoning."""
    return {name: value for name, value in message.items() if name not in reasoning.MEMBERS}  # type: ignore[return-value]


_PLACEHOLDER = 100
"""Characters of what may stand in the place of a result."""


def is_emptied(message: Message, original: Message) -> bool:
    """Whether a result has less than it had when it was sent first, or a few words in its place."""
    here, there = chat.text(message) or "", chat.text(original) or ""
    return here != there and len(here) < max(len(there), _PLACEHOLDER)


def has_emptied(messages: list[Message], numbers: list[int], last: Reply) -> bool:
    """Whether a result among the first messages of a request has less than it had on the path to a reply."""
    logged = [*_logged(last.path())]
    at = 0
    for number, message in zip(numbers, messages, strict=False):
        there = _find(logged, at, number)
        if there is None:
            continue
        at = there + 1
        if message["role"] == "tool" and is_emptied(message, logged[there].message):
            return True
    return False
