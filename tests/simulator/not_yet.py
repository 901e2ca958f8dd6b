"""Behaviours whose goals this version does not reach.  Both lists are meant to become empty."""

NOT_YET: dict[str, float] = {
    "summary-hand-off": 0.5,
}
"""By the name of a play, the least share of kinds, conversations and weights that is reached in it."""


DAYS_NOT_YET: dict[str, float] = {}
"""By the name of an agent, the least share that is reached in its days."""

NOT_MIXED: frozenset[str] = frozenset()
"""Behaviours that are not mixed with others, since the mixture misses a goal with them."""
