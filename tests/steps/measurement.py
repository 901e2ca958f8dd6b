"""Precision and recall of the facts, pooled over planted sessions and labelled conversations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from chatsquash.checks.registry import View
from chatsquash.checks.steps import find_steps
from chatsquash.core import chat
from chatsquash.core.model import Conversation
from tests.steps import planted, real
from tests.steps.sessions import KINDS, Session


class Wrong(NamedTuple):
    """A reply that has a fact by its label or by the detectors, but not by both."""

    kind: str
    place: str
    is_missed: bool
    text: str


class Score(NamedTuple):
    """The number of replies that have a fact by label and by detectors."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0


@cache
def planted_sessions() -> tuple[Session, ...]:
    return tuple(session for kind in KINDS for session in planted.sessions(kind))


@cache
def held_out_sessions() -> tuple[Session, ...]:
    return tuple(planted.held_out_sessions())


@cache
def real_sessions() -> tuple[Session, ...]:
    return tuple(real.sessions())


def measure(sessions: Iterable[Session]) -> tuple[dict[str, Score], list[Wrong]]:
    """Return the scores by kind, and each wrong reply."""
    right: Counter[str] = Counter()
    wrong: list[Wrong] = []
    for session in sessions:
        facts = find_steps(View(Conversation(session.messages, [])))
        for at, expected in session.labels.items():
            actual = facts.get(at, frozenset()) & set(KINDS)
            right.update(actual & expected)
            wrong += _differences(session, at, expected, actual)
    counts = Counter((each.kind, each.is_missed) for each in wrong)
    return {kind: Score(right[kind], counts[kind, False], counts[kind, True]) for kind in KINDS}, wrong


def _differences(session: Session, at: int, expected: frozenset[str], actual: frozenset[str]) -> Iterator[Wrong]:
    for kind in sorted(expected ^ actual):
        yield Wrong(kind, f"{session.name} message {at}", kind in expected, _summary(session, at))


def _summary(session: Session, at: int) -> str:
    message = session.messages[at]
    calls = [f"{chat.call_name(call)}{str(call[call['type']])[:100]}" for call in chat.calls(message)]
    return " ".join([str(chat.text(message) or "")[:60], *calls]).replace("\n", "⏎")
