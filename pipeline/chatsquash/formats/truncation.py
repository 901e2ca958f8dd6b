"""Replies that agents stored though their streams ended early, which each agent's file shows in its own way."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from chatsquash.formats.evidence import Evidence, LoggedTurn

TRUNCATED = "incomplete"
"""The finish reason of such a reply."""


def as_truncated(turn: LoggedTurn) -> LoggedTurn:
    """Return a reply with that finish reason."""
    return turn._replace(evidence=turn.evidence._replace(finish_reason=TRUNCATED))


def reaches(completion: int | None, limit: int | None) -> bool:
    """Whether a reply has as many tokens as the file says that it may have."""
    return completion is not None and limit is not None and completion >= limit > 0


def models_with_usage(turns: Iterable[LoggedTurn]) -> set[str | None]:
    """Return the models whose replies have token counts; a local server may never send any."""
    return {each.evidence.model for each in turns if each.evidence.is_sampled and _has_usage(each.evidence)}


def mark_without_usage(turn: LoggedTurn, models: Collection[str | None]) -> LoggedTurn:
    """Return a reply of one of these models as truncated if it has no token counts: these come last in a stream.

    A reply may name its model with the counts only.
    """
    known = turn.evidence
    is_counted = known.model in models or (known.model is None and bool(models))
    return as_truncated(turn) if known.is_sampled and not _has_usage(known) and is_counted else turn


def _has_usage(evidence: Evidence) -> bool:
    return bool(evidence.prompt_tokens or evidence.completion_tokens)
