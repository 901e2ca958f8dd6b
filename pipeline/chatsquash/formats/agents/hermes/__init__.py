"""Hermes Agent's sessions: a database, its exports, and lines of OpenAI chat behind one with the tools."""

from __future__ import annotations

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.agents.hermes import lines as of_lines
from chatsquash.formats.agents.hermes import sessions
from chatsquash.formats.agents.hermes.database import families as families
from chatsquash.formats.agents.hermes.database import from_rows as from_rows
from chatsquash.formats.agents.hermes.database import tables as tables
from chatsquash.formats.evidence import Unread, entries
from chatsquash.formats.threads import counted
from chatsquash.formats.values import at, string

NAME = "hermes"
HOLDS_TOOLS = False
"""Only the lines of older versions keep definitions."""
MEMBERS = ("role", "started_at")
SUFFIXES = (".db", ".jsonl")
_ROOT = "${HERMES_HOME:-~/.hermes}"
KEPT = (f"{_ROOT}/state.db", f"{_ROOT}/profiles/*/state.db", f"{_ROOT}/sessions/*.jsonl")

_SESSION = {"id", "source", "started_at", "messages"}
_BESIDE = ("message_count", "tool_call_count", "end_reason", "parent_session_id")


def fits(found: list[Json]) -> str | None:
    """A line of the role session_meta comes before messages; an export has sessions with a source and a start."""
    if found and at(found[0], "role") == of_lines.META and at(found[0], "type") is None:
        is_chat = all(isinstance(each, dict) and isinstance(each.get("role"), str) for each in found)
        return "a line of the role session_meta" if is_chat else None
    return "source and started_at beside messages" if found and all(map(_is_session, found)) else None


def _is_session(value: Json) -> bool:
    if not isinstance(value, dict) or not value.keys() >= _SESSION or not isinstance(value["messages"], list):
        return False
    return any(name in value for name in _BESIDE) and bool(string(value, "source"))


def conversations(found: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """What the model saw last of each session, then what compressions replaced, what was taken back, and delegates."""
    unread = Unread()
    placed = list(entries(found, lines))
    if placed and placed[0][2].get("role") == of_lines.META:
        return counted(of_lines.conversations(placed, unread), unread)
    return counted(sessions.conversations(placed, unread), unread)
