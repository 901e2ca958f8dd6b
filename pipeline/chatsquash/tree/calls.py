"""Which messages with calls stand in several records of a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator

from chatsquash import chat
from chatsquash.tree.standing import Held
from chatsquash.tree.trees import Trees


def shared_calls(conversations: list[Held], trees: Trees) -> list[dict[int, int]]:
    """Of each conversation the messages with calls that others hold, too, by index, each with a number of its own."""
    keyed = [dict(_keys(held, trees)) for held in conversations]
    times = Counter(key for keys in keyed for key in keys.values())
    numbers = {key: number for number, key in enumerate(key for key, count in times.items() if count > 1)}
    return [{at: numbers[key] for at, key in keys.items() if key in numbers} for keys in keyed]


def _keys(held: Held, trees: Trees) -> Iterator[tuple[int, Hashable]]:
    """What tells each message with calls from others: the logged reply that it is, else its tree and what it says."""
    canon, tree = trees.requests.canon, held.path.last.tree
    replies = {standing.ordinal: number for number, standing in held.standing.items()}
    copied: dict[int, list[int]] = {}
    for reply in reversed(trees.links[tree].copied):
        copied.setdefault(reply.said, []).append(reply.number)
    times: Counter[int] = Counter()
    for ordinal, at in enumerate(held.assistants):
        if not chat.call_count(held.messages[at]):
            continue
        if ordinal in replies:
            yield at, replies[ordinal]
            continue
        number = canon.number(held.messages[at])
        times[number] += 1
        yield at, copied[number].pop() if copied.get(number) else (tree, number, times[number])
