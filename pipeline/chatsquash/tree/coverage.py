"""Which logged replies the records of a session hold, and why not the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from chatsquash import chat, reasoning
from chatsquash.model import Message
from chatsquash.outcome import Coverage, LoggedReply
from chatsquash.tree.follow import Followed


def fate(reply: Message, standing: Message | None) -> Literal["carried", "lost", "withheld"] | None:
    """What became of the reasoning of a reply, given the message that stands for it in a record."""
    had = reasoned(reply)
    if not had:
        return None if had is None else "withheld"
    return "carried" if standing is not None and reasoned(standing) else "lost"


def reasoned(message: Message) -> bool | None:
    """Whether a message has reasoning as text; ``None``: it has none at all."""
    held = chat.private(message).get("thinking")
    content = message.get("content")
    parts = isinstance(content, list) and any(map(reasoning.is_part, content))
    if not held and not parts and message.keys().isdisjoint(reasoning.MEMBERS):
        return None
    if reasoning.text(message).strip():
        return True
    return False if held or parts or any(message.get(name) for name in reasoning.MEMBERS) else None


def coverage(rows: Iterable[LoggedReply]) -> Coverage:
    """The sums over the replies of a session."""
    status: Counter[str] = Counter()
    why: Counter[str] = Counter()
    thought: Counter[str | None] = Counter()
    for row in rows:
        status[row.status] += 1
        thought[row.reasoning] += 1
        if row.why:
            why[row.why] += 1
    return Coverage(
        carried=status["carried"],
        rewritten=status["rewritten"],
        lost=dict(sorted(why.items())),
        reasoned=thought["carried"] + thought["lost"],
        with_reasoning=thought["carried"],
        withheld=thought["withheld"],
    )


def of_grown(followed: Followed) -> Coverage:
    """The sums of a session whose every request goes on from the reply before it: its record holds them all."""
    last = followed.last
    messages = last.messages if last else []
    if last and last.reply.message is not None:
        messages = [*messages, last.reply.message]
    fates = Counter(fate(each.message, messages[each.count]) for each in followed.grown if each.message is not None)
    count = fates.total()
    reasoned = fates["carried"] + fates["lost"]
    return Coverage(
        carried=count,
        reasoned=reasoned,
        with_reasoning=fates["carried"],
        withheld=fates["withheld"],
        conversations=int(count > 0),
    )
