"""How one request's messages come out of the previous one's."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from chatsquash.model import Added, Edits, Kept, Message


def difference(before: list[Message], after: list[Message]) -> Edits:
    """The edits that make one list of messages out of another; what is the same object counts as kept."""
    places = {id(message): at for at, message in reversed(list(enumerate(before)))}
    runs: list[list[Any]] = []
    expected = 0  # where the last kept run would go on
    for message in after:
        same = expected < len(before) and before[expected] is message
        at = expected if same else places.get(id(message))
        if at is None:
            if not runs or runs[-1][0] is not None:
                runs.append([None])
            runs[-1].append(message)
        elif runs and runs[-1][0] is not None and at == expected == runs[-1][1]:
            runs[-1][1] = expected = at + 1
        else:
            runs.append([at, at + 1])
            expected = at + 1
    return tuple(Added(tuple(run[1:])) if run[0] is None else Kept(*run) for run in runs)


def replay(before: list[Message], edits: Edits) -> list[Message]:
    """The messages that edits make of the previous entry's."""
    messages: list[Message] = []
    for run in edits:
        messages += before[run.start : run.stop] if isinstance(run, Kept) else run.messages
    return messages


class Builder:
    """Edits as they are found, one after the other; runs that touch become one, and empty ones none."""

    def __init__(self) -> None:
        self._runs: list[tuple[int, int] | list[Message]] = []

    def keep(self, start: int, stop: int) -> None:
        """Go on with these messages of the previous entry."""
        if start >= stop:
            return
        last = self._runs[-1] if self._runs else None
        if isinstance(last, tuple) and last[1] == start:
            self._runs[-1] = (last[0], stop)
        else:
            self._runs.append((start, stop))

    def add(self, messages: Sequence[Message]) -> None:
        """Go on with new messages."""
        last = self._runs[-1] if self._runs else None
        if isinstance(last, list):
            last += messages
        elif messages:
            self._runs.append([*messages])

    @property
    def edits(self) -> Edits:
        """All that was found."""
        return tuple(Kept(*run) if isinstance(run, tuple) else Added(tuple(run)) for run in self._runs)


def compose(first: Edits, second: Edits) -> Edits:
    """The edits that do at once what two do one after the other."""
    both = Builder()
    ends = list(accumulate(run.stop - run.start if isinstance(run, Kept) else len(run.messages) for run in first))
    for run in second:
        if isinstance(run, Added):
            both.add(run.messages)
            continue
        start, number = run.start, bisect_right(ends, run.start)
        while start < run.stop:
            piece, began = first[number], ends[number - 1] if number else 0
            stop = min(run.stop, ends[number])
            if isinstance(piece, Kept):
                both.keep(piece.start + start - began, piece.start + stop - began)
            else:
                both.add(piece.messages[start - began : stop - began])
            start, number = stop, number + 1
    return both.edits
