"""Restore content that a client removed from the history but the log still has: reasoning, results and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from msgspec import Struct, field

from chatsquash.core import chat, reasoning
from chatsquash.core.model import Json, Message
from chatsquash.trees.alignment import Alignment, LoggedMessage, NumberedMessages, align, logged_messages
from chatsquash.trees.canonical import result_number
from chatsquash.trees.emptied import is_emptied
from chatsquash.trees.replies import Reply, Requests


class RestoreScope(NamedTuple):
    """The content to restore."""

    reasoning: bool = False
    results: bool = False
    messages: bool = False
    """Messages missing from a shortened history."""


class Restored(Struct):
    """A history after restoring, with counts of the restored content."""

    messages: list[Message]
    numbers: list[int] = field(default_factory=list)
    """The canonical numbers of the messages."""
    reasoning: int = 0
    results: int = 0
    inserted: int = 0
    ambiguous: int = 0
    """The number of messages with missing content that match several logged ones, so that nothing is restored."""

    def add(self, number: int, message: Message) -> None:
        """Append a message."""
        self.numbers.append(number)
        self.messages.append(message)


def have_reasoning(replies: list[Reply]) -> bool:
    """Return whether any of the replies, or of the assistant messages new in their requests, has reasoning."""
    return any(
        reasoning.text_or_block(reply.message) or any(map(_has_reasoning, reply.new_messages)) for reply in replies
    )


def _has_reasoning(message: Message) -> bool:
    return message["role"] == "assistant" and bool(reasoning.text_or_block(message))


def restore(
    history: NumberedMessages, path: list[Reply], scope: RestoreScope, find_reasoning: Callable[[int, int], str]
) -> Restored:
    """Restore missing content in the messages of a request from the logged messages of its path.

    Args:
        history: The messages of the request.
        path: The replies that the request continues.
        scope: The content to restore.
        find_reasoning: Returns the reasoning of a message copied by a compaction, given its number and that of the
            message before it; empty if unknown.
    """
    path_messages = [*logged_messages(path)]
    is_cut = any(reply.how == "cut" for reply in path)
    alignment = align(history, path_messages, is_cut=is_cut)
    if is_cut and scope.messages:
        return _restore_missing(history, path_messages, alignment, scope)
    result, before = Restored([], ambiguous=_count_ambiguous(history, path_messages, alignment, scope)), 0
    for index, ((number, message), place) in enumerate(zip(history, alignment.places, strict=True)):
        restored_message = message
        if place is not None:
            restored_message = _restore_message(
                message, path_messages[place], scope, result, is_same=path_messages[place].number == number
            )
        elif scope.reasoning and message["role"] == "assistant" and index not in alignment.candidates:
            restored_message = _with_text(message, find_reasoning(number, before), result)
        result.add(number, restored_message)
        before = number or before
    return result


def _restore_missing(
    history: NumberedMessages, path_messages: list[LoggedMessage], alignment: Alignment, scope: RestoreScope
) -> Restored:
    """Insert the messages of a path that are missing from a request, so that it contains each logged message once."""
    # With all messages in their order, it does not matter which of several equal messages each one is.
    places = [alignment.latest(at) for at in range(len(history))]
    result, occupied, last = Restored([]), {*places}, 0
    for (number, message), place in zip(history, places, strict=True):
        if place is None:
            result.add(number, message)
            continue
        _insert(result, (path_messages[at] for at in range(last, place) if at not in occupied), scope)
        last = max(last, place + 1)
        is_same = path_messages[place].number == number
        result.add(number, _restore_message(message, path_messages[place], scope, result, is_same=is_same))
    if result.inserted:
        _pair_results(result)
    return result


def _count_ambiguous(
    history: NumberedMessages, path_messages: list[LoggedMessage], alignment: Alignment, scope: RestoreScope
) -> int:
    """Count the messages with missing content that match several logged ones."""
    count = 0
    for at, candidates in alignment.candidates.items():
        message, originals = history[at][1], [path_messages[each].message for each in candidates]
        if message["role"] == "tool":
            count += scope.results and any(is_emptied(message, each) for each in originals)
        elif scope.reasoning and message["role"] == "assistant" and not reasoning.text_or_block(message):
            count += any(map(reasoning.text_or_block, originals))
    return count


def _insert(result: Restored, missing: Iterable[LoggedMessage], scope: RestoreScope) -> None:
    for logged_message in missing:
        message = logged_message.message
        if logged_message.reply and not scope.reasoning:
            message = _without_reasoning(message)
        result.add(logged_message.number, message)
        result.inserted += 1


def _pair_results(result: Restored) -> None:
    """Set the ids of results to those of their calls."""
    # Clients may write new ids with each request.
    ids: dict[int, object] = {}
    for at, (number, message) in enumerate(zip(result.numbers, result.messages, strict=True)):
        if message["role"] == "assistant":
            ids = {result_number(place): call.get("id") for place, call in enumerate(chat.calls(message), 1)}
        elif message["role"] == "tool" and number in ids and message.get("tool_call_id") not in ids.values():
            updated: Any = {**message, "tool_call_id": ids[number]}
            result.messages[at] = updated


def _restore_message(
    message: Message, logged_message: LoggedMessage, scope: RestoreScope, result: Restored, *, is_same: bool
) -> Message:
    """Return a message with the missing content of its original; ``is_same``: whether both have the same words."""
    original = logged_message.message
    if message["role"] == "tool":
        if scope.results and is_emptied(message, original):
            result.results += 1
            return {**message, "content": original.get("content")}
        return message
    if logged_message.reply and is_same and scope.reasoning and not reasoning.text_or_block(message):
        # The reasoning of finished items belongs to another message.
        if logged_message.reply.finished:
            own = reasoning.text(original).removeprefix(reasoning.text(logged_message.reply.finished))
            return _with_text(message, own.strip(), result)
        members = {name: value for name in reasoning.MEMBERS if (value := original.get(name))}
        if members and reasoning.text(original):
            result.reasoning += 1
            return {**message, **members}  # type: ignore[typeddict-item]
        return _with_text(message, reasoning.text_or_block(original), result)
    return message


def _with_text(message: Message, text: str, result: Restored) -> Message:
    """Return a message with reasoning, unless it already has some or the text is empty."""
    if not text.strip() or message["role"] != "assistant" or reasoning.text_or_block(message):
        return message
    result.reasoning += 1
    return {**message, reasoning.MEMBER: text}  # type: ignore[misc]


def _without_reasoning(message: Message) -> Message:
    """Return a message without its members for reasoning."""
    return {name: value for name, value in message.items() if name not in reasoning.MEMBERS}  # type: ignore[return-value]


def first_emptied(requests: Requests, begin: int, end: int, last: Reply) -> int | None:
    """Return the index of the first emptied result between ``begin`` and ``end``; ``last`` is the parent."""
    result_places = [at for at in range(begin, end) if requests.messages[at]["role"] == "tool"]
    if not result_places:
        return None
    path_messages = [*logged_messages(last.path())]
    # Aligning is expensive, and usually all results are unchanged.
    if _results(requests.messages[:end]) == _results(each.message for each in path_messages):
        return None
    history = [*zip(requests.numbers[:end], requests.messages, strict=False)]
    places = align(history, path_messages, is_cut=False).places
    for at in result_places:
        there = places[at]
        if there is not None and is_emptied(requests.messages[at], path_messages[there].message):
            return at
    return None


def _results(messages: Iterable[Message]) -> list[Json]:
    """Return the content of each result among messages."""
    return [message.get("content") for message in messages if message["role"] == "tool"]
