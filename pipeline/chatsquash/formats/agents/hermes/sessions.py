"""Convert Hermes sessions to linked conversations, including the parts that compressions replaced."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from chatsquash.core.model import Conversation, ConversationKind
from chatsquash.formats.agents.hermes import messages
from chatsquash.formats.agents.hermes.database import SessionLink, SessionPlace, config, places
from chatsquash.formats.agents.hermes.messages import identity, is_review, is_sent, is_summary
from chatsquash.formats.base import expect_list
from chatsquash.formats.database_rows import id_text
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, bounds, load_conversation, with_origin
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.threads import EntryBudget
from chatsquash.formats.values import Object, objects, string

_SESSION = (
    *("id", "source", "started_at", "ended_at", "parent_session_id", "end_reason", "model", "model_config"),
    *("session_key", "system_prompt", "rewind_count", "messages", "segments", "lineage_session_ids"),
)


class _FamilySession(NamedTuple):
    place: str
    line: int
    value: Object
    rows: list[PlacedMessage]
    link: SessionLink


def conversations(entries: list[tuple[int, int, Object]], unread: Unread) -> list[Conversation]:
    """Return the conversations of each family, starting with its last main session."""
    # The export of a compression chain repeats the messages of all its segments.
    values = ((place, line, part) for place, line, each in entries for part in objects(each.get("segments")) or [each])
    sessions = [_read_session(*each) for each in values]
    known = places([each.link for each in sessions])
    families: dict[int, list[int]] = {}
    for number, place in enumerate(known):
        families.setdefault(place.root, []).append(number)
    converted: list[Conversation] = []
    for numbers in families.values():
        for number in sorted(numbers, key=lambda each: _rank(sessions[each], known[each])):
            converted += _conversations(sessions, known, number, unread)
    converted = [each for each in converted if each.messages]
    return converted if len(converted) > 1 else [with_origin(each, id="") for each in converted]


def _rank(session: _FamilySession, place: SessionPlace) -> tuple[int, float]:
    """Return a sort key: main sessions and continuations from last to first, then branches and delegates."""
    started = session.link.started
    is_secondary = place.kind in ("branch", "subagent")
    # A larger integer would not fit into a float.
    at = float(started) if isinstance(started, int | float) and abs(started) < 1e300 else 0.0
    return is_secondary, at if is_secondary else -at


def _read_session(place: int, line: int, value: Object) -> _FamilySession:
    where = f"entry {place}, session {(id_text(value.get('id')) or 'without an id')[:80]}"
    logged_messages = expect_list(value.get("messages"), f"{where}: messages is")
    rows = []
    for number, message in enumerate(logged_messages):
        at = f"{where}, messages[{number}]"
        rows.append(PlacedMessage(at, messages.checked_message(at, message)))
    return _FamilySession(where, line, value, rows, _link(value))


def _link(value: Object) -> SessionLink:
    names = ("started_at", "parent_session_id", "end_reason", "model_config", "source", "session_key")
    started, parent, end_reason, settings, source, key = (value.get(member) for member in names)
    return SessionLink(
        id_text(value.get("id")) or "", started, id_text(parent), end_reason, config(settings), source, key
    )


def _conversations(
    sessions: list[_FamilySession], known: list[SessionPlace], number: int, unread: Unread
) -> list[Conversation]:
    """Return the conversations of a session: its last one, those before in-place compressions, branches and reviews."""
    session, place = sessions[number], known[number]
    unread.count_members("session", session.value, *_SESSION)
    above = sessions[place.parent] if place.parent >= 0 else None
    before = above.rows if above and place.kind == "compacted" else []
    rewinds = session.value.get("rewind_count")
    rewinds = rewinds if type(rewinds) is int else 0
    views = eras(session.rows, before, rewinds, unread)
    last = max((each.number for each in views), default=0)
    own, side_views = session.link.id, 0
    converted: list[Conversation] = []
    for era in views:
        side_views += era.kind is not None
        ident = own if era.number == last else f"{own}.{era.number + 1}"
        members: Object = {"id": ident, "kind": place.kind, "parent": above.link.id if above else None}
        if above is None and place.kind != "main":
            members["parent"] = session.link.parent
        if era.number:
            members |= {"kind": "compacted", "parent": f"{own}.{era.number}"}
        if era.kind:
            members = {"id": f"{own}.{era.kind}.{side_views}", "kind": era.kind, "parent": ident}
        converted.append(
            _conversation(session, era, members, unread if era.number == last and not era.kind else Unread())
        )
    return converted


def _conversation(session: _FamilySession, era: ModelView, members: Object, unread: Unread) -> Conversation:
    value, model = session.value, string(session.value, "model")
    prompt = string(value, "system_prompt")
    turns = [LoggedTurn(session.place, {"role": "system", "content": prompt}, Evidence(session.line))] if prompt else []
    for at, row in enumerate(era.rows):
        turn = messages.turn(row.place, row.message, unread)
        known = messages.evidence(row.message, session.line, model, is_copied=at in era.copied_places)
        turns.append(LoggedTurn(row.place, turn, known))
    if not era.rows:
        return Conversation([], [])
    times = bounds(value.get("started_at"), value.get("ended_at"))
    return load_conversation(openai_chat, turns, session_id=session.link.id or None, session_times=times, **members)


class PlacedMessage(NamedTuple):
    """A message and its place."""

    place: str
    message: Object

    @property
    def is_active(self) -> bool:
        """Whether it is still sent to the model."""
        # Older versions have no flag and send all messages.
        return self.message.get("active") in (None, 1, True)

    @property
    def is_compacted(self) -> bool:
        """Whether a summary replaces it."""
        return self.message.get("compacted") in (1, True)


class ModelView(NamedTuple):
    """The rows that the model saw at a point in time."""

    kind: ConversationKind | None
    """The kind of the conversation; ``None`` if it is the kind of the session."""
    number: int
    """The number of the era, starting at 0."""
    rows: list[PlacedMessage]
    copied_places: frozenset[int]
    """The indices of rows that are copies of rows before a summary."""


def eras(rows: list[PlacedMessage], before: list[PlacedMessage], rewinds: int, unread: Unread) -> list[ModelView]:
    """Return the last view, then those before compressions, then branches of removed rows, then reviews.

    ``before`` contains the rows of the parent session if this session is the result of its compression.
    """
    visible = list[PlacedMessage]()
    for row in rows:
        if is_sent(row.message) or is_review(row.message):
            visible.append(row)
        else:
            unread.count(f"message with role {row.message['role']}")
    spans = _spans(visible)
    later = _later(spans)
    removed: list[_RemovedRows] = []
    views: list[ModelView] = []
    budget = EntryBudget(len(rows))
    for number, span in enumerate(spans):
        is_last = number == len(spans) - 1
        seen = [row for row in span if (row.is_active if is_last else row.is_compacted or id(row) in later)]
        replaced_rows = spans[number - 1] if number else before
        removed += _removed_runs(number, span, {id(row) for row in seen} | later, replaced_rows)
        views += _with_reviews(number, seen, replaced_rows, budget, unread)
    order = sorted((each for each in views if each.kind is None), key=lambda each: -each.number)
    return [*order, *_branches(removed, rewinds, budget, unread), *(each for each in views if each.kind)]


# Compressions in place


def _spans(rows: list[PlacedMessage]) -> list[list[PlacedMessage]]:
    """Split the rows at in-place compressions."""
    if all(row.is_active for row in rows):
        return [rows]
    bounds = [0, *(place for place in _starts(rows) if place), len(rows)]
    spans = [rows[start:stop] for start, stop in pairwise(bounds)]
    if len(spans) > 1 and not any(row.is_active for span in spans[:-1] for row in span):
        return spans  # the replacements match the flags of the rows
    compacted = [row for row in rows if row.is_compacted]
    return [compacted, [row for row in rows if not row.is_compacted]] if compacted else [rows]


def _starts(rows: list[PlacedMessage]) -> list[int]:
    """Return the places at which a replacement begins, with a summary or with copies of earlier rows."""
    known = set[bytes]()
    starts = list[int]()
    start = 0
    for place, row in enumerate(rows):
        own = identity(row.message)
        if own not in known:
            if is_summary(row.message):
                starts.append(start)
            start = place + 1  # copies may start here
        known.add(own)
    return starts


def _later(spans: list[list[PlacedMessage]]) -> set[int]:
    """Return the ids (from ``id()``) of rows that are no longer sent, but that have later copies."""
    later, known = set[int](), set[bytes]()
    for span in reversed(spans):
        for row in reversed(span):
            own = identity(row.message)
            if not row.is_active and own in known:
                later.add(id(row))
            known.add(own)
    return later


def _with_reviews(
    number: int, rows: list[PlacedMessage], before: list[PlacedMessage], budget: EntryBudget, unread: Unread
) -> list[ModelView]:
    """Return a view of the rows without reviews, and a view of each review with the rows that it is about."""
    seen: list[PlacedMessage] = []
    reviews: list[ModelView] = []
    at = 0
    while at < len(rows):
        row = rows[at]
        at += 1
        if not is_review(row.message):
            seen.append(row)
            continue
        start = at
        while at < len(rows) and rows[at].message["role"] in ("assistant", "tool"):
            at += 1
        work = rows[start:at]
        if not work or not budget.take(len(seen)):
            for _ in (row, *work):
                unread.count("message of a review")
            continue
        reviews.append(ModelView("side", number, [*seen, row, *work], _copied_places(seen, before)))
    return [ModelView(None, number, seen, _copied_places(seen, before)), *reviews]


def _copied_places(rows: list[PlacedMessage], before: list[PlacedMessage]) -> frozenset[int]:
    """Return the indices of replies at the beginning that are copies of replies before the summary."""
    # Copies have new times.
    known = {identity(row.message, with_time=False) for row in before}
    places_of = []
    for place, row in enumerate(rows):
        if row.message["role"] != "assistant" or is_summary(row.message):
            continue
        if identity(row.message, with_time=False) not in known:
            break
        places_of.append(place)
    return frozenset(places_of)


# Removed rows


class _RemovedRows(NamedTuple):
    """A run of removed rows."""

    number: int
    """The number of the era."""
    before: list[PlacedMessage]
    """The rows before the run, possibly followed by later rows."""
    prefix: int
    """The number of rows in ``before`` that precede the run."""
    rows: list[PlacedMessage]
    summarized_rows: list[PlacedMessage]
    """The rows that the summary at the beginning of the era replaced."""


def _removed_runs(
    number: int, span: list[PlacedMessage], kept_ids: set[int], replaced_rows: list[PlacedMessage]
) -> list[_RemovedRows]:
    """Return the runs of removed rows with the rows before them."""
    runs: list[_RemovedRows] = []
    before: list[PlacedMessage] = []
    is_open = False
    for row in span:
        is_before = id(row) in kept_ids
        if is_before:
            before.append(row)
        elif is_open:
            runs[-1].rows.append(row)
        else:
            runs.append(_RemovedRows(number, before, len(before), [row], replaced_rows))
        is_open = not is_before
    return runs


def _branches(runs: list[_RemovedRows], rewinds: int, budget: EntryBudget, unread: Unread) -> list[ModelView]:
    """Return the removed runs with a reply as branches, unless a run may combine the rows of several rewinds."""
    branches: list[ModelView] = []
    for run in runs:
        has_reply = any(row.message["role"] == "assistant" for row in run.rows)
        # With fewer runs than rewinds, at least one run contains the rows of several rewinds.
        if has_reply and len(runs) >= rewinds and budget.take(run.prefix):
            rows = [*run.before[: run.prefix], *run.rows]
            branches.append(ModelView("branch", run.number, rows, _copied_places(rows, run.summarized_rows)))
            continue
        for _ in run.rows:
            unread.count("message that was undone")
    return branches
