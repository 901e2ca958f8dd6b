"""Lists of messages of one session as its conversations: the last one, those before compactions, and branches."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from chatsquash.core.model import ConversationKind, Json
from chatsquash.formats.values import Object, compact, listed, string, unrepeated

_COMPARED = 20
"""Lists that go on from one place with which a list is compared that ends there."""


class Said(NamedTuple):
    """A message, and what tells it from others."""

    message: Object
    key: bytes
    is_summary: bool
    """Whether it stands for messages that were compacted."""


class Era(NamedTuple):
    """The messages of one conversation."""

    messages: list[Said]
    id: str
    kind: ConversationKind
    parent: str | None
    copied: frozenset[int]
    """The places of messages that a conversation before it had."""


def said(message: Object, is_summary: bool) -> Said:
    """A message with its key: what was noted beside it changes while it is answered."""
    key = blake2b(
        compact([message.get("role"), message.get("content")]).encode("utf-8", "surrogatepass"), digest_size=16
    )
    return Said(message, key.digest(), is_summary)


def eras(lists: list[list[Said]]) -> list[Era]:
    """The first list, then those before compactions, then branches; the others stand in the order of their making.

    A list is left out that another one goes on from, or that ends with what the model had not said to the end.
    """
    if not lists or not lists[0]:
        return []
    first, *others = [lists[0], *_apart(lists)]
    own = _summaries(first)
    before: dict[tuple[bytes, ...], list[Said]] = {}
    branches: list[tuple[tuple[bytes, ...], list[Said]]] = []
    for each in others:
        held = _summaries(each)
        if held in before:
            branches.append((held, before[held]))
        if held == own:
            branches.append((held, each))
        else:
            before[held] = each  # the last one of its time
    names = {held: str(number) for number, held in enumerate([own, *before], 1)}
    whole = bool(before or branches)
    order = [*before, own]
    found = [_era(first, "1" if whole else "", names, order, before)]
    found += [_era(each, names[held], names, order, before) for held, each in before.items()]
    for number, (held, each) in enumerate(branches, len(names) + 1):
        era = _era(each, str(number), names, order, before)
        found.append(era._replace(kind="branch", parent=names[held]))
    return found


def _era(
    messages: list[Said],
    name: str,
    names: dict[tuple[bytes, ...], str],
    order: list[tuple[bytes, ...]],
    before: dict[tuple[bytes, ...], list[Said]],
) -> Era:
    """A conversation in a row of those that each go on from a summary of the one before."""
    held = _summaries(messages)
    at = order.index(held)
    if not held:
        return Era(messages, name, "main", None, frozenset())
    passed = order[at - 1] if at else None
    known = {said.key for said in before[passed]} if passed is not None else set[bytes]()
    copied = frozenset(number for number, each in enumerate(messages) if each.key in known)
    return Era(messages, name, "compacted", names[passed] if passed is not None else None, copied)


def _summaries(messages: list[Said]) -> tuple[bytes, ...]:
    return tuple(said.key for said in messages if said.is_summary)


def _apart(lists: list[list[Said]]) -> list[list[Said]]:
    """The lists but the first that are neither the beginning of another one nor grew into one."""
    kept = unrepeated([[each.key for each in messages] for messages in lists])
    following: dict[bytes, dict[bytes, Said]] = {}
    ends: dict[int, bytes] = {}
    for place in kept:
        way = blake2b(digest_size=16)
        for number, each in enumerate(lists[place]):
            if number == len(lists[place]) - 1:
                ends[place] = way.digest()
            then = following.setdefault(way.digest(), {})
            if len(then) < _COMPARED:
                then.setdefault(each.key, each)
            way.update(each.key)
    return [lists[place] for place in kept if place and not _grew(lists[place][-1], following[ends[place]])]


def _grew(last: Said, others: dict[bytes, Said]) -> bool:
    """Whether a message ends a list only since it was not said to the end."""
    return any(key != last.key and _goes_on(last.message, each.message) for key, each in others.items())


def _goes_on(message: Object, other: Object) -> bool:
    """Whether an assistant's message says what another one does, and less."""
    if not message.get("role") == other.get("role") == "assistant":
        return False
    parts, longer = listed(message.get("content")), listed(other.get("content"))
    if not parts:
        return True
    *begun, last = parts
    if longer[: len(begun)] != begun or len(longer) < len(parts):
        return False
    return bool(last == longer[len(begun)] or _text(longer[len(begun)]).startswith(_text(last) or "\0"))


def _text(part: Json) -> str:
    return part if isinstance(part, str) else string(part, "text")
