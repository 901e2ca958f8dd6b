"""The document formats, for agents, clients and exports; each is a module or package."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from chatsquash.core.model import Conversation, Json, Message
from chatsquash.core.registry import Room
from chatsquash.formats import agents, clients, exports
from chatsquash.formats.base import DocumentFormat, TurnError, no_related_files
from chatsquash.formats.evidence import origin_of, with_origin
from chatsquash.formats.threads import BRANCH_BEYOND
from chatsquash.formats.values import at

_FIRST = 100
"""The number of leading values that are checked; every document has an object or a list among them."""
_VERSIONS: dict[str, list[tuple[str, ...]]] = {
    "atif": [("agent", "version")],
    "claude_code": [("version",), ("claude_code_version",)],
    "codex": [("payload", "cli_version")],
    "opencode": [("info", "version"), ("version",)],
}
"""The members that may contain the version of the agent."""
_MOST = 20
"""The maximum number of characters in all conversations, as a multiple of the characters in the file."""
_LEAST = 10_000_000
"""The number of characters that is allowed for any file."""
_COMPLETE = {"transcript.jsonl": "full.jsonl"}
"""Files in Entire checkpoints: the view of a session, and the agent's complete file."""


class RecognisedDocument(Struct, frozen=True):
    """The format of a file, with the evidence in words."""

    name: str
    why: str


TABLE = Path(__file__).with_suffix(".json")
"""The table entries of the built-in formats by the names of their modules; generated."""
_MARKERS: dict[str, Callable[[DocumentFormat], object]] = {
    "PER_ELEMENT": lambda form: form.PER_ELEMENT,
    "may_split": lambda form: form.may_split,
    "owner": lambda form: form.owner is not no_related_files,
    "tables": lambda form: form.tables,
}
"""The optional members that detection uses, with the test whether a format defines them."""


class TableEntry(Struct, frozen=True, omit_defaults=True):
    """The properties of a format that detection uses, so that it imports only the formats that may match."""

    members: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    """``MEMBERS`` and ``TYPES``."""
    defines: tuple[str, ...] = ()
    """The optional members that the format defines."""


_ROOM: Room[DocumentFormat] = Room(
    DocumentFormat, agents, clients, exports, accepts=lambda module: not hasattr(module, "TURNS")
)
names, get_format = _ROOM.names, _ROOM.get


def defining(member: str) -> list[DocumentFormat]:
    """Return the formats that define one of the optional members in their table entry, in order."""
    return [get_format(name) for name in names() if member in _entry(name).defines]


def entry_of(form: DocumentFormat) -> TableEntry:
    """Return the table entry of an imported format."""
    defines = tuple(member for member, is_defined in _MARKERS.items() if is_defined(form))
    return TableEntry(form.MEMBERS, form.TYPES, defines)


@cache
def _table() -> dict[str, TableEntry]:
    return msgspec.json.decode(TABLE.read_bytes(), type=dict[str, TableEntry])


@cache
def _entry(name: str) -> TableEntry:
    """Return the table entry of a format, which is imported only if it is not built in."""
    entry = _table().get(_ROOM.module(name))
    return entry_of(get_format(name)) if entry is None else entry


def load(name: str, objects: list[Json], lines: list[int] | None = None, **known: Any) -> list[Conversation]:
    """Load the conversations in a file.

    Args:
        name: the name of the format
        objects: the lines of the file, or its single value
        lines: the line numbers of the objects; ``None`` means 1, 2, 3 and so on
        known: other arguments of ``DocumentFormat.conversations``; those that the format does not accept are dropped

    Raises:
        TurnError: if the file is malformed
    """
    load_file = get_format(name).conversations
    arguments: dict[str, Any] = {"lines": lines, "meta": None, **known}
    known = {key: arguments[key] for key in _optional_arguments(load_file) if key in arguments}
    return _without_repeats(load_file(objects, **known), objects)


@cache
def _optional_arguments(read: Callable[..., list[Conversation]]) -> tuple[str, ...]:
    """Return the optional arguments that a format's reader accepts."""
    return tuple(key for key in ("lines", "meta", "earlier", "with_token_ids") if key in signature(read).parameters)


def owners(path: str) -> list[str]:
    """Return the files or folders that a file with this path may belong to."""
    folder, slash, last = path.rpartition("/")
    complete_file = [f"{folder}{slash}{_COMPLETE[last]}"] if last in _COMPLETE else []
    return [*complete_file, *(owner for form in defining("owner") if (owner := form.owner(path)))]


@cache
def has_tools(name: str) -> bool:
    """Return whether files of a format contain tool definitions; true for all request formats."""
    return name not in names() or get_format(name).HAS_TOOLS


def version(name: str, objects: list[Json]) -> str | None:
    """Return the version of the agent that wrote a file: the first version in its objects."""
    paths = _VERSIONS.get(name, ())
    versions = (at(value, *path) for value in (objects if paths else ()) for path in paths)
    return next((each for each in versions if isinstance(each, str) and each), None)


def recognise(objects: list[Json]) -> RecognisedDocument | None:
    """Detect the document format of a file; return ``None`` for other files.

    Raises:
        TurnError: if the file matches two formats
    """
    if not any(isinstance(each, dict | list) for each in objects[:_FIRST]):
        return None  # checked first, because a file may have millions of values
    candidates = [
        RecognisedDocument(name, why) for name in _possible(objects) if (why := get_format(name).fits(objects))
    ]
    if len(candidates) > 1:
        both = " and ".join(f"{each.name} ({each.why})" for each in candidates[:2])
        raise TurnError(f"more than one format matches: {both}")
    return candidates[0] if candidates else None


def _possible(objects: list[Json]) -> list[str]:
    """Return the formats whose ``MEMBERS`` and ``TYPES`` occur in a file."""
    # Only objects have members, so every format is possible for other values.
    if set(map(type, objects)) != {dict}:
        return list(names())
    # Collecting the members and types for all formats together is faster than searching the objects for each format.
    members = set[str]().union(*objects)
    possible = [
        name for name in names() if (expected := _entry(name).members) is None or _has_member(members, expected)
    ]
    if all(_entry(name).types is None for name in possible):
        return possible
    types = {line_type for each in objects if type(line_type := each.get("type")) is str}
    return [name for name in possible if (expected := _entry(name).types) is None or not types.isdisjoint(expected)]


def _has_member(members: set[str], expected: tuple[str, ...]) -> bool:
    """Return whether one of the expected members occurs."""
    if not members.isdisjoint(expected):
        return True
    prefixes = _prefixes(expected)
    return bool(prefixes) and any(name.startswith(prefixes) for name in members)


@cache
def _prefixes(expected: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in expected if name.endswith("."))


def _without_repeats(conversations: list[Conversation], objects: list[Json]) -> list[Conversation]:
    """Drop and count the branches beyond the limit; the first conversation is always kept."""
    if len(conversations) <= _MOST:
        return conversations  # no conversation is longer than its file, so there is no need to measure
    # Conversations share messages, so each message is only counted once.
    counts: dict[int, int] = {}
    sizes = [_count_messages(each.messages, counts) for each in conversations]
    if sum(sizes) <= _LEAST:
        return conversations
    characters = _count_characters(objects)
    # Small files may repeat their text more often, because the total stays small.
    remaining = max(_LEAST, _MOST * characters)
    if len(conversations) * characters <= remaining:
        return conversations  # encoded arguments may have more characters than the values in the file
    selected = conversations[:1]
    for each, size in zip(conversations, sizes, strict=True):
        remaining -= size
        if remaining >= 0 and each is not conversations[0]:
            selected.append(each)
    beyond = len(conversations) - len(selected)
    if not beyond:
        return conversations
    unread = origin_of(selected[0]).unread
    unread = {**unread, BRANCH_BEYOND: unread.get(BRANCH_BEYOND, 0) + beyond}
    return [with_origin(selected[0], unread=dict(sorted(unread.items()))), *selected[1:]]


def _count_messages(messages: list[Message], counts: dict[int, int]) -> int:
    """Count the characters of messages; ``counts`` caches those of each message by its ``id()``."""
    for each in messages:
        if id(each) not in counts:
            counts[id(each)] = _count_characters(each)
    return sum([counts[id(each)] for each in messages])


def _count_characters(value: Json) -> int:
    """Count the characters of all strings in a value, except object keys."""
    size, values = 0, [value]
    for each in values:  # the list grows during the loop; recursion would fail on deeply nested values
        if type(each) is str:
            size += len(each)
        elif type(each) is list:
            values += each
        elif type(each) is dict:
            values += each.values()
    return size
