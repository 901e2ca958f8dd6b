"""Groups the conversations of a file into families: a conversation and the sub-agents that it started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from chatsquash.core.model import Conversation

_DEEPEST = 20
"""The depth of sub-agents in a family; JSON that is nested more deeply cannot be read everywhere."""


class FamilyMember(NamedTuple):
    """A conversation and its depth in its family."""

    conversation: Conversation
    depth: int = 0
    """0 for the conversation that comes first; greater by 1 for a sub-agent than for the one that started it."""


def families(conversations: Sequence[Conversation]) -> list[FamilyMember]:
    """Return conversations in their order, each followed by its sub-agents in depth-first order.

    Conversations that are not sub-agents begin a family, as do sub-agents that no conversation of the file started.
    """
    if len(conversations) < 2:
        return list(map(FamilyMember, conversations))
    from chatsquash.trees.documents import FilePath, paths  # imported here because few translations need it

    subagents: dict[int, list[FilePath]] = {}
    roots = list[FilePath]()
    places = paths(list(conversations))
    for place in places:
        if place.kind == "subagent" and place.parent:
            subagents.setdefault(place.parent.number, []).append(place)
        else:
            roots.append(place)
    members: dict[int, FamilyMember] = {}
    # The last roots are only reached if they are sub-agents of each other, or too deep.
    waiting = [(place, 0) for place in reversed([*roots, *places])]
    while waiting:
        place, depth = waiting.pop()
        if place.number not in members and depth <= _DEEPEST:
            members[place.number] = FamilyMember(place.conversation, depth)
            waiting += [(each, depth + 1) for each in reversed(subagents.get(place.number, []))]
    return list(members.values())
