"""Restore what a client removed from the history and the log still has: reasoning, results, messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from msgspec import Struct, field

from chatsquash.core import chat, reasoning
from chatsquash.core.model import Json, Message
from chatsquash.trees.alignment import Alignment, LoggedMessage, Numbered, align, logged_messages
from chatsquash.trees.canonical import result_number
from chatsquash.trees.emptied import is_emptied
from chatsquash.trees.replies import Reply, Requests


class RestoreScope(NamedTuple):
    """What is to be restored."""

    reasoning: bool = False
    results: bool = False
    messages: bool = False
    """Those that were left out, where a history was cut."""


class Restored(Struct):
    """A history after restoring, with counts of what was restored."""

    messages: list[Message]
    numbers: list[int] = field(default_factory=list)
    """Their canonical numbers."""
    reasoning: int = 0
    results: int = 0
    inserted: int = 0
    ambiguous: int = 0
    """Messages that lack something and may be several of the logged ones; nothing is restored in them."""

    def add(self, number: int, message: Message) -> None:
        """Append a message."""
        self.numbers.append(number)
        self.messages.append(message)


def restored(history: Numbered, path: list[Reply], wanted: RestoreScope, copied: Callable[[int, int], str]) -> Restored:
    """Restore in the messages of a request what the logged messages of its path have.

    ``copied`` gives the reasoning of a message that a compaction copied, by its number and that of the message before
    it; an empty text if it is not known.
    """
    logged = [*logged_messages(path)]
    is_cut = any(reply.how == "cut" for reply in path)
    alignment = align(history, logged, is_cut=is_cut)
    if is_cut and wanted.messages:
        return _completed(history, logged, alignment, wanted)
    result, before = Restored([], ambiguous=_count_ambiguous(history, logged, alignment, wanted)), 0
    for at, ((number, message), there) in enumerate(zip(history, alignment.places, strict=True)):
        whole = message
        if there is not None:
            whole = _restored(message, logged[there], wanted, result, is_same=logged[there].number == number)
        elif wanted.reasoning and message["role"] == "assistant" and at not in alignment.candidates:
            whole = _with_text(message, copied(number, before), result)
        result.add(number, whole)
        before = number or before
    return result


def _completed(history: Numbered, logged: list[LoggedMessage], alignment: Alignment, wanted: RestoreScope) -> Restored:
    """Insert the messages of a path that a request lacks, so that every logged one is there once.

    It does not matter then which of several equal messages each was: the record has all of them in their order.
    """
    places = [alignment.latest(at) for at in range(len(history))]
    result, taken, last = Restored([]), {*places}, 0
    for (number, message), there in zip(history, places, strict=True):
        if there is None:
            result.add(number, message)
            continue
        _insert(result, (logged[at] for at in range(last, there) if at not in taken), wanted)
        last = max(last, there + 1)
        is_same = logged[there].number == number
        result.add(number, _restored(message, logged[there], wanted, result, is_same=is_same))
    if result.inserted:
        _pair(result)
    return result


def _count_ambiguous(history: Numbered, logged: list[LoggedMessage], alignment: Alignment, wanted: RestoreScope) -> int:
    """Count the messages that lack something, but may be several of the logged ones."""
    count = 0
    for at, candidates in alignment.candidates.items():
        message, originals = history[at][1], [logged[each].message for each in candidates]
        if message["role"] == "tool":
            count += wanted.results and any(is_emptied(message, each) for each in originals)
        elif wanted.reasoning and message["role"] == "assistant" and not reasoning.text_or_block(message):
            count += any(map(reasoning.text_or_block, originals))
    return count


def _insert(result: Restored, missing: Iterable[LoggedMessage], wanted: RestoreScope) -> None:
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
    message: Message, logged: LoggedMessage, wanted: RestoreScope, result: Restored, *, is_same: bool
) -> Message:
    """A message with what its logged original has and it lacks; ``is_same``: it has the words of the original."""
    original = logged.message
    if message["role"] == "tool":
        if wanted.results and is_emptied(message, original):
            result.results += 1
            return {**message, "content": original.get("content")}
        return message
    if logged.reply and is_same and wanted.reasoning and not reasoning.text_or_block(message):
        if logged.reply.finished:  # whose reasoning is another message
            own = reasoning.text(original).removeprefix(reasoning.text(logged.reply.finished))
            return _with_text(message, own.strip(), result)
        members = {name: value for name in reasoning.MEMBERS if (value := original.get(name))}
        if members and reasoning.text(original):
            result.reasoning += 1
            return {**message, **members}  # type: ignore[typeddict-item]
        return _with_text(message, reasoning.text_or_block(original), result)
    return message


def _with_text(message: Message, text: str, result: Restored) -> Message:
    """A message with reasoning, unless it has some, or there is none."""
    if not text.strip() or message["role"] != "assistant" or reasoning.text_or_block(message):
        return message
    result.reasoning += 1
    return {**message, reasoning.MEMBER: text}  # type: ignore[misc]


def without_reasoning(message: Message) -> Message:
    """A message without the members that hold reasoning."""
    return {name: value for name, value in message.items() if name not in reasoning.MEMBERS}  # type: ignore[return-value]


def first_emptied(requests: Requests, begin: int, end: int, last: Reply) -> int | None:
    """The index of the first emptied result of a request from an index on, up to the reply that it continues."""
    wanted = [at for at in range(begin, end) if requests.messages[at]["role"] == "tool"]
    if not wanted:
        return None
    logged = [*logged_messages(last.path())]
    if _results(requests.messages[:end]) == _results(each.message for each in logged):
        return None
    history = [*zip(requests.numbers[:end], requests.messages, strict=False)]
    places = align(history, logged, is_cut=False).places
    for at in wanted:
        there = places[at]
        if there is not None and is_emptied(requests.messages[at], logged[there].message):
            return at
    return None


def _results(messages: Iterable[Message]) -> list[Json]:
    """The contents of the results among messages."""
    return [message.get("content") for message in messages if message["role"] == "tool"]
