"""Gemini CLI's sessions and checkpoints: Gemini's contents, with the calls of tools beside them."""

from __future__ import annotations

from glob import escape

from chatsquash.core.model import Conversation, Json, Origin
from chatsquash.formats.agents.gemini_cli.session import KINDS, Session, Way
from chatsquash.formats.agents.gemini_cli.turns import Reader
from chatsquash.formats.evidence import Evidence, Logged, entries, origin, told
from chatsquash.formats.providers import gemini
from chatsquash.formats.values import is_plain_name, objects

NAME = "gemini_cli"
HOLDS_TOOLS = False
MEMBERS = ("$set", "$rewindTo", "projectHash", "id", "history")
KEPT = ("~/.gemini/tmp/*/chats/**/*.json*",)

_UPDATES = ("$set", "$rewindTo")


def fits(found: list[Json]) -> str | None:
    """A session names its project's hash or edits itself; a checkpoint is a history of contents."""
    if any(line.keys() & set(_UPDATES) or line.keys() >= {"sessionId", "projectHash"} for line in objects(found)):
        return "$set or $rewindTo, or sessionId beside projectHash"
    if found and all(map(_is_record, found)):
        return "records of the types user and gemini"
    return "a history of contents" if len(found) == 1 and _history(found[0]) else None


def _is_record(line: Json) -> bool:
    members = {"id", "timestamp", "content"}
    own = isinstance(line, dict) and line.keys() >= members and not line.keys() & {"message", "role"}
    return own and line.get("type") in KINDS


def _history(value: Json) -> list[Json]:
    """The contents of a checkpoint; empty for anything else."""
    history = value.get("history") if isinstance(value, dict) else value
    return history if isinstance(history, list) and history and all(map(_is_content, history)) else []


def _is_content(value: Json) -> bool:
    """Whether a value has a role of Gemini's and parts, which have no types."""
    if not isinstance(value, dict) or value.get("role") not in ("user", "model"):
        return False
    held = value.get("parts")
    return isinstance(held, list) and all(isinstance(part, dict) and "type" not in part for part in held)


def home(path: str, origin: Origin) -> str | None:
    """Sub-agents lie in a folder with the id of their session, which lies beside that; its name has 8 letters of it."""
    del origin
    chats, _, parent = path.rpartition("/")[0].rpartition("/")
    return f"{escape(chats)}/session-*{parent[:8]}.json*" if is_plain_name(parent) else None


def conversations(found: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """The conversation as it ended, then what it was before messages were taken back or replaced.

    Neither the system prompt nor the tools are kept in it.
    """
    history = _history(found[0]) if len(found) == 1 else []
    if history:
        evidence = [Evidence(1, is_sampled=content["role"] == "model") for content in history]
        turns = [Logged(f"history[{place}]", *pair) for place, pair in enumerate(zip(history, evidence, strict=True))]
        return [Conversation((held := told(gemini, turns)).messages, [], origin=origin(held))]
    session = Session()
    for place, number, line in entries(found, lines):
        session.add(f"entry {place}", number, line)
    ways = [(turns, way) for way in session.ways() if (turns := Reader(session.unread).read(way.records))]
    return [_conversation(session, turns, way, place) for place, (turns, way) in enumerate(ways)]


def _conversation(session: Session, turns: list[Logged], way: Way, place: int) -> Conversation:
    found = told(gemini, turns)
    known = session.known() | {
        "kind": way.kind or session.kind,
        "unread": session.unread.of(place),
        "began": way.began(),
    }
    if any(each.time for each in found.evidence):
        known = {name: value for name, value in known.items() if name not in ("started", "ended")}
    return Conversation(found.messages, [], origin=origin(found, id=way.id, parent=way.parent, **known))
