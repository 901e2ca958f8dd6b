"""What conversations of agents' files are called, and which conversation of which file began a sub-agent."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from msgspec import Struct

from chatsquash.core import jsonio
from chatsquash.core.log import Log
from chatsquash.core.model import AddedRun, Entry, Message, Response
from chatsquash.core.options import Options
from chatsquash.core.outcome import Family, Relative
from chatsquash.core.times import day
from chatsquash.formats import documents as formats
from chatsquash.formats.base import TurnError
from chatsquash.reading import contents
from chatsquash.reading.documents import LogDocument
from chatsquash.reading.identify import read_document
from chatsquash.session.cleaning import clean
from chatsquash.session.record_maker import prefix_of_messages
from chatsquash.sources import relatives
from chatsquash.sources.compression import stem, uncompressed
from chatsquash.sources.names import path_day
from chatsquash.sources.open import open_file
from chatsquash.trees.documents import FilePath, paths_of
from chatsquash.trees.kinds import digest

_BEGINNING = 16
"""Messages by which it is told what a conversation begins with."""


class Home(Struct, frozen=True):
    """What the file of a session tells of the sub-agents whose files lie elsewhere."""

    by_call: dict[str, int]
    """The conversations by the ids of their calls."""
    by_agent: dict[str, int]
    """Those by the sub-agents that they began."""
    by_session: dict[str, list[int]]
    """Those of a person in each session, in the order in which they began."""
    started: list[int]
    """When each began; 0 where nobody knows."""
    names: list[str]
    """The ids of the conversations."""
    families: list[Family]
    """The sessions that they belong to."""

    def caller(self, place: FilePath) -> int | None:
        """The conversation that began a sub-agent; of an agent that none names, the one of its session at the time."""
        begun = place.root_origin
        known = (
            self.by_call.get(begun.call or ""),
            self.by_agent.get(begun.id),
            self.by_agent.get(begun.session_id or ""),
        )
        named = self.by_session.get(begun.parent or "") or self.by_session.get(begun.session_id or "", [])
        earlier = [number for number in named if self.started[number] <= (begun.started_at or 0)]
        return next((number for number in (*known, *earlier[-1:], *named) if number is not None), None)


def name(place: FilePath, log: Log) -> str:
    """The id of a conversation: a digest of its session, of what it begins with and of its last reply."""
    messages, replies = place.conversation.messages, place.origin.replies
    first = next((message for message in messages if message["role"] == "user"), None)
    last = messages[replies[-1].at] if replies and replies[-1].at is not None else None
    return digest(place.origin.session_id or log.name, first, last, place.origin.id or place.number)


def family(place: FilePath, log: Log, options: Options) -> Family:
    """The session that a conversation belongs to."""
    first = place.session.first if place.session else place
    started = first.origin.started_at
    logged = path_day(log.name) or (day(started) if started is not None else None)
    outer = first.root_origin.parent if first.kind == "subagent" else None
    session = outer or first.origin.session_id or stem(log)
    prefix = prefix_of_messages(_clean_beginning(first, options), options, has_private=True) if options.split else ""
    return Family(session, prefix, stem(log), logged)


def _clean_beginning(place: FilePath, options: Options) -> list[Message]:
    """What a conversation begins with, once it is cleaned."""
    messages = list(islice(place.conversation.messages, _BEGINNING))
    entry = Entry(1, None, None, messages, (AddedRun(tuple(messages)),), [], Response(included=True))
    left = clean(iter([entry]), options.cleanups) if options.cleanups else [entry]
    return next((each.messages for each in left if isinstance(each, Entry)), messages)


class ParentFile(NamedTuple):
    """The file of a session that a sub-agent was begun in."""

    home: Home | None
    relatives: tuple[Relative, ...]
    """The files that were looked for."""
    inner: str | None = None
    """The id of the conversation of another sub-agent that holds the call, where that file does not."""


_last: tuple[object, ParentFile] | None = None
"""What was found last, since the sub-agents of a session lie beside each other."""


def find(document: LogDocument, place: FilePath, log: Log, options: Options) -> ParentFile | None:
    """The file of the session that began a sub-agent; ``None`` where nobody knows where that would be."""
    global _last  # noqa: PLW0603 - one of a process
    path = relatives.absolute(log.path)
    pattern = formats.get_format(document.format).home(uncompressed(path), place.root_origin)
    if pattern is None:
        return None
    relative = relatives.look(pattern)
    key = relative, document.format, options
    if _last is None or _last[0] != key:
        parent = _read_parent(document.format, path, pattern, options)
        home = _home(*parent, path, log, options) if parent else None
        _last = key, ParentFile(home, (relative, *(parent[1].relatives if parent else ())))
    known = _last[1]
    call_id = place.root_origin.call
    beside = formats.get_format(document.format).siblings(uncompressed(path)) if call_id else None
    if call_id is None or beside is None or (known.home and call_id in known.home.by_call):
        return known
    inner = (_inner(document.format, each, call_id, options) for each in relatives.paths_of(beside) if each != path)
    return ParentFile(known.home, (*known.relatives, relatives.look(beside)), next(filter(None, inner), None))


def _inner(form: str, path: str, call_id: str, options: Options) -> str | None:
    """The id of the conversation in a file that holds a call; files that do not name it are not parsed."""
    try:
        with open_file(path, options) as file:
            data = contents.read_all(file)
            if data is None or jsonio.dumps(call_id) not in data:
                return None
            document = read_document(file, options)
    except (OSError, TurnError):
        return None
    places = paths_of(document) if document and document.format == form else []
    log = Log(path, path, Path(path).name, 0)
    return next((name(place, log) for place in places if call_id in place.calls), None)


def forget() -> None:
    """Let go of what was found last."""
    global _last  # noqa: PLW0603 - as above
    _last = None


def _read_parent(form: str, path: str, pattern: str, options: Options) -> tuple[str, LogDocument] | None:
    """The file that fits a glob, and what it holds."""
    fitting = relatives.path_of(pattern)
    if fitting is None or fitting == path:
        return None
    try:
        with open_file(fitting, options) as file:
            document = read_document(file, options)
    except (OSError, TurnError):
        return None
    return (fitting, document) if document and document.format == form else None


def _home(file: str, document: LogDocument, path: str, log: Log, options: Options) -> Home:
    below = os.path.relpath(file, Path(path).parent)
    named = os.path.normpath(PurePosixPath(log.name).parent / below)
    return _home_of(paths_of(document), Log(file, file, named, document.size), options)


def _home_of(places: list[FilePath], log: Log, options: Options) -> Home:
    calls = {call_id: place.number for place in reversed(places) for call_id in place.calls}
    agents = {agent: place.number for place in reversed(places) for agent in place.origin.began}
    sessions: dict[str, list[int]] = {}
    for place in sorted(places, key=lambda each: (each.origin.started_at or 0, each.number)):
        if place.kind in ("main", "compacted") and place.origin.session_id:
            sessions.setdefault(place.origin.session_id, []).append(place.number)
    families = {id(place.session): place for place in places}
    by_session = {session: family(place, log, options) for session, place in families.items()}
    names = [name(place, log) for place in places]
    started = [place.origin.started_at or 0 for place in places]
    return Home(calls, agents, sessions, started, names, [by_session[id(place.session)] for place in places])
