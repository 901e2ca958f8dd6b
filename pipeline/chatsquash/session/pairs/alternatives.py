"""The replies that an agent's or a client's file has to the same messages, in all of its conversations."""

from __future__ import annotations

from msgspec import Struct

from chatsquash.core import jsonio
from chatsquash.core.model import Sampled
from chatsquash.reading.lineage import Place

OF_PERSONS = ("main", "branch", "compacted")
"""Conversations that a person may have gone back in; agents ask several sub-agents the same at once."""


class Alternative(Struct):
    """A reply to some messages, in the first conversation that has it."""

    place: Place
    reply: Sampled
    ends: tuple[int, int, int]
    """Of the last of the conversations that go on from it."""
    is_gone_on: bool


class Alternatives:
    """Those of a file; of each conversation it is looked at each message once."""

    def __init__(self, places: list[Place]) -> None:
        self._numbers: dict[bytes, int] = {}
        self._nodes: dict[tuple[int, int], int] = {}
        """The beginnings of conversations, each by the one before its last message, and what that says."""
        self._groups: dict[int, dict[int, Alternative]] = {}
        self._paths: dict[int, list[int]] = {}
        """Of each conversation the beginnings, with none, one, two and so on of its messages."""
        for place in places:
            if place.kind in OF_PERSONS:
                self._take(place)

    def _take(self, place: Place) -> None:
        said = place.conversation
        path = self._paths[place.number] = [self._node(-1, said.tools)]
        for message in said.messages:
            path.append(self._node(path[-1], message))
        for reply in place.origin.replies:
            if reply.at is None:
                continue
            group = self._groups.setdefault(path[reply.at], {})
            known = group.setdefault(path[reply.at + 1], Alternative(place, reply, place.ends, False))
            known.ends = max(known.ends, place.ends)
            known.is_gone_on |= reply.at < len(said.messages) - 1

    def _node(self, before: int, value: object) -> int:
        number = self._numbers.setdefault(jsonio.dumps(value, sort_keys=True), len(self._numbers))
        return self._nodes.setdefault((before, number), len(self._nodes))

    def of(self, place: Place, at: int) -> list[Alternative]:
        """The other replies to what a reply stands behind, if that is the one that was gone on from last."""
        path = self._paths[place.number]
        group = self._groups.get(path[at], {})
        gone_on = [node for node, each in group.items() if each.is_gone_on]
        if len(group) < 2 or not gone_on or max(gone_on, key=lambda node: group[node].ends) != path[at + 1]:
            return []
        return [each for node, each in group.items() if node != path[at + 1]]


_last: tuple[list[Place], Alternatives] | None = None
"""Those of the file that was looked at last, for its other conversations."""


def alternatives(places: list[Place]) -> Alternatives:
    """Those of the conversations of a file."""
    global _last  # noqa: PLW0603 - remembers one file
    if _last is None or _last[0] is not places:
        _last = places, Alternatives(places)
    return _last[1]
