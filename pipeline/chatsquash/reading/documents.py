"""Files that are not logs and contain conversations: as a client or an agent stores them, or one request's body."""

from __future__ import annotations

import os
from typing import Any, BinaryIO, NamedTuple

from msgspec import Struct

from chatsquash import formats
from chatsquash.core.model import Conversation, Entry, Json, LogHead, Origin, RejectedLine, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Relative
from chatsquash.formats import bodies, documents
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import origin_of, with_origin
from chatsquash.reading import session_beginnings, sidecars
from chatsquash.sources import relatives
from chatsquash.sources.compression import ExpandedFile, uncompressed


class Content(NamedTuple):
    """The content of a document: its format, the evidence for it, and its objects."""

    format: str
    why: str
    objects: list[Json]
    broken: list[RejectedLine] = []  # noqa: RUF012 - never changed
    """Its lines that are no JSON."""
    lines: list[int] | None = None
    """Of each object the line that it begins at, from 1."""
    line: bytes = b""
    """All of it as one line, where it is an exchange that stands on several; it holds no conversations then."""
    meta: Json = None
    """What the file holds that lies beside."""
    earlier: list[list[Json]] | None = None
    """The lines of the files in which its session begins, the oldest first; ``None``: not all of them are known."""
    units: tuple[bytes, ...] = ()
    """The places of the units of its file, if there are several, of which it is the first."""
    line_count: int = 1
    """The lines of its file."""

    def conversations(self) -> list[Conversation]:
        """Its conversations; raises ``TurnError`` for a document that is broken."""
        if self.format in documents.names():
            return documents.load(self.format, self.objects, self.lines, meta=self.meta, earlier=self.earlier)
        return [bodies.load(formats.get_format(self.format), body) for body in self.objects]

    def aside(self) -> bodies.RequestExtras:
        """What a request's body has beside its conversation; nothing for a document."""
        if self.line or self.format in documents.names():
            return bodies.RequestExtras(0, [], [])
        return bodies.request_extras(formats.get_format(self.format), self.objects[0])


class LogDocument(Struct):
    """A document that was read, with all that a session of it needs."""

    format: str
    why: str
    line: bytes
    """All of it as one line, where it is an exchange that stands on several."""
    broken: list[RejectedLine]
    aside: bodies.RequestExtras
    conversations: list[Conversation]
    problem: str | None
    """What is wrong with it, in words; it has no conversations then."""
    cut: str | None
    """Why the rest of a compressed file was not read."""
    size: int
    """Bytes of the file, expanded."""
    digest: str = ""
    """Of the file as it stands on the disk, once somebody knows it."""
    version: str | None = None
    """That of the agent, as far as the file says it."""
    paths: Any = None
    """Its conversations with their kinds and parents, once ``trees.documents`` has found these."""
    growth: Any = None
    """The options under which ``session.output_growth`` measured its records, and why there are to be none."""
    relatives: list[Relative] = []
    """The files beside it that tell of it."""
    units: tuple[bytes, ...] = ()
    """As in ``Content``."""
    line_count: int = 1
    """As in ``Content``."""
    is_identified: bool = False
    """Whether the first lines of its file are known not to be those of a log."""

    @property
    def seen(self) -> LogHead:
        """What reports show of it."""
        if self.problem:
            return LogHead(None, "document", self.problem, conflict=True)
        return LogHead(self.format, "document", self.why, version=self.version)


def load(content: Content, file: BinaryIO, options: Options) -> LogDocument:
    """The conversations of a document, with what the files beside it add."""
    problem, conversations = None, list[Conversation]()
    name = getattr(file, "name", "")
    sidecar = sidecars.read(content.format, name, options)
    content = content._replace(meta=sidecar.content) if sidecar else content
    beginning = session_beginnings.read(content.format, name, content.objects, options)
    content = content._replace(earlier=beginning.files) if beginning else content
    try:
        conversations = [] if content.line else content.conversations()
    except TurnError as raised:
        problem = f"{content.format}: {raised}"
    place = file.tell()
    size = file.seek(0, os.SEEK_END)
    cut = file.problem if isinstance(file, ExpandedFile) else None
    file.seek(place)
    return LogDocument(
        format=content.format,
        why=content.why,
        line=content.line,
        broken=content.broken,
        aside=bodies.RequestExtras(0, [], []) if problem else content.aside(),
        conversations=_with_sessions(conversations, content.format, name),
        problem=problem,
        cut=cut,
        size=size,
        version=documents.version(content.format, content.objects),
        relatives=[
            *([relatives.look(sidecar.pattern)] if sidecar else []),
            *(map(relatives.look, beginning.patterns) if beginning else []),
        ],
        units=content.units,
        line_count=content.line_count,
    )


def _with_sessions(conversations: list[Conversation], form: str, path: object) -> list[Conversation]:
    """Conversations with the ids of their sessions, where only the path of their file contains these."""
    if form not in documents.names() or not isinstance(path, str) or not path:
        return conversations
    inside = uncompressed(relatives.within(path))
    named = list[Conversation]()
    for each in conversations:
        origin = origin_of(each)
        session = None if origin.session_id else documents.get_format(form).session(inside, origin)
        named.append(with_origin(each, session_id=session) if session else each)
    return named


def first_line(origin: Origin) -> int | None:
    """The first line that is known to hold some of a conversation."""
    known = [*origin.lines, *(reply.line for reply in origin.replies)]
    return next((line for line in known if line is not None), None)


def line_of(entry: Entry, violation: Violation) -> int:
    """The line of the message that something is found of; in a document its own."""
    message = violation.at if violation.log_index is None else violation.log_index
    if message is None or entry.origin is None:
        return entry.line
    lines, replies = entry.origin.lines, entry.origin.replies
    known = lines[message] if message < len(lines) else None
    return known or next((reply.line for reply in replies if reply.at == message and reply.line), entry.line)
