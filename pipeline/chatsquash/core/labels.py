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
    repeats: int = 0
    """The number of the earlier row with the same id and place from which the outcome of this row follows, or 0."""


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


_Key = tuple[str | None, str | None, int | None]
"""The id, file and line in a row."""


class Labels(Struct):
    """The rows of a file, by the ids and places of replies."""

    rows: list[LabelRow] = field(default_factory=list)
    by_key: dict[_Key, list[LabelRow]] = field(default_factory=dict)
    """At most two rows for each key, see ``mark_repeats``."""

    def add(self, row: LabelRow) -> None:
        """Add a row."""
        self.rows.append(row)
        if not row.problem and not row.repeats:
            self.by_key.setdefault(_key(row), []).append(row)

    def about(self, ids: Iterable[str], places: Iterable[tuple[str, int]]) -> Iterator[LabelRow]:
        """Yield the rows about a reply with these ids and places; a row with an id and a place must match in both."""
        names, known = [*ids], {*places}
        keys: list[_Key] = [(name, None, None) for name in names]
        keys += [(name, file, line) for name in (*names, None) for file, line in known]
        for key in keys:
            yield from self.by_key.get(key, ())


def _key(row: LabelRow) -> _Key:
    return row.id, row.file, row.line


def mark_repeats(rows: Iterable[LabelRow]) -> Iterator[LabelRow]:
    """Yield rows; those that cannot change what two earlier ones with the same id and place say are marked.

    Only the first row, and the first one that contradicts it, are compared with replies. Many rows with one id would
    otherwise be compared with each of many replies that have this id.
    """
    first: dict[_Key, list[LabelRow]] = {}
    for row in rows:
        same = first.setdefault(_key(row), []) if not row.problem else []
        if same and (len(same) > 1 or same[0].weight == row.weight):
            yield row._replace(repeats=same[0].number)
            continue
        same.append(row)
        yield row


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
