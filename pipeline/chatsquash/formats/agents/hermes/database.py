"""Hermes' database: rows of sessions and messages, converted to the form of exports."""

from __future__ import annotations

from typing import Any, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.model import ConversationKind, Json
from chatsquash.formats.database_rows import id_text, roots
from chatsquash.formats.threads import first_places, link_entries
from chatsquash.formats.values import Object, members, string

_SESSION = ("id", "started_at", "parent_session_id", "end_reason", "model_config", "source")
_MESSAGE = ("id", "session_id")
_KEY, _HASH = "session_key", "system_prompt_hash"
_PROMPTS = "system_prompts"
_DROPPED = ("display_identity", "display_order", "session_id")
"""The message columns that affect only the display."""


def tables(columns: dict[str, list[str]]) -> dict[str, tuple[str, ...]] | None:
    """Check for sessions with a source, and messages with calls and finish reasons."""
    sessions, messages = {*columns.get("sessions", [])}, {*columns.get("messages", [])}
    if not ({*_SESSION} <= sessions and {*_MESSAGE, "role", "content", "tool_calls", "finish_reason"} <= messages):
        return None
    more = (_KEY,) if _KEY in sessions else ()
    if more and _HASH in sessions and {"hash", "prompt"} <= {*columns.get(_PROMPTS, [])}:
        return {"sessions": (*_SESSION, _KEY, _HASH), "messages": _MESSAGE, _PROMPTS: ("hash",)}
    return {"sessions": (*_SESSION, *more), "messages": _MESSAGE}


def families(index: dict[str, list[tuple[Any, ...]]]) -> list[dict[str, list[int]]]:
    """Group sessions with their continuations, branches and delegates; a new family starts after a reset."""
    rows = sorted(index["sessions"], key=lambda row: (order(row[2]), order(row[1])))
    sessions = [_session(row) for row in rows]
    known = places(sessions)
    families_by_root: dict[int, dict[str, list[int]]] = {}
    prompts: dict[Json, int] = {row[1]: row[0] for row in index.get(_PROMPTS, [])}
    added_prompts: set[tuple[int, int]] = set()
    for row, each in zip(rows, known, strict=True):
        family = families_by_root.setdefault(each.root, {"sessions": [], "messages": [], _PROMPTS: []})
        family["sessions"].append(row[0])
        prompt = prompts.get(row[8]) if len(row) > 8 else None
        if prompt is not None and (each.root, prompt) not in added_prompts:
            added_prompts.add((each.root, prompt))
            family[_PROMPTS].append(prompt)
    owners = {own.id: each.root for own, each in zip(sessions, known, strict=True)}
    for rowid, _, session in sorted(index["messages"], key=lambda row: order(row[1])):
        if (owner := owners.get(id_text(session) or "")) is not None:
            families_by_root[owner]["messages"].append(rowid)
    return list(families_by_root.values())


def _session(row: tuple[Any, ...]) -> SessionLink:
    _, own, started, parent, end_reason, settings, source, *more = row
    key = more[0] if more else None
    return SessionLink(id_text(own) or "", started, id_text(parent), end_reason, config(settings), source, key)


def from_rows(rows: dict[str, list[Object]]) -> list[Json]:
    """Return the sessions of a family in the form of exports, including messages that are no longer displayed."""
    prompts = {_plain(row.get("hash")): _plain(row.get("prompt")) for row in rows.get(_PROMPTS, [])}
    exports: list[Object] = []
    by_id: dict[str | None, list[Json]] = {}
    for row in rows.get("sessions", []):
        header = {column: _plain(value) for column, value in row.items() if value is not None}
        if (prompt := prompts.get(header.pop(_HASH, None))) is not None:
            header["system_prompt"] = prompt
        exports.append({**header, "messages": []})
        by_id.setdefault(id_text(row.get("id")), exports[-1]["messages"])
    for row in rows.get("messages", []):
        if (messages := by_id.get(id_text(row.get("session_id")))) is not None:
            messages.append({k: _plain(v) for k, v in row.items() if v is not None and k not in _DROPPED})
    return list(exports)


def _plain(cell: Json) -> Json:
    """Return the value of a cell, with bytes decoded to a string."""
    return cell.decode("utf-8", "surrogateescape") if isinstance(cell, bytes) else cell


_RESETS = ("session_reset", "session_switch", "idle", "daily", "suspended", "resume_pending_expired")
"""The end reasons after which the next session is unrelated."""
_ROOT = -1


class SessionLink(NamedTuple):
    """The members that link a session to others."""

    id: str
    started: Json
    parent: str | None
    end_reason: Json
    config: Json
    source: Json
    key: Json
    """The chat partner, if known."""


class SessionPlace(NamedTuple):
    """The place of a session in its family."""

    parent: int
    """The index of the parent session, or -1."""
    root: int
    kind: ConversationKind


def places(sessions: list[SessionLink]) -> list[SessionPlace]:
    """Return the place of each session in its family; a link of each cycle is removed."""
    names = [each.id for each in sessions]
    first = first_places(names)
    kinds = [_kind(each, sessions[first[each.parent]] if each.parent in first else None) for each in sessions]
    # Unrelated sessions are not linked, even if one refers to the other.
    parents = link_entries(names, [each.parent if of else None for each, of in zip(sessions, kinds, strict=True)])
    root_of = roots(dict(enumerate(parents)))
    return [
        SessionPlace(parent, root_of[place], (_marked_kind(each) if parent == _ROOT else of) or "main")
        for place, (each, parent, of) in enumerate(zip(sessions, parents, kinds, strict=True))
    ]


def _kind(session: SessionLink, parent: SessionLink | None) -> ConversationKind | None:
    """Return the kind of a session in relation to its parent, or ``None`` if they are unrelated."""
    if parent is None:
        return None
    if kind := _marked_kind(session):
        return kind
    resumes = isinstance(session.key, str) and session.key != "" and session.key == parent.key
    if _mark(session, "_reset_from") or (parent.end_reason in _RESETS and resumes):
        return None
    if parent.end_reason == "branched":
        return "branch"
    return "compacted" if parent.end_reason == "compression" and session.source != "tool" else "subagent"


def _marked_kind(session: SessionLink) -> ConversationKind | None:
    if _mark(session, "_delegate_from"):
        return "subagent"
    return "branch" if _mark(session, "_branched_from") else None


def _mark(session: SessionLink, name: str) -> bool:
    """Return whether a mark contains the id of the session's parent."""
    # Settings are inherited, so a mark with another id is the parent's.
    return session.parent is not None and string(session.config, name) == session.parent


def config(value: Json) -> Json:
    """Return the settings of a session, which may be a JSON string."""
    return members(jsonio.value(value) if isinstance(value, str) else value)


def order(value: Json) -> tuple[int, Any]:
    """Return a sort key for times and ids of any type."""
    # Values of different types cannot be compared.
    return (0, value) if isinstance(value, int | float) else (1, str(value))
