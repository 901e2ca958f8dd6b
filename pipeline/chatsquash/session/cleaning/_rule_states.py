"""The cleaned messages of a request, updated incrementally.

``TidyState`` applies the rules that look at one message, and ``FollowerState`` those that also look at the next one.
Each turns the edits of its input into edits of its output, so the cost of an entry depends only on what it adds. The
results for a kept run remain valid, except for its last message, whose follower may have changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from chatsquash.core.edits import Builder, replay
from chatsquash.core.model import Edits, KeptRun, Message

R = TypeVar("R")
Tidy = tuple[str, Callable[[Message], Message | None]]
"""A rule that looks at one message: its name, and a function that returns the message as ``CleaningRule.tidy``."""
Follower = tuple[str, Callable[[Message], bool], str]
"""A rule that also looks at the next message: its name, ``CleaningRule.removes``, and the role of the next message."""


class _TouchedPlaces:
    """Sorted positions of the messages that rules touched, per rule, and of all removed messages."""

    def __init__(self) -> None:
        self.removed: list[int] = []
        self.by_rule: dict[str, list[int]] = {}

    def take_over(self, before: _TouchedPlaces, start: int, stop: int, to: int) -> None:
        """Copy the positions of a run that now begins at ``to``."""
        if before.removed:
            self.removed += _shift(before.removed, start, stop, to)
        for name, places in before.by_rule.items():
            self.by_rule.setdefault(name, []).extend(_shift(places, start, stop, to))

    def touch(self, name: str, at: int, *, removed: bool) -> None:
        """Record that a rule changed or removed the message at a position."""
        self.by_rule.setdefault(name, []).append(at)
        if removed:
            self.removed.append(at)


class _RuleState(Generic[R]):
    """The output of one kind of rule for a list of messages."""

    def __init__(self, messages: list[Message], rules: Mapping[str, Sequence[R]]) -> None:
        self.messages = messages
        """The messages after the rules; the initial list must not contain any that would be removed."""
        self._places = _TouchedPlaces()
        self._rules = rules

    @property
    def places_by_rule(self) -> Mapping[str, Sequence[int]]:
        """The positions of the messages of the list that each rule changed or removed."""
        return self._places.by_rule

    def place(self, at: int) -> int | None:
        """Return the position of a message in the output, or ``None`` if it was removed."""
        is_removed = _place(self._places.removed, at) == _place(self._places.removed, at + 1)
        return None if is_removed else _place(self._places.removed, at)


class TidyState(_RuleState[Tidy]):
    """The messages of a request after the rules that look at one message."""

    def follow(self, edits: Edits) -> Edits:
        """Turn the edits to the request into edits to the output."""
        output, places = Builder(), _TouchedPlaces()
        removed = self._places.removed
        at = 0
        for run in edits:
            if isinstance(run, KeptRun):
                output.keep(_place(removed, run.start), _place(removed, run.stop))
                places.take_over(self._places, run.start, run.stop, at)
                at += run.stop - run.start
                continue
            results = [self._tidy(message, places, place) for place, message in enumerate(run.messages, at)]
            output.add([result for result in results if result is not None])
            at += len(results)
        self._places, result = places, output.edits
        self.messages = replay(self.messages, result)
        return result

    def _tidy(self, message: Message, places: _TouchedPlaces, at: int) -> Message | None:
        for name, work in self._rules.get(message["role"], ()):
            result = work(message)
            if result is None:
                places.touch(name, at, removed=True)
                return None
            if result is not message:
                places.touch(name, at, removed=False)
            message = result
        return message


class FollowerState(_RuleState[Follower]):
    """The messages of a list after the rules that look at the next message."""

    def follow(self, before: list[Message], edits: Edits) -> Edits:
        """Turn the edits of the list into edits of the output; ``before`` is the list that they apply to."""
        output, places = Builder(), _TouchedPlaces()
        removed = self._places.removed
        at = 0
        for number, run in enumerate(edits):
            follower_of_run = None
            if number + 1 < len(edits):
                later = edits[number + 1]
                follower_of_run = before[later.start] if isinstance(later, KeptRun) else later.messages[0]
            if isinstance(run, KeptRun):
                # The last message of a run is checked again, because the message after it may have changed.
                last = run.stop - 1
                output.keep(_place(removed, run.start), _place(removed, last))
                places.take_over(self._places, run.start, last, at)
                at += last - run.start
                position = _place(removed, last)
                was_removed = _place(removed, run.stop) == position
                if rule := self._rule_for(before[last], follower_of_run):
                    places.touch(rule, at, removed=True)
                elif was_removed:
                    output.add((before[last],))
                else:
                    output.keep(position, position + 1)
                at += 1
                continue
            rest: list[Message] = []
            for message, follower in zip(run.messages, (*run.messages[1:], follower_of_run), strict=True):
                if rule := self._rule_for(message, follower):
                    places.touch(rule, at, removed=True)
                else:
                    rest.append(message)
                at += 1
            output.add(rest)
        self._places, result = places, output.edits
        self.messages = replay(self.messages, result)
        return result

    def _rule_for(self, message: Message, follower: Message | None) -> str | None:
        if follower is None:
            return None
        for name, removes, role in self._rules.get(message["role"], ()):
            if follower["role"] == role and removes(message):
                return name
        return None


def _place(removed: list[int], at: int) -> int:
    """Return the position of a message in the list without the removed ones."""
    return at - bisect_left(removed, at) if removed else at


def _shift(places: list[int], start: int, stop: int, to: int) -> list[int]:
    """Move the positions of a run that now begins at ``to``."""
    inside = places[bisect_left(places, start) : bisect_left(places, stop)]
    return inside if start == to else [place + to - start for place in inside]
