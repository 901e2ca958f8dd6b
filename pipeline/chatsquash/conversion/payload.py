"""The lines of records, which stand behind an outcome in a journal and pass through no other process."""

from __future__ import annotations

from collections.abc import Callable
from errno import EIO
from itertools import accumulate

from msgspec.structs import replace

from chatsquash.core.outcome import LinePlace, Outcome

_MANY = 1000
"""Pieces above which they are put together: the system writes at most 1024 at once."""


def without(outcome: Outcome) -> Outcome:
    """An outcome whose records say no more of their lines than how long these are."""
    records = [replace(each, line=b"", held=LinePlace("", 0, len(each.line) + 1)) for each in outcome.records]
    return outcome.with_records(records) if records else outcome


def lines(outcome: Outcome) -> list[bytes]:
    """The lines of its records with their line feeds."""
    pieces = [piece for each in outcome.records for piece in (each.line, b"\n")]
    return pieces if len(pieces) < _MANY else [b"".join(pieces)]


def placed(outcome: Outcome, journal: str, offset: int) -> Outcome:
    """An outcome without lines, whose records say where in a journal these stand, one behind the other."""
    if not outcome.records:
        return outcome
    sizes = [each.held.size if each.held else 0 for each in outcome.records]
    places = zip(accumulate(sizes, initial=offset), sizes, strict=False)
    records = [replace(each, held=LinePlace(journal, *next(places))) for each in outcome.records]
    return outcome.with_records(records)


def filled(outcome: Outcome, read: Callable[[LinePlace], bytes]) -> Outcome:
    """An outcome with its lines, which are read from their places; raises ``OSError`` where one is not whole."""
    records = []
    for record in outcome.records:
        held = record.held
        if held is not None:
            line = read(held)
            if len(line) != held.size:
                raise OSError(EIO, "the journal of this run is not whole any more")
            record = replace(record, line=line.removesuffix(b"\n"), held=None)  # noqa: PLW2901
        records.append(record)
    return outcome.with_records(records)
