"""Behaviours whose goals this version does not reach: they are played alone, and not mixed with others."""

NOT_YET: dict[str, float] = {
    "broken-item": 0.0,
    "broken-item, without ids": 0.0,
    "broken-prefill": 0.5,
    "broken-prefill, without ids": 0.5,
    "choices": 0.9,
    "choices, without ids": 0.9,
    "command-classified, without ids": 0.75,
    "delegate-forked": 0.5,
    "delegate-forked, without ids": 0.4,
    "delegate-own-id": 0.4,
    "each-turn-recap": 0.75,
    "each-turn-recap, without ids": 0.7,
    "each-turn-suggestion": 0.0,
    "each-turn-suggestion, without ids": 0.0,
    "each-turn-topic, without ids": 0.15,
    "emptied-then-rewind": 0.4,
    "emptied-then-rewind, without ids": 0.45,
    "first-regenerated": 0.65,
    "note-on-prompt, without ids": 0.5,
    "one-turn-title, without ids": 0.85,
    "resume-repeats": 0.0,
    "resume-repeats, without ids": 0.0,
    "rewrite-numbers": 0.35,
    "rewrite-numbers, without ids": 0.35,
    "rewrite-order-of-results": 0.5,
    "rewrite-order-of-results, without ids": 0.5,
    "rewrite-think-tags": 0.0,
    "rewrite-think-tags, without ids": 0.0,
    "stored-conversation": 0.0,
    "stored-conversation, without ids": 0.0,
    "summary-again": 0.8,
    "summary-again, without ids": 0.8,
    "summary-answer": 0.3,
    "summary-answer, without ids": 0.35,
    "summary-hand-off": 0.3,
    "summary-lists-prompts": 0.6,
    "summary-lists-prompts, without ids": 0.6,
    "summary-rolling": 0.7,
    "summary-rolling, without ids": 0.55,
    "title-before, without ids": 0.5,
    "warm-up-before": 0.7,
}
"""By the name of a play, the least share of kinds, conversations and weights that is reached in it."""


def is_pending(name: str) -> bool:
    """Return whether a behaviour is in the list, with ids of sessions or without."""
    return any(play.partition(",")[0] == name for play in NOT_YET)
