"""The items of a rollout that the model saw since its beginning or a compaction."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace

from msgspec import structs

from chatsquash.core.model import ConversationKind
from chatsquash.formats.agents.codex.items import is_hidden, is_input
from chatsquash.formats.evidence import LoggedTurn


@dataclass(slots=True)
class RolloutHistory:
    """The items that the model saw since the beginning of the session or a compaction."""

    id: str
    kind: ConversationKind = "main"
    parent: str | None = None
    items: list[LoggedTurn] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    """The indices of items that start the user's turns."""
    users: list[int] = field(default_factory=list)
    """The indices of the user's messages."""
    reply_places: list[int] = field(default_factory=list)
    """The indices of items that the model produced in this session."""
    is_undone: bool = False
    """Whether its last turns were rolled back."""
    begins_here: bool = True
    """Whether it contains the beginning of the session, without a compaction."""

    def add(self, turn: LoggedTurn) -> None:
        """Add an item."""
        if turn.turn.get("role") == "user":
            self.users.append(len(self.items))
        if turn.evidence.is_sampled:
            self.reply_places.append(len(self.items))
        self.items.append(turn)

    def start_of_last(self, turns: int) -> int:
        """Return the index at which the user's last turns start."""
        return self.starts[-turns] if turns <= len(self.starts) else self.starts[0]

    def remove_last(self, turns: int) -> None:
        """Remove the user's last turns."""
        start = self.start_of_last(turns)
        del self.items[start:], self.starts[-turns:]
        for places in (self.users, self.reply_places):
            del places[bisect_left(places, start) :]

    def branch(self, ident: str) -> RolloutHistory:
        """Return a copy with the turns that will be rolled back."""
        copy = replace(self, id=ident, kind="branch", parent=self.id, items=[*self.items], is_undone=True)
        copy.starts, copy.users, copy.reply_places = [*self.starts], [*self.users], [*self.reply_places]
        return copy

    def split_off(self, start: int, ident: str) -> RolloutHistory:
        """Move the items after ``start`` to a side request whose context is the earlier items."""
        side = RolloutHistory(ident, "side", self.id)
        for place, each in enumerate(self.items):
            is_sampled = each.evidence.is_sampled and place >= start
            side.add(structs.replace(each, evidence=structs.replace(each.evidence, is_sampled=is_sampled)))
        del self.items[start:]
        self.reply_places = [place for place in self.reply_places if place < start]
        return side

    @property
    def has_hidden_prompt(self) -> bool:
        """Whether a message between agents is encrypted."""
        return any(is_hidden(self.items[place].turn) for place in self.users)

    def has_reply(self, start: int = 0) -> bool:
        """Return whether the model produced any item at or after a place."""
        return any(not is_input(each.turn) for each in self.items[start:])
