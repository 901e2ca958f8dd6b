"""Generate ids for conversations in agent files, and find the conversation that started a sub-agent in another file."""

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
from chatsquash.trees.paths import digest

_BEGINNING = 16
"""The number of messages that may determine the beginning of a conversation."""


class Home(Struct, frozen=True):
    """Information in the file of a session about sub-agents in other files."""

    by_call: dict[str, int]
    """The conversation for each call id."""
    by_agent: dict[str, int]
    """The conversation that started each sub-agent."""
    by_session: dict[str, list[int]]
    """The user's conversations of each session, in the order of their start."""
    started: list[int]
    """The start time of each conversation; 0 if unknown."""
    names: list[str]
    """The ids of the conversations."""
    families: list[Family]
    """The session of each conversation."""

    def caller(self, place: FilePath) -> int | None:
        """Return the conversation that started a sub-agent; if none refers to it, the current one of its session."""
        start = place.root_origin
        known = (
            self.by_call.get(start.call or ""),
            self.by_agent.get(start.id),
            self.by_agent.get(start.session_id or ""),
        )
        in_session = self.by_session.get(start.parent or "") or self.by_session.get(start.session_id or "", [])
        earlier = [number for number in in_session if self.started[number] <= (start.started_at or 0)]
        return next((number for number in (*known, *earlier[-1:], *in_session) if number is not None), None)


def name(place: FilePath, log: Log) -> str:
    """Return the id of a conversation: a hash of its session, its first user message and its last reply."""
    messages, replies = place.conversation.messages, place.origin.replies
    first = next((message for message in messages if message["role"] == "user"), None)
    last = messages[replies[-1].at] if replies and replies[-1].at is not None else None
    return digest(place.origin.session_id or log.name, first, last, place.origin.id or place.number)


def family_of(place: FilePath, log: Log, options: Options) -> Family:
    """Return the session that a conversation belongs to."""
    first = place.session.first if place.session else place
    started = first.origin.started_at
    start_day = path_day(log.name) or (day(started) if started is not None else None)
    outer = first.root_origin.parent if first.kind == "subagent" else None
    session = outer or first.origin.session_id or stem(log)
    prefix = prefix_of_messages(_clean_beginning(first, options), options, has_private=True) if options.split else ""
    return Family(session, prefix, stem(log), start_day)


def _clean_beginning(place: FilePath, options: Options) -> list[Message]:
    """Return the first messages of a conversation after cleaning."""
    messages = list(islice(place.conversation.messages, _BEGINNING))
    entry = Entry(1, None, None, messages, (AddedRun(tuple(messages)),), [], Response(included=True))
    entries = clean(iter([entry]), options.cleanups) if options.cleanups else [entry]
    return next((each.messages for each in entries if isinstance(each, Entry)), messages)


class ParentFile(NamedTuple):
    """The file of the session in which a sub-agent was started."""

    home: Home | None
    relatives: tuple[Relative, ...]
    """The files that were searched for."""
    inner: str | None = None
    """The id of another sub-agent's conversation that contains the call, if the session's file does not."""


_last: tuple[object, ParentFile] | None = None
"""The last result, cached because the sub-agents of a session are in the same folder."""


def find(document: LogDocument, place: FilePath, log: Log, options: Options) -> ParentFile | None:
    """Find the file of the session that started a sub-agent; return ``None`` if its location is unknown."""
    global _last  # noqa: PLW0603 - one per process
    path = relatives.absolute(log.path)
    pattern = formats.get_format(document.format).home(uncompressed(path), place.root_origin)
    if pattern is None:
        return None
    relative = relatives.inspect_relatives(pattern)
    key = relative, document.format, options
    if _last is None or _last[0] != key:
        parent = _read_parent(document.format, path, pattern, options)
        home = _read_home(*parent, path, log, options) if parent else None
        _last = key, ParentFile(home, (relative, *(parent[1].relatives if parent else ())))
    parent_file = _last[1]
    call_id = place.root_origin.call
    siblings = formats.get_format(document.format).siblings(uncompressed(path)) if call_id else None
    if call_id is None or siblings is None or (parent_file.home and call_id in parent_file.home.by_call):
        return parent_file
    # Another sub-agent may have made the call; its file is next to this one.
    inner = (_inner(document.format, each, call_id, options) for each in relatives.paths_of(siblings) if each != path)
    return ParentFile(
        parent_file.home,
        (*parent_file.relatives, relatives.inspect_relatives(siblings)),
        next(filter(None, inner), None),
    )


def _inner(form: str, path: str, call_id: str, options: Options) -> str | None:
    """Return the id of the conversation in a file that contains a call; files without the call id are not parsed."""
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
    """Clear the cached result."""
    global _last  # noqa: PLW0603 - one per process
    _last = None


def _read_parent(form: str, path: str, pattern: str, options: Options) -> tuple[str, LogDocument] | None:
    """Return the path of the file that matches a glob, with its document."""
    match = relatives.path_of(pattern)
    if match is None or match == path:
        return None
    try:
        with open_file(match, options) as file:
            document = read_document(file, options)
    except (OSError, TurnError):
        return None
    return (match, document) if document and document.format == form else None


def _read_home(file: str, document: LogDocument, path: str, log: Log, options: Options) -> Home:
    below = os.path.relpath(file, Path(path).parent)
    log_name = os.path.normpath(PurePosixPath(log.name).parent / below)
    return _home_of(paths_of(document), Log(file, file, log_name, document.size), options)


def _home_of(places: list[FilePath], log: Log, options: Options) -> Home:
    calls = {call_id: place.number for place in reversed(places) for call_id in place.calls}
    agents = {agent: place.number for place in reversed(places) for agent in place.origin.began}
    sessions: dict[str, list[int]] = {}
    for place in sorted(places, key=lambda each: (each.origin.started_at or 0, each.number)):
        if place.kind in ("main", "compacted") and place.origin.session_id:
            sessions.setdefault(place.origin.session_id, []).append(place.number)
    families = {id(place.session): place for place in places}
    by_session = {session: family_of(place, log, options) for session, place in families.items()}
    names = [name(place, log) for place in places]
    started = [place.origin.started_at or 0 for place in places]
    return Home(calls, agents, sessions, started, names, [by_session[id(place.session)] for place in places])
