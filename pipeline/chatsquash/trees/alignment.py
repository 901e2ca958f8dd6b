"""Match each message of a request with its logged original: the same call, the same result, the same reply.

Assistant messages are matched first because they anchor everything else. A result is matched with the logged result of
the same call in the same assistant message, never with a result of the same rank elsewhere.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from chatsquash.core import chat, reasoning
from chatsquash.core.model import Message
from chatsquash.trees.canonical import NOTHING, normalized_arguments, result_number
from chatsquash.trees.emptied import is_emptied
from chatsquash.trees.replies import Reply, answered_place, places_of_calls
from chatsquash.trees.rewrites import is_reworded, is_reworded_prompt

NumberedMessages = list[tuple[int, Message]]
"""Messages with their canonical numbers."""


class LoggedMessage(NamedTuple):
    """A message of a path as first sent or sampled."""

    number: int
    message: Message
    reply: Reply | None
    """The logged reply; ``None`` for a message that was only sent."""


class Alignment(NamedTuple):
    """The positions of a request's messages among the logged ones."""

    places: list[int | None]
    candidates: dict[int, tuple[int, ...]]
    """Equally plausible positions in order, by message index, for messages without a single position."""

    def latest(self, index: int) -> int | None:
        """Return the last plausible position of a message."""
        place = self.places[index]
        return place if place is not None else self.candidates.get(index, (None,))[-1]


def logged_messages(path: Iterable[Reply]) -> Iterator[LoggedMessage]:
    """Yield the messages of a path as first sent or sampled."""
    for reply in path:
        for number, message in zip(reply.new_numbers, reply.new_messages, strict=True):
            yield LoggedMessage(number, message, None)
        yield LoggedMessage(reply.content_number, reply.message, reply)


def align(history: NumberedMessages, path_messages: list[LoggedMessage], *, is_cut: bool) -> Alignment:
    """Match the messages of a request with those of its path.

    A complete request has the assistant messages of the path in the same order. If messages are missing (``is_cut``) or
    the order differs, the two ends are matched, then every message in between that has only one possible position.
    """
    alignment = Alignment([None] * len(history), {})
    # Matching in order is fast and exact, but a missing message would shift everything after it.
    if is_cut or not _match_in_order(history, path_messages, alignment):
        _match_ends(history, path_messages, alignment)
    _place_results(history, path_messages, alignment)
    return alignment


def _match_in_order(history: NumberedMessages, path_messages: list[LoggedMessage], alignment: Alignment) -> bool:
    """Match the assistant messages one by one; return false, without any match, if they do not agree."""
    ours = [at for at, (_, message) in enumerate(history) if message["role"] == "assistant"]
    theirs = [at for at, each in enumerate(path_messages) if each.message["role"] == "assistant"]
    pairs = [*zip(ours, theirs, strict=False)]
    if len(ours) < len(theirs) - 1:  # the last one may be the reply to the request
        return False
    if not all(_is_logged(*history[at], path_messages[place]) for at, place in pairs):
        return False
    for at, place in pairs:
        alignment.places[at] = place
    return True


def _is_logged(number: int, message: Message, other: LoggedMessage) -> bool:
    return number == other.number or is_reworded(other.message, message)


# Requests with missing messages


class _Matcher:
    """Compares the messages of a request with logged ones, with a budget for comparing reworded messages."""

    def __init__(self, history: NumberedMessages, path_messages: list[LoggedMessage]) -> None:
        self.history, self.path_messages = history, path_messages
        self._remaining = len(history) + _REWORDED
        self._by_id = _single_ids(history, path_messages)

    def is_same(self, at: int, there: int) -> bool:
        """Return whether a message may be the logged one at a position."""
        (number, message), other = self.history[at], self.path_messages[there]
        if number == other.number:
            return message["role"] != "assistant" or not self._conflicts(at, there)
        if message["role"] != "user" or other.message["role"] != "user" or self._remaining <= 0:
            return False
        self._remaining -= 1
        return is_reworded_prompt(message, other.message, loosely=True)

    def _conflicts(self, at: int, there: int) -> bool:
        """Return whether two replies with the same text differ in call ids, reasoning or the results that follow."""
        message, other = self.history[at][1], self.path_messages[there].message
        if any(self._by_id.get(name, there) != there for name in _ids(message)):
            return True
        ours, theirs = reasoning.text_or_block(message).strip(), reasoning.text_or_block(other).strip()
        if ours and theirs and ours != theirs:
            return True
        if not chat.has_calls(message):
            return False
        answers = _answers(message, self.path_messages, there)
        return any(
            _differ(self.history[place][1], self.path_messages[answers[rank]].message)
            for rank, place in _sent_results(self.history, at)
            if rank in answers
        )


def _single_ids(history: NumberedMessages, path_messages: list[LoggedMessage]) -> dict[str, int]:
    """Return the position of each call id; empty if an id occurs twice or belongs to different calls."""
    positions: dict[str, int] = {}
    for at, each in enumerate(path_messages):
        for name in _ids(each.message):
            if positions.setdefault(name, at) != at:
                return {}
    agree = (
        path_messages[positions[name]].number == number
        for number, each in history
        for name in _ids(each)
        if name in positions
    )
    return positions if all(agree) else {}


def _ids(message: Message) -> list[str]:
    """Return the ids of a message's calls."""
    calls = chat.calls(message) if message["role"] == "assistant" else ()
    return [name for call in calls if isinstance(name := call.get("id"), str)]


def _differ(message: Message, original: Message) -> bool:
    """Return whether a result is neither equal to the original nor an emptied version of it."""
    return chat.text(message) != chat.text(original) and not is_emptied(message, original)


_REWORDED = 256
"""The budget for comparing reworded texts, in addition to one comparison per message."""


def _match_ends(history: NumberedMessages, path_messages: list[LoggedMessage], alignment: Alignment) -> None:
    """Match the common end and beginning of a request and its path, then the unambiguous messages in between."""
    ours = [at for at, (number, message) in enumerate(history) if number != NOTHING and message["role"] != "tool"]
    theirs = [at for at, each in enumerate(path_messages) if each.message["role"] != "tool"]
    matcher = _Matcher(history, path_messages)
    if theirs and (not ours or not matcher.is_same(ours[-1], theirs[-1])):
        theirs.pop()  # this is the reply to the request
    # Clients drop old messages, so the end is matched before the beginning.
    while ours and theirs and matcher.is_same(ours[-1], theirs[-1]):
        alignment.places[ours.pop()] = theirs.pop()
    first = 0
    while first < min(len(ours), len(theirs)) and matcher.is_same(ours[first], theirs[first]):
        alignment.places[ours[first]] = theirs[first]
        first += 1
    _match_unique(ours[first:], theirs[first:], matcher, alignment)


def _match_unique(ours: list[int], theirs: list[int], matcher: _Matcher, alignment: Alignment) -> None:
    """Match the messages whose leftmost and rightmost possible positions are the same."""
    by_number: dict[int, list[int]] = defaultdict(list)
    for there in theirs:
        by_number[matcher.path_messages[there].number].append(there)
    earliest = dict(_leftmost(ours, by_number, matcher))
    latest = dict(_rightmost(ours, by_number, matcher))
    for index in ours:
        first, last = earliest.get(index), latest.get(index)
        if first is not None and first == last:
            alignment.places[index] = first
        elif first is not None or last is not None:
            alignment.candidates[index] = tuple(each for each in (first, last) if each is not None)


_CANDIDATES = 8
"""The maximum number of equal messages to compare in detail."""


def _leftmost(ours: list[int], by_number: dict[int, list[int]], matcher: _Matcher) -> Iterator[tuple[int, int]]:
    after = -1
    for at in ours:
        places = by_number.get(matcher.history[at][0], [])
        begin = bisect_right(places, after)
        candidates = places[begin : begin + _CANDIDATES]
        there = next((each for each in candidates if matcher.is_same(at, each)), None)
        if there is not None:
            yield at, there
            after = there


def _rightmost(ours: list[int], by_number: dict[int, list[int]], matcher: _Matcher) -> Iterator[tuple[int, int]]:
    before = len(matcher.path_messages)
    for at in reversed(ours):
        places = by_number.get(matcher.history[at][0], [])
        end = bisect_left(places, before)
        candidates = places[max(0, end - _CANDIDATES) : end]
        there = next((each for each in reversed(candidates) if matcher.is_same(at, each)), None)
        if there is not None:
            yield at, there
            before = there


# Results


def _sent_results(history: NumberedMessages, caller: int) -> Iterator[tuple[int, int]]:
    """Yield the rank of the answered call and the index of each result after an assistant message."""
    after = ((at, *history[at]) for at in range(caller + 1, len(history)))
    return _ranked_results(history[caller][1], after)


def _logged_results(path_messages: list[LoggedMessage], caller: int) -> Iterator[tuple[int, int]]:
    """Yield the same for an assistant message of the path."""
    after = ((at, path_messages[at].number, path_messages[at].message) for at in range(caller + 1, len(path_messages)))
    return _ranked_results(path_messages[caller].message, after)


def _ranked_results(
    message_with_calls: Message, after: Iterable[tuple[int, int, Message]]
) -> Iterator[tuple[int, int]]:
    """Yield the index of each result with the rank of the call that it answers, or its own rank if it has no id."""
    # Ranks come from numbers because clients and proxies may rewrite ids.
    ranks = {result_number(rank): rank for rank in range(1, len(chat.calls(message_with_calls)) + 1)}
    places = places_of_calls(message_with_calls)
    count = 0
    for at, number, message in after:
        if message["role"] == "assistant":
            return
        if message["role"] == "tool":
            count += 1
            has_id = message.get("tool_call_id") is not None
            yield (ranks.get(number) or answered_place(message, places)) if has_id else count, at


def _place_results(history: NumberedMessages, path_messages: list[LoggedMessage], alignment: Alignment) -> None:
    """Match results through the calls of the preceding assistant messages."""
    for caller, (_, message) in enumerate(history):
        place = alignment.places[caller]
        anchors = alignment.candidates.get(caller, ()) if place is None else (place,)
        if message["role"] != "assistant" or not anchors:
            continue
        answers = [_answers(message, path_messages, anchor) for anchor in anchors]
        for rank, at in _sent_results(history, caller):
            places = tuple(each[rank] for each in answers if rank in each)
            if places and place is not None:
                alignment.places[at] = places[0]
            elif places:
                alignment.candidates[at] = places


def _answers(message_with_calls: Message, path_messages: list[LoggedMessage], there: int) -> dict[int, int]:
    """Return the positions of logged results by the rank of the call in ``message_with_calls``."""
    positions: dict[int, int] = {}
    for rank, at in _logged_results(path_messages, there):
        positions.setdefault(rank, at)
    ranks = _ranks(message_with_calls, path_messages[there].message)
    return {place: positions[rank] for place, rank in ranks.items() if rank in positions}


_Content = tuple[str | None, bytes]


def _content(call: dict[str, Any]) -> _Content:
    """Return the name and the arguments of a call."""
    function = call.get("function") or call.get("custom") or call
    if not isinstance(function, dict):
        return None, normalized_arguments(function)
    return str(function.get("name")), normalized_arguments(function.get("arguments", function.get("input")))


def _ranks(message: Message, other: Message) -> dict[int, int]:
    """Match the calls of two messages by name and arguments; return the ranks in ``other`` by rank in ``message``."""
    ranks: dict[_Content, list[int]] = defaultdict(list)
    for rank, call in enumerate(chat.calls(other), 1):
        ranks[_content(call)].append(rank)
    same_calls: dict[int, int] = {}
    for place, call in enumerate(chat.calls(message), 1):
        same = ranks.get(_content(call))
        if same:
            # Equal calls are matched in order.
            same_calls[place] = same.pop(0)
    return same_calls
