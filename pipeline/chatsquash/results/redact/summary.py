"""What a run over datasets replaced, and what it says of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from chatsquash.core.text import counted, escaped, listed
from chatsquash.dataset.reports.redactions import Table
from chatsquash.redact.hits import Finder, Value
from chatsquash.redact.placeholders import Placeholders, redaction, words
from chatsquash.redact.redactor import Redactor
from chatsquash.results.redact.places import Hide
from chatsquash.results.redact.record import Replaced


@dataclass(slots=True)
class Redacted:
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

    def take(self, done: Replaced, placeholders: Placeholders, place: str) -> None:
        """Count a record, and what was replaced in it."""
        self.written += 1
        self.addresses += done.addresses
        self.secrets += done.secrets
        self.with_secrets += bool(done.secrets)
        self.values.update(done.counts)
        for value, count in done.counts.items():
            self.kinds[value.kind] += count
            found = redaction(value, count, placeholders, hashes=True)
            self._table.add(found, place)
            self.hashes.update([found.digest] if found.digest else [])

    def known(self, redactor: Redactor | None) -> Finder | None:
        """Finds what was replaced, also where nothing but that tells that it is private."""
        return redactor.remembered(sorted(self.values)) if redactor else None

    def report(self, hide: Hide) -> bytes:
        """The table of ``reports/redactions.csv``, a row for each value, which is told by its placeholder's digits."""
        return self._table.csv(hide)

    def lines(self) -> Iterator[str]:
        """What is said at the end, a line each."""
        files = f" ({counted(self.files, 'file')})" if self.files > 1 else ""
        yield f"{counted(self.written, 'record')} written to {escaped(self.place)}{files}"
        if self.left_out:
            yield f"left out: {counted(self.left_out, 'record')} that could not be searched"
        if self.looks_for_secrets or self.secrets:
            found = f"{self.secrets:,} found in {counted(self.with_secrets, 'record')}"
            yield f"secrets: {found}, all {self.secrets:,} replaced" if self.secrets else "secrets: none found"
        if self.addresses:
            yield f"anonymised: {counted(self.addresses, 'e-mail address', 'e-mail addresses')}"
        for kind, count in sorted(self.kinds.items()):
            yield f"{count:>9,}  {words(kind)}"
        if self.others:
            yield f"not read: {listed(self.others)}"
