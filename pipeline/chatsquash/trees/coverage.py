"""Count which logged replies the records of a session contain, and why others are missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from chatsquash.core import chat, reasoning
from chatsquash.core.accounting import Coverage, ReplyOutcome
from chatsquash.core.blocks import Block, Call, Reasoning, Text
from chatsquash.core.model import Message
from chatsquash.trees.growth_tracking import GrowthTracker

_MEMBERS = frozenset(reasoning.MEMBERS)
_REASONS = {chat.PRIVATE, *reasoning.MEMBERS}
"""Members that indicate reasoning outside the content."""
Fate = Literal["carried", "lost", "withheld"] | None
"""The outcome of a reply's reasoning; ``None`` for a reply without reasoning."""


def fate(reply: Message, message: Message | None) -> Fate:
    """Return the outcome of a reply's reasoning; ``message`` is the message of the record for the reply."""
    had_reasoning = reasoned(reply)
    if not had_reasoning:
        return None if had_reasoning is None else "withheld"
    return "carried" if message is reply or (message is not None and reasoned(message)) else "lost"


def reasoned(message: Message) -> bool | None:
    """Return whether a message has readable reasoning, or ``None`` for a message without any reasoning."""
    content = message.get("content")
    if (content is None or type(content) is str) and message.keys().isdisjoint(_REASONS):  # most messages
        return True if content and reasoning.in_text(message) else None
    thought = message.get(reasoning.MEMBER)
    if (type(thought) is str and thought and not thought.isspace()) or reasoning.in_text(message):
        return True
    turn = chat.turn(message)
    has_blocks = turn is not None and any(map(_is_thought, turn.blocks))
    parts = isinstance(content, list) and any(map(reasoning.is_part, content))
    if not has_blocks and not parts and message.keys().isdisjoint(reasoning.MEMBERS):
        return None
    if reasoning.text(message).strip():
        return True
    return False if has_blocks or parts or any(message.get(name) for name in reasoning.MEMBERS) else None


def _is_thought(block: Block) -> bool:
    """Return whether a block is reasoning, or carries the signature of reasoning."""
    is_signed = type(block) is Text and "thoughtSignature" in block.native.get("google", ())
    return is_signed or (type(block) is Reasoning and bool(block.text or block.encrypted or block.signature))


def coverage(rows: Iterable[ReplyOutcome]) -> Coverage:
    """Return the coverage of a session's replies."""
    # Plain dictionaries, since counters take longer than the few rows of most sessions.
    status, thought = {"carried": 0, "rewritten": 0, "lost": 0}, _no_fates()
    why: dict[str, int] = {}
    copy_count = 0
    for row in rows:
        if row.kind == "copy":
            copy_count += 1
            continue
        status[row.status] += 1
        thought[row.reasoning] += 1
        if row.why:
            why[row.why] = why.get(row.why, 0) + 1
    reasons = dict(sorted(why.items()))
    return Coverage(status["carried"], status["rewritten"], reasons, *_thought(thought), copied=copy_count)


def _no_fates() -> dict[Fate, int]:
    return {"carried": 0, "lost": 0, "withheld": 0, None: 0}


def _thought(fates: dict[Fate, int]) -> tuple[int, int, int]:
    """Return the number of replies with reasoning, with reasoning in a record, and with withheld reasoning."""
    return fates["carried"] + fates["lost"], fates["carried"], fates["withheld"]


def of_grown(tracker: GrowthTracker) -> Coverage:
    """Return the coverage of a session in which every request extends the last one."""
    count, may_reason = 0, False
    for each in tracker.growing_requests:
        if each.message is not None:
            count += 1
            may_reason = may_reason or _may_reason(each.message)
    if not may_reason:
        return Coverage(count, conversations=int(count > 0))
    # The record is the last request with its reply, so it contains every reply.
    last = tracker.last
    messages = last.messages if last else []
    if last and last.reply.message is not None:
        messages = [*messages, last.reply.message]
    replied = [(each.message, each.count) for each in tracker.growing_requests if each.message is not None]
    fates = _no_fates()
    for message, place in replied:
        fates[fate(message, messages[place])] += 1
    return Coverage(count, 0, {}, *_thought(fates), conversations=int(count > 0))


def _may_reason(reply: Message) -> bool:
    """Return whether a reply may have reasoning."""
    content = reply.get("content")
    if type(content) is list or (type(content) is str and reasoning.CLOSE in content):
        return True
    if _REASONS.isdisjoint(reply):
        return False
    turn = chat.turn(reply)
    if turn is None or not _MEMBERS.isdisjoint(reply):
        return True
    return any(type(block) is not Call and (type(block) is not Text or block.native) for block in turn.blocks)
