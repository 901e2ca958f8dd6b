"""Observers of the conversion stages that record the entries of a log for the viewer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, overload

from chatsquash.core import chat, jsonio
from chatsquash.core.accounting import of_entry
from chatsquash.core.model import AddedRun, Entry, LogHead, Message, Origin, Tokens, Tool
from chatsquash.core.text import pluralize
from chatsquash.pages.html.record import size

if TYPE_CHECKING:
    from chatsquash.session.plan import EntryStream
    from chatsquash.session.session import Session

_ENTRIES = 200_000
"""Entries recorded per session."""
OUTCOMES = {
    "selected": "this entry became the record",
    "superseded": "a later entry became the record",
    "cut": "an earlier entry became the record",
    "cleaned": "removed by cleaning",
    "skipped": "the session was skipped",
}
"""The outcomes of entries, with their explanations."""
_SAYS = {"Ac": "has text", "At": "calls {}", "Act": "has text and calls {}", "A": "is empty"}
"""Descriptions of replies, by role token."""
_NAME = 200
"""Characters recorded of a name or a list of roles."""


class ReplyFacts(NamedTuple):
    """Facts about a reply from the log, in addition to the message."""

    at: int | None
    """The time of logging, as in ``Entry.at``."""
    model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None


class EntryRow(NamedTuple):
    """A summary of an entry; the entry itself would keep its messages in memory."""

    line: int
    at: int | None
    """The time of logging, as in ``Entry.at``."""
    size: int
    """Size of the line, in bytes."""
    repeated_count: int
    added_count: int
    tools: int
    reply: str
    """A description of the reply with its size; empty if there is none."""
    finish: str | None
    model: str | None
    roles: str
    """The roles of the new messages; for a rejected line, the reason."""
    outcome: str
    """One of ``OUTCOMES``, or the code of the finding for a rejected line."""
    tokens: Tokens = Tokens()
    """The tokens of the exchange."""

    @property
    def facts(self) -> ReplyFacts:
        """The facts about the reply."""
        return ReplyFacts(self.at, self.model, *self.tokens)

    @property
    def is_read(self) -> bool:
        """Whether the line was read as an entry."""
        return self.outcome in OUTCOMES


class MessageRow(NamedTuple):
    """A message of an agent's or a client's file, with its line."""

    number: int
    line: int | None
    role: str
    size: int
    """Size of its JSON, in bytes."""
    facts: ReplyFacts | None = None
    """The facts about a model's reply."""


class LoggedRequest(NamedTuple):
    """A logged request with its reply, and the request before it in the log."""

    line: int
    messages: list[Message]
    tools: list[Tool]
    reply: Message | None
    before: list[Message] | None
    """``None`` for the first request."""
    tools_before: list[Tool] | None
    line_before: int | None


@dataclass(slots=True)
class EntryWatch:
    """Records summaries of entries as they pass through the stages."""

    by_line: dict[int, EntryRow] = field(default_factory=dict)
    remaining_lines: set[int] = field(default_factory=set)
    messages: list[MessageRow] = field(default_factory=list)
    head: LogHead | None = None
    selected: int | None = None

    def watch_logged(self, items: EntryStream) -> EntryStream:
        """Record the entries as they are read."""
        for item in items:
            if isinstance(item, Entry) and len(self.by_line) < _ENTRIES:
                self.by_line[item.line] = _row(item)
                if item.origin and not self.messages:
                    self.messages += _messages(item, item.origin)
            yield item

    def watch_cleaned(self, items: EntryStream) -> EntryStream:
        """Record the entries that remain after cleaning."""
        for item in items:
            if isinstance(item, Entry):
                self.remaining_lines.add(item.line)
            yield item

    def settle(self, head: LogHead | None, session: Session) -> None:
        """Record the head of the log and the selected entry."""
        self.head = head
        self.selected = session.snapshot.entry.line if session.snapshot else None

    def final_rows(self) -> Iterator[EntryRow]:
        """Yield the entries with their outcomes."""
        for line, row in self.by_line.items():
            yield row._replace(outcome=self._outcome(line))

    def _outcome(self, line: int) -> str:
        if line not in self.remaining_lines:
            return "cleaned"
        if self.selected is None:
            return "skipped"
        return "selected" if line == self.selected else "superseded" if line < self.selected else "cut"


def _row(entry: Entry) -> EntryRow:
    new_messages = [message for run in entry.edits if isinstance(run, AddedRun) for message in run.messages]
    reply = entry.reply.message
    return EntryRow(
        line=entry.line,
        at=entry.at,
        size=entry.size,
        repeated_count=len(entry.messages) - len(new_messages),
        added_count=len(new_messages),
        tools=len(entry.tools),
        reply=_cut(_reply(reply)) if reply is not None else "",
        finish=_cut(entry.reply.finish_reason),
        model=_cut(of_entry(entry).model),
        roles=_cut(_roles(new_messages)),
        outcome="",
        tokens=entry.reply.tokens,
    )


def _reply(reply: Message) -> str:
    token = chat.role_token(reply)
    does = _SAYS.get(token, f"has the role {token}").format(pluralize(chat.call_count(reply), "tool"))
    return f"{does} ({size(len(jsonio.dumps(reply)))})"


def _roles(messages: list[Message]) -> str:
    """Return the numbers of messages by role, in order of appearance, such as ``system, 2 user, assistant``."""
    counts = Counter(message["role"] for message in messages)
    return ", ".join(role if count == 1 else f"{count:,} {role}" for role, count in counts.items())


@overload
def _cut(name: str) -> str: ...
@overload
def _cut(name: None) -> None: ...
def _cut(name: str | None) -> str | None:
    return name if name is None or len(name) <= _NAME else f"{name[: _NAME - 1]}…"


def _messages(entry: Entry, origin: Origin) -> Iterator[MessageRow]:
    facts = {
        reply.at: ReplyFacts(reply.time, _cut(reply.model), reply.prompt_tokens, reply.completion_tokens)
        for reply in origin.replies
    }
    for number, message in enumerate(entry.messages):
        line = origin.lines[number] if number < len(origin.lines) else None
        yield MessageRow(number, line, _cut(message["role"]), len(jsonio.dumps(message)), facts.get(number))


class RequestReadError(Exception):
    """Raised to stop reading a log once the requested entry has been read."""


class Seeker:
    """Finds one entry and the entry before it."""

    def __init__(self, line: int) -> None:
        self._line = line
        self.request: LoggedRequest | None = None

    def watch_logged(self, items: EntryStream) -> EntryStream:
        """Record the entries as they are read."""
        before: Entry | None = None
        for item in items:
            if isinstance(item, Entry):
                if item.line == self._line:
                    self.request = _request(item, before)
                    raise RequestReadError
                before = item
            yield item

    def watch_cleaned(self, items: EntryStream) -> EntryStream:
        """Record the entries that remain after cleaning."""
        return items

    def settle(self, seen: LogHead | None, session: Session) -> None:
        """Do nothing: only entries are of interest."""


def _request(entry: Entry, before: Entry | None) -> LoggedRequest:
    reply = None if entry.reply.included else entry.reply.message
    return LoggedRequest(
        line=entry.line,
        messages=entry.messages,
        tools=entry.tools,
        reply=reply,
        before=before.messages if before else None,
        tools_before=before.tools if before else None,
        line_before=before.line if before else None,
    )
