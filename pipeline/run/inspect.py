"""A session entry by entry, to see why it came out as it did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pipeline import chat, codec
from pipeline.checks.registry import escaped
from pipeline.errors import UsageError
from pipeline.ledger import Ledger
from pipeline.model import Added, Entry, Job, Message, Options, Reply
from pipeline.read.deltas import entries
from pipeline.read.lines import lines
from pipeline.report.findings import as_text
from pipeline.run.session import Converter
from pipeline.stages import plan
from pipeline.stages.select import select

_COLUMNS = ("line", "time", "kept", "added", "tools", "reply", "outcome", "roles added")
_SHOWN = 200


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

    def logged(self, stream: Iterator[Entry]) -> Iterator[Entry]:
        for entry in stream:
            self.by_line[entry.line] = self._row(entry)
            yield entry

    def left(self, stream: Iterator[Entry]) -> Iterator[Entry]:
        for entry in stream:
            self.by_line[entry.line].outcome = "superseded"
            yield entry

    def _row(self, entry: Entry) -> _Row:
        added = [message for run in entry.edits if isinstance(run, Added) for message in run.messages]
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
        return _Row(cells, chat.trace(added), texts)


def inspect(path: str, options: Options, *, verbose: bool = False) -> Iterator[str]:
    """A session log as lines of text: a table of its entries, what became of each, and the findings.

    Columns: line; time (UTC); messages kept from the entry before, and added; tools; kind and size in bytes of the
    reply; what became of the entry; the roles of the messages added.  ``verbose`` adds the beginning of each added
    message's text, escaped.  Raises ``UsageError`` for a file that cannot be read.
    """
    rows = _Rows(verbose)
    ledger = Ledger("")
    try:
        with open(path, "rb", buffering=0) as file:
            stream = rows.logged(entries(lines(file), ledger))
            for stage in plan(options, None).entries:
                stream = stage(stream, ledger)
            snapshot = select(rows.left(stream), ledger)
            size = file.tell()
        outcome = Converter(options).convert(Job(path, path, path.rpartition("/")[2], size))
    except OSError as problem:
        raise UsageError(f"{path}: cannot be read ({problem.strerror})") from None
    if snapshot:
        for line, row in rows.by_line.items():
            if line >= snapshot.entry.line and row.outcome == "superseded":
                row.outcome = "selected" if line == snapshot.entry.line else "cut"
    for rejected in ledger.rejected:
        cells = (str(rejected.line), *[""] * 4, f"{rejected.length:,} B")
        rows.by_line[rejected.line] = _Row(cells, "", [], rejected.code)
    yield f"{escaped(path)}: session {escaped(outcome.session)}"
    yield from _table([rows.by_line[line] for line in sorted(rows.by_line)])
    yield f"record: {len(outcome.record):,} bytes" if outcome.record else f"left out: {outcome.left_out}"
    yield from map(as_text, outcome.findings)


def _table(rows: list[_Row]) -> Iterator[str]:
    body = [(*row.cells, row.outcome, row.roles) for row in rows]
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *body, strict=True)]
    for cells, texts in ((_COLUMNS, []), *((cells, row.texts) for cells, row in zip(body, rows, strict=True))):
        yield "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
        yield from (f"    {text}" for text in texts)


def _time(at: int | None) -> str:
    if at is None:
        return "-"
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at // 1000)
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")


def _reply(reply: Reply) -> str:
    if reply.message is None:
        return "none"
    return f"{chat.token(reply.message)} {len(codec.dumps(reply.message)):,} B"


def _text(message: Message) -> str:
    text = chat.text(message) or ""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return f"{escaped(message['role'])}: {escaped(shown)}"
