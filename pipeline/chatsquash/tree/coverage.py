"""Which logged replies the records of a session hold, and why not the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from chatsquash import chat, reasoning
from chatsquash.model import Message
from chatsquash.outcome import Coverage, LoggedReply
from chatsquash.tree.canonical import Canon
from chatsquash.tree.kinds import Path
from chatsquash.tree.replies import Reply


class Held(Struct, frozen=True):
    """A record, and the replies of its path."""

    path: Path
    replies: list[Reply]
    """In order."""
    messages: list[Message]
    """Of the request that it is made of, and its reply."""


def placed(held: Held, canon: Canon) -> dict[int, tuple[int, bool]]:
    """Where the replies of a record's path stand among its messages, and whether in another wording, by number.

    A reply stands where a message is the same by what counts; of those between two such places, each stands at the
    next message of an assistant, as long as there are some.
    """
    places = [at for at, message in enumerate(held.messages) if message["role"] == "assistant"]
    numbers = [canon.number(held.messages[at]) for at in places]
    by_number: dict[int, list[int]] = {}
    for at, number in enumerate(numbers):
        by_number.setdefault(number, []).append(at)
    found: dict[int, tuple[int, bool]] = {}
    waiting: list[Reply] = []
    last = -1
    for reply in held.replies:
        fitting = next((at for at in by_number.get(reply.said, ()) if at > last), None)
        if fitting is None:
            waiting.append(reply)
            continue
        _fill(found, waiting, places[last + 1 : fitting])
        found[reply.number] = places[fitting], False
        last = fitting
    _fill(found, waiting, places[last + 1 :])
    return found


def _fill(found: dict[int, tuple[int, bool]], waiting: list[Reply], places: list[int]) -> None:
    """Give the replies that were not found the places between two that were; the last ones stand last."""
    for reply, place in zip(reversed(waiting), reversed(places), strict=False):
        found[reply.number] = place, True
    waiting.clear()


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
