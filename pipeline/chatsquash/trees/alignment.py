"""Which logged message each message of a request is: the same call, the same result, the same reply.

Assistant messages are matched first, since they anchor everything else. A result belongs to its call: it is matched
with the logged result of the same call of the same assistant message, never with a result of equal rank elsewhere.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from chatsquash.core import chat, reasoning
from chatsquash.core.model import Message
from chatsquash.trees.canonical import NOTHING, result_number, spelled
from chatsquash.trees.emptied import is_emptied
from chatsquash.trees.replies import Reply, answered_place, places_of_calls
from chatsquash.trees.rewrites import is_reminded, is_reworded

Numbered = list[tuple[int, Message]]
"""Messages, each with its canonical number."""


class LoggedMessage(NamedTuple):
    """A message of a path, as it was first sent or sampled."""

    number: int
    message: Message
    reply: Reply | None
    """The logged reply that it is; ``None`` for a message that was only sent."""


class Alignment(NamedTuple):
    """The positions of a request's messages among the logged ones."""

    places: list[int | None]
    candidates: dict[int, tuple[int, ...]]
    """Positions that are equally plausible, the last one last, by the index of a message without a position."""

    def latest(self, at: int) -> int | None:
        """The last plausible position of a message."""
        there = self.places[at]
        return there if there is not None else self.candidates.get(at, (None,))[-1]


def logged_messages(path: Iterable[Reply]) -> Iterator[LoggedMessage]:
    """The messages of a path, each as it was first sent or sampled."""
    for reply in path:
        for number, message in zip(reply.added, reply.behind, strict=True):
            yield LoggedMessage(number, message, None)
        yield LoggedMessage(reply.said, reply.message, reply)


def align(history: Numbered, logged: list[LoggedMessage], *, is_cut: bool) -> Alignment:
    """Match the messages of a request with those of its path.

    A request that contains the whole path has the same assistant messages in the same order. From one that lacks some
    (``is_cut``), or that does not fit otherwise, the ends are matched, and between them what has only one position.
    """
    alignment = Alignment([None] * len(history), {})
    if is_cut or not _match_in_order(history, logged, alignment):
        _match_ends(history, logged, alignment)
    _place_results(history, logged, alignment)
    return alignment


def _match_in_order(history: Numbered, logged: list[LoggedMessage], alignment: Alignment) -> bool:
    """Match assistant messages one by one; false if they do not agree."""
    ours = [at for at, (_, message) in enumerate(history) if message["role"] == "assistant"]
    theirs = [at for at, each in enumerate(logged) if each.message["role"] == "assistant"]
    pairs = [*zip(ours, theirs, strict=False)]
    if len(ours) < len(theirs) - 1:  # the last one may be the reply to the request
        return False
    if not all(_is_said(*history[at], logged[there]) for at, there in pairs):
        return False
    for at, there in pairs:
        alignment.places[at] = there
    return True


def _is_said(number: int, message: Message, other: LoggedMessage) -> bool:
    return number == other.number or is_reworded(other.message, message)


# Requests that lack messages


class _Matcher:
    """Compares messages of a request with logged ones, reworded ones as long as its budget lasts."""

    def __init__(self, history: Numbered, logged: list[LoggedMessage]) -> None:
        self.history, self.logged = history, logged
        self._left = len(history) + _REWORDED
        self._by_id = _single_ids(history, logged)

    def is_same(self, at: int, there: int) -> bool:
        """Whether a message may be a logged one."""
        (number, message), other = self.history[at], self.logged[there]
        if number == other.number:
            return message["role"] != "assistant" or not self._conflicts(at, there)
        if message["role"] != "user" or other.message["role"] != "user" or self._left <= 0:
            return False
        self._left -= 1
        return is_reminded(message, other.message, loosely=True)

    def _conflicts(self, at: int, there: int) -> bool:
        """Whether two replies of equal words differ in their call ids, their reasoning or the results that follow."""
        message, other = self.history[at][1], self.logged[there].message
        if any(self._by_id.get(name, there) != there for name in _ids(message)):
            return True
        ours, theirs = reasoning.text_or_block(message).strip(), reasoning.text_or_block(other).strip()
        if ours and theirs and ours != theirs:
            return True
        if not chat.has_calls(message):
            return False
        answers = _answers(message, self.logged, there)
        return any(
            _differ(self.history[place][1], self.logged[answers[rank]].message)
            for rank, place in _sent_results(self.history, at)
            if rank in answers
        )


def _single_ids(history: Numbered, logged: list[LoggedMessage]) -> dict[str, int]:
    """The position of the call with each id, if ids identify calls: none occurs twice, or on another call."""
    positions: dict[str, int] = {}
    for at, each in enumerate(logged):
        for name in _ids(each.message):
            if positions.setdefault(name, at) != at:
                return {}
    agree = (
        logged[positions[name]].number == number for number, each in history for name in _ids(each) if name in positions
    )
    return positions if all(agree) else {}


def _ids(message: Message) -> list[str]:
    """The ids of a message's calls."""
    calls = chat.calls(message) if message["role"] == "assistant" else ()
    return [name for call in calls if isinstance(name := call.get("id"), str)]


def _differ(message: Message, original: Message) -> bool:
    """Whether a result is neither another one nor what a client left of it."""
    return chat.text(message) != chat.text(original) and not is_emptied(message, original)


_REWORDED = 256
"""Comparisons of reworded texts in addition to one for each message."""


def _match_ends(history: Numbered, logged: list[LoggedMessage], alignment: Alignment) -> None:
    """Match what a request and its path end with and begin with, and between them what has only one position."""
    ours = [at for at, (number, message) in enumerate(history) if number != NOTHING and message["role"] != "tool"]
    theirs = [at for at, each in enumerate(logged) if each.message["role"] != "tool"]
    matcher = _Matcher(history, logged)
    if theirs and (not ours or not matcher.is_same(ours[-1], theirs[-1])):
        theirs.pop()  # the reply to the request
    while ours and theirs and matcher.is_same(ours[-1], theirs[-1]):
        alignment.places[ours.pop()] = theirs.pop()
    first = 0
    while first < min(len(ours), len(theirs)) and matcher.is_same(ours[first], theirs[first]):
        alignment.places[ours[first]] = theirs[first]
        first += 1
    _match_unique(ours[first:], theirs[first:], matcher, alignment)


def _match_unique(ours: list[int], theirs: list[int], matcher: _Matcher, alignment: Alignment) -> None:
    """Match the messages whose first and last possible position, in order, are the same one."""
    by_number: dict[int, list[int]] = defaultdict(list)
    for there in theirs:
        by_number[matcher.logged[there].number].append(there)
    earliest = dict(_leftmost(ours, by_number, matcher))
    latest = dict(_rightmost(ours, by_number, matcher))
    for at in ours:
        one, other = earliest.get(at), latest.get(at)
        if one is not None and one == other:
            alignment.places[at] = one
        elif one is not None or other is not None:
            alignment.candidates[at] = tuple(each for each in (one, other) if each is not None)


_CANDIDATES = 8
"""Equal messages that are compared in detail."""


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
    before = len(matcher.logged)
    for at in reversed(ours):
        places = by_number.get(matcher.history[at][0], [])
        end = bisect_left(places, before)
        candidates = places[max(0, end - _CANDIDATES) : end]
        there = next((each for each in reversed(candidates) if matcher.is_same(at, each)), None)
        if there is not None:
            yield at, there
            before = there


# Results


def _sent_results(history: Numbered, asked: int) -> Iterator[tuple[int, int]]:
    """The indexes of the results after an assistant message, each after the rank of the call that it answers."""
    after = ((at, *history[at]) for at in range(asked + 1, len(history)))
    return _ranked_results(history[asked][1], after)


def _logged_results(logged: list[LoggedMessage], asked: int) -> Iterator[tuple[int, int]]:
    """The same for an assistant message of the path."""
    after = ((at, logged[at].number, logged[at].message) for at in range(asked + 1, len(logged)))
    return _ranked_results(logged[asked].message, after)


def _ranked_results(asked: Message, after: Iterable[tuple[int, int, Message]]) -> Iterator[tuple[int, int]]:
    """A result has the number of the call that it answers, since ids may be rewritten; without an id its own rank."""
    ranks = {result_number(rank): rank for rank in range(1, len(chat.calls(asked)) + 1)}
    places = places_of_calls(asked)
    count = 0
    for at, number, message in after:
        if message["role"] == "assistant":
            return
        if message["role"] == "tool":
            count += 1
            has_id = message.get("tool_call_id") is not None
            yield (ranks.get(number) or answered_place(message, places)) if has_id else count, at


def _place_results(history: Numbered, logged: list[LoggedMessage], alignment: Alignment) -> None:
    """Match results with those of the same calls of the assistant messages before them."""
    for asked, (_, message) in enumerate(history):
        there = alignment.places[asked]
        anchors = alignment.candidates.get(asked, ()) if there is None else (there,)
        if message["role"] != "assistant" or not anchors:
            continue
        answers = [_answers(message, logged, anchor) for anchor in anchors]
        for rank, at in _sent_results(history, asked):
            places = tuple(each[rank] for each in answers if rank in each)
            if places and there is not None:
                alignment.places[at] = places[0]
            elif places:
                alignment.candidates[at] = places


def _answers(asked: Message, logged: list[LoggedMessage], there: int) -> dict[int, int]:
    """The positions of logged results by the rank of the calls of a message that they answer."""
    positions: dict[int, int] = {}
    for rank, at in _logged_results(logged, there):
        positions.setdefault(rank, at)
    ranks = _ranks(asked, logged[there].message)
    return {place: positions[rank] for place, rank in ranks.items() if rank in positions}


_Content = tuple[str | None, bytes]


def _content(call: dict[str, Any]) -> _Content:
    """The name and the arguments of a call."""
    function = call.get("function") or call.get("custom") or call
    if not isinstance(function, dict):
        return None, spelled(function)
    return str(function.get("name")), spelled(function.get("arguments", function.get("input")))


def _ranks(message: Message, other: Message) -> dict[int, int]:
    """Which call of another message each call is: by name and arguments, equal ones by their order."""
    ranks: dict[_Content, list[int]] = defaultdict(list)
    for rank, call in enumerate(chat.calls(other), 1):
        ranks[_content(call)].append(rank)
    same_calls: dict[int, int] = {}
    for place, call in enumerate(chat.calls(message), 1):
        same = ranks.get(_content(call))
        if same:
            same_calls[place] = same.pop(0)
    return same_calls
