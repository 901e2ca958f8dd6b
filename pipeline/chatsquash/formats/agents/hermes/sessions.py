"""Sessions of Hermes as conversations: each with what compressions replaced, and linked to those that it comes from."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from chatsquash.core.model import Conversation, ConversationKind
from chatsquash.formats.agents.hermes import messages
from chatsquash.formats.agents.hermes.database import Place, Session, config, name, places
from chatsquash.formats.agents.hermes.messages import identity, is_review, is_said, is_summary
from chatsquash.formats.base import expect_list
from chatsquash.formats.evidence import Evidence, Logged, Unread, bounds, origin, told, with_origin
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.threads import Room
from chatsquash.formats.values import Object, objects, string

_SESSION = (
    *("id", "source", "started_at", "ended_at", "parent_session_id", "end_reason", "model", "model_config"),
    *("session_key", "system_prompt", "rewind_count", "messages", "segments", "lineage_session_ids"),
)


class _Held(NamedTuple):
    """A session of a file."""

    place: str
    line: int
    value: Object
    rows: list[Row]
    told: Session


def conversations(placed: list[tuple[int, int, Object]], unread: Unread) -> list[Conversation]:
    """Those of each family of sessions: first that of its last session which is no branch and no delegate's."""
    held = [_held(place, line, value) for place, line, each in placed for value in _segments(each)]
    known = places([each.told for each in held])
    families: dict[int, list[int]] = {}
    for number, place in enumerate(known):
        families.setdefault(place.root, []).append(number)
    found: list[Conversation] = []
    for numbers in families.values():
        for number in sorted(numbers, key=lambda each: _rank(held[each], known[each])):
            found += _conversations(held, known, number, unread)
    found = [each for each in found if each.messages]
    return found if len(found) > 1 else [with_origin(each, id="") for each in found]


def _rank(session: _Held, place: Place) -> tuple[int, float]:
    """Sessions in use stand before others, the last of them first."""
    started = session.told.started
    is_aside = place.kind in ("branch", "subagent")
    at = float(started) if isinstance(started, int | float) and abs(started) < 1e300 else 0.0
    return is_aside, at if is_aside else -at


def _segments(value: Object) -> list[Object]:
    """The sessions in an object: an export of a chain of compressions has each, and the messages of all once more."""
    segments = objects(value.get("segments"))
    return segments or [value]


def _held(place: int, line: int, value: Object) -> _Held:
    where = f"entry {place}, session {(name(value.get('id')) or 'without an id')[:80]}"
    logged = expect_list(value.get("messages"), f"{where} has messages that are")
    rows = []
    for number, message in enumerate(logged):
        at = f"{where}, messages[{number}]"
        rows.append(Row(at, messages.checked(at, message)))
    return _Held(where, line, value, rows, _told(value))


def _told(value: Object) -> Session:
    named = ("started_at", "parent_session_id", "end_reason", "model_config", "source", "session_key")
    started, parent, ended, settings, source, key = (value.get(member) for member in named)
    return Session(name(value.get("id")) or "", started, name(parent), ended, config(settings), source, key)


def _conversations(held: list[_Held], known: list[Place], number: int, unread: Unread) -> list[Conversation]:
    """What the model saw in a session: at its end, before compressions in place, and beside."""
    session, place = held[number], known[number]
    unread.rest("session", session.value, *_SESSION)
    above = held[place.parent] if place.parent >= 0 else None
    before = above.rows if above and place.kind == "compacted" else []
    rewinds = session.value.get("rewind_count")
    rewinds = rewinds if type(rewinds) is int else 0
    found = eras(session.rows, before, rewinds, unread)
    last = max((each.number for each in found), default=0)
    own, aside = session.told.id, 0
    made: list[Conversation] = []
    for era in found:
        aside += era.kind is not None
        ident = own if era.number == last else f"{own}.{era.number + 1}"
        members: Object = {"id": ident, "kind": place.kind, "parent": above.told.id if above else None}
        if above is None and place.kind != "main":
            members["parent"] = session.told.parent
        if era.number:
            before_it = f"{own}.{era.number}"
            members |= {"kind": "compacted", "parent": before_it}
        if era.kind:
            members = {"id": f"{own}.{era.kind}.{aside}", "kind": era.kind, "parent": ident}
        made.append(_conversation(session, era, members, unread if era.number == last and not era.kind else Unread()))
    return made


def _conversation(session: _Held, era: Era, members: Object, unread: Unread) -> Conversation:
    value, model = session.value, string(session.value, "model")
    prompt = string(value, "system_prompt")
    turns = [Logged(session.place, {"role": "system", "content": prompt}, Evidence(session.line))] if prompt else []
    for at, row in enumerate(era.rows):
        said = messages.turn(row.place, row.message, unread)
        known = messages.evidence(row.message, session.line, model, is_copied=at in era.copied)
        turns.append(Logged(row.place, said, known))
    if not era.rows:
        return Conversation([], [])
    found = told(openai_chat, turns)
    times = {} if any(each.time for each in found.evidence) else bounds(value.get("started_at"), value.get("ended_at"))
    return Conversation(
        found.messages, [], origin=origin(found, session_id=session.told.id or None, **times, **members)
    )


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
