"""The conversations in a piece of what is to be translated, and what stands there beside them."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
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
from chatsquash.reading.sessions import by_ids
from chatsquash.sources.compression import ExpandedFile
from chatsquash.sources.open import open_file
from chatsquash.translate import conversations, logs
from chatsquash.translate.sources import NumberedLine, Piece

_PIECE = 1 << 24


class Source(NamedTuple):
    """A conversation, and where it comes from."""

    name: str | None
    """The session's, where the log names it."""
    conversation: Conversation
    group: int
    """Branches of one history have one number, which is that of no other conversation of the piece."""
    left_out: Counter[str]
    """What belongs to the conversation and was not read, in words."""
    options: tuple[str, ...] = ()
    """The members of its request that only say how the service is to answer."""
    bad_lines: tuple[str, ...] = ()
    """The lines of its file, or of its session, that cannot be read: where, and what is wrong."""


class Reader:
    """Reads the conversations of pieces."""

    def __init__(self, from_format: str | None = None, *, every_branch: bool = False) -> None:
        self._from_format, self._every_branch = from_format, every_branch
        self.passed_over: Counter[str] = Counter()
        """What was not read and belongs to no conversation, in words."""
        self.bad_lines: list[str] = []
        """Lines that cannot be read, each a piece of its own."""
        self.cut = 0
        """How many compressed files end before their end."""

    def read(self, piece: Piece) -> Iterator[Source]:
        """Every conversation in a piece, in order; raises ``UsageError`` for what holds none."""
        if piece.lines is not None:
            yield from self._in_lines(piece, piece.lines)
            return
        if piece.data is not None:
            yield from self._in_whole(piece, piece.data)
            return
        try:
            yield from self._in_file(piece)
        except OSError as problem:
            raise UsageError(f"{piece.shown}: cannot be read ({problem.strerror})") from None
        except TurnError as problem:
            raise UsageError(f"{piece.shown}: {problem}") from None
        except UsageError as problem:
            raise type(problem)(f"{piece.shown}: {problem}") from None

    def _in_file(self, piece: Piece) -> Iterator[Source]:
        with open_file(piece.shown) as file:
            if self._from_format is None or self._from_format in documents.names():
                division = split_files.divide(file, self._from_format, Options())
                if division:
                    yield from self._in_units(piece, file, division)
                    return
        yield from self._in_whole(piece, self._data(piece))

    def _in_units(self, piece: Piece, file: BinaryIO, division: split_files.Division) -> Iterator[Source]:
        """The conversations of a file that is read unit by unit; one that cannot be read is told."""
        meta = _lying_beside(division.format, piece.shown)
        group = 0
        for number, unit in enumerate(division.units(), 1):
            try:
                loaded = self._load(split_files.objects(file, unit, Options()), division.format, None, meta)
            except (UsageError, TurnError) as problem:
                self.bad_lines.append(f"{piece.shown}: unit {number:,}: {problem} [bad-entry]")
                self.passed_over["units that cannot be read"] += 1
                continue
            for conversation in loaded:
                if conversation.turns:
                    group += 1
                    yield self._source(conversation, division.format, None, group)
        if not group:
            raise UsageError(f"{division.format}: there is no conversation in it")

    def _data(self, piece: Piece) -> bytes:
        """What a file holds; why the rest of a compressed one cannot be read is counted."""
        with open_file(piece.shown) as file:
            data = b"".join(iter(lambda: file.read(_PIECE), b""))
            if isinstance(file, ExpandedFile) and file.problem:
                self.passed_over[f"the rest of {piece.shown}: {file.problem}"] += 1
                self.cut += 1
        return data

    # Lines

    def _in_lines(self, piece: Piece, lines: tuple[NumberedLine, ...]) -> Iterator[Source]:
        """The conversations of lines, each of which has its own; those that have none are told."""
        form = piece.format or ""
        group = 0
        for line in lines:
            try:
                value, tools, logged = _value(line), None, None
                if conversations.is_document(form):
                    loaded = self._load([value], form)
                elif logged := logs.exchange(value, form):
                    loaded = []
                else:
                    conversation, tools = conversations.read_body(value, form)
                    loaded = [conversation]
            except (UsageError, ValueError, RecursionError) as problem:
                self._pass(piece, line, problem)
                continue
            loaded = [each for each in loaded if each.turns]
            if logged:
                group += 1
                yield Source(None, logged.conversation, group + line.number, logged.left_out, logged.options)
            elif not loaded:
                self.passed_over[f"conversations of {piece.name} that are empty"] += 1
            for conversation in loaded:
                group += not conversation.branch
                yield self._source(conversation, form, value, group + line.number, tools)

    def _pass(self, piece: Piece, line: NumberedLine, problem: Exception) -> None:
        is_entry = isinstance(problem, UsageError)
        why = "nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        if not is_entry and isinstance(problem, ValueError):
            why = f"no JSON: {jsonio.refusal(problem)}"
        code = "bad-entry" if is_entry else "bad-line"
        self.bad_lines.append(f"{piece.shown}:{line.number}: {why} [{code}]")
        self.passed_over["lines that cannot be read"] += 1

    def _load(
        self, objects: list[Json], form: str, lines: list[int] | None = None, meta: Json = None
    ) -> list[Conversation]:
        loaded = conversations.load_all(objects, form, every=self._every_branch, lines=lines, meta=meta)
        return list(map(conversations.with_turns, loaded))

    # Whole files

    def _in_whole(self, piece: Piece, data: bytes) -> Iterator[Source]:
        log = None if self._from_format in documents.names() else log_in(data)
        if log is not None:
            yield from self._sessions(Log("", piece.shown, piece.name, len(log)), log)
            return
        objects, broken, lines = _objects(data, self._from_format)
        form = self._from_format or conversations.recognise(objects)
        meta = _lying_beside(form, piece.shown) if piece.data is None and form in documents.names() else None
        loaded = self._load(objects, form, lines, meta)
        requests = objects if form in formats.names() else [None] * len(loaded)
        pairs = [pair for pair in zip(loaded, requests, strict=True) if pair[0].turns]
        if not pairs:
            raise UsageError(f"{form}: there is no conversation in it")
        if len(loaded) > len(pairs):
            self.passed_over[f"conversations of {piece.name} that are empty"] += len(loaded) - len(pairs)
        for number, (conversation, request) in enumerate(pairs, 1):
            source = self._source(conversation, form, request, 0 if conversation.branch else number)
            yield _with_bad_lines(source, broken, piece.shown) if broken and number == 1 else source

    def _source(
        self, conversation: Conversation, form: str, body: Json, group: int, tools: Tools | None = None
    ) -> Source:
        """A conversation with what its request's body has beside it."""
        left_out = Counter(conversation.origin.unread if conversation.origin else ())
        if body is None or conversations.is_document(form):
            return Source(None, conversation, group, left_out)
        aside = bodies.request_extras(formats.get_format(form), body, tools)
        if aside.hosted or aside.elsewhere:
            left_out += logs.unread(aside)
        return Source(None, conversation, group, left_out, tuple(aside.options))

    def _sessions(self, log: Log, data: bytes) -> Iterator[Source]:
        """The conversation of a session log, or those of a log that is known to hold several sessions."""
        options = Options(from_format=self._from_format)
        whole = logs.session(log, data, options)
        parts = [] if whole else by_ids(log, io.BytesIO(data))
        sessions = [whole, *(logs.session(part, data, options) for part in parts)]
        for number, each in enumerate(filter(None, sessions), 1):
            source = Source(each.session or log.name, each.conversation, number, each.left_out, each.options)
            yield _with_bad_lines(source, each.rejected, log.display_path)


def _value(line: NumberedLine) -> Json:
    raw = line.raw.removeprefix(BYTE_ORDER_MARK) if line.number == 1 else line.raw
    return jsonio.loads(raw)


def _with_bad_lines(source: Source, broken: list[RejectedLine], shown: str) -> Source:
    """A conversation with the lines beside it that cannot be read."""
    if not broken:
        return source
    said = tuple(f"{shown}:{line.line}: {line.reason} [{line.code}]" for line in broken)
    left_out = source.left_out + Counter({"lines that cannot be read": len(broken)})
    return source._replace(left_out=left_out, bad_lines=said)


def _objects(data: bytes, forced: str | None) -> contents.ParsedContent:
    """The JSON value that a file holds, or those of its lines, and the lines that are none.

    Raises ``UsageError`` for such a line where the others are nothing that is known: it is a value on several lines.
    """
    try:
        content = contents.parse(data)
        objects, broken, _ = content
        is_known = not broken or _is_document(objects, forced) or _holds_any(objects, forced)
    except TurnError as problem:
        raise UsageError(str(problem)) from None
    if not is_known:
        raise logs.NoLineLeftError(f"line {broken[0].line} is {broken[0].reason}")
    return content


def _holds_any(objects: list[Json], forced: str | None) -> bool:
    """Whether one of these holds a conversation of its own."""
    return any(isinstance(each, dict) and conversations.why_none(each, forced) is None for each in objects)


def _is_document(objects: list[Json], forced: str | None) -> bool:
    if forced in documents.names():
        return documents.get_format(forced).fits(objects) is not None
    return forced is None and documents.recognise(objects) is not None


def _lying_beside(form: str, path: str) -> Json:
    """What other files tell of a document."""
    try:
        sidecar = sidecars.read(form, path, Options())
    except OSError as problem:
        raise UsageError(f"what lies beside cannot be read ({problem.strerror})") from None
    return sidecar.content if sidecar else None
