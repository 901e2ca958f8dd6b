"""Hermes' database: the rows of its sessions with their messages, each session as its export."""

from __future__ import annotations

from typing import Any

from chatsquash.core.model import Json
from chatsquash.formats.agents.hermes.relations import Session, config, name, order, places
from chatsquash.formats.values import Object

_SESSION = ("id", "started_at", "parent_session_id", "end_reason", "model_config", "source")
_MESSAGE = ("id", "session_id")
_KEY, _HASH = "session_key", "system_prompt_hash"
_PROMPTS = "system_prompts"
_DROPPED = ("display_identity", "display_order", "session_id")
"""Columns of messages that only say where they are shown."""


def tables(held: dict[str, list[str]]) -> dict[str, tuple[str, ...]] | None:
    """Its database has sessions of a source, and messages with calls and reasons to end."""
    sessions, messages = {*held.get("sessions", [])}, {*held.get("messages", [])}
    if not ({*_SESSION} <= sessions and {*_MESSAGE, "role", "content", "tool_calls", "finish_reason"} <= messages):
        return None
    more = (_KEY,) if _KEY in sessions else ()
    if more and _HASH in sessions and {"hash", "prompt"} <= {*held.get(_PROMPTS, [])}:
        return {"sessions": (*_SESSION, _KEY, _HASH), "messages": _MESSAGE, _PROMPTS: ("hash",)}
    return {"sessions": (*_SESSION, *more), "messages": _MESSAGE}


def families(index: dict[str, list[tuple[Any, ...]]]) -> list[dict[str, list[int]]]:
    """Sessions with those that go on from them, branch off or work for them; a reset begins another family."""
    rows = sorted(index["sessions"], key=lambda row: (order(row[2]), order(row[1])))
    told = [_session(row) for row in rows]
    known = places(told)
    found: dict[int, dict[str, list[int]]] = {}
    prompts: dict[Json, int] = {row[1]: row[0] for row in index.get(_PROMPTS, [])}
    used: set[tuple[int, int]] = set()
    for row, each in zip(rows, known, strict=True):
        family = found.setdefault(each.root, {"sessions": [], "messages": [], _PROMPTS: []})
        family["sessions"].append(row[0])
        prompt = prompts.get(row[8]) if len(row) > 8 else None
        if prompt is not None and (each.root, prompt) not in used:
            used.add((each.root, prompt))
            family[_PROMPTS].append(prompt)
    owners = {own.id: each.root for own, each in zip(told, known, strict=True)}
    for rowid, _, session in sorted(index["messages"], key=lambda row: order(row[1])):
        if (owner := owners.get(name(session) or "")) is not None:
            found[owner]["messages"].append(rowid)
    return list(found.values())


def _session(row: tuple[Any, ...]) -> Session:
    _, own, started, parent, ended, settings, source, *more = row
    key = more[0] if more else None
    return Session(name(own) or "", started, name(parent), ended, config(settings), source, key)


def from_rows(rows: dict[str, list[Object]]) -> list[Json]:
    """The sessions of a family, each as its export, with the messages that are shown no more, too."""
    prompts = {_plain(row.get("hash")): _plain(row.get("prompt")) for row in rows.get(_PROMPTS, [])}
    found: list[Object] = []
    by_id: dict[str | None, list[Json]] = {}
    for row in rows.get("sessions", []):
        held = {column: _plain(value) for column, value in row.items() if value is not None}
        if (prompt := prompts.get(held.pop(_HASH, None))) is not None:
            held["system_prompt"] = prompt
        found.append({**held, "messages": []})
        by_id.setdefault(name(row.get("id")), found[-1]["messages"])
    for row in rows.get("messages", []):
        if (told := by_id.get(name(row.get("session_id")))) is not None:
            told.append({k: _plain(v) for k, v in row.items() if v is not None and k not in _DROPPED})
    return list(found)


def _plain(cell: Json) -> Json:
    """A cell as JSON has it; bytes are a text."""
    return cell.decode("utf-8", "surrogateescape") if isinstance(cell, bytes) else cell
