"""What is noted of the entries of a log while they pass through the stages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from chatsquash import chat, jsonio
from chatsquash.entries.usage import of_entry
from chatsquash.model import Added, Entry, Message, Origin, Seen, Tool

if TYPE_CHECKING:
    from chatsquash.run.session import EntryStream
    from chatsquash.stages.session import Session

_ENTRIES = 200_000
"""Entries that are kept of a session."""


class EntryRow(NamedTuple):
    """What is shown of an entry; the entry itself would keep its messages in memory."""

    line: int
    at: int | None
    """When it was logged, as in ``Entry.at``."""
    size: int
    """Bytes of its line."""
    kept: int
    added: int
    tools: int
    reply: str
    """The role token of the reply, and its size; empty where there is none."""
    finish: str | None
    model: str | None
    roles: str
    """The role trace of what it adds."""
    outcome: str
    """What became of it."""


class MessageRow(NamedTuple):
    """A message of an agent's or a client's file, and where it stands there."""

    number: int
    line: int | None
    role: str
    size: int
    """Bytes of its JSON."""


class Request(NamedTuple):
    """A logged request with its reply, and the request before it in the log."""

    line: int
    messages: list[Message]
    tools: list[Tool]
    reply: Message | None
    before: list[Message] | None
    """``None``: it is the first one."""
    tools_before: list[Tool] | None
    line_before: int | None


@dataclass(slots=True)
class Watch:
    """Notes what is shown of entries while they pass through the stages."""

    by_line: dict[int, EntryRow] = field(default_factory=dict)
    left_over: set[int] = field(default_factory=set)
    messages: list[MessageRow] = field(default_factory=list)
    seen: Seen | None = None
    selected: int | None = None

    def logged(self, items: EntryStream) -> EntryStream:
        """The entries as they were read."""
        for item in items:
            if isinstance(item, Entry) and len(self.by_line) < _ENTRIES:
                self.by_line[item.line] = _row(item)
                if item.origin and not self.messages:
                    self.messages += _messages(item, item.origin)
            yield item

    def left(self, items: EntryStream) -> EntryStream:
        """Those that cleaning left."""
        for item in items:
            if isinstance(item, Entry):
                self.left_over.add(item.line)
            yield item

    def settle(self, seen: Seen | None, session: Session) -> None:
        """What is known of the log, and what its lines came to."""
        self.seen = seen
        self.selected = session.snapshot.entry.line if session.snapshot else None

    def settled(self) -> Iterator[EntryRow]:
        """The entries with what became of each."""
        for line, row in self.by_line.items():
            yield row._replace(outcome=self._outcome(line))

    def _outcome(self, line: int) -> str:
        if line not in self.left_over:
            return "cleaned"
        if self.selected is None:
            return "left out"
        return "selected" if line == self.selected else "superseded" if line < self.selected else "cut"


def _row(entry: Entry) -> EntryRow:
    added = [message for run in entry.edits if isinstance(run, Added) for message in run.messages]
    reply = entry.reply.message
    said = f"{chat.token(reply)} {len(jsonio.dumps(reply)):,} B" if reply is not None else ""
    return EntryRow(
        line=entry.line,
        at=entry.at,
        size=entry.size,
        kept=len(entry.messages) - len(added),
        added=len(added),
        tools=len(entry.tools),
        reply=said,
        finish=entry.reply.finish_reason,
        model=of_entry(entry).model,
        roles=chat.trace(added),
        outcome="",
    )


def _messages(entry: Entry, origin: Origin) -> Iterator[MessageRow]:
    for number, message in enumerate(entry.messages):
        line = origin.lines[number] if number < len(origin.lines) else None
        yield MessageRow(number, line, message["role"], len(jsonio.dumps(message)))


class FoundError(Exception):
    """Ends the reading of a log once what is looked for was read."""


class Seeker:
    """Looks for one entry and the one before it."""

    def __init__(self, line: int) -> None:
        self._line = line
        self.found: Request | None = None

    def logged(self, items: EntryStream) -> EntryStream:
        """The entries as they were read."""
        before: Entry | None = None
        for item in items:
            if isinstance(item, Entry):
                if item.line == self._line:
                    self.found = _request(item, before)
                    raise FoundError
                before = item
            yield item

    def left(self, items: EntryStream) -> EntryStream:
        """Those that cleaning left."""
        return items

    def settle(self, seen: Seen | None, session: Session) -> None:
        """Nothing more is known."""


def _request(entry: Entry, before: Entry | None) -> Request:
    reply = None if entry.reply.included else entry.reply.message
    return Request(
        line=entry.line,
        messages=entry.messages,
        tools=entry.tools,
        reply=reply,
        before=before.messages if before else None,
        tools_before=before.tools if before else None,
        line_before=before.line if before else None,
    )
