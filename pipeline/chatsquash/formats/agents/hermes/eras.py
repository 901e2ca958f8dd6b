"""The messages of one session as what the model saw: before each compression in place, at the end, and taken back."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from chatsquash.core.model import ConversationKind
from chatsquash.formats.agents.hermes.messages import identity, is_review, is_said, is_summary
from chatsquash.formats.evidence import Unread
from chatsquash.formats.threads import Room
from chatsquash.formats.values import Object


class Row(NamedTuple):
    """A message, and where it stands."""

    place: str
    message: Object

    @property
    def is_active(self) -> bool:
        """Whether it is sent now; older versions do not say so, and send all."""
        return self.message.get("active") in (None, 1, True)

    @property
    def is_compacted(self) -> bool:
        """Whether a summary stands for it."""
        return self.message.get("compacted") in (1, True)


class Era(NamedTuple):
    """What the model saw at a time."""

    kind: ConversationKind | None
    """``None``: that of the session."""
    number: int
    """That of the era, from 0 on."""
    rows: list[Row]
    copied: frozenset[int]
    """The places of rows that were taken over from what a summary replaced."""


def eras(rows: list[Row], before: list[Row], rewinds: int, unread: Unread) -> list[Era]:
    """The last one first, then those before compressions, then what was taken back, then reviews.

    ``before`` are the rows of the session from whose compression this one comes.
    """
    said = list[Row]()
    for row in rows:
        if is_said(row.message) or is_review(row.message):
            said.append(row)
        else:
            unread.one(f"message of the role {row.message['role']}")
    spans = _spans(said)
    later = _later(spans)
    left: list[_Run] = []
    found: list[Era] = []
    room = Room(len(rows))
    for number, span in enumerate(spans):
        is_last = number == len(spans) - 1
        seen = [row for row in span if (row.is_active if is_last else row.is_compacted or id(row) in later)]
        passed = spans[number - 1] if number else before
        left += _taken_back(number, span, {id(row) for row in seen} | later, passed)
        found += _with_reviews(number, seen, passed, room, unread)
    order = sorted((each for each in found if each.kind is None), key=lambda each: -each.number)
    return [*order, *_branches(left, rewinds, room, unread), *(each for each in found if each.kind)]


# What compressions in place did


def _spans(rows: list[Row]) -> list[list[Row]]:
    """The rows before each compression in place, and those from the last one on."""
    if all(row.is_active for row in rows):
        return [rows]
    bounds = [0, *(place for place in _starts(rows) if place), len(rows)]
    spans = [rows[start:stop] for start, stop in pairwise(bounds)]
    if len(spans) > 1 and not any(row.is_active for span in spans[:-1] for row in span):
        return spans
    passed = [row for row in rows if row.is_compacted]
    return [passed, [row for row in rows if not row.is_compacted]] if passed else [rows]


def _starts(rows: list[Row]) -> list[int]:
    """The places at which what replaces others begins: with a summary, or with copies of rows before it."""
    met = set[bytes]()
    found = list[int]()
    begins = 0
    for place, row in enumerate(rows):
        own = identity(row.message)
        if own not in met:
            if is_summary(row.message):
                found.append(begins)
            begins = place + 1  # where copies may follow
        met.add(own)
    return found


def _later(spans: list[list[Row]]) -> set[int]:
    """The rows that are not sent any more, but copies of them are."""
    found, met = set[int](), set[bytes]()
    for span in reversed(spans):
        for row in reversed(span):
            own = identity(row.message)
            if not row.is_active and own in met:
                found.add(id(row))
            met.add(own)
    return found


def _with_reviews(number: int, rows: list[Row], before: list[Row], room: Room, unread: Unread) -> list[Era]:
    """The rows without reviews, and each review behind what it is about."""
    kept: list[Row] = []
    found: list[Era] = []
    at = 0
    while at < len(rows):
        row = rows[at]
        at += 1
        if not is_review(row.message):
            kept.append(row)
            continue
        begins = at
        while at < len(rows) and rows[at].message["role"] in ("assistant", "tool"):
            at += 1
        work = rows[begins:at]
        if not work or not room.take(len(kept)):
            for _ in (row, *work):
                unread.one("message of a review")
            continue
        found.append(Era("side", number, [*kept, row, *work], _copied(kept, before)))
    return [Era(None, number, kept, _copied(kept, before)), *found]


def _copied(rows: list[Row], before: list[Row]) -> frozenset[int]:
    """The places of replies at the beginning that stood before the summary, too."""
    known = {identity(row.message, with_time=False) for row in before}
    found = []
    for place, row in enumerate(rows):
        if row.message["role"] != "assistant" or is_summary(row.message):
            continue
        if identity(row.message, with_time=False) not in known:
            break
        found.append(place)
    return frozenset(found)


# What was taken back


class _Run(NamedTuple):
    """Rows that were taken back together."""

    number: int
    """That of the era."""
    before: list[Row]
    """What stands before it, and maybe more."""
    prefix: int
    """How many of those stand before it."""
    rows: list[Row]
    passed: list[Row]
    """The rows that a summary before all of them replaced."""


def _taken_back(number: int, span: list[Row], kept: set[int], passed: list[Row]) -> list[_Run]:
    """Runs of rows that were taken back, each behind what stood before it."""
    found: list[_Run] = []
    before: list[Row] = []
    is_open = False
    for row in span:
        is_before = id(row) in kept
        if is_before:
            before.append(row)
        elif is_open:
            found[-1].rows.append(row)
        else:
            found.append(_Run(number, before, len(before), [row], passed))
        is_open = not is_before
    return found


def _branches(runs: list[_Run], rewinds: int, room: Room, unread: Unread) -> list[Era]:
    """What was taken back and had a reply, unless rows of several rewinds may stand one behind the other."""
    found: list[Era] = []
    for run in runs:
        has_reply = any(row.message["role"] == "assistant" for row in run.rows)
        if has_reply and len(runs) >= rewinds and room.take(run.prefix):
            rows = [*run.before[: run.prefix], *run.rows]
            found.append(Era("branch", run.number, rows, _copied(rows, run.passed)))
            continue
        for _ in run.rows:
            unread.one("message that was taken back")
    return found
