"""Replaces or counts the secrets and personal data of a record, and sums them up over all records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chatsquash.checks import private, stored_records
from chatsquash.core import jsonio, marks
from chatsquash.core.model import Json, Violation
from chatsquash.core.overview import Headline, Overview, Row, count_parts
from chatsquash.core.text import frequent_kinds, pluralize
from chatsquash.dataset.reports.tables import Table
from chatsquash.records.datasets import has_only_tokens
from chatsquash.redaction.privacy import Pieces, Privacy, kinds
from chatsquash.redaction.redactor import Redactor
from chatsquash.redaction.values import (
    Placeholders,
    UnsearchedError,
    Value,
    is_secret,
    redaction,
    value_of,
    words,
)
from chatsquash.results.redact.places import Hide

_UNSET = (None, 0, 1)
"""The values of a flag; a member with other values is not a flag.  (False and True equal 0 and 1.)"""
_ADVICE = "chatsquash redact replaces"


class RedactedRecord(NamedTuple):
    """A record with placeholders, and the replacements."""

    value: Json
    counts: Counter[Value]
    addresses: int
    unflagged: list[int]
    """Replies with a placeholder that cannot be excluded from training, because the record has no flags."""

    @property
    def is_changed(self) -> bool:
        """Whether anything was replaced."""
        return bool(self.counts or self.addresses)

    @property
    def secrets(self) -> int:
        """The number of replaced secrets, with repetitions."""
        return sum(count for value, count in self.counts.items() if is_secret(value.kind))


def redact_record(privacy: Privacy, value: Json, known: Redactor | None = None) -> RedactedRecord:
    """Redact a record or any JSON value; may raise ``UnsearchedError``.

    The value is modified in place.  ``known`` also replaces values detected in other records of the session.
    """
    if isinstance(value, dict) and has_only_tokens(value):
        raise UnsearchedError("token ids cannot be searched")
    pieces = _pieces(value)
    hits = privacy.replace(pieces.values)
    if known:
        hits += known.replace(pieces.values)
    pseudonymous = privacy.anonymized(_join_pieces(value, pieces) if hits else value)
    redacted, counts = pseudonymous.value, Counter(map(value_of, pseudonymous.passwords))
    for (_, each), count in hits.items():
        counts[each] += count
    masked = _pieces(redacted)
    unflagged = _unflag(masked, masked.masked_pieces()) if counts else []
    return RedactedRecord(
        _join_pieces(redacted, masked) if counts else redacted, counts, pseudonymous.addresses, unflagged
    )


def count_values(value: Json, redactor: Redactor) -> Counter[tuple[int, Value]]:
    """Count the secrets and personal data in each piece of a record; may raise ``UnsearchedError``."""
    return redactor.count(_pieces(value).values, every=True)


def violations(value: Json, counts: Counter[tuple[int, Value]]) -> Iterator[Violation]:
    """Yield a violation for each kind of secret or personal data, at the first message with it."""
    pieces = _pieces(value)
    for kind, count, first in kinds(counts):
        place = pieces.place(first)
        if is_secret(kind):
            yield private.secret_found(kind, count, place, _ADVICE)
        else:
            yield stored_records.personal_data_found(kind, count, place)


def has_duplicate_members(data: bytes, value: Json) -> bool:
    """Return whether JSON has members that its parsed value has not: parsers only return the last of equal names."""
    if jsonio.dumps(value) == data.strip():
        return False
    is_hidden = False

    def pairs(members: list[tuple[str, Any]]) -> None:
        nonlocal is_hidden
        is_hidden = is_hidden or len({name for name, _ in members}) < len(members)

    try:
        json.loads(data.decode("utf-8", "surrogatepass"), object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return True
    return is_hidden


def _pieces(value: Json) -> Pieces:
    return Pieces(value if isinstance(value, dict) else {_ALONE: value})


_ALONE = "text"
"""The member name under which a value other than an object is searched; it must match no detector."""


def _join_pieces(value: Json, pieces: Pieces) -> Json:
    whole = pieces.assemble()
    return whole if isinstance(value, dict) else whole[_ALONE]


def _unflag(pieces: Pieces, masked: list[int]) -> list[int]:
    """Set the flags of replies so that they are not trained on; return the replies of a record without flags."""
    replies = [at for at in masked if pieces.replies([at])]
    if not replies:
        return []
    flags = _flags(pieces)
    for at in replies:
        turn: Any = pieces.values[at]
        turn.update({flag: marks.FLAGS[flag][0] for flag in flags})
    return [] if flags else pieces.replies(replies)


def _flags(pieces: Pieces) -> list[str]:
    """Return the names of the flags in the messages of a record."""
    turns = [turn for turn in pieces.values[:-1] if isinstance(turn, dict)]
    flags = []
    for flag in marks.FLAGS:
        values = [turn[flag] for turn in turns if flag in turn]
        if values and all(isinstance(each, (int, type(None))) and each in _UNSET for each in values):
            flags.append(flag)
    return flags


@dataclass(slots=True)
class RedactionSummary:
    """The counts of a redaction run."""

    place: str
    """The output path."""
    looks_for_secrets: bool = False
    written: int = 0
    left_out: int = 0
    """Records that could not be searched, and lines that are not records."""
    files: int = 0
    """Files with records."""
    traces: int = 0
    """Session traces, whose lines are not records."""
    secrets: int = 0
    """Replaced secrets, with repetitions, also in traces."""
    with_secrets: int = 0
    """Records with secrets."""
    traces_with_secrets: set[str] = field(default_factory=set)
    addresses: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    """Replaced values by kind, including secrets."""
    others: Counter[str] = field(default_factory=Counter)
    """Ignored files in folders, by suffix."""
    hashes: set[str] = field(default_factory=set)
    """Hashes of the secrets, as ``--redact-known`` reads them."""
    values: set[Value] = field(default_factory=set)
    """The replaced values."""
    _table: Table = field(default_factory=Table)

    @property
    def complete(self) -> bool:
        """Whether all records were written."""
        return not self.left_out

    def add(self, done: RedactedRecord, placeholders: Placeholders, place: str, trace: str = "") -> None:
        """Count a record and its replacements; or those of a line of a trace with this name."""
        self.addresses += done.addresses
        self.secrets += done.secrets
        if trace:
            self.traces_with_secrets.update([trace] if done.secrets else [])
        else:
            self.written += 1
            self.with_secrets += bool(done.secrets)
        self.values.update(done.counts)
        for value, count in done.counts.items():
            self.kinds[value.kind] += count
            entry = redaction(value, count, placeholders, hashes=True)
            self._table.add(entry, place)
            self.hashes.update([entry.digest] if entry.digest else [])

    def report(self, hide: Hide) -> bytes:
        """Return ``reports/redactions.csv``: a row for each value, identified by the digits of its placeholder."""
        return self._table.csv(hide)

    def overview(self) -> Overview:
        """Return the summary for the user."""
        files = f" ({pluralize(self.files, 'file')})" if self.files > 1 else ""
        headlines = [Headline((f"{pluralize(self.written, 'record')} written to {self.place}{files}",))]
        if self.left_out:
            left_out = f"{pluralize(self.left_out, 'unsearchable record')} skipped"
            headlines.append(Headline(("needs attention:", left_out), "error"))
        return Overview((*headlines,), (*self._rows(),))

    def __str__(self) -> str:
        """Return the summary as text."""
        return self.overview().as_text(verbose=True)

    def _rows(self) -> Iterator[Row]:
        if self.secrets:
            traces = pluralize(len(self.traces_with_secrets), "trace")
            where = f"in {pluralize(self.with_secrets, 'record')}"
            where += f" and {traces}," if self.traces_with_secrets else ","
            yield Row("secrets", self.secrets, (where, "all replaced"))
        elif self.looks_for_secrets:
            yield Row("secrets", None, ("none found",))
        if self.addresses:
            yield Row("anonymized", self.addresses, ("e-mail address" if self.addresses == 1 else "e-mail addresses",))
        if self.kinds:
            kinds = sorted((words(kind), count) for kind, count in self.kinds.items())
            yield Row("replaced", sum(self.kinds.values()), count_parts(kinds))
        if self.traces:
            yield Row("traces", self.traces, ("also redacted",))
        if self.others:
            yield Row("not read", sum(self.others.values()), count_parts(frequent_kinds(self.others)))
