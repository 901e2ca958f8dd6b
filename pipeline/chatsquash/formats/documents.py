"""One module or package per document of a conversation: what clients and agents keep, whole files of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import Any

from msgspec import Struct

from chatsquash.core.model import Conversation, Json
from chatsquash.core.registry import Room
from chatsquash.formats import agents, clients, exports
from chatsquash.formats.base import DocumentFormat, TurnError
from chatsquash.formats.branch_budget import without_repeats
from chatsquash.formats.values import at

_FIRST = 100
"""Values of a file, one of which at least is an object or a list in every document."""
_VERSIONS: dict[str, list[tuple[str, ...]]] = {
    "atif": [("agent", "version")],
    "claude_code": [("version",), ("claude_code_version",)],
    "codex": [("payload", "cli_version")],
    "opencode": [("info", "version"), ("version",)],
}
"""Where the files of agents say of which version the agent was; each object in one of these places."""
_COMPLETE = {"transcript.jsonl": "full.jsonl"}
"""What a checkpoint of Entire has of a session: a view of it, and the complete file of the agent."""


class RecognisedDocument(Struct, frozen=True):
    """The format of a file."""

    name: str
    why: str


_ROOM: Room[DocumentFormat] = Room(
    DocumentFormat, agents, clients, exports, accepts=lambda module: not hasattr(module, "TURNS")
)
names, named = _ROOM.names, _ROOM.get


def load(name: str, objects: list[Json], lines: list[int] | None = None, **known: Any) -> list[Conversation]:
    """The conversations in a file; ``known`` and errors are as for ``DocumentFormat.conversations``."""
    read = named(name).conversations
    arguments: dict[str, Any] = {"lines": lines, "meta": None, **known}
    known = {key: arguments[key] for key in _wanted_arguments(read) if key in arguments}
    return without_repeats(read(objects, **known), objects)


@cache
def _wanted_arguments(read: Callable[..., list[Conversation]]) -> tuple[str, ...]:
    """What of that which lies around its objects a reader wants to know."""
    return tuple(key for key in ("lines", "meta", "earlier") if key in signature(read).parameters)


def owners(path: str) -> list[str]:
    """The files, or folders, that one with this path may be a part of."""
    folder, slash, last = path.rpartition("/")
    beside = [f"{folder}{slash}{_COMPLETE[last]}"] if last in _COMPLETE else []
    return [*beside, *(owner for name in names() if (owner := named(name).owner(path)))]


@cache
def holds_tools(name: str) -> bool:
    """Whether logs or files of a format have definitions of tools: all formats of requests have."""
    return name not in names() or named(name).HOLDS_TOOLS


def version(name: str, objects: list[Json]) -> str | None:
    """The version of the agent that wrote a file, the first that its objects name."""
    named = (at(value, *path) for value in objects for path in _VERSIONS.get(name, ()))
    return next((each for each in named if isinstance(each, str) and each), None)


def recognise(objects: list[Json]) -> RecognisedDocument | None:
    """The document format of a file, if it is of one; raises ``TurnError`` where it may be of two."""
    if not any(isinstance(each, dict | list) for each in objects[:_FIRST]):
        return None  # at once, since there may be millions of them
    fitting = [RecognisedDocument(name, why) for name in _possible(objects) if (why := named(name).fits(objects))]
    if len(fitting) > 1:
        both = " and ".join(f"{each.name} ({each.why})" for each in fitting[:2])
        raise TurnError(f"two formats at once: {both}")
    return fitting[0] if fitting else None


def _possible(objects: list[Json]) -> list[str]:
    """The formats that a file may be of by the members of its objects, which are looked at once for all formats."""
    if not all(type(each) is dict for each in objects):
        return list(names())
    members = set[str]().union(*objects)
    return [name for name in names() if _may_hold(members, named(name).MEMBERS)]


def _may_hold(members: set[str], wanted: tuple[str, ...] | None) -> bool:
    """Whether objects have one of these members; a format that names none may be of any file."""
    if wanted is None or not members.isdisjoint(wanted):
        return True
    begun = tuple(name for name in wanted if name.endswith("."))
    return bool(begun) and any(name.startswith(begun) for name in members)
