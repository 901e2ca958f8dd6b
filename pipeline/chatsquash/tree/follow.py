"""The requests of a session in order: as one conversation as long as they only grow, as trees once they do not."""

from __future__ import annotations

from collections import deque

from msgspec import Struct, field
from msgspec.structs import replace

from chatsquash.model import Added, Edits, Entry, Kept
from chatsquash.read import usage
from chatsquash.tree.canonical import Canon
from chatsquash.tree.replies import Reply
from chatsquash.tree.trees import Trees

_HELD = 64
"""Ends of conversations whose entries are held; those of others are read again where they are wanted."""


class Grown(Struct, frozen=True, gc=False):
    """A request of a session that only grew so far."""

    entry: Entry
    """Without its messages, which are the first ones of the last entry's."""
    count: int
    """How many they are."""


class Followed(Struct):
    """What the replies of a session continue."""

    trees: Trees | None = None
    """``None`` as long as every request goes on from the reply before it, and adds to what was there."""
    grown: list[Grown] = field(default_factory=list)
    last: Entry | None = None
    entries: dict[int, Entry] = field(default_factory=dict)
    """The entries of the replies that nothing goes on from so far, by the replies' numbers, as far as they are held."""
    unanswered: dict[int, Reply | None] = field(default_factory=dict)
    """The lines of requests without a reply, and the last logged reply that each holds."""
    _ends: deque[int] = field(default_factory=deque)
    _canon: Canon = field(default_factory=Canon)

    def add(self, entry: Entry) -> None:
        """Go on to the next entry."""
        if self.trees is None:
            if self._grows(entry):
                self.grown.append(Grown(replace(entry, messages=[], edits=()), len(entry.messages)))
                self.last = entry
                return
            self.branch()
        self._add(entry)

    def branch(self) -> Trees:
        """The trees of the requests so far."""
        if self.trees is None:
            self.trees = Trees()
            last, count = self.last, 0
            messages = last.messages if last else []
            for each in self.grown:
                edits: Edits = (
                    *((Kept(0, count),) if count else ()),
                    *((Added(tuple(messages[count : each.count])),) if each.count > count else ()),
                )
                self._add(replace(each.entry, messages=messages[: each.count], edits=edits))
                count = each.count
            self.grown = []
        return self.trees

    def _add(self, entry: Entry) -> None:
        assert self.trees is not None
        reply = self.trees.add(entry, usage.limit(entry.limit), usage.response_id(entry.reply.raw))
        self.last = entry
        if entry.reply.message is None:
            self.unanswered[entry.line] = self.trees.met[-1].reply if self.trees.met else None
            return
        reply = reply or self.trees.again[-1].by
        if reply.parent:
            self.entries.pop(reply.parent.number, None)
        self.entries[reply.number] = entry
        self._ends.append(reply.number)
        if len(self._ends) > _HELD:
            self.entries.pop(self._ends.popleft(), None)

    def _grows(self, entry: Entry) -> bool:
        """Whether a request is all of the one before it, the reply to that, and what comes behind."""
        last = self.last
        if last is None:
            return True
        if last.reply.message is None or entry.limit != last.limit or entry.reply.included:
            return False
        edits = entry.edits
        if len(edits) != 2 or not isinstance(edits[1], Added) or entry.kept != len(last.messages):
            return False
        said = edits[1].messages[0]
        if said["role"] != "assistant" or entry.reply.message is None:
            return False
        return said == last.reply.message or self._canon.number(said) == self._canon.number(last.reply.message)
