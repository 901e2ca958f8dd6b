"""Detect replies that were stored although their streams ended early, which depends on the agent."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from chatsquash.formats.evidence import LoggedTurn

TRUNCATED = "incomplete"
"""The finish reason of truncated replies."""


def as_truncated(turn: LoggedTurn) -> LoggedTurn:
    """Mark a reply as truncated."""
    return replace(turn, evidence=replace(turn.evidence, finish_reason=TRUNCATED))


def reaches(completion: int | None, limit: int | None) -> bool:
    """Return whether the token count of a reply reaches the limit logged for it."""
    return completion is not None and limit is not None and completion >= limit > 0


def models_with_usage(turns: Iterable[LoggedTurn]) -> set[str | None]:
    """Return the models whose replies have token counts, which some local servers never send."""
    return {each.evidence.model for each in turns if each.evidence.is_sampled and has_usage(each)}


def mark_without_usage(turn: LoggedTurn, models: Collection[str | None]) -> LoggedTurn:
    """Mark a reply of one of these models as truncated if it has no token counts."""
    known = turn.evidence  # token counts come last in a stream
    # The model may be logged only together with the counts, so both can be missing in a truncated reply.
    is_counted = known.model in models or (known.model is None and bool(models))
    return as_truncated(turn) if known.is_sampled and not has_usage(turn) and is_counted else turn


def has_usage(turn: LoggedTurn) -> bool:
    """Return whether the token counts of a reply are logged."""
    return bool(turn.evidence.prompt_tokens or turn.evidence.completion_tokens)
