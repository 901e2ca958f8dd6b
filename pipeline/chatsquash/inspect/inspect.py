"""Show a session entry by entry to explain its outcome, and print the definitions that it logged."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import takewhile
from typing import Any, TypeVar

from chatsquash.core import chat, jsonio, mcp
from chatsquash.core.accounting import of_entry
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.model import AddedRun, Entry, Finding, LogHead, Message
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome, SessionFindings
from chatsquash.core.text import align_columns, escape, format_lines, pluralize, printable, quote
from chatsquash.dataset.findings_text import as_json, as_text
from chatsquash.dataset.option_rules import refuse_wrong
from chatsquash.formats import documents
from chatsquash.inspect.conversations import of_file, tree_lines
from chatsquash.reading.envelopes import PLAIN
from chatsquash.results.show import one_session
from chatsquash.session.chains import each_session
from chatsquash.session.converter import Converter
from chatsquash.session.log_findings import unreadable_outcome
from chatsquash.session.plan import EntryStream
from chatsquash.session.session import Session
from chatsquash.session.stages.supplied_definitions import as_toml
from chatsquash.sources.compression import stem
from chatsquash.trees.kinds import conversations

T = TypeVar("T")
_INCOMPLETE = frozenset(("unreadable-log", "cut-short", "unreadable-archive", "truncated-archive", "archive-member"))
"""Codes of findings about logs and archives that are not read completely."""
_COLUMNS = ("line", "time", "kept", "added", "tools", "reply", "outcome", "roles added")
_TEXT_LENGTH = 200
_ROLE = 12
_WIDTH = 100


@dataclass(slots=True)
class _EntryRow:
    """The displayed data of an entry, without its messages, which would take memory."""

    line: int
    time: str | None = None
    """In UTC."""
    counts: tuple[int, int, int] | None = None
    """The numbers of unchanged messages, new messages and tools; ``None`` for a line without an entry."""
    reply: str | None = None
    """The kind of the reply, as in a role trace."""
    size: int | None = None
    """The size in bytes of the reply, or of a line without an entry."""
    roles: str = ""
    servers: list[str] = field(default_factory=list)
    """The MCP servers of its tools."""
    texts: list[str] = field(default_factory=list)
    outcome: str = "cleaned"

    def cells(self) -> tuple[str, ...]:
        """Return all columns of the table except the last."""
        size = f"{self.size:,} B" if self.size is not None else ""
        if self.counts is None:
            return (str(self.line), "", "", "", "", size, self.outcome)
        reply = f"{self.reply} {size}" if self.reply else "none"
        return (str(self.line), self.time or "-", *map(str, self.counts), reply, self.outcome)

    def as_json(self) -> dict[str, Any]:
        """Return the row for ``--json``."""
        unchanged, new, tools = self.counts or (None, None, None)
        values = {"line": self.line, "time": self.time, "kept": unchanged, "added": new, "tools": tools}
        columns = {"reply": self.reply, "bytes": self.size, "outcome": self.outcome, "roles": self.roles.split()}
        return {**values, **columns, "mcp_servers": self.servers}


@dataclass(slots=True)
class _Inspection:
    """Collects the rows of a session while its entries pass through the stages."""

    verbose: bool
    by_line: dict[int, _EntryRow] = field(default_factory=dict)
    models: dict[int, str] = field(default_factory=dict)
    """The model named by each line."""
    seen: LogHead | None = None
    """The format detected from the log's first lines."""
    session: Session | None = None
    _servers: list[str] = field(default_factory=list)
    """The MCP servers of the previous entry."""

    def watch_logged(self, items: EntryStream) -> EntryStream:
        for item in items:
            if isinstance(item, Entry):
                self.by_line[item.line] = self._row(item)
                if model := of_entry(item).model:
                    self.models[item.line] = sys.intern(model)
            yield item

    def watch_cleaned(self, items: EntryStream) -> EntryStream:
        for item in items:
            if isinstance(item, Entry):
                self.by_line[item.line].outcome = "superseded"
            yield item

    def settle(self, seen: LogHead | None, session: Session) -> None:
        """Mark the selected entry and those cut after it."""
        self.seen, self.session = seen, session
        snapshot = session.snapshot
        for line, row in self.by_line.items():
            if snapshot and row.outcome == "superseded" and line >= snapshot.entry.line:
                row.outcome = "selected" if line == snapshot.entry.line else "cut"

    def _row(self, entry: Entry) -> _EntryRow:
        new = [message for run in entry.edits if isinstance(run, AddedRun) for message in run.messages]
        servers = mcp.servers(entry.tools)
        texts = [_text(message) for message in new] if self.verbose else []
        if self.verbose and servers != self._servers:
            texts = [escape(mcp.server_list(entry.tools)) or "no MCP servers", *texts]
            self._servers = servers
        reply = entry.reply.message
        return _EntryRow(
            entry.line,
            _time(entry.at),
            (len(entry.messages) - len(new), len(new), len(entry.tools)),
            _short(chat.role_token(reply)) if reply else None,
            len(jsonio.dumps(reply)) if reply else None,
            escape(chat.trace(new)),
            servers,
            texts,
        )


def inspect(
    logs: Iterable[str],
    options: Options,
    *,
    verbose: bool = False,
    unread: list[Finding] | None = None,
    session: str | None = None,
) -> Iterator[str]:
    """Yield session logs as lines of text: for each session a table of its entries, and the findings.

    The columns are: line; time (UTC); messages unchanged since the previous entry, and new ones; tools; kind and size
    in bytes of the reply; the outcome of the entry; the roles of the new messages.

    Args:
        logs: Folders, files or globs.
        options: The options of the conversion.
        verbose: Whether to add the escaped beginning of each new message's text.
        unread: Receives the findings about logs and archives that are not read completely.
        session: The id of the only session to show, or the beginning of its id.

    Raises:
        UsageError: There is nothing to read, or ``session`` matches no session or several.
    """
    refuse_wrong(options)
    inspected = _inspected(logs, options, unread, session, verbose=verbose)
    for number, (log, inspection, outcome) in enumerate(inspected):
        yield from [""] if number else []
        yield from _session_lines(log, inspection, outcome)


def inspect_as_json(
    logs: Iterable[str], options: Options, unread: list[Finding] | None = None, session: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the sessions shown by ``inspect`` as objects; raises the errors of ``inspect``."""
    refuse_wrong(options)
    for log, inspection, outcome in _inspected(logs, options, unread, session):
        yield _session_as_json(log, inspection, outcome)


_Inspected = tuple[Log, _Inspection, Outcome]


def _inspected(
    logs: Iterable[str],
    options: Options,
    unread: list[Finding] | None,
    session: str | None = None,
    *,
    verbose: bool = False,
) -> Iterator[_Inspected]:
    """Yield each session, or the requested one, preceded by archives that are not read completely."""
    work = partial(_inspect_log, Converter(options), verbose)
    every = each_session(logs, options, work, _inspect_archive)
    for log, inspection, outcome in every if session is None else _select_session(every, session):
        _add_unread(outcome, unread)
        yield log, inspection, outcome


def _select_session(inspected: Iterable[_Inspected], session: str) -> Iterator[_Inspected]:
    """Yield the session with this id, or else the only one whose id begins with it; several logs may have one id."""
    candidates: dict[str, list[_Inspected]] = {}
    for each in inspected:
        id_ = each[2].session
        if id_.startswith(session):
            same = candidates.setdefault(id_, [])
            if id_ == session or len(candidates) == 1:  # of other sessions, only the id is needed
                same.append(each)
    session_id = one_session(candidates, session, "inspect")
    if session_id is None:
        raise UsageError(f"no session id begins with {quote(session)}, and no such file exists")
    yield from candidates[session_id]


def _add_unread(outcome: Outcome, unread: list[Finding] | None) -> None:
    if unread is not None:
        unread += [each for each in outcome.findings if each.code in _INCOMPLETE]


def _inspect_archive(about: Finding) -> _Inspected:
    log = Log(about.file, about.file, about.file, 0)
    return log, _Inspection(verbose=False), Outcome(stem(log), report=SessionFindings(about.code, [about]))


def _session_as_json(log: Log, inspection: _Inspection, outcome: Outcome) -> dict[str, Any]:
    seen = inspection.seen
    return {
        "log": printable(log.display_path),
        "pieces": [{"line": piece.line + 1, "log": printable(piece.display_path)} for piece in log.pieces],
        "session": printable(outcome.session),
        "format": (seen.format or None) if seen else None,
        "envelope": seen.envelope if seen else None,
        "entries": [row.as_json() for _, row in sorted(inspection.by_line.items())],
        "conversations": outcome.replies.coverage.conversations,
        "record": len(outcome.record) if outcome.record else None,
        "left_out": outcome.left_out,
        "findings": [jsonio.loads(as_json(finding)) for finding in outcome.findings],
    }


def _inspect_log(converter: Converter, verbose: bool, log: Log) -> _Inspected | None:
    inspection = _Inspection(verbose)
    try:
        outcome = converter.convert(log, inspection)
    except OSError as problem:
        outcome = unreadable_outcome(log, problem)
    if outcome is None:
        return None
    for rejected in outcome.report.rejected:
        row = _EntryRow(rejected.line, size=rejected.length, outcome=rejected.code)
        inspection.by_line[rejected.line] = row
    return log, inspection, outcome


def _session_lines(log: Log, inspection: _Inspection, outcome: Outcome) -> Iterator[str]:
    yield f"{escape(log.display_path)}: session {escape(outcome.session)}"
    for piece in log.pieces:  # their lines are numbered continuously
        yield f"from line {piece.line + 1:,} on: {escape(piece.display_path)}"
    if (seen := inspection.seen) and seen.format:
        yield from _wrap(f"format: {escape(seen.why)}", break_on_hyphens=True)
        yield from [f"envelope: {seen.envelope}"] if seen.envelope != PLAIN.NAME else []
    yield from _table([row for _, row in sorted(inspection.by_line.items())])
    if inspection.session:
        yield from _conversations(inspection.session, inspection)
    yield f"record: {len(outcome.record):,} bytes" if outcome.record else f"skipped: {outcome.left_out}"
    yield from map(as_text, outcome.findings)


def _table(rows: list[_EntryRow]) -> Iterator[str]:
    lines = align_columns([_COLUMNS[:-1], *(row.cells() for row in rows)])
    yield from _wrap(f"{lines[0]}  {_COLUMNS[-1]}")
    for line, row in zip(lines[1:], rows, strict=True):
        yield from _wrap(f"{line}  {row.roles}")
        yield from (f"    {text}" for text in row.texts)


def _conversations(session: Session, inspection: _Inspection) -> Iterator[str]:
    """Yield the tree of a session with several conversations, and its replies outside of conversations."""
    origin = session.snapshot.entry.origin if session.snapshot else None
    if origin:
        yield of_file(origin)
        return
    trees = session.growth.branch()
    paths = conversations(trees)
    retried_lines = sorted(
        [*(each.line for each in trees.repeats), *(each.line for each in trees.replies if each.is_retried)]
    )
    if len(paths) < 2 and not retried_lines:
        return
    replies = pluralize(len(trees.replies) + len(trees.repeats), "reply", "replies")
    yield f"{pluralize(len(paths), 'conversation')}, {replies}:"
    yield from tree_lines(paths, trees.links, inspection.models, every=inspection.verbose)
    for what, lines in (("retried", retried_lines), ("dropped by cleaning", session.side_requests)):
        yield from [f"{what}: {format_lines(lines)}"] if lines else []


def _wrap(line: str, *, break_on_hyphens: bool = False) -> list[str]:
    """Wrap a line if necessary; most lines are short, and wrapping all of them would take time."""
    if len(line) <= _WIDTH:
        return [line.rstrip()]
    return textwrap.wrap(line, _WIDTH, subsequent_indent=" " * 6, break_on_hyphens=break_on_hyphens)


def _time(at: int | None) -> str | None:
    if at is None:
        return None
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at // 1000)
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")


def _text(message: Message) -> str:
    text = chat.text(message) or ""
    excerpt = text if len(text) <= _TEXT_LENGTH else f"{text[:_TEXT_LENGTH]}…"
    return f"{_short(message['role'])}: {escape(excerpt)}"


def _short(role: str) -> str:
    """Shorten a role, which may be any text, for a narrow column."""
    return escape(role if len(role) <= _ROLE else f"{role[: _ROLE - 1]}…")


def definitions(
    logs: Iterable[str], options: Options, unread: list[Finding] | None = None, session: str | None = None
) -> Iterator[str]:
    """Yield the definitions and the system prompt of each session's record as a table of TOML, equal ones once.

    Arguments and errors as in ``inspect``.
    """
    known_tables: set[str] = set()
    refuse_wrong(options)
    for log, inspection, outcome in _inspected(logs, replace(options, integrity_analysis=False), unread, session):
        seen = inspection.seen
        table = _toml_table(log, outcome, seen)
        place = f"# {escape(log.display_path)}: session {escape(outcome.session)}"
        if not table:
            yield f"{place}: {outcome.left_out or 'no definitions and no system prompt'}\n"
        elif table not in known_tables:
            known_tables.add(table)
            yield f"{place}\n{table}\n"


def _toml_table(log: Log, outcome: Outcome, seen: LogHead | None) -> str:
    """Return the table of a session; empty if its record has no tools and no prompt, or it has no record."""
    record = jsonio.loads(outcome.record) if outcome.record else {"messages": [], "tools": []}
    leading = takewhile(lambda message: message["role"] == "system", record["messages"])
    prompt = "\n\n".join(text for message in leading if (text := chat.joined_text(message)))
    if not record["tools"] and not prompt:
        return ""
    agent = seen.format if seen and seen.format in documents.names() else None
    try:
        return as_toml(agent, record["tools"], prompt or None)
    except UnicodeEncodeError:
        raise UsageError(
            f"{log.display_path}: the system prompt contains a lone surrogate, which TOML cannot represent"
        ) from None
