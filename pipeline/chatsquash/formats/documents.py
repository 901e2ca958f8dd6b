"""One module or package per document of a conversation: what clients and agents keep, whole files of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import Any, Protocol

from msgspec import Struct

from chatsquash.core.model import Conversation, Json, Origin
from chatsquash.core.registry import Room
from chatsquash.formats import agents, clients, exports
from chatsquash.formats.base import TurnError
from chatsquash.formats.values import at

_FIRST = 100
"""Values of a file, one of which at least is an object or a list in every document."""
_VERSIONS: dict[str, list[tuple[str, ...]]] = {
    "atif": [("agent", "version")],
    "claude_code": [("version",)],
    "codex": [("payload", "cli_version")],
    "opencode": [("info", "version"), ("version",)],
}
"""Where the files of agents say of which version the agent was; each object in one of these places."""


class DocumentFormat(Protocol):
    """The names of a document's module."""

    NAME: str
    """As in ``--from`` and ``--to``."""
    HOLDS_TOOLS: bool
    """Whether its files have definitions of tools, and not only calls."""

    def fits(self, objects: list[Json]) -> str | None:
        """The evidence that a file is of this format, in words; the objects are its lines, or the one it holds."""

    MEMBERS: tuple[str, ...]
    """Members of which the objects of a file that fits have one at least; a name that ends with a dot begins one.

    A module without this is asked about every file.
    """

    conversations: Callable[..., list[Conversation]]
    """The conversations in a file, of its objects; raises ``TurnError`` for what is broken, and says where.

    A function that has the argument ``lines``, the second, gets the 1-based numbers of the lines that hold the objects;
    ``None`` stands for 1, 2, 3 and so on.  One that has ``meta``, the third, gets what the file holds that lies beside,
    or a list of what several hold; its module has a function ``beside``, too, which gives a glob for a file's name.
    """


class Writable(DocumentFormat, Protocol):
    """A document that can be written, too."""

    dump: Callable[[Conversation], Json]
    """The document of one conversation; raises ``TurnError`` for one that no document can stand for."""


class RecognisedDocument(Struct, frozen=True):
    """The format of a file."""

    name: str
    why: str


_ROOM: Room[DocumentFormat] = Room(agents, clients, exports)
names, named = _ROOM.names, _ROOM.module


def load(name: str, objects: list[Json], lines: list[int] | None = None, meta: Json = None) -> list[Conversation]:
    """The conversations in a file; raises as ``DocumentFormat.conversations``."""
    read = named(name).conversations
    arguments: dict[str, Any] = {"lines": lines, "meta": meta}
    return read(objects, **{key: arguments[key] for key in _taken(read)})


@cache
def _taken(read: Callable[..., list[Conversation]]) -> tuple[str, ...]:
    """What of that which lies around its objects a reader wants to know."""
    return tuple(key for key in ("lines", "meta") if key in signature(read).parameters)


def beside(name: str, file: str) -> str | None:
    """A glob for what lies beside a file of a format and tells more of it, if there may be anything.

    Where these files have others in folders of their names, ``outcome.EACH`` stands between the globs of both.
    """
    named_beside: Callable[[str], str | None] | None = getattr(named(name), "beside", None)
    return named_beside(file) if named_beside else None


def owners(path: str) -> list[str]:
    """The files, or folders, that one with this path may be a part of; modules of formats with parts say so."""
    divided = (getattr(named(name), "owner", None) for name in names())
    return [owner for owner_of in divided if owner_of and (owner := owner_of(path))]


def home(name: str, path: str, origin: Origin) -> str | None:
    """A glob for the file of the session that began a sub-agent, whose own file has this path; ``None``: nobody knows.

    Modules of formats whose sub-agents have files of their own have this function, without the name.
    """
    home_of: Callable[[str, Origin], str | None] | None = getattr(named(name), "home", None)
    return home_of(path, origin) if home_of else None


def session(name: str, path: str, origin: Origin) -> str | None:
    """The id of the session of a conversation whose file holds none, by the file's path; ``None``: that has none.

    Modules of formats whose agents name files alike in each session have this function, without the name.
    """
    session_of: Callable[[str, Origin], str | None] | None = getattr(named(name), "session", None)
    return session_of(path, origin) if session_of else None


def siblings(name: str, path: str) -> str | None:
    """A glob for the files of the sub-agents of a session, one of which has this path: one may have begun another."""
    siblings_of: Callable[[str], str | None] | None = getattr(named(name), "siblings", None)
    return siblings_of(path) if siblings_of else None


def kept(name: str) -> tuple[str, ...]:
    """Globs of where an agent keeps files of a format, as ``sources.kept`` reads them; none of an export."""
    patterns: tuple[str, ...] = getattr(named(name), "KEPT", ())
    return patterns


def in_projects(name: str) -> tuple[str, ...]:
    """The files, below the folder of a project, in which an agent keeps sessions of it; none of any other agent."""
    below: tuple[str, ...] = getattr(named(name), "IN_PROJECTS", ())
    return below


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
    return [name for name in names() if _may_hold(members, getattr(named(name), "MEMBERS", None))]


def _may_hold(members: set[str], wanted: tuple[str, ...] | None) -> bool:
    """Whether objects have one of these members; a format that names none may be of any file."""
    if wanted is None or not members.isdisjoint(wanted):
        return True
    begun = tuple(name for name in wanted if name.endswith("."))
    return bool(begun) and any(name.startswith(begun) for name in members)
