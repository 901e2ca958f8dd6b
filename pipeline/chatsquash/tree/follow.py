"""The requests of a session in order: as one conversation as long as they only grow, as trees once they do not."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from msgspec import Struct, field

from chatsquash.model import Added, Edits, Entry, Kept, Message, Reply, Tool
from chatsquash.read import usage

if TYPE_CHECKING:
    from chatsquash.tree import replies
    from chatsquash.tree.trees import Trees

_HELD = 64
"""Ends of conversations whose entries are held; those of others are read again where they are wanted."""


class Grown(Struct, frozen=True, gc=False):
    """A request of a session that only grew so far, and its reply, as far as trees need them."""

    line: int
    at: int | None
    tools: list[Tool]
    message: Message | None
    """The reply."""
    finish_reason: str | None
    cut: bool
    limit: bytes
    response: str
    """The id of the response."""
    count: int
    """How many messages it has, which are the first ones of the last entry's."""


class Followed(Struct):
    """What the replies of a session continue."""

    looks_closely: bool = False
    """Whether to see which requests lack what earlier ones had."""
    trees: Trees | None = None
    """``None`` as long as every request goes on from the reply before it, and adds to what was there."""
    grown: list[Grown] = field(default_factory=list)
    first: Entry | None = None
    last: Entry | None = None
    entries: dict[int, Entry] = field(default_factory=dict)
    """The entries of the replies that nothing goes on from so far, by the replies' numbers, as far as they are held."""
    unanswered: dict[int, replies.Reply | None] = field(default_factory=dict)
    """The lines of requests without a reply, and the last logged reply that each holds."""
    _ends: deque[int] = field(default_factory=deque)

    def add(self, entry: Entry) -> None:
        """Go on to the next entry."""
        if self.first is None:
            self.first = entry
        if self.trees is None:
            if self.last is None or _grows(self.last, entry):
                reply = entry.reply
                response = usage.response_id(reply.raw)
                told = (reply.message, reply.finish_reason, reply.cut, entry.limit, response, len(entry.messages))
                self.grown.append(Grown(entry.line, entry.at, entry.tools, *told))
                self.last = entry
                return
            self.branch()
        self._add(entry, usage.response_id(entry.reply.raw))

    def branch(self) -> Trees:
        """The trees of the requests so far."""
        if self.trees is None:
            from chatsquash.tree.trees import Trees  # which sessions that only grow do not need

            self.trees = Trees(self.looks_closely)
            last, count = self.last, 0
            messages = last.messages if last else []
            for each in self.grown:
                edits: Edits = (
                    *((Kept(0, count),) if count else ()),
                    *((Added(tuple(messages[count : each.count])),) if each.count > count else ()),
                )
                reply = Reply(each.message, finish_reason=each.finish_reason, cut=each.cut)
                request = messages[: each.count]
                entry = Entry(each.line, each.at, None, request, edits, each.tools, reply, limit=each.limit)
                self._add(last if last and last.line == each.line else entry, each.response, edits)
                count = each.count
            self.grown = []
        return self.trees

    def _add(self, entry: Entry, response: str, edits: Edits | None = None) -> None:
        assert self.trees is not None
        reply = self.trees.add(entry, usage.limit(entry.limit), response, edits)
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


def _grows(last: Entry, entry: Entry) -> bool:
    """Whether a request is all of the one before it, the reply to that, and what comes behind."""
    edits, reply = entry.edits, last.reply.message
    if reply is None or entry.reply.message is None or entry.limit != last.limit or len(edits) != 2:
        return False
    run = edits[1]
    if type(run) is not Added or entry.kept != len(last.messages):
        return False
    said = run.messages[0]
    if said["role"] != "assistant":
        return False
    return said == reply or _is_same(said, reply)


def _is_same(one: Message, other: Message) -> bool:
    from chatsquash.tree.canonical import Canon  # which clients that send back what they got do not need

    canon = Canon()
    return canon.number(one) == canon.number(other)
