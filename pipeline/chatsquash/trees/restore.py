"""What a client took out of the history that the log still has: reasoning, results, messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct, field

from chatsquash.core import chat, reasoning
from chatsquash.core.model import Message
from chatsquash.trees.canonical import NOTHING, result_number
from chatsquash.trees.replies import Reply
from chatsquash.trees.rewrites import is_reminded

Numbered = list[tuple[int, Message]]
"""Messages, each with what it is the same by."""


class RestoreScope(NamedTuple):
    """What is to be restored."""

    reasoning: bool = False
    results: bool = False
    messages: bool = False
    """Those that were left out, where a history was cut."""


class Restored(Struct):
    """A history with what was restored, and how much that is."""

    messages: list[Message]
    numbers: list[int] = field(default_factory=list)
    """What each is the same by."""
    reasoning: int = 0
    results: int = 0
    inserted: int = 0

    def add(self, number: int, message: Message) -> None:
        """Go on with a message."""
        self.numbers.append(number)
        self.messages.append(message)


def restored(history: Numbered, path: list[Reply], wanted: RestoreScope, copied: Callable[[int], str]) -> Restored:
    """The messages of a request, with what the logged ones of its path have and they lack.

    ``copied`` gives the reasoning of a message that a compaction copied along, by what it is the same by; empty where
    that is not known.
    """
    result = Restored([])
    logged = [*_logged_messages(path)]
    cut = wanted.messages and any(reply.how == "cut" for reply in path)
    places = _cut_places(history, logged) if cut else _places(history, logged)
    at = 0
    for (number, message), there in zip(history, places, strict=True):
        if there is None:
            result.add(number, _with_text(message, copied(number), result) if wanted.reasoning else message)
            continue
        if cut:
            _insert(result, logged[at:there], wanted)
        _, original, reply = logged[there]
        at = there + 1
        result.add(number, _restored(message, original, reply, wanted, result))
    if result.inserted:
        _pair(result)
    return result


class _LoggedMessage(NamedTuple):
    number: int
    message: Message
    reply: Reply | None
    """The reply that it is, if a model gave it."""


def _logged_messages(path: list[Reply]) -> Iterator[_LoggedMessage]:
    """What was sent and said on a path, each as it was when it came."""
    for reply in path:
        for number, message in zip(reply.added, reply.behind, strict=True):
            yield _LoggedMessage(number, message, None)
        yield _LoggedMessage(reply.said, reply.message, reply)


_AHEAD = 4000
"""Messages of a path among which the next one of a request is looked for."""


def _places(history: Numbered, logged: list[_LoggedMessage]) -> Iterator[int | None]:
    """Where each message of a request stands on its path."""
    at = 0
    for number, _ in history:
        ahead = range(at, min(at + _AHEAD, len(logged))) if number != NOTHING else ()
        there = next((place for place in ahead if logged[place].number == number), None)
        if there is not None:
            at = there + 1
        yield there


def _cut_places(history: Numbered, logged: list[_LoggedMessage]) -> list[int | None]:
    """The same for a request that lacks messages: what stands last is found first, in whatever wording."""
    places: list[int | None] = []
    end = len(logged)
    for number, message in reversed(history):
        there = None
        if number != NOTHING:
            back = range(end - 1, max(-1, end - 1 - _AHEAD), -1)
            there = next((at for at in back if _is_there(logged[at], number, message)), None)
        if there is not None:
            end = there
        places.append(there)
    places.reverse()
    return places


def _is_there(place: _LoggedMessage, number: int, message: Message) -> bool:
    return place.number == number or is_reminded(message, place.message, loosely=True)


def _insert(result: Restored, missing: list[_LoggedMessage], wanted: RestoreScope) -> None:
    for place in missing:
        message = place.message
        if place.reply and not wanted.reasoning:
            message = without_reasoning(message)
        result.add(place.number, message)
        result.inserted += 1


def _pair(result: Restored) -> None:
    """Give results the ids that their calls have, since clients may write ids anew with each request."""
    ids: dict[int, object] = {}
    for at, (number, message) in enumerate(zip(result.numbers, result.messages, strict=True)):
        if message["role"] == "assistant":
            ids = {result_number(place): call.get("id") for place, call in enumerate(chat.calls(message), 1)}
        elif message["role"] == "tool" and number in ids and message.get("tool_call_id") not in ids.values():
            renamed: Any = {**message, "tool_call_id": ids[number]}
            result.messages[at] = renamed


def _restored(
    message: Message, original: Message, reply: Reply | None, wanted: RestoreScope, result: Restored
) -> Message:
    if message["role"] == "tool":
        if wanted.results and is_emptied(message, original):
            result.results += 1
            return {**message, "content": original.get("content")}
        return message
    if reply and wanted.reasoning and not reasoning.thought(message):
        members = {name: value for name in reasoning.MEMBERS if (value := original.get(name))}
        if members and reasoning.text(original):
            result.reasoning += 1
            return {**message, **members}  # type: ignore[typeddict-item]
        return _with_text(message, reasoning.thought(original), result)
    return message


def _with_text(message: Message, text: str, result: Restored) -> Message:
    """A message with reasoning, unless it has some, or there is none."""
    if not text.strip() or message["role"] != "assistant" or reasoning.thought(message):
        return message
    result.reasoning += 1
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
    logged = [*_logged_messages(last.path())]
    pairs = [*zip(numbers, messages, strict=False)]
    both = zip(messages, _places(pairs, logged), strict=True)
    results = ((message, there) for message, there in both if there is not None and message["role"] == "tool")
    return any(is_emptied(message, logged[there].message) for message, there in results)
