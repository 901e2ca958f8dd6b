"""How sessions come from each other: after a compression, as a branch, as a delegate's, or only in time."""

from __future__ import annotations

from typing import Any, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.model import ConversationKind, Json
from chatsquash.formats.threads import linked
from chatsquash.formats.values import members, string

_RESETS = ("session_reset", "session_switch", "idle", "daily", "suspended", "resume_pending_expired")
"""Why a session ended whose successor is another one to the user."""
_ROOT = -1


class Session(NamedTuple):
    """What tells how a session belongs to others."""

    id: str
    started: Json
    parent: str | None
    end_reason: Json
    config: Json
    source: Json
    key: Json
    """Who it is with, as far as that is known."""


class Place(NamedTuple):
    """The place of a session among those that belong together."""

    parent: int
    """The session that it comes from; -1: none."""
    root: int
    kind: ConversationKind


def places(sessions: list[Session]) -> list[Place]:
    """Of each session where it comes from; one that a loop would lead back to begins anew."""
    first: dict[str, int] = {}
    for place, each in enumerate(sessions):
        first.setdefault(each.id, place)
    kinds = [_kind(each, sessions[first[each.parent]] if each.parent in first else None) for each in sessions]
    names = [each.id for each in sessions]
    parents = linked(names, [each.parent if of else None for each, of in zip(sessions, kinds, strict=True)])
    roots = [_ROOT] * len(sessions)
    for start in range(len(sessions)):
        way, place = [start], start
        while parents[place] != _ROOT and roots[place] == _ROOT:
            place = parents[place]
            way.append(place)
        root = place if roots[place] == _ROOT else roots[place]
        for step in way:
            roots[step] = root
    own = zip(sessions, parents, kinds, strict=True)
    return [Place(parent, root, _alone(each, parent, of)) for (each, parent, of), root in zip(own, roots, strict=True)]


def _alone(session: Session, parent: int, of: ConversationKind | None) -> ConversationKind:
    """What a session is, also where the one that it comes from is not there, which only a mark tells then."""
    if parent != _ROOT:
        return of or "main"
    return _marked(session) or "main"


def _kind(session: Session, parent: Session | None) -> ConversationKind | None:
    """What a session is to the one that it comes from; ``None``: nothing."""
    if parent is None:
        return None
    if marked := _marked(session):
        return marked
    resumes = isinstance(session.key, str) and session.key != "" and session.key == parent.key
    if _mark(session, "_reset_from") or (parent.end_reason in _RESETS and resumes):
        return None
    if parent.end_reason == "branched":
        return "branch"
    return "compacted" if parent.end_reason == "compression" and session.source != "tool" else "subagent"


def _marked(session: Session) -> ConversationKind | None:
    if _mark(session, "_delegate_from"):
        return "subagent"
    return "branch" if _mark(session, "_branched_from") else None


def _mark(session: Session, name: str) -> bool:
    """Whether a mark names the parent; one that names another session was inherited."""
    return session.parent is not None and string(session.config, name) == session.parent


def config(value: Json) -> Json:
    """The settings of a session, which may be spelled as JSON."""
    return members(jsonio.value(value) if isinstance(value, str) else value)


def name(value: Json) -> str | None:
    """The id of a session as a text."""
    return str(value) if isinstance(value, str | int) and value != "" else None


def order(value: Json) -> tuple[int, Any]:
    """What sorts times and ids of any type."""
    return (0, value) if isinstance(value, int | float) else (1, str(value))
