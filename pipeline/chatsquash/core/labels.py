"""The rows of ``--loss-labels``: verdicts of annotators and critics on logged replies, each with a weight."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import msgspec
from msgspec import Struct, field

from chatsquash.core.errors import UsageError

_HEAD = b"chatsquash labels\n"
"""The beginning of the packed form, so that a hash in its place, as in merged results, is recognized."""


class LabelRow(NamedTuple):
    """A row of the file."""

    number: int
    """The 1-based line or row in the file."""
    id: str | None = None
    """The id of the reply, as in ``reports/replies.jsonl``."""
    file: str | None = None
    line: int | None = None
    """The place of the reply, as in ``reports/replies.jsonl``."""
    weight: float | None = None
    """0 for a reply that must not be trained on, at most 1; ``None`` if the row has no verdict."""
    problem: str = ""
    """The reason why the row cannot be applied, a key of ``WHY``."""


WHY = {
    "no-verdict": "rows without a weight or label",
    "wrong-type": "rows with an id, place, weight or label of the wrong type",
    "unknown": "no logged reply has this id or place",
    "ambiguous": "several replies have this id or place",
    "duplicate": "an earlier row about the same reply is equal",
    "contradiction": "rows about the same reply contradict each other",
    "lost": "no record contains the reply",
    "not-trained": "the reply is not trained on for another reason",
}
"""The reasons why rows are not applied, by code."""


class Labels(Struct):
    """The rows of a file, by the ids and places of replies."""

    rows: list[LabelRow] = field(default_factory=list)
    by_id: dict[str, list[LabelRow]] = field(default_factory=dict)
    by_place: dict[tuple[str, int], list[LabelRow]] = field(default_factory=dict)
    """The rows without an id, by file and line."""

    def add(self, row: LabelRow) -> None:
        """Add a row."""
        self.rows.append(row)
        if row.problem:
            return
        if row.id is not None:
            self.by_id.setdefault(row.id, []).append(row)
        elif row.file is not None and row.line is not None:
            self.by_place.setdefault((row.file, row.line), []).append(row)

    def about(self, ids: Iterable[str], places: Iterable[tuple[str, int]]) -> Iterator[LabelRow]:
        """Yield the rows about a reply with these ids and places; a row with an id and a place must match in both."""
        known = {*places}
        for each in ids:
            for row in self.by_id.get(each, ()):
                is_elsewhere = row.file is not None and row.line is not None and (row.file, row.line) not in known
                if not is_elsewhere:
                    yield row
        for place in known if self.by_place else ():
            yield from self.by_place.get(place, ())


class _Rows(Struct, array_like=True):
    rows: list[LabelRow]


def pack(rows: list[LabelRow]) -> bytes:
    """Return rows as the content of the option."""
    return _HEAD + msgspec.json.encode(_Rows(rows))


def is_packed(content: bytes) -> bool:
    """Return whether a content comes from ``pack``."""
    return content.startswith(_HEAD)


@lru_cache(maxsize=1)
def unpack(content: bytes) -> Labels:
    """Return the labels in the content of the option; none for the hash of a content, as in merged results.

    Raises:
        UsageError: The content is neither.
    """
    labels = Labels()
    if not is_packed(content):
        if re.fullmatch(rb"[0-9a-f]{32}", content):
            return labels
        raise UsageError("loss_labels: expected the content of a file with labels")
    for row in msgspec.json.decode(content[len(_HEAD) :], type=_Rows).rows:
        labels.add(row)
    return labels
