"""A session entry by entry, to see why it came out as it did."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

from chatsquash import chat, jsonio
from chatsquash.entries import documents
from chatsquash.entries.envelopes import PLAIN
from chatsquash.entries.sessions import MixedSessionsError
from chatsquash.entries.usage import of_entry
from chatsquash.errors import UsageError
from chatsquash.log import Log
from chatsquash.model import Added, Entry, Message, Reply, Seen
from chatsquash.option_rules import refuse_wrong
from chatsquash.options import Options
from chatsquash.outcome import Outcome
from chatsquash.report.conversations import drawn, in_lines, of_file
from chatsquash.report.findings import as_text
from chatsquash.run.parts import parts
from chatsquash.run.session import Converter, EntryStream
from chatsquash.run.workers import chained
from chatsquash.sources.find import discover
from chatsquash.sources.nothing import nothing_to_read
from chatsquash.stages.session import Session
from chatsquash.text import aligned, counted, escaped
from chatsquash.tree.kinds import conversations

T = TypeVar("T")
_COLUMNS = ("line", "time", "kept", "added", "tools", "reply", "outcome", "roles added")
_SHOWN = 200
_ROLE = 12
_WIDTH = 100


@dataclass(slots=True)
class _EntryRow:
    """What is shown of an entry; the entry itself would keep its messages in memory."""

    cells: tuple[str, ...]
    roles: str
    texts: list[str]
    outcome: str = "cleaned"


@dataclass(slots=True)
class _Inspection:
    """Gathers the rows of a session while its entries pass through the stages."""

    verbose: bool
    by_line: dict[int, _EntryRow] = field(default_factory=dict)
    models: dict[int, str] = field(default_factory=dict)
    """Of each line the model that it names."""
    seen: Seen | None = None
    """What the log's first lines told."""
    session: Session | None = None

    def logged(self, items: EntryStream) -> EntryStream:
        for item in items:
            if isinstance(item, Entry):
                self.by_line[item.line] = self._row(item)
                if model := of_entry(item).model:
                    self.models[item.line] = sys.intern(model)
            yield item

    def left(self, items: EntryStream) -> EntryStream:
        for item in items:
            if isinstance(item, Entry):
                self.by_line[item.line].outcome = "superseded"
            yield item

    def settle(self, seen: Seen | None, session: Session) -> None:
        """Mark what was selected, and what was cut behind it."""
        self.seen, self.session = seen, session
        snapshot = session.snapshot
        for line, row in self.by_line.items():
            if snapshot and row.outcome == "superseded" and line >= snapshot.entry.line:
                row.outcome = "selected" if line == snapshot.entry.line else "cut"

    def _row(self, entry: Entry) -> _EntryRow:
        added = [message for run in entry.edits if isinstance(run, Added) for message in run.messages]
        counts = (len(entry.messages) - len(added), len(added), len(entry.tools))
        cells = (str(entry.line), _time(entry.at), *map(str, counts), _reply(entry.reply))
        texts = [_text(message) for message in added] if self.verbose else []
        return _EntryRow(cells, escaped(chat.trace(added)), texts)


def inspect(logs: Iterable[str], options: Options, *, verbose: bool = False) -> Iterator[str]:
    """Session logs (folders, files or globs) as lines of text: per session a table of its entries, and the findings.

    Columns: line; time (UTC); messages kept from the entry before, and added; tools; kind and size in bytes of the
    reply; what became of the entry; the roles of the messages added.  ``verbose`` adds the beginning of each added
    message's text, escaped.  Raises ``UsageError`` for a file that cannot be read, and where there is none.
    """
    converter = Converter(options)
    for number, shown in enumerate(each_session(logs, options, partial(_session, converter, verbose))):
        yield from [""] if number else []
        yield from shown


def each_session(logs: Iterable[str], options: Options, work: Callable[[Log], T]) -> Iterator[T]:
    """What ``work`` makes of each session of logs; raises as ``inspect``.

    ``work`` may raise ``MixedSessionsError`` for a log, and is then given the sessions in it.
    """
    refuse_wrong(options)
    roots = list(logs)
    documents.forget()  # of an earlier run
    found = discover(roots, options, documents.is_document)
    if not found.logs:
        raise UsageError(nothing_to_read(roots, found))
    by_chain = options.sessions_by == "chain"
    for log in chained(found.logs, options).sessions() if by_chain else found.logs:
        yield from _sessions(log, options, work)


def _sessions(log: Log, options: Options, work: Callable[[Log], T]) -> Iterator[T]:
    """What is made of a log, or of each of the sessions that its file holds."""
    is_divided = options.sessions_by == "id" and not log.is_part
    try:
        for part in parts(log, options) if is_divided else [log]:
            try:
                yield work(part)
            except MixedSessionsError:
                sessions = parts(part, options)
                if sessions == [part]:
                    raise UsageError(f"{log.shown}: cannot be read (it changed while it was read)") from None
                for each in sessions:
                    yield from _sessions(each, options, work)
    except OSError as problem:
        raise UsageError(f"{log.shown}: cannot be read ({problem.strerror})") from None


def _session(converter: Converter, verbose: bool, log: Log) -> list[str]:
    inspection = _Inspection(verbose)
    outcome = converter.convert(log, inspection)
    for rejected in outcome.rejected:
        cells = (str(rejected.line), *[""] * 4, f"{rejected.length:,} B")
        inspection.by_line[rejected.line] = _EntryRow(cells, "", [], rejected.code)
    return list(_shown(log, inspection, outcome))


def _shown(log: Log, inspection: _Inspection, outcome: Outcome) -> Iterator[str]:
    yield f"{escaped(log.shown)}: session {escaped(outcome.session)}"
    for piece in log.pieces:  # whose lines are counted one behind the other
        yield f"from line {piece.line + 1:,} on: {escaped(piece.shown)}"
    if (seen := inspection.seen) and seen.format:
        yield from _wrapped(f"format: {escaped(seen.why)}", break_on_hyphens=True)
        yield from [f"envelope: {seen.envelope}"] if seen.envelope != PLAIN.NAME else []
    yield from _table([row for _, row in sorted(inspection.by_line.items())])
    if inspection.session:
        yield from _conversations(inspection.session, inspection)
    yield f"record: {len(outcome.record):,} bytes" if outcome.record else f"left out: {outcome.left_out}"
    yield from map(as_text, outcome.findings)


def _table(rows: list[_EntryRow]) -> Iterator[str]:
    rows = [_EntryRow(_COLUMNS[:-2], _COLUMNS[-1], [], _COLUMNS[-2]), *rows]
    lines = aligned([(*row.cells, row.outcome) for row in rows])
    for line, row in zip(lines, rows, strict=True):
        yield from _wrapped(f"{line}  {row.roles}")
        yield from (f"    {text}" for text in row.texts)


def _conversations(session: Session, inspection: _Inspection) -> Iterator[str]:
    """The tree of a session, if it holds more than one conversation, and which of its replies are in none."""
    origin = session.snapshot.entry.origin if session.snapshot else None
    if origin:
        yield of_file(origin)
        return
    trees = session.followed.branch()
    found = conversations(trees)
    retried = sorted([*(each.line for each in trees.again), *(each.line for each in trees.replies if each.is_retried)])
    if len(found) < 2 and not retried:
        return
    replies = counted(len(trees.replies) + len(trees.again), "reply", "replies")
    yield f"{counted(len(found), 'conversation')}, {replies}:"
    yield from drawn(found, trees.links, inspection.models, every=inspection.verbose)
    for what, lines in (("retried", retried), ("dropped by cleaning", session.asides)):
        yield from [f"{what}: {in_lines(lines)}"] if lines else []


def _wrapped(line: str, *, break_on_hyphens: bool = False) -> list[str]:
    """A line on as many as it needs; most need one, and wrapping them would take time."""
    if len(line) <= _WIDTH:
        return [line.rstrip()]
    return textwrap.wrap(line, _WIDTH, subsequent_indent=" " * 6, break_on_hyphens=break_on_hyphens)


def _time(at: int | None) -> str:
    if at is None:
        return "-"
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at // 1000)
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")


def _reply(reply: Reply) -> str:
    if reply.message is None:
        return "none"
    return f"{_short(chat.token(reply.message))} {len(jsonio.dumps(reply.message)):,} B"


def _text(message: Message) -> str:
    text = chat.text(message) or ""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return f"{_short(message['role'])}: {escaped(shown)}"


def _short(role: str) -> str:
    """A role, which is any text, for a narrow column."""
    return escaped(role if len(role) <= _ROLE else f"{role[: _ROLE - 1]}…")
