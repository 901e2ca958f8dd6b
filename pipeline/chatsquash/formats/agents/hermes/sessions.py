"""Sessions of Hermes as conversations: each with what compressions replaced, and linked to those that it comes from."""

from __future__ import annotations

from typing import NamedTuple

from chatsquash.core.model import Conversation
from chatsquash.formats.agents.hermes import eras, messages
from chatsquash.formats.agents.hermes.eras import Row
from chatsquash.formats.agents.hermes.relations import Place, Session, config, name, places
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Evidence, Logged, Unread, bounds, origin, told, with_origin
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.values import Object, kind, objects, string

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
    logged = value.get("messages")
    where = f"entry {place}, session {(name(value.get('id')) or 'without an id')[:80]}"
    if not isinstance(logged, list):
        raise TurnError(f"{where} has messages that are {kind(logged)}, not a list")
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
    found = eras.eras(session.rows, before, rewinds, unread)
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


def _conversation(session: _Held, era: eras.Era, members: Object, unread: Unread) -> Conversation:
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
