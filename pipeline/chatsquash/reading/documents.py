"""Files that contain stored conversations instead of logged exchanges, or the body of a single request."""

from __future__ import annotations

import os
from typing import Any, BinaryIO, NamedTuple

from msgspec import Struct

from chatsquash import formats
from chatsquash.core.model import Conversation, Json, LogHead, Origin, RejectedLine
from chatsquash.core.options import Options
from chatsquash.core.outcome import Relative
from chatsquash.formats import bodies, documents
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import origin_of, with_origin
from chatsquash.reading import session_beginnings, sidecars
from chatsquash.sources import relatives
from chatsquash.sources.compression import ExpandedFile, uncompressed


class Content(NamedTuple):
    """The content of a document: its format, the evidence for the format, and its objects."""

    format: str
    why: str
    objects: list[Json]
    rejected_lines: list[RejectedLine] = []  # noqa: RUF012 - never changed
    """The lines that are not JSON."""
    lines: list[int] | None = None
    """For each object, the number of its first line, counted from 1."""
    line: bytes = b""
    """The file as a single line if it is one exchange on several lines; ``objects`` is then empty."""
    meta: Json = None
    """The content of the metadata file next to the document."""
    earlier: list[list[Json]] | None = None
    """The lines of the files in which its session begins, oldest first; ``None`` if any of them is missing."""
    units: tuple[bytes, ...] = ()
    """The places of all units of the file, if it contains several; the content is that of the first one."""
    line_count: int = 1
    """The number of lines in its file."""

    def conversations(self, *, with_token_ids: bool = False) -> list[Conversation]:
        """Return the conversations; raise ``TurnError`` for an invalid document."""
        if self.format in documents.names():
            known = {"meta": self.meta, "earlier": self.earlier, "with_token_ids": with_token_ids}
            return documents.load(self.format, self.objects, self.lines, **known)
        return [bodies.load(formats.get_format(self.format), body) for body in self.objects]

    def request_extras(self) -> bodies.RequestExtras:
        """Return the parts of a request body other than the conversation; empty for a document."""
        if self.line or self.format in documents.names():
            return bodies.RequestExtras(0, [], [])
        return bodies.request_extras(formats.get_format(self.format), self.objects[0])


class LogDocument(Struct):
    """A document with the data that its sessions need."""

    format: str
    why: str
    line: bytes
    """The file as a single line if it is one exchange on several lines."""
    rejected_lines: list[RejectedLine]
    request_extras: bodies.RequestExtras
    conversations: list[Conversation]
    problem: str | None
    """The reason why the document has no conversations."""
    cut: str | None
    """Why the rest of a compressed file was not read."""
    size: int
    """The expanded size of the file in bytes."""
    digest: str = ""
    """The hash of the file on disk, once it has been computed."""
    version: str | None = None
    """The agent's version, if the file contains it."""
    paths: Any = None
    """Its conversations with their kinds and parents, once ``trees.documents`` has determined them."""
    growth: Any = None
    """The options used when ``session.output_growth`` measured the records, and the reason not to write them."""
    relatives: list[Relative] = []
    """Files next to it that describe it."""
    units: tuple[bytes, ...] = ()
    """As in ``Content``."""
    line_count: int = 1
    """As in ``Content``."""
    is_identified: bool = False
    """Whether its first lines are known not to be log entries."""

    def release(self) -> None:
        """Break the cycles between its conversations, so that their memory is free without garbage collection."""
        for path in self.paths or ():
            path.session, path.owners, path.parent = None, {}, None

    @property
    def seen(self) -> LogHead:
        """The format and the evidence as shown in reports."""
        if self.problem:
            return LogHead(None, "document", self.problem, conflict=True)
        return LogHead(self.format, "document", self.why, version=self.version)


def load(content: Content, file: BinaryIO, options: Options) -> LogDocument:
    """Load the conversations of a document, together with data from the files next to it."""
    problem, conversations = None, list[Conversation]()
    name = getattr(file, "name", "")
    sidecar = sidecars.read(content.format, name, options)
    content = content._replace(meta=sidecar.content) if sidecar else content
    beginning = session_beginnings.read(content.format, name, content.objects, options)
    content = content._replace(earlier=beginning.files) if beginning else content
    try:
        conversations = [] if content.line else content.conversations(with_token_ids=options.samples == "tokens")
    except TurnError as error:
        problem = f"{content.format}: {error}"
    place = file.tell()
    size = file.seek(0, os.SEEK_END)
    cut = file.problem if isinstance(file, ExpandedFile) else None
    file.seek(place)
    return LogDocument(
        format=content.format,
        why=content.why,
        line=content.line,
        rejected_lines=content.rejected_lines,
        request_extras=bodies.RequestExtras(0, [], []) if problem else content.request_extras(),
        conversations=_with_sessions(conversations, content.format, name),
        problem=problem,
        cut=cut,
        size=size,
        version=documents.version(content.format, content.objects),
        relatives=[
            *([relatives.inspect_relatives(sidecar.pattern)] if sidecar else []),
            *(map(relatives.inspect_relatives, beginning.patterns) if beginning else []),
        ],
        units=content.units,
        line_count=content.line_count,
    )


def _with_sessions(conversations: list[Conversation], form: str, path: object) -> list[Conversation]:
    """Return conversations with the ids of their sessions."""
    if form not in documents.names() or not isinstance(path, str) or not path:
        return conversations
    # Some formats have the session id only in the path of the file.
    inside = uncompressed(relatives.inner_path(path))
    result = list[Conversation]()
    for each in conversations:
        origin = origin_of(each)
        session = None if origin.session_id else documents.get_format(form).session(inside, origin)
        result.append(with_origin(each, session_id=session) if session else each)
    return result


def first_line(origin: Origin) -> int | None:
    """Return the first known line number of a conversation."""
    known = [*origin.lines, *(reply.line for reply in origin.replies)]
    return next((line for line in known if line is not None), None)
