"""The stored outcome of a session, which ``chatsquash merge`` combines with those of other results.

The content of records, images and pairs is not stored but read from the files of the result.
"""

from __future__ import annotations

from functools import cache

import msgspec
from msgspec import Struct, structs
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from chatsquash.core import jsonio
from chatsquash.core.log import Join, Log, Piece
from chatsquash.core.model import Finding
from chatsquash.core.outcome import Meeting, Outcome, Place, Record
from chatsquash.core.text import printable_struct

OUTCOMES = "reports/outcomes.jsonl"


class StoredLog(Struct, array_like=True):
    """The properties of a log that are needed after its conversion."""

    path: str
    name: str
    size: int
    part: int | None
    whole: int | None
    unit: bytes | None
    pieces: list[tuple[str, int, int, int]]
    """The path of each piece, the number of lines and bytes before it, and its size."""
    agents: list[str] = []
    """The paths of the files with which its session was joined."""

    @classmethod
    def of(cls, log: Log, size: int) -> StoredLog:
        """Return the stored form of a log, with a size that may be 0 if ``run.json`` contains it."""
        path, name, part, unit = log.display_path, log.name, log.part, log.unit
        result = cls(path, name, size, part, log.container_size, unit, [])
        if log.pieces:
            result.pieces = [(each.display_path, each.line, each.offset, each.size) for each in log.pieces]
        if log.join:
            result.agents = [each.display_path for each in log.agents]
        return result

    def log(self, number: int) -> Log:
        """Return a log with the stored properties."""
        pieces = tuple(Piece(path, path, line, offset, size, None) for path, line, offset, size in self.pieces)
        join = Join(agents=tuple(Log(path, path, path, 0) for path in self.agents)) if self.agents else None
        log = Log(self.path, self.path, self.name, self.size, part=self.part, container_size=self.whole, unit=self.unit)
        return replace(log, pieces=pieces, number=number, join=join)


class StoredSession(Struct, array_like=True):
    """A session of a result: its outcome after filters and duplicates, and the places of its records."""

    log: StoredLog
    outcome: Outcome
    places: list[Place]
    """The places of its records."""
    record_count: int
    """Number of records before filters and duplicates."""
    turns: int | None
    """Assistant turns of the first of these."""
    filtered: tuple[str, ...]
    """The option that filtered each filtered record."""
    duplicates: int
    """Number of duplicate records."""
    kept_lines: int
    """Number of its malformed lines in ``reports/rejected-lines.jsonl``."""


class StoredLine(Struct, array_like=True):
    """A line of ``reports/outcomes.jsonl``: a session, or a finding about a file that was not read."""

    session: StoredSession | None = None
    finding: Finding | None = None


def encode(line: StoredLine) -> bytes:
    """Encode a line as JSON, without a line feed."""
    has_fraction = False
    if line.session:
        outcome = line.session.outcome
        for record in outcome.output.records:
            has_fraction = has_fraction or record.ending.reward is not None
        for reply in outcome.replies.rows:
            has_fraction = has_fraction or bool(reply.scores)
    return printable_struct(line, has_fraction=has_fraction)


def decode(line: bytes) -> StoredLine:
    """Decode a line from ``encode``; raise ``ValueError`` or ``RecursionError`` if it is damaged."""
    try:
        return _decoder().decode(line)
    except (ValueError, RecursionError):  # for example lone surrogates, which jsonio accepts
        return msgspec.convert(jsonio.loads(line), StoredLine)


@cache
def _decoder() -> msgspec.json.Decoder[StoredLine]:
    return jsonio.decoder(StoredLine)  # takes a hundredth of the start of a run, which only encodes lines


def without_contents(outcome: Outcome) -> Outcome:
    """Remove everything that other files of a result contain, such as the hash of the log in ``run.json``.

    Hashes that could confirm a guess about private values are removed as well.
    """
    output, report, replies, privacy = outcome.output, outcome.report, outcome.replies, outcome.privacy
    records = [_without_line(record) for record in output.records]
    pairs = [structs.replace(each, line=b"") for each in output.pairs]
    if meeting := replies.meeting:
        session_id = xxh3_64_intdigest(outcome.session.encode("utf-8", "surrogatepass")) if meeting.id else 0
        replies = replace(replies, meeting=Meeting(session_id, 0, 0))
    return Outcome(
        outcome.session,
        replace(output, records=records, pairs=pairs),
        replace(report, trace="") if report.trace else report,
        replace(outcome.account, digest="", relatives=[], lineage=None),
        replies,
        replace(privacy, unreadable_lines=[]) if privacy.unreadable_lines else privacy,
    )


def _without_line(record: Record) -> Record:
    images, redactions = record.images, record.redactions
    return replace(
        record,
        content=b"",
        line_place=None,
        images=dict.fromkeys(images, b"") if images else images,
        redactions=[replace(each, digest="") for each in redactions] if redactions else redactions,
        marks=[],
        alike=None,
    )
