"""Behaviours whose goals this version does not reach: they are played alone, and not mixed with others."""

NOT_YET: dict[str, float] = {
    "broken-item": 0.0,
    "broken-item, without ids": 0.0,
    "broken-prefill": 0.5,
    "broken-prefill, without ids": 0.5,
    "choices": 0.9,
    "choices, without ids": 0.95,
    "command-classified, without ids": 0.8,
    "delegate-forked": 0.5,
    "delegate-forked, without ids": 0.5,
    "each-turn-recap": 0.7,
    "each-turn-recap, without ids": 0.7,
    "each-turn-suggestion": 0.0,
    "each-turn-suggestion, without ids": 0.0,
    "each-turn-topic, without ids": 0.1,
    "emptied-then-rewind": 0.45,
    "emptied-then-rewind, without ids": 0.4,
    "note-on-prompt": 1.0,
    "note-on-prompt, without ids": 0.3,
    "one-turn-title, without ids": 0.8,
    "rewrite-order-of-results": 0.0,
    "rewrite-order-of-results, without ids": 0.3,
    "summary-again": 1.0,
    "summary-again, without ids": 0.75,
    "summary-answer": 0.35,
    "summary-answer, without ids": 0.3,
    "summary-hand-off": 0.5,
    "summary-lists-prompts": 0.6,
    "summary-lists-prompts, without ids": 0.6,
    "summary-rolling": 0.8,
    "summary-rolling, without ids": 0.6,
    "title-before, without ids": 0.5,
    "warm-up-before": 0.65,
}
"""By the name of a play, the least share of kinds, conversations and weights that is reached in it."""


NOT_MIXED = frozenset(
    {
        "broken-item",
        "broken-prefill",
        "choices",
        "command-classified",
        "delegate-forked",
        "delegate-own-id",
        "each-turn-memory",
        "each-turn-recap",
        "each-turn-speaker",
        "each-turn-suggestion",
        "each-turn-topic",
        "emptied-then-rewind",
        "first-regenerated",
        "note-on-prompt",
        "one-turn-title",
        "resume-repeats",
        "rewrite-numbers",
        "rewrite-order-of-results",
        "rewrite-think-tags",
        "stored-conversation",
        "summary-again",
        "summary-answer",
        "summary-hand-off",
        "summary-keeps-prompts",
        "summary-lists-prompts",
        "summary-rolling",
        "title-before",
        "warm-up-before",
    }
)
"""Behaviours that are not mixed with others, since the mixture misses a goal with them."""


def is_pending(name: str) -> bool:
    """Return whether a behaviour is in one of the lists."""
    return name in NOT_MIXED or any(play.partition(",")[0] == name for play in NOT_YET)
