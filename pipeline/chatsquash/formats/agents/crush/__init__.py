"""Crush's sessions, and those of the opencode that became Crush: databases, and what ``crush session show`` prints."""

from __future__ import annotations

from itertools import compress
from typing import NamedTuple

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.agents.crush.database import families as families
from chatsquash.formats.agents.crush.database import from_rows as from_rows
from chatsquash.formats.agents.crush.database import tables as tables
from chatsquash.formats.agents.crush.parts import read_part
from chatsquash.formats.agents.opencode.rows import BROKEN_OFF
from chatsquash.formats.base import TurnError
from chatsquash.formats.clients.model_messages.read import read
from chatsquash.formats.evidence import Evidence, Unread, conversation, entries, moment, with_origin
from chatsquash.formats.values import Object, at, kind, members, objects, string

NAME = "crush"
HOLDS_TOOLS = False
MEMBERS = ("meta",)
IN_PROJECTS = (".crush/crush.db", ".opencode/opencode.db")
KEPT = ("~/.crush/crush.db", "~/*/.crush/crush.db", "~/*/.opencode/opencode.db")

_ROLES = ("user", "assistant", "system", "tool")
_HEADER = ("uuid", "id", "created", "modified", "parent_session_id", "summary_message_id")
_READ = ("id", "role", "created", "model", "parts", "is_summary_message")
_AGENT = "$$"
"""What stands in the id of a sub-agent's session between those of the message and of the call that began it."""
_TITLE = "title-"
_BROKEN = ("error", "canceled")
"""Reasons of replies that are not whole."""


def fits(found: list[Json]) -> str | None:
    """A session has its UUID beside its hash, and messages of parts."""
    is_one = bool(found) and all(
        isinstance(at(each, "meta", "uuid"), str) and _are_messages(at(each, "messages")) for each in found
    )
    return "meta.uuid, and messages of parts" if is_one else None


def _are_messages(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(at(each, "parts"), list) and "role" in each for each in value)


class _Said(NamedTuple):
    """A message of a session, and what is known of it."""

    turn: Object
    evidence: Evidence
    is_summary: bool


class _Session(NamedTuple):
    id: str
    meta: Object
    eras: list[list[_Said]]

    def name(self, number: int) -> str:
        """What a conversation is called: the first is called as the session."""
        return f"{self.id}.{number + 1}" if number else self.id


def conversations(found: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """What the model sees of each session, then what it saw of it before each compaction.

    Neither the system prompt nor the tools are kept.
    """
    unread, sessions = Unread(), list[_Session]()
    for place, number, value in entries(found, lines):
        sessions.append(_session(value, f"entry {place}", number, unread))
    callers = _callers(sessions)
    told = [_conversation(session, number, callers) for session in sessions for number in _asked_for(session)]
    shown = [each for each in told if each.messages]
    return [with_origin(each, unread=unread.of(place)) for place, each in enumerate(shown)]


def _asked_for(session: _Session) -> list[int]:
    """The conversation in use, then those before it that have a reply."""
    *before, last = range(len(session.eras))
    replied = (any(each.evidence.is_sampled for each in session.eras[number]) for number in before)
    return [last, *compress(before, replied)]


def _callers(sessions: list[_Session]) -> dict[tuple[str, str], str]:
    """The conversations by their sessions and the calls in them."""
    found: dict[tuple[str, str], str] = {}
    for session in sessions:
        for number, era in enumerate(session.eras):
            for part in (part for each in era for part in each.turn["content"] if part["type"] == "tool-call"):
                found.setdefault((session.id, part["toolCallId"]), session.name(number))
    return found


def _conversation(session: _Session, number: int, callers: dict[tuple[str, str], str]) -> Conversation:
    said = session.eras[number]
    told = ((turn, said[place].evidence) for turn, place in read([each.turn for each in said]))
    known: Object = {"id": session.name(number), "session_id": session.id}
    parent, call = string(session.meta, "parent_session_id"), session.id.partition(_AGENT)[2]
    if number:
        known |= {"kind": "compacted", "parent": session.name(number - 1)}
    elif parent and session.id.startswith(_TITLE):
        known |= {"kind": "side", "parent": parent}
    elif parent:
        known |= {"kind": "subagent", "parent": callers.get((parent, call), parent), "call": call or None}
    if not any(each.evidence.time for each in said):
        first, last = (moment(session.meta.get(name)) for name in ("created", "modified"))
        known |= {"started": first.at, "ended": (last or first).at} if first else {}
    return conversation(told, {}, **known)


def _session(value: Object, place: str, line: int, unread: Unread) -> _Session:
    meta, held = members(value.get("meta")), value.get("messages")
    if not isinstance(held, list):
        raise TurnError(f"{place} has messages that are {kind(held)}, not a list")
    unread.rest("session", meta, *_HEADER)
    unread.rest("file", value, "meta", "messages")
    eras: list[list[_Said]] = [[]]
    for number, message in enumerate(held):
        said = _said(message, f"{place}, messages[{number}]", line, string(meta, "summary_message_id"), unread)
        if said and said.is_summary:
            eras.append([])
        eras[-1] += [said] if said else []
    return _Session(string(meta, "uuid") or place, meta, eras)


def _said(message: Json, place: str, line: int, summary: str, unread: Unread) -> _Said | None:
    """A message as a turn; ``None`` for one that holds nothing that a model sees."""
    if not isinstance(message, dict):
        raise TurnError(f"{place} is {kind(message)}, not an object")
    role, parts = message.get("role"), message.get("parts")
    if role not in _ROLES or not isinstance(parts, list) or len(objects(parts)) < len(parts):
        raise TurnError(f"{place} has no role of Crush's, or no list of parts")
    unread.rest("message", message, *_READ)
    content, end = list[Json](), Object()
    for number, part in enumerate(parts):
        data = members(part.get("data", part))
        content += read_part(part.get("type"), data, f"{place}, part {number}", unread)
        end = data if part.get("type") == "finish" else end
    is_marked = message.get("is_summary_message") == 1 or (summary != "" and message.get("id") == summary)
    is_summary = is_marked and end.get("reason") not in _BROKEN
    known = Evidence(line, moment(message.get("created")))
    if role == "assistant" and not is_marked:
        reason = BROKEN_OFF if end.get("reason") in _BROKEN else string(end, "reason") or None
        known = known._replace(is_sampled=True, model=string(message, "model") or None, finish_reason=reason)
    teller = "user" if is_summary else str(role)
    taken = [part for part in content if part["type"] in _TAKES[teller]]
    for _ in range(len(content) - len(taken)):
        unread.one(f"part that a message of the role {teller} does not hold")
    return _Said({"role": teller, "content": taken}, known, is_summary) if taken else None


_TAKES = {
    "user": ("text", "file"),
    "assistant": ("text", "reasoning", "tool-call"),
    "system": ("text",),
    "tool": ("tool-result",),
}
"""The parts that a message of each role may hold."""
