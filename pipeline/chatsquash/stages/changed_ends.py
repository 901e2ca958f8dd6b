"""Requests whose first message, a system prompt, and whose last one are others each time: whether they go on."""

from __future__ import annotations

from chatsquash import chat
from chatsquash.entries.transcript import NotPlainError, Transcript
from chatsquash.stages.cleaning import may_drop, touched
from chatsquash.tree.growth import Growth
from chatsquash.tree.rewrites import is_reminded
from chatsquash.tree.texts import is_similar_prompt

_SYSTEM = ("system", "developer")


def hold(told: Transcript, roles: list[str], sets: tuple[str, ...]) -> None:
    """Raise ``NotPlainError`` for requests of which one may be no continuation of the one before it.

    ``sets`` are those of the cleaning rules.
    """
    if not all(head.get("role") in _SYSTEM for head in told.heads) or roles[1] in _SYSTEM:
        raise NotPlainError
    _hold_prompts(told, sets)
    _hold_lasts(told, sets)
    growth = Growth()
    messages = told.messages
    counts = told.counts
    for count, after, reply in zip(counts, counts[1:], told.replies, strict=False):
        if count + 1 >= after or roles[count] != "assistant" or not growth.is_same(messages[count], reply):
            raise NotPlainError


def _hold_prompts(told: Transcript, sets: tuple[str, ...]) -> None:
    """Hold the system prompts to each other; where cleaning puts another in their place, that is one for all."""
    heads, second = told.heads, told.messages[1]
    if any(may_drop([head, second], sets) for head in heads):
        raise NotPlainError
    if touched(heads, [head["role"] for head in heads], sets):
        if not all(touched([head], [head["role"]], sets) for head in heads):
            raise NotPlainError
        return
    prompts = [chat.text(head) or "" for head in heads]
    if not all(map(is_similar_prompt, prompts, prompts[1:])):
        raise NotPlainError


def _hold_lasts(told: Transcript, sets: tuple[str, ...]) -> None:
    """Hold each last message to what stands in its place in the last request."""
    growth, messages = Growth(), told.messages
    if touched(told.lasts, [last["role"] for last in told.lasts], sets):
        raise NotPlainError
    for last, count in zip(told.lasts, told.counts, strict=True):
        standing = messages[count - 1]
        if chat.token(last) != chat.token(standing):
            raise NotPlainError
        if count == 2 and not (growth.is_same(last, standing) or is_reminded(last, standing, loosely=False)):
            raise NotPlainError
