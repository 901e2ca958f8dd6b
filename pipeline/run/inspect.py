"""A session entry by entry, to see why it came out as it did."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pipeline import chat, codec
from pipeline.checks.registry import escaped
from pipeline.errors import UsageError
from pipeline.ledger import Ledger
from pipeline.model import Entry, Job, Message, Options, Reply
from pipeline.read.compressed import opened
from pipeline.read.discover import discover
from pipeline.read.envelopes import PLAIN
from pipeline.read.logs import Reader
from pipeline.read.sessions import MixedSessionsError, split
from pipeline.report.findings import as_text
from pipeline.run.convert import nothing_to_read
from pipeline.run.session import Converter
from pipeline.stages import plan
from pipeline.stages.select import Snapshot, select

_COLUMNS = ("line", "time", "kept", "added", "tools", "reply", "outcome", "roles added")
_SHOWN = 200
_ROLE = 12
_WIDTH = 100


@dataclass(slots=True)
class _Row:
    """What is shown of an entry; the entry itself would keep its messages in memory."""

    cells: tuple[str, ...]
    roles: str
    texts: list[str]
    outcome: str = "cleaned"


@dataclass(slots=True)
class _Rows:
    """Listens to the entries on their way through the stages."""

    verbose: bool
    by_line: dict[int, _Row] = field(default_factory=dict)
    before: Counter[bytes] = field(default_factory=Counter)
    """The messages of the entry before, as JSON."""

    def logged(self, stream: Iterator[Entry]) -> Iterator[Entry]:
        for entry in stream:
            self.by_line[entry.line] = self._row(entry)
            yield entry

    def left(self, stream: Iterator[Entry]) -> Iterator[Entry]:
        for entry in stream:
            self.by_line[entry.line].outcome = "superseded"
            yield entry

    def settle(self, snapshot: Snapshot | None) -> None:
        """Mark what was selected, and what was cut behind it."""
        for line, row in self.by_line.items():
            if snapshot and row.outcome == "superseded" and line >= snapshot.entry.line:
                row.outcome = "selected" if line == snapshot.entry.line else "cut"

    def _row(self, entry: Entry) -> _Row:
        added = list(self._added(entry.messages))
        kept = len(entry.messages) - len(added)
        cells = (
            str(entry.line),
            _time(entry.at),
            str(kept),
            str(len(added)),
            str(len(entry.tools)),
            _reply(entry.reply),
        )
        texts = [_text(message) for message in added] if self.verbose else []
        return _Row(cells, escaped(chat.trace(added)), texts)

    def _added(self, messages: list[Message]) -> Iterator[Message]:
        """The messages that the entry before does not have; its edits say less where the reader did not compare."""
        left, self.before = self.before, Counter()
        for message in messages:
            spelled = codec.dumps(message)
            self.before[spelled] += 1
            if left[spelled]:
                left[spelled] -= 1
            else:
                yield message


def inspect(logs: Iterable[str], options: Options, *, verbose: bool = False) -> Iterator[str]:
    """Session logs (folders, files or globs) as lines of text: per session a table of its entries, and the findings.

    Columns: line; time (UTC); messages kept from the entry before, and added; tools; kind and size in bytes of the
    reply; what became of the entry; the roles of the messages added.  ``verbose`` adds the beginning of each added
    message's text, escaped.  Raises ``UsageError`` for a file that cannot be read, and where there is none.
    """
    roots = list(logs)
    found = discover(roots, options)
    if not found.jobs:
        raise UsageError(nothing_to_read(roots, found))
    for number, job in enumerate(part for each in found.jobs for part in _sessions(each, options)):
        if number:
            yield ""
        try:
            yield from _session(job, options, verbose)
        except OSError as problem:
            raise UsageError(f"{job.shown}: cannot be read ({problem.strerror})") from None


def _sessions(job: Job, options: Options) -> list[Job]:
    """A log, or the sessions that its file holds."""
    if options.sessions_by == "id":
        return split(job, options)
    try:
        with opened(job.path, options) as file:
            next(Reader(options).entries(file, job, Ledger("")), None)
    except MixedSessionsError:
        return split(job, options)
    except OSError:
        pass  # showing it will say what is wrong
    return [job]


def _session(job: Job, options: Options, verbose: bool) -> Iterator[str]:
    rows = _Rows(verbose)
    ledger = Ledger("")
    with opened(job.path, options) as file:
        left = plan(options, None).through(rows.logged(Reader(options).entries(file, job, ledger)), ledger)
        rows.settle(select(rows.left(left), ledger))
    for rejected in ledger.rejected:
        cells = (str(rejected.line), *[""] * 4, f"{rejected.length:,} B")
        rows.by_line[rejected.line] = _Row(cells, "", [], rejected.code)
    outcome = Converter(options).convert(job)
    yield f"{escaped(job.shown)}: session {escaped(outcome.session)}"
    if ledger.seen and ledger.seen.format:
        yield from textwrap.wrap(f"format: {escaped(ledger.seen.why)}", _WIDTH, subsequent_indent=" " * 6)
        yield from [f"envelope: {ledger.seen.envelope}"] if ledger.seen.envelope != PLAIN.name else []
    yield from _table([rows.by_line[line] for line in sorted(rows.by_line)])
    yield f"record: {len(outcome.record):,} bytes" if outcome.record else f"left out: {outcome.left_out}"
    yield from map(as_text, outcome.findings)


def _table(rows: list[_Row]) -> Iterator[str]:
    head = _Row(_COLUMNS[:-2], _COLUMNS[-1], [], _COLUMNS[-2])
    body = [(*row.cells, row.outcome) for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*body, strict=True)]
    for cells, row in zip(body, (head, *rows), strict=True):
        line = "  ".join([*(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)), row.roles])
        yield from textwrap.wrap(line, _WIDTH, subsequent_indent=" " * 6, break_on_hyphens=False)
        yield from (f"    {text}" for text in row.texts)


def _time(at: int | None) -> str:
    if at is None:
        return "-"
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at // 1000)
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")


def _reply(reply: Reply) -> str:
    if reply.message is None:
        return "none"
    return f"{_short(chat.token(reply.message))} {len(codec.dumps(reply.message)):,} B"


def _text(message: Message) -> str:
    text = chat.text(message) or ""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return f"{_short(message['role'])}: {escaped(shown)}"


def _short(role: str) -> str:
    """A role, which is any text, for a narrow column."""
    return escaped(role if len(role) <= _ROLE else f"{role[: _ROLE - 1]}…")
