"""Pi's session files: lines that form a tree of messages, compactions and summaries of branches."""

from __future__ import annotations

import re

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.agents.pi.messages import step
from chatsquash.formats.evidence import Unread, entries, moment
from chatsquash.formats.providers import anthropic
from chatsquash.formats.threads import conversations as told_of
from chatsquash.formats.threads import counted, linked, paths, text
from chatsquash.formats.values import Object, at, objects, string

NAME = "pi"
HOLDS_TOOLS = False
MEMBERS = ("cwd",)
KEPT = (
    "${PI_CODING_AGENT_SESSION_DIR:-~/.pi/agent/sessions}/**/*.jsonl",
    "~/.omp/agent/sessions/**/*.jsonl",
)

_HEADER = ("type", "version", "id", "timestamp", "parentSession", "cwd")
_OPENCLAW = ("openclaw", "model-snapshot")
"""What the types of its own entries begin with that OpenClaw writes."""
_PREFIX = re.compile(r"\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d [^\]\n]{1,40}\] ")
"""What OpenClaw puts before what the user wrote."""
_FIRST = 200


def fits(found: list[Json]) -> str | None:
    """The first line is the header of a session, and nothing of what only OpenClaw writes stands behind it."""
    return "a line of the type session with cwd" if is_session(found) and not is_of_openclaw(found) else None


def is_session(found: list[Json]) -> bool:
    """Whether the first line is the header of a session."""
    first = found[0] if found else None
    return at(first, "type") == "session" and isinstance(at(first, "id"), str) and isinstance(at(first, "cwd"), str)


def is_of_openclaw(found: list[Json]) -> bool:
    """Whether among the first lines is what OpenClaw alone writes."""
    return any(map(_is_of_openclaw, objects(found[1:_FIRST])))


def _is_of_openclaw(entry: Object) -> bool:
    if entry.get("type") == "custom" and string(entry, "customType").startswith(_OPENCLAW):
        return True
    if at(entry, "message", "role") != "user":
        return False
    content = at(entry, "message", "content")
    said = content if isinstance(content, str) else next((string(each, "text") for each in objects(content)), "")
    return bool(_PREFIX.match(said[:80]))


def conversations(found: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """What the model sees on the path to the last line, then what compactions replaced, then branches that were left.

    Neither the system prompt nor the tools are kept in it.
    """
    unread, header = Unread(), Object()
    held = list[tuple[int, int, Object]]()
    for place, line, value in entries(found, lines):
        if value.get("type") == "session":
            header = header or value
            unread.rest("session", value, *_HEADER)
        else:
            held.append((place, line, value))
    if not held:
        return []
    names = [text(value.get("id")) for _, _, value in held]
    known: dict[str, int] = {}
    for number, name in enumerate(names):
        known.setdefault(name or "", number)
    steps = [step(f"entry {place}", line, value, known, unread) for place, line, value in held]
    before = linked(names, [text(value.get("parentId")) for _, _, value in held])
    if not any("parentId" in value for _, _, value in held):  # as the first version wrote it
        before = list(range(-1, len(held) - 1))
    ways = paths(before, len(held) - 1, [each.is_sampled for each in steps], unread)
    began = moment(header.get("timestamp"))
    session: Object = {"session_id": text(header.get("id"))}
    session |= {"started": began.at, "ended": began.at} if began else {}
    return counted(told_of(anthropic, steps, ways, session), unread)
