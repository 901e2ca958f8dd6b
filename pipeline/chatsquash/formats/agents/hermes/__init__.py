"""Hermes Agent's sessions: a database, its exports, and lines of OpenAI chat after a line with the tools."""

from __future__ import annotations

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.agents.hermes import messages, sessions
from chatsquash.formats.agents.hermes.database import families as families
from chatsquash.formats.agents.hermes.database import from_rows as from_rows
from chatsquash.formats.agents.hermes.database import tables as tables
from chatsquash.formats.agents.hermes.retention import RETENTION as RETENTION
from chatsquash.formats.evidence import LoggedTurn, Unread, entries, load_conversation
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.threads import with_unread
from chatsquash.formats.values import Object, at, string

NAME = "hermes"
HAS_TOOLS = False
"""False, because only older versions, which write lines, store definitions."""
MEMBERS = ("role", "started_at")
SUFFIXES = (".db", ".jsonl")
_ROOT = "${HERMES_HOME:-~/.hermes}"
LOCATIONS = (f"{_ROOT}/state.db", f"{_ROOT}/profiles/*/state.db", f"{_ROOT}/sessions/*.jsonl")

_SESSION = {"id", "source", "started_at", "messages"}
_SESSION_DETAILS = ("message_count", "tool_call_count", "end_reason", "parent_session_id")


def fits(values: list[Json]) -> str | None:
    """Check for a line with the role session_meta before messages, or for session exports."""
    if values and at(values[0], "role") == META and at(values[0], "type") is None:
        return "a line with role session_meta"
    return "source and started_at next to messages" if values and all(map(_is_session, values)) else None


def _is_session(value: Json) -> bool:
    if not isinstance(value, dict) or not value.keys() >= _SESSION or not isinstance(value["messages"], list):
        return False
    return any(name in value for name in _SESSION_DETAILS) and bool(string(value, "source"))


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the conversation at the end of each session, then compressed and removed parts, then delegates."""
    unread = Unread()
    values_with_lines = list(entries(values, lines))
    if values_with_lines and values_with_lines[0][2].get("role") == META:
        return with_unread(conversations_of_lines(values_with_lines, unread), unread)
    return with_unread(sessions.conversations(values_with_lines, unread), unread)


META = "session_meta"
"""The role of the metadata line before messages."""


def conversations_of_lines(values_with_lines: list[tuple[int, int, Object]], unread: Unread) -> list[Conversation]:
    """Return the conversation in the lines; each reply has the model of the last session_meta line."""
    turns: list[LoggedTurn] = []
    tools: list[Json] = []
    model = ""
    for place, line, value in values_with_lines:
        where = f"entry {place}"
        if not isinstance(value.get("role"), str):
            unread.count("line without a role")
            continue
        message = messages.checked_message(where, value)
        if message["role"] == META:
            model = string(message, "model") or model
            tools = openai_chat.tools(message.get("tools")).functions or tools
            unread.count_members(META, message, "role", "model", "tools", "timestamp")
        elif not messages.is_sent(message):
            unread.count(f"message with role {message['role']}")
        else:
            known = messages.evidence(message, line, model, is_copied=False)
            turns.append(LoggedTurn(where, messages.turn(where, message, unread), known))
    if not turns:
        return []
    return [load_conversation(openai_chat, turns, tools)]
