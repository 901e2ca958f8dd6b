"""A request without what cleaning takes out of it, kept up to date at the cost of what each entry adds.

``Tidied`` applies the rules that look at one message, ``Followed`` those that look at the one behind it, too.  So what
is left is an edit of what was left before, as the request is: kept runs keep what was found of their messages, the last
of a run aside, which may have another follower now.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from chatsquash.core.edits import Builder, replay
from chatsquash.core.model import Edits, KeptRun, Message

R = TypeVar("R")


class Tidy(NamedTuple):
    """A rule that looks at one message."""

    name: str
    work: Callable[[Message], Message | None]
    """What becomes of a message: the same object where the rule does not touch it, ``None`` where it goes."""


class Follower(NamedTuple):
    """A rule that looks at the next message, too."""

    name: str
    goes: Callable[[Message], bool]
    """Whether a message goes before a follower."""
    role: str
    """That of the follower."""


class _TouchedPlaces:
    """Places in a list of messages that rules touched, rising: of each rule, and of all messages that went."""

    def __init__(self) -> None:
        self.gone: list[int] = []
        self.by_rule: dict[str, list[int]] = {}

    def take_over(self, before: _TouchedPlaces, start: int, stop: int, to: int) -> None:
        """Take over what is known of a run that begins somewhere else now."""
        self.gone += _shift(before.gone, start, stop, to)
        for name, places in before.by_rule.items():
            self.by_rule.setdefault(name, []).extend(_shift(places, start, stop, to))

    def touch(self, name: str, at: int, *, gone: bool) -> None:
        """A rule touched the message at a place."""
        self.by_rule.setdefault(name, []).append(at)
        if gone:
            self.gone.append(at)


class _RuleState(Generic[R]):
    """What rules of a kind leave of a list of messages."""

    def __init__(self, messages: list[Message], rules: Mapping[str, Sequence[R]]) -> None:
        self.messages = messages
        """What is left of a list of which nothing goes."""
        self._places = _TouchedPlaces()
        self._rules = rules

    def count(self, name: str) -> int:
        """How many messages of the list a rule touched."""
        return len(self._places.by_rule.get(name, ()))

    def place(self, at: int) -> int | None:
        """Where a message of the list is in what is left; ``None`` for one that went."""
        is_gone = _place(self._places.gone, at) == _place(self._places.gone, at + 1)
        return None if is_gone else _place(self._places.gone, at)


class TidyState(_RuleState[Tidy]):
    """The messages of a request, each tidied by itself; some become nothing."""

    def follow(self, edits: Edits) -> Edits:
        """The edits of what is left, where those of the request are these."""
        left, places = Builder(), _TouchedPlaces()
        gone = self._places.gone
        at = 0
        for run in edits:
            if isinstance(run, KeptRun):
                left.keep(_place(gone, run.start), _place(gone, run.stop))
                places.take_over(self._places, run.start, run.stop, at)
                at += run.stop - run.start
                continue
            for message in run.messages:
                tidied = self._tidy(message, places, at)
                if tidied is not None:
                    left.add((tidied,))
                at += 1
        self._places = places
        self.messages = replay(self.messages, left.edits)
        return left.edits

    def _tidy(self, message: Message, places: _TouchedPlaces, at: int) -> Message | None:
        for rule in self._rules.get(message["role"], ()):
            tidied = rule.work(message)
            if tidied is None:
                places.touch(rule.name, at, gone=True)
                return None
            if tidied is not message:
                places.touch(rule.name, at, gone=False)
            message = tidied
        return message


class FollowerState(_RuleState[Follower]):
    """The messages of a list without those that go before the message behind them."""

    def follow(self, before: list[Message], edits: Edits) -> Edits:
        """The edits of what is left, where those of the list are these; ``before`` is the list that they edit."""
        left, places = Builder(), _TouchedPlaces()
        gone = self._places.gone
        at = 0
        for number, run in enumerate(edits):
            behind = None
            if number + 1 < len(edits):
                later = edits[number + 1]
                behind = before[later.start] if isinstance(later, KeptRun) else later.messages[0]
            if isinstance(run, KeptRun):
                last = run.stop - 1
                left.keep(_place(gone, run.start), _place(gone, last))
                places.take_over(self._places, run.start, last, at)
                at += last - run.start
                known = _place(gone, last)
                was_gone = _place(gone, run.stop) == known
                if rule := self._goes(before[last], behind):
                    places.touch(rule, at, gone=True)
                elif was_gone:
                    left.add((before[last],))
                else:
                    left.keep(known, known + 1)
                at += 1
                continue
            for message, follower in zip(run.messages, (*run.messages[1:], behind), strict=True):
                if rule := self._goes(message, follower):
                    places.touch(rule, at, gone=True)
                else:
                    left.add((message,))
                at += 1
        self._places = places
        self.messages = replay(self.messages, left.edits)
        return left.edits

    def _goes(self, message: Message, follower: Message | None) -> str | None:
        if follower is None:
            return None
        for rule in self._rules.get(message["role"], ()):
            if follower["role"] == rule.role and rule.goes(message):
                return rule.name
        return None


def _place(gone: list[int], at: int) -> int:
    """Where a place is in the list without what goes."""
    return at - bisect_left(gone, at)


def _shift(places: list[int], start: int, stop: int, to: int) -> list[int]:
    """The places of a run, which begins somewhere else now."""
    inside = places[bisect_left(places, start) : bisect_left(places, stop)]
    return inside if start == to else [place + to - start for place in inside]
