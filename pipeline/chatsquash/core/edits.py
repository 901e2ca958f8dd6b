"""Edits: the messages of a request as differences from those of the previous request.

Requests repeat the entire history, so consecutive requests have most messages in common. Edits
share these messages as the same objects.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, islice
from operator import itemgetter
from typing import Generic, TypeVar

from chatsquash.core import jsonio
from chatsquash.core.model import AddedRun, Edits, Entry, KeptRun, Message


def difference(before: list[Message], after: list[Message]) -> Edits:
    """Return the edits that turn one list of messages into another, comparing messages by identity."""
    places = {id(message): at for at, message in reversed(list(enumerate(before)))}
    builder = Builder()
    expected = 0  # the index at which the last kept run would continue
    for message in after:
        same = expected < len(before) and before[expected] is message
        at = expected if same else places.get(id(message))
        if at is None:
            builder.add((message,))
        else:
            builder.keep(at, at + 1)
            expected = at + 1
    return builder.edits


def kept_prefix(edits: Edits) -> int:
    """Return how many leading messages of a request are those of the previous request."""
    return edits[0].stop if edits and isinstance(edits[0], KeptRun) and edits[0].start == 0 else 0


def growth(before: list[Message], after: list[Message]) -> Edits:
    """Return the edits between two lists that begin with the same objects."""
    count = shared_prefix(before, after)
    prefix: Edits = (KeptRun(0, count),) if count else ()
    return (*prefix, AddedRun(tuple(after[count:] if count else after))) if count < len(after) else prefix


def shared_prefix(before: list[Message], after: list[Message]) -> int:
    """Return how many leading messages of two lists are identical objects, or 0 if bisection fails."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[middle - 1] is after[middle - 1]:
            low = middle
        else:
            high = middle - 1
    # Bisection assumes that the lists do not differ before the end of the prefix.
    return low if before[:low] == after[:low] else 0


S = TypeVar("S")
_MAX_CANDIDATES = 8
_MAX_MESSAGES = 200_000
"""The number of messages above which the oldest histories are dropped."""


class Histories(Generic[S]):
    """The histories of other conversations that the next request may continue, each with a state."""

    def __init__(self) -> None:
        self._by_end: dict[int, tuple[list[Message], S]] = {}
        self._message_count = 0

    def put(self, messages: list[Message], state: S) -> None:
        """Store a history that the next request did not continue."""
        if not messages:
            return
        self._drop(id(messages[-1]))
        self._by_end[id(messages[-1])] = messages, state
        self._message_count += len(messages)
        while len(self._by_end) > _MAX_CANDIDATES and self._message_count > _MAX_MESSAGES:
            self._drop(next(iter(self._by_end)))

    def take(self, entry: Entry) -> tuple[int, S] | None:
        """Return how many leading messages a history shares with an entry, and the state of that history."""
        messages, known = entry.messages, entry.known
        end = id(messages[known - 1])
        history = self._by_end.get(end)
        if history and (history[0] is entry.continued or history[0][:known] == messages[:known]):
            count = known
        else:
            candidates = islice(reversed(self._by_end.values()), _MAX_CANDIDATES)
            counts = ((shared_prefix(each[0], messages), each) for each in candidates)
            count, history = max(counts, key=itemgetter(0), default=(0, None))
        if count == 0 or history is None:
            return None
        if count == len(history[0]):  # the entry continues the complete history
            self._drop(id(messages[count - 1]))
        return count, history[1]

    def _drop(self, end: int) -> None:
        if history := self._by_end.pop(end, None):
            self._message_count -= len(history[0])


def align(before: list[Message], after: list[Message], edits: Edits) -> tuple[list[Message], Edits]:
    """Compare two requests by value, and reuse the objects of the earlier request in the later one.

    A message of the later request is kept if it equals the next message of the earlier one that is not yet kept, or the
    one after that. Any other message is added. After eight additions in a row, all remaining messages are added. This
    keeps the shared beginning, and messages after a short insertion or after a changed or removed message. Messages are
    equal if their JSON is equal: ``1`` is neither ``1.0`` nor ``true``.

    Args:
        before: The messages of the earlier request.
        after: The messages of the later request.
        edits: The edits determined by identity; messages in their kept runs are equal.

    Returns:
        The messages of the later request, and the edits that produce them.
    """
    if not before or _only_grows(before, edits) or _is_aligned(before, edits):
        return after, edits
    builder = Builder()
    expected = at = additions = 0
    for run in edits:
        length = run.stop - run.start if isinstance(run, KeptRun) else len(run.messages)
        if isinstance(run, KeptRun) and additions < _MAX_ADDITIONS and _continues(before, expected, run, after[at]):
            builder.keep(run.start, run.stop)
            expected, at, additions = run.stop, at + length, 0
            continue
        stop = at + length
        while at < stop and additions < _MAX_ADDITIONS and expected < len(before):
            match = _next(before, expected, after[at])
            if match is None:
                builder.add(after[at : at + 1])
                additions += 1
            else:
                builder.keep(match, match + 1)
                expected, additions = match + 1, 0
            at += 1
        builder.add(after[at:stop])
        at = stop
    return replay(before, builder.edits), builder.edits


_MAX_ADDITIONS = 8


def _is_aligned(before: list[Message], edits: Edits) -> bool:
    """Return whether ``align`` would return the same edits: all added messages are new, and kept runs continue."""
    expected = additions = 0
    for number, run in enumerate(edits):
        if isinstance(run, KeptRun):
            touches = number and not additions and run.start == expected
            if touches or additions >= _MAX_ADDITIONS or not _continues(before, expected, run, before[run.start]):
                return False
            expected, additions = run.stop, 0
            continue
        additions, likely = len(run.messages), before[expected : expected + 2]
        for message in run.messages[:_MAX_ADDITIONS]:
            # Python considers all messages equal that ``_same`` does.
            if message in likely and _next(before, expected, message) is not None:
                return False
    return True


def _only_grows(before: list[Message], edits: Edits) -> bool:
    """Return whether all messages are kept and others are only appended."""
    if not edits or not isinstance(edits[0], KeptRun) or edits[0].stop - edits[0].start != len(before):
        return False
    return len(edits) == 1 or (len(edits) == 2 and isinstance(edits[1], AddedRun))


def _continues(before: list[Message], expected: int, run: KeptRun, message: Message) -> bool:
    """Return whether a kept run, which begins with ``message``, starts at the expected index or one later."""
    return run.start == expected or (run.start == expected + 1 and not _same(before[expected], message))


def _next(before: list[Message], expected: int, message: Message) -> int | None:
    """Return the index of an equal message among the next two."""
    for at in range(expected, min(expected + 2, len(before))):
        if _same(before[at], message):
            return at
    return None


def _same(one: Message, other: Message) -> bool:
    if one is other:
        return True
    # Python considers 1, 1.0 and True equal, and ignores the order of keys.
    return one == other and list(one) == list(other) and jsonio.encode(one) == jsonio.encode(other)


def replay(before: list[Message], edits: Edits) -> list[Message]:
    """Return the messages that result from applying edits to those of the previous entry."""
    messages: list[Message] = []
    for run in edits:
        messages += before[run.start : run.stop] if isinstance(run, KeptRun) else run.messages
    return messages


class Builder:
    """Collects edits in order; adjacent runs are merged and empty runs are skipped."""

    def __init__(self) -> None:
        self._runs: list[tuple[int, int] | list[Message]] = []

    def keep(self, start: int, stop: int) -> None:
        """Append a run of the previous entry's messages."""
        if start >= stop:
            return
        last = self._runs[-1] if self._runs else None
        if isinstance(last, tuple) and last[1] == start:
            self._runs[-1] = (last[0], stop)
        else:
            self._runs.append((start, stop))

    def add(self, messages: Sequence[Message]) -> None:
        """Append new messages."""
        last = self._runs[-1] if self._runs else None
        if isinstance(last, list):
            last += messages
        elif messages:
            self._runs.append([*messages])

    @property
    def edits(self) -> Edits:
        """The edits collected so far."""
        return tuple([KeptRun(*run) if isinstance(run, tuple) else AddedRun(tuple(run)) for run in self._runs])


def compose(first: Edits, second: Edits) -> Edits:
    """Return the edits that combine two successive edits."""
    both = Builder()
    ends = list(accumulate(run.stop - run.start if isinstance(run, KeptRun) else len(run.messages) for run in first))
    for run in second:
        if isinstance(run, AddedRun):
            both.add(run.messages)
            continue
        start, number = run.start, bisect_right(ends, run.start)
        while start < run.stop:
            piece, offset = first[number], ends[number - 1] if number else 0
            stop = min(run.stop, ends[number])
            if isinstance(piece, KeptRun):
                both.keep(piece.start + start - offset, piece.start + stop - offset)
            else:
                both.add(piece.messages[start - offset : stop - offset])
            start, number = stop, number + 1
    return both.edits
