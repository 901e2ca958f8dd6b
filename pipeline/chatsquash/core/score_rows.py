"""Scores that are logged apart from their replies, and their subjects."""

from __future__ import annotations

from typing import NamedTuple

from chatsquash.core.scores import Score


class ScoreSubject(NamedTuple):
    """The ids in the log of an exchange or of anything else that has a score; empty strings if unknown."""

    exchange: str = ""
    """The id of a model call, or of another step of the trace, such as an agent that makes calls."""
    trace: str = ""
    session: str = ""
    parents: tuple[str, ...] = ()
    """The ids of the steps that contain the exchange."""


class ScoreRow(NamedTuple):
    """A score that is logged apart from its reply."""

    id: str
    subject: ScoreSubject
    score: Score | None
    """``None`` for free text and other unusable values."""
    updated_at: int = 0
    """The time of its last change in microseconds since the epoch, 0 if unknown."""
