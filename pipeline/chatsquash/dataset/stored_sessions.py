"""The outcome of a session as a result keeps it, from which ``chatsquash merge`` writes it again beside others.

The contents of records, images and pairs are not repeated: they are read from the files of the result.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from chatsquash.core import jsonio
from chatsquash.core.log import Join, Log, Piece
from chatsquash.core.model import Finding
from chatsquash.core.outcome import Meeting, Outcome, Place, Record
from chatsquash.core.text import printable_json

OUTCOMES = "reports/outcomes.jsonl"


class StoredLog(Struct, array_like=True):
    """What is needed of a log after it was converted."""

    path: str
    name: str
    size: int
    part: int | None
    whole: int | None
    unit: bytes | None
    pieces: list[tuple[str, int, int, int]]
    """The path of each piece, the lines and bytes before it, and its size."""
    agents: list[str] = []
    """The paths of the files that its session was joined with."""

    @classmethod
    def of(cls, log: Log) -> StoredLog:
        """The stored form of a log."""
        pieces = [(each.display_path, each.line, each.offset, each.size) for each in log.pieces]
        agents = [each.display_path for each in log.agents]
        return cls(log.display_path, log.name, log.size, log.part, log.container_size, log.unit, pieces, agents)

    def log(self, number: int) -> Log:
        """The log, as far as it was stored."""
        pieces = tuple(Piece(path, path, line, offset, size, None) for path, line, offset, size in self.pieces)
        join = Join(agents=tuple(Log(path, path, path, 0) for path in self.agents)) if self.agents else None
        log = Log(self.path, self.path, self.name, self.size, part=self.part, container_size=self.whole, unit=self.unit)
        return replace(log, pieces=pieces, number=number, join=join)


class StoredSession(Struct, array_like=True):
    """A session of a result: its outcome after filters and duplicates, and where its records are."""

    log: StoredLog
    outcome: Outcome
    places: list[Place]
    """Where its records are."""
    made: int
    """How many records it had before filters and duplicates."""
    turns: int | None
    """The assistant turns of the first of these."""
    filtered: tuple[str, ...]
    """The option that filtered it, once for each record."""
    duplicates: int
    """How many of its records were duplicates."""
    kept_lines: int
    """How many of its malformed lines are in ``reports/rejected-lines.jsonl``."""


class StoredLine(Struct, array_like=True):
    """A line of ``reports/outcomes.jsonl``: a session, or a finding about a file that was not read."""

    session: StoredSession | None = None
    finding: Finding | None = None


def encode(line: StoredLine) -> bytes:
    """A line as JSON, without a line feed."""
    return printable_json(msgspec.to_builtins(line))


def decode(line: bytes) -> StoredLine:
    """A line that ``encode`` wrote; raises ``ValueError`` or ``RecursionError`` if it is damaged."""
    return msgspec.convert(jsonio.loads(line), StoredLine)


def without_contents(outcome: Outcome) -> Outcome:
    """An outcome without what other files of a result have, such as the hash of its log in ``run.json``.

    Hashes that would confirm a guess are not kept either.
    """
    output, report = outcome.output, outcome.report
    pairs = [each._replace(line=b"") for each in output.pairs]
    met = outcome.replies.meeting
    named = xxh3_64_intdigest(outcome.session.encode("utf-8", "surrogatepass")) if met and met.id else 0
    return replace(
        outcome,
        output=replace(output, records=list(map(_without_line, output.records)), pairs=pairs),
        report=replace(report, trace=""),
        account=replace(outcome.account, digest="", relatives=[], lineage=None),
        replies=replace(outcome.replies, meeting=Meeting(named, 0, 0) if met else None),
        privacy=replace(outcome.privacy, unreadable_lines=[]),
    )


def _without_line(record: Record) -> Record:
    return replace(
        record,
        line=b"",
        line_place=None,
        images=dict.fromkeys(record.images, b""),
        redactions=[replace(each, digest="") for each in record.redactions],
        marks=[],
        alike=None,
    )
