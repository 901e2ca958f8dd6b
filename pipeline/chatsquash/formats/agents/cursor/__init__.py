"""Cursor's sessions: bubbles in the database of the IDE, messages in those of the CLI, and transcripts."""

from __future__ import annotations

from chatsquash.core.model import Conversation, Json, Origin
from chatsquash.formats.agents.cursor import composer, store, transcript
from chatsquash.formats.agents.cursor.database import families as families
from chatsquash.formats.agents.cursor.database import from_rows as from_rows
from chatsquash.formats.agents.cursor.database import tables as tables
from chatsquash.formats.evidence import Unread, entries
from chatsquash.formats.threads import counted

NAME = "cursor"
HOLDS_TOOLS = False
MEMBERS = ("role", "composerId", "latestRootBlobId")
SUFFIXES = (".vscdb", ".db", ".jsonl")
_ROOT = "${CURSOR_CONFIG_DIR:-~/.cursor}"
KEPT = (
    f"{_ROOT}/chats/*/*/store.db",
    f"{_ROOT}/acp-sessions/*/store.db",
    f"{_ROOT}/projects/*/agent-transcripts/**/*.jsonl",
    "<config>/Cursor/User/globalStorage/state.vscdb",
)


def fits(found: list[Json]) -> str | None:
    """A composer with its bubbles, a store with its messages, or the lines of a transcript."""
    if found and all(map(composer.is_one, found)):
        return "composerId beside a conversation"
    if found and all(map(store.is_one, found)):
        return "latestRootBlobId beside messages"
    return "lines of role and message.content alone" if transcript.is_one(found) else None


def session(path: str, origin: Origin) -> str | None:
    """The folder of a store of the CLI has the id of its agent for its name."""
    del origin
    *_, folder, name = ("", *path.split("/"))
    return folder or None if name == "store.db" else None


def conversations(found: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """What the model saw last of each session, then what that replaced, then what was left.

    Only the stores of the CLI have the system prompt; nothing has definitions of tools.
    """
    unread = Unread()
    placed = list(entries(found, lines))
    if placed and not (composer.is_one(placed[0][2]) or store.is_one(placed[0][2])):
        return counted(transcript.conversations(placed, unread), unread)
    told: list[Conversation] = []
    for place, line, value in placed:
        form = store if store.is_one(value) else composer
        told += form.conversations(f"entry {place}", line, value, unread)
    return counted(told, unread)
