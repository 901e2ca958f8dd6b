"""Secrets and personal data in one record of a dataset, replaced or counted, and the sums over all records."""

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
from chatsquash.dataset.reports.redactions import Table
from chatsquash.redaction.hits import Value, value_of
from chatsquash.redaction.placeholders import Placeholders, is_secret, redaction, words
from chatsquash.redaction.privacy import Pieces, Privacy, kinds
from chatsquash.redaction.redactor import Redactor
from chatsquash.results.redact.places import Hide

_UNSET = (None, 0, 1)
"""What a flag may be; anything else under its name is no flag.  (False and True are equal to two of them.)"""
_HOLDS = "chatsquash redact replaces"


class RedactedRecord(NamedTuple):
    """A record with placeholders, and what became of it."""

    value: Json
    counts: Counter[Value]
    addresses: int
    unflagged: list[int]
    """The replies with a placeholder for a secret of which nothing can say that they are not trained on."""

    @property
    def is_changed(self) -> bool:
        """Whether anything was replaced."""
        return bool(self.counts or self.addresses)

    @property
    def secrets(self) -> int:
        """How many secrets were replaced, repeated ones each time."""
        return sum(count for value, count in self.counts.items() if is_secret(value.kind))


def redact_record(privacy: Privacy, value: Json, known: Redactor | None = None) -> RedactedRecord:
    """A record, or any JSON, without what is private and what is known; raises ``UnsearchedError``.

    The record that is given is changed in its place.
    """
    pieces = _pieces(value)
    hits = privacy.replace(pieces.values)
    if known:
        hits += known.replace(pieces.values)
    whole, addresses, passwords = privacy.anonymized(_whole(value, pieces) if hits else value)
    counts = Counter(map(value_of, passwords))
    for (_, each), count in hits.items():
        counts[each] += count
    masked = _pieces(whole)
    unflagged = _unflag(masked, masked.masked_pieces()) if counts else []
    return RedactedRecord(_whole(whole, masked) if counts else whole, counts, addresses, unflagged)


def look(value: Json, redactor: Redactor) -> Counter[tuple[int, Value]]:
    """What is private in which piece of a record, and how often; raises ``UnsearchedError``."""
    return redactor.count(_pieces(value).values, every=True)


def looked(value: Json, counts: Counter[tuple[int, Value]]) -> Iterator[Violation]:
    """What is private in a record, once for each kind at the first message with it."""
    pieces = _pieces(value)
    for kind, count, first in kinds(counts):
        place = pieces.place(first)
        if is_secret(kind):
            yield private.secret_found(kind, count, place, _HOLDS)
        else:
            yield stored_records.personal_data_found(kind, count, place)


def hides(data: bytes, value: Json) -> bool:
    """Whether JSON has members that its value lacks: of two with one name a parser takes the last."""
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
"""Under what a value that is no object is searched; it tells nothing."""


def _whole(value: Json, pieces: Pieces) -> Json:
    whole = pieces.assemble()
    return whole if isinstance(value, dict) else whole[_ALONE]


def _unflag(pieces: Pieces, masked: list[int]) -> list[int]:
    """Have replies say that they are not trained on; the places of those that have no way to say so."""
    replies = [at for at in masked if pieces.replies([at])]
    if not replies:
        return []
    flags = _flags(pieces)
    for at in replies:
        turn: Any = pieces.values[at]
        turn.update({flag: marks.FLAGS[flag][0] for flag in flags})
    return [] if flags else pieces.replies(replies)


def _flags(pieces: Pieces) -> list[str]:
    """The flags that messages of a record have."""
    turns = [turn for turn in pieces.values[:-1] if isinstance(turn, dict)]
    flags = []
    for flag in marks.FLAGS:
        said = [turn[flag] for turn in turns if flag in turn]
        if said and all(isinstance(each, (int, type(None))) and each in _UNSET for each in said):
            flags.append(flag)
    return flags


@dataclass(slots=True)
class RedactionSummary:
    """What became of the records."""

    place: str
    """Where they are written."""
    looks_for_secrets: bool = False
    written: int = 0
    left_out: int = 0
    """Records that could not be searched, and lines that are none."""
    files: int = 0
    secrets: int = 0
    """Secrets that were replaced, repeated ones each time."""
    with_secrets: int = 0
    """Records in which they were found."""
    addresses: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    """What else was replaced, and what the secrets are."""
    others: Counter[str] = field(default_factory=Counter)
    """What lay in folders and is not read, by suffix."""
    hashes: set[str] = field(default_factory=set)
    """Those of the secrets, as ``--redact-known`` takes them."""
    values: set[Value] = field(default_factory=set)
    """What was replaced."""
    _table: Table = field(default_factory=Table)

    @property
    def complete(self) -> bool:
        """Whether all records are written."""
        return not self.left_out

    def take(self, done: RedactedRecord, placeholders: Placeholders, place: str) -> None:
        """Count a record, and what was replaced in it."""
        self.written += 1
        self.addresses += done.addresses
        self.secrets += done.secrets
        self.with_secrets += bool(done.secrets)
        self.values.update(done.counts)
        for value, count in done.counts.items():
            self.kinds[value.kind] += count
            entry = redaction(value, count, placeholders, hashes=True)
            self._table.add(entry, place)
            self.hashes.update([entry.digest] if entry.digest else [])

    def report(self, hide: Hide) -> bytes:
        """The table of ``reports/redactions.csv``, a row for each value, which is told by its placeholder's digits."""
        return self._table.csv(hide)

    def overview(self) -> Overview:
        """What people should know about the run."""
        files = f" ({pluralize(self.files, 'file')})" if self.files > 1 else ""
        headlines = [Headline((f"{pluralize(self.written, 'record')} written to {self.place}{files}",))]
        if self.left_out:
            left_out = f"{pluralize(self.left_out, 'record')} left out that could not be searched"
            headlines.append(Headline(("needs attention:", left_out), "error"))
        return Overview((*headlines,), (*self._rows(),))

    def __str__(self) -> str:
        """The overview as text."""
        return self.overview().as_text(verbose=True)

    def _rows(self) -> Iterator[Row]:
        if self.secrets:
            yield Row("secrets", self.secrets, (f"in {pluralize(self.with_secrets, 'record')},", "all replaced"))
        elif self.looks_for_secrets:
            yield Row("secrets", None, ("none found",))
        if self.addresses:
            yield Row("anonymised", self.addresses, ("e-mail address" if self.addresses == 1 else "e-mail addresses",))
        if self.kinds:
            kinds = sorted((words(kind), count) for kind, count in self.kinds.items())
            yield Row("replaced", sum(self.kinds.values()), count_parts(kinds))
        if self.others:
            yield Row("not read", sum(self.others.values()), count_parts(frequent_kinds(self.others)))
