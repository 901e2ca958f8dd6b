"""opencode's and Kilo's sessions: databases of two generations, the tree of files before them, and exports."""

from __future__ import annotations

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.agents.opencode import newer
from chatsquash.formats.agents.opencode.session import SessionReader
from chatsquash.formats.agents.opencode.storage import SESSIONS as SESSIONS
from chatsquash.formats.agents.opencode.storage import as_export, is_session
from chatsquash.formats.agents.opencode.storage import beside as beside
from chatsquash.formats.agents.opencode.storage import families as families
from chatsquash.formats.agents.opencode.storage import from_rows as from_rows
from chatsquash.formats.agents.opencode.storage import home as home
from chatsquash.formats.agents.opencode.storage import owner as owner
from chatsquash.formats.agents.opencode.storage import tables as tables
from chatsquash.formats.evidence import Unread, entries
from chatsquash.formats.values import at, string

NAME = "opencode"
HOLDS_TOOLS = False
MEMBERS = ("info", "projectID")
KEPT = (
    "<data>/opencode/storage/session/*/*.json",
    "<data>/opencode/opencode*.db",
    "${OPENCODE_DB:-}",
    "<data>/kilo/kilo.db",
)

_ID = "ses_"


def fits(values: list[Json]) -> str | None:
    """Check for sessions with ids that begin with ``ses_``, and messages of either version."""
    if len(values) == 1 and is_session(values[0]):
        return "an id that begins with ses_ beside projectID"
    if values and all(map(_is_export, values)):
        return "info.id that begins with ses_, and messages"
    return None


def _is_export(value: Json) -> bool:
    messages = at(value, "messages")
    is_named = string(at(value, "info"), "id").startswith(_ID)
    return is_named and isinstance(messages, list) and all(map(_is_message, messages))


def _is_message(value: Json) -> bool:
    is_older = isinstance(at(value, "parts"), list) and at(value, "info", "role") in ("user", "assistant")
    return is_older or (isinstance(value, dict) and value.get("type") in newer.TYPES)


def conversations(values: list[Json], lines: list[int] | None = None, meta: Json = None) -> list[Conversation]:
    """Return what the model sees of each session, what it saw before each compaction, and what was undone.

    Neither the system prompt nor the tools are kept, but for what clients add to the prompt.
    """
    reader = SessionReader(Unread())
    for place, number, value in entries(values, lines):
        session = as_export(value, meta, reader.unread) if is_session(value) else value
        reader.add(session, f"entry {place}", number)
    return reader.conversations()
