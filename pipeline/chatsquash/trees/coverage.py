"""Which logged replies the records of a session hold, and why not the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from chatsquash.core import chat, reasoning
from chatsquash.core.accounting import Coverage, ReplyOutcome
from chatsquash.core.blocks import Block, Reasoning, Text
from chatsquash.core.model import Message
from chatsquash.trees.growth_tracking import GrowthTracker

_REASONS = {chat.PRIVATE, *reasoning.MEMBERS}
"""Members of which one stands in each message that has reasoning, unless that is a part of its content."""
Fate = Literal["carried", "lost", "withheld"] | None
"""What became of the reasoning of a reply; ``None``: it had none."""


def fate(reply: Message, standing: Message | None) -> Fate:
    """What became of the reasoning of a reply, given the message that stands for it in a record."""
    had = reasoned(reply)
    if not had:
        return None if had is None else "withheld"
    return "carried" if standing is reply or (standing is not None and reasoned(standing)) else "lost"


def reasoned(message: Message) -> bool | None:
    """Whether a message has reasoning as text; ``None``: it has none at all."""
    content = message.get("content")
    if (content is None or type(content) is str) and message.keys().isdisjoint(_REASONS):  # as most
        return True if content and reasoning.in_text(message) else None
    thought = message.get(reasoning.MEMBER)
    if (type(thought) is str and thought and not thought.isspace()) or reasoning.in_text(message):
        return True
    made = chat.turn(message)
    has_blocks = made is not None and any(map(_is_thought, made.blocks))
    parts = isinstance(content, list) and any(map(reasoning.is_part, content))
    if not has_blocks and not parts and message.keys().isdisjoint(reasoning.MEMBERS):
        return None
    if reasoning.text(message).strip():
        return True
    return False if has_blocks or parts or any(message.get(name) for name in reasoning.MEMBERS) else None


def _is_thought(block: Block) -> bool:
    """Whether a block is reasoning, or signed as what follows it."""
    signed = type(block) is Text and "thoughtSignature" in block.native.get("google", ())
    return signed or (type(block) is Reasoning and bool(block.text or block.encrypted or block.signature))


def coverage(rows: Iterable[ReplyOutcome]) -> Coverage:
    """The sums over the replies of a session."""
    status: Counter[str] = Counter()
    why: Counter[str] = Counter()
    thought: Counter[Fate] = Counter()
    copied = 0
    for row in rows:
        if row.kind == "copy":
            copied += 1
            continue
        status[row.status] += 1
        thought[row.reasoning] += 1
        if row.why:
            why[row.why] += 1
    lost = dict(sorted(why.items()))
    return Coverage(status["carried"], status["rewritten"], lost, *_thought(thought), copied=copied)


def _thought(fates: Counter[Fate]) -> tuple[int, int, int]:
    """How many replies had reasoning, how many of these have it in a record, and of how many it was withheld."""
    return fates["carried"] + fates["lost"], fates["carried"], fates["withheld"]


def of_grown(followed: GrowthTracker) -> Coverage:
    """The sums of a session whose every request goes on from the reply before it: its record holds them all."""
    last = followed.last
    messages = last.messages if last else []
    if last and last.reply.message is not None:
        messages = [*messages, last.reply.message]
    replied = [(each.message, each.count) for each in followed.grown if each.message is not None]
    count = len(replied)
    if not _may_reason([message for message, _ in replied]):
        return Coverage(count, conversations=int(count > 0))
    fates = Counter(fate(message, messages[place]) for message, place in replied)
    return Coverage(count, 0, {}, *_thought(fates), conversations=int(count > 0))


def _may_reason(replies: list[Message]) -> bool:
    """Whether any reply may have reasoning."""
    if not set().union(*replies).isdisjoint(_REASONS):
        return True
    contents = [reply.get("content") for reply in replies]
    return any(type(each) is list or (type(each) is str and reasoning.CLOSE in each) for each in contents)
