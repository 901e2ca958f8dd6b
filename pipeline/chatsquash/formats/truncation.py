"""Replies that agents stored though their streams ended early, which each agent's file shows in its own way."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from chatsquash.formats.evidence import Evidence, LoggedTurn

TRUNCATED = "incomplete"
"""The finish reason of such a reply."""


def as_truncated(turn: LoggedTurn) -> LoggedTurn:
    """Return a reply with that finish reason."""
    return turn._replace(evidence=turn.evidence._replace(finish_reason=TRUNCATED))


def models_with_usage(turns: Iterable[LoggedTurn]) -> set[str | None]:
    """Return the models whose replies have token counts; a local server may never send any."""
    return {each.evidence.model for each in turns if each.evidence.is_sampled and _has_usage(each.evidence)}


def mark_without_usage(turn: LoggedTurn, models: Collection[str | None]) -> LoggedTurn:
    """Return a reply of one of these models as truncated if it has no token counts: these come last in a stream."""
    known = turn.evidence
    return as_truncated(turn) if known.is_sampled and not _has_usage(known) and known.model in models else turn


def _has_usage(evidence: Evidence) -> bool:
    return bool(evidence.prompt_tokens or evidence.completion_tokens)
