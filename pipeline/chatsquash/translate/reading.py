"""Reads the conversations of a piece of input, and records the ignored content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from chatsquash import formats
from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.model import Conversation, Json, RejectedLine
from chatsquash.core.options import Options
from chatsquash.formats import bodies, documents
from chatsquash.formats.base import Tools, TurnError
from chatsquash.reading import contents, sidecars, split_files
from chatsquash.reading.identify import log_in
from chatsquash.reading.members import BYTE_ORDER_MARK
from chatsquash.sources.compression import ExpandedFile
from chatsquash.sources.open import open_file
from chatsquash.translate import conversations, logs
from chatsquash.translate.families import FamilyMember, families
from chatsquash.translate.sources import NumberedLine, Piece

_PIECE = 1 << 24


class Source(NamedTuple):
    """A conversation and its origin."""

    name: str | None
    """The name of the session, if the log has one."""
    conversation: Conversation
    group: int
    """A number that the branches of a history share, unique within the piece otherwise."""
    ignored: Counter[str]
    """Content of the conversation that was not read, by description."""
    options: tuple[str, ...] = ()
    """Members of the request that only configure the response, such as ``model``."""
    bad_lines: tuple[str, ...] = ()
    """Unreadable lines of its file or session: location and reason."""
    depth: int = 0
    """Its depth in a family of sub-agents, whose members follow each other."""


class Reader:
    """Reads the conversations of pieces."""

    def __init__(
        self, from_format: str | None = None, *, every_branch: bool = False, with_families: bool = False
    ) -> None:
        self._from_format, self._every_branch = from_format, every_branch
        self._families = families if with_families else _one_by_one
        self.ignored: Counter[str] = Counter()
        """Input that was not read and belongs to no conversation, by description."""
        self.bad_lines: list[str] = []
        """Unreadable lines or units, each with location and reason."""
        self.truncated = 0
        """The number of truncated compressed files."""

    def read(self, piece: Piece) -> Iterator[Source]:
        """Yield the conversations of a piece, in order; raise ``UsageError`` for a piece without any."""
        if piece.lines is not None:
            yield from self._read_lines(piece, piece.lines)
            return
        if piece.data is not None:
            yield from self._read_complete(piece, piece.data)
            return
        try:
            yield from self._read_file(piece)
        except OSError as problem:
            raise UsageError(f"{piece.display_path}: cannot be read ({problem.strerror})") from None
        except TurnError as problem:
            raise UsageError(f"{piece.display_path}: {problem}") from None
        except UsageError as problem:
            raise type(problem)(f"{piece.display_path}: {problem}") from None

    def _read_file(self, piece: Piece) -> Iterator[Source]:
        with open_file(piece.display_path) as file:
            if self._from_format is None or self._from_format in documents.names():
                division = split_files.divide(file, self._from_format, Options())
                if division:
                    yield from self._read_units(piece, file, division)
                    return
        yield from self._read_complete(piece, self._data(piece))

    def _read_units(self, piece: Piece, file: BinaryIO, division: split_files.Division) -> Iterator[Source]:
        """Yield the conversations of a file that is read unit by unit; unreadable units are reported."""
        meta = _companion_content(division.format, piece.display_path)
        group = 0
        for number, unit in enumerate(division.units(), 1):
            try:
                batch = self._load(split_files.objects(file, unit, Options()), division.format, None, meta)
            except (UsageError, TurnError) as problem:
                self.bad_lines.append(f"{piece.display_path}: unit {number:,}: {problem} [bad-entry]")
                self.ignored["units that cannot be read"] += 1
                continue
            for conversation, depth in self._families([each for each in batch if each.turns]):
                group += 1
                yield self._source(conversation, division.format, None, group)._replace(depth=depth)
        if not group:
            raise UsageError(f"{division.format}: no conversation found")

    def _data(self, piece: Piece) -> bytes:
        """Return the content of a file; the reason why a compressed one is incomplete is counted."""
        with open_file(piece.display_path) as file:
            data = b"".join(iter(lambda: file.read(_PIECE), b""))
            if isinstance(file, ExpandedFile) and file.problem:
                self.ignored[f"the rest of {piece.display_path}: {file.problem}"] += 1
                self.truncated += 1
        return data

    # Lines

    def _read_lines(self, piece: Piece, lines: tuple[NumberedLine, ...]) -> Iterator[Source]:
        """Yield the conversations of independent lines; lines without one are reported."""
        form = piece.format or ""
        group = 0
        for line in lines:
            try:
                value, tools, exchange = _value(line), None, None
                if conversations.is_document(form):
                    batch = self._load([value], form)
                elif exchange := logs.exchange(value, form):
                    batch = []
                else:
                    conversation, tools = conversations.read_body(value, form)
                    batch = [conversation]
            except (UsageError, ValueError, RecursionError) as problem:
                self._report_line(piece, line, problem)
                continue
            batch = [each for each in batch if each.turns]
            if exchange:
                group += 1
                yield Source(None, exchange.conversation, group + line.number, exchange.ignored, exchange.options)
            elif not batch:
                self.ignored[f"empty conversations in {piece.name}"] += 1
            for conversation, depth in self._families(batch):
                group += not conversation.branch
                yield self._source(conversation, form, value, group + line.number, tools)._replace(depth=depth)

    def _report_line(self, piece: Piece, line: NumberedLine, problem: Exception) -> None:
        is_entry = isinstance(problem, UsageError)
        why = "nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        if not is_entry and isinstance(problem, ValueError):
            why = f"not valid JSON: {jsonio.refusal(problem)}"
        code = "bad-entry" if is_entry else "bad-line"
        self.bad_lines.append(f"{piece.display_path}:{line.number}: {why} [{code}]")
        self.ignored["lines that cannot be read"] += 1

    def _load(
        self, objects: list[Json], form: str, lines: list[int] | None = None, meta: Json = None
    ) -> list[Conversation]:
        batch = conversations.load_all(objects, form, every=self._every_branch, lines=lines, meta=meta)
        return list(map(conversations.with_turns, batch))

    # Complete files

    def _read_complete(self, piece: Piece, data: bytes) -> Iterator[Source]:
        log = None if self._from_format in documents.names() else log_in(data)
        if log is not None:
            yield from self._sessions(Log("", piece.display_path, piece.name, len(log)), log)
            return
        objects, bad_lines, lines, _ = _objects(data, self._from_format)
        form = self._from_format or conversations.recognise(objects)
        meta = (
            _companion_content(form, piece.display_path) if piece.data is None and form in documents.names() else None
        )
        batch = self._load(objects, form, lines, meta)
        requests = objects if form in formats.names() else [None] * len(batch)
        pairs = [pair for pair in zip(batch, requests, strict=True) if pair[0].turns]
        if not pairs:
            raise UsageError(f"{form}: no conversation found")
        if len(batch) > len(pairs):
            self.ignored[f"empty conversations in {piece.name}"] += len(batch) - len(pairs)
        members = self._families([conversation for conversation, _ in pairs])
        # Requests contain one conversation each, so their order does not change.
        for number, ((conversation, depth), (_, request)) in enumerate(zip(members, pairs, strict=True), 1):
            source = self._source(conversation, form, request, 0 if conversation.branch else number)
            source = source._replace(depth=depth)
            yield _with_bad_lines(source, bad_lines, piece.display_path) if bad_lines and number == 1 else source

    def _source(
        self, conversation: Conversation, form: str, body: Json, group: int, tools: Tools | None = None
    ) -> Source:
        """Return a conversation with the options and ignored content of its request body."""
        ignored = Counter(conversation.origin.unread if conversation.origin else ())
        if body is None or conversations.is_document(form):
            return Source(None, conversation, group, ignored)
        extras = bodies.request_extras(formats.get_format(form), body, tools)
        if extras.hosted or extras.elsewhere:
            ignored += logs.ignored_parts(extras)
        return Source(None, conversation, group, ignored, tuple(extras.options))

    def _sessions(self, log: Log, data: bytes) -> Iterator[Source]:
        """Yield the conversation of a session log, or one per session if the log contains several."""
        options = Options(from_format=self._from_format)
        for number, each in enumerate(logs.sessions(log, data, options), 1):
            source = Source(each.session or log.name, each.conversation, number, each.ignored, each.options)
            yield _with_bad_lines(source, each.rejected, log.display_path)


def _one_by_one(conversations: Sequence[Conversation]) -> list[FamilyMember]:
    return list(map(FamilyMember, conversations))


def _value(line: NumberedLine) -> Json:
    raw = line.raw.removeprefix(BYTE_ORDER_MARK) if line.number == 1 else line.raw
    return jsonio.loads(raw)


def _with_bad_lines(source: Source, rejected: list[RejectedLine], path: str) -> Source:
    """Return a conversation with the unreadable lines of its file added."""
    if not rejected:
        return source
    bad_lines = tuple(f"{path}:{line.line}: {line.reason} [{line.code}]" for line in rejected)
    ignored = source.ignored + Counter({"lines that cannot be read": len(rejected)})
    return source._replace(ignored=ignored, bad_lines=bad_lines)


def _objects(data: bytes, from_format: str | None) -> contents.ParsedContent:
    """Return the JSON value of a file, or those of its lines, and the malformed lines.

    Raises ``UsageError`` for a malformed line if no other line is recognized: the file may be one value that spans
    several lines.
    """
    try:
        content = contents.parse(data)
        objects, bad_lines, *_ = content
        is_known = not bad_lines or _is_document(objects, from_format) or _has_conversation(objects, from_format)
    except TurnError as problem:
        raise UsageError(str(problem)) from None
    if not is_known:
        raise logs.NoReadableLineError(f"line {bad_lines[0].line} is {bad_lines[0].reason}")
    return content


def _has_conversation(objects: list[Json], from_format: str | None) -> bool:
    """Return whether at least one value contains a conversation by itself."""
    return any(isinstance(each, dict) and conversations.explain_mismatch(each, from_format) is None for each in objects)


def _is_document(objects: list[Json], from_format: str | None) -> bool:
    if from_format in documents.names():
        return documents.get_format(from_format).fits(objects) is not None
    return from_format is None and documents.recognise(objects) is not None


def _companion_content(form: str, path: str) -> Json:
    """Return the content of the companion file of a document, if there is one."""
    try:
        sidecar = sidecars.read(form, path, Options())
    except OSError as problem:
        raise UsageError(f"the companion file cannot be read ({problem.strerror})") from None
    return sidecar.content if sidecar else None
