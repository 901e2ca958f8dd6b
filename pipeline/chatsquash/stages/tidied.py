"""A request without what cleaning takes out of it, kept up to date at the cost of what each entry adds.

Rules a and b (``Tidied``) look at one message, rule c (``Followed``) at the one behind it, too.  So what is left is an
edit of what was left before, as the request is: kept runs keep what was found of their messages, the last of a run
aside, which may have another follower now.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from chatsquash.edits import Builder, replay
from chatsquash.model import Added, Edits, Kept, Message


class Tidied:
    """The messages of a request, each tidied by itself; some become nothing, which is ``None``."""

    def __init__(self, messages: list[Message], tidy: Callable[[Message], Message | None]) -> None:
        self.messages = messages
        """What is left of a request of which nothing goes."""
        self.gone: list[int] = []
        """Places in the request of what goes, rising."""
        self.changed: list[int] = []
        """Places of what becomes another message."""
        self._tidy = tidy

    def follow(self, edits: Edits) -> Edits:
        """The edits of what is left, where those of the request are these."""
        left = Builder()
        gone: list[int] = []
        changed: list[int] = []
        at = 0
        for run in edits:
            if isinstance(run, Kept):
                left.keep(_place(self.gone, run.start), _place(self.gone, run.stop))
                gone += _moved(self.gone, run.start, run.stop, at)
                changed += _moved(self.changed, run.start, run.stop, at)
                at += run.stop - run.start
                continue
            for message in run.messages:
                tidied = self._tidy(message)
                if tidied is None:
                    gone.append(at)
                else:
                    left.add((tidied,))
                    changed += [] if tidied is message else [at]
                at += 1
        self.gone, self.changed = gone, changed
        self.messages = replay(self.messages, left.edits)
        return left.edits


class Followed:
    """The messages of a list without those that are ``blank`` and have an assistant behind them."""

    def __init__(self, messages: list[Message], blank: Callable[[Message], bool]) -> None:
        self.messages = messages
        """What is left of a list of which nothing goes."""
        self.gone: list[int] = []
        """Places in the list of what goes, rising."""
        self._blank = blank

    def follow(self, before: list[Message], edits: Edits) -> Edits:
        """The edits of what is left, where those of the list are these; ``before`` is the list that they edit."""
        left = Builder()
        gone: list[int] = []
        at = 0
        for number, run in enumerate(edits):
            behind = _first(edits[number + 1], before) if number + 1 < len(edits) else None
            if isinstance(run, Kept):
                last = run.stop - 1
                left.keep(_place(self.gone, run.start), _place(self.gone, last))
                gone += _moved(self.gone, run.start, last, at)
                at += last - run.start
                known = _place(self.gone, last)
                was_gone = _place(self.gone, run.stop) == known
                if self._goes(before[last], behind):
                    gone.append(at)
                elif was_gone:
                    left.add((before[last],))
                else:
                    left.keep(known, known + 1)
                at += 1
                continue
            for message, follower in zip(run.messages, (*run.messages[1:], behind), strict=True):
                if self._goes(message, follower):
                    gone.append(at)
                else:
                    left.add((message,))
                at += 1
        self.gone = gone
        self.messages = replay(self.messages, left.edits)
        return left.edits

    def _goes(self, message: Message, follower: Message | None) -> bool:
        return follower is not None and follower["role"] == "assistant" and self._blank(message)


def _first(run: Kept | Added, before: list[Message]) -> Message:
    return before[run.start] if isinstance(run, Kept) else run.messages[0]


def _place(gone: list[int], at: int) -> int:
    """Where a place is in the list without what goes."""
    return at - bisect_left(gone, at)


def _moved(places: list[int], start: int, stop: int, to: int) -> list[int]:
    """The places of a run, which begins somewhere else now."""
    found = places[bisect_left(places, start) : bisect_left(places, stop)]
    return found if start == to else [place + to - start for place in found]
