"""Convert lines to entries: requests of any format as canonical messages, with their edits, times and replies."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from chatsquash.checks import reading
from chatsquash.core import jsonio
from chatsquash.core.edits import align
from chatsquash.core.lazy import LazyModule
from chatsquash.core.memo import Last
from chatsquash.core.model import (
    AddedRun,
    Entry,
    Message,
    RejectedLine,
    RepeatedViolation,
    Response,
    SkippedLine,
    Tool,
    WrongType,
)
from chatsquash.core.scores import MAX_SCORES, Score
from chatsquash.core.times import Moment, moment
from chatsquash.formats import PLAIN, get_format
from chatsquash.formats.base import Format, Tools
from chatsquash.formats.definitions import share
from chatsquash.formats.providers.openai_chat.members import SYSTEM, any_foreign, is_foreign_tool
from chatsquash.reading import envelopes
from chatsquash.reading.bounds import Bounds
from chatsquash.reading.deltas import Effort, History, Request
from chatsquash.reading.evidence import Shape, shape_of
from chatsquash.reading.exchange import LIMITS, OUTPUT_FORMATS, Exchange, LineError, is_blank
from chatsquash.reading.members import NOTHING, kind
from chatsquash.reading.repeats import NO_TOOLS, TOOLS, KnownTools, RepeatedMembers
from chatsquash.sources.lines import Line

if TYPE_CHECKING:
    from chatsquash.core.score_rows import ScoreRow
    from chatsquash.formats import bodies
    from chatsquash.reading import endpoints
    from chatsquash.reading.answers import Answers, LoadedRequest
    from chatsquash.reading.loading import Loader
    from chatsquash.reading.score_files import ScoreJoin
else:
    bodies = LazyModule("chatsquash.formats.bodies")
    endpoints = LazyModule("chatsquash.reading.endpoints")

_LIMITS = frozenset((*LIMITS, *OUTPUT_FORMATS))
_HIDDEN = "the history that a summary replaced"
"""The part of a request that a record cannot show in the form that the model saw."""
_SHORT = 8
"""The number of bytes below which a line is checked for being blank before it is parsed."""


class _OtherShapeError(Exception):
    """The evidence in a line is for another shape and not for the expected one."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape.response)
        self.shape = shape


class EntryReader:
    """Reads lines in the shape of the file, and lines that do not fit in their own shape.

    Args:
        shape: The shape of the file's lines.
        known: Tools from other logs by format, which need not be parsed again.
        bounds: The limits of lines.
        effort: Counts the work, for tests.
        answers: Responses in other logs that requests may refer to.
    """

    def __init__(
        self,
        shape: Shape,
        known: dict[str, KnownTools],
        bounds: Bounds,
        effort: Effort | None = None,
        answers: Answers | None = None,
    ) -> None:
        self._shape, self._effort, self._known, self._bounds = shape, effort or Effort(), known, bounds
        self.join: ScoreJoin | None = None
        """Adds scores that are logged apart from exchanges."""
        self.answers = answers
        self._stream = self._home = self._new(shape)
        self._before: list[Message] = []

    def first_entries(self, head: list[Line]) -> list[Entry] | None:
        """Return the entries of a log's first lines if all of these are usual entries that are certainly plain chat.

        Otherwise, return ``None``; this reader must then not be used anymore.

        Raises:
            UncertainError: A line is not certainly plain chat.
        """
        entries: list[Entry] = []
        self._stream.history.is_first = True
        for line in head:
            if line.length > self._bounds.safe_size:
                return None
            try:
                entries.append(self._normalize(self._stream.read(line, self._other_shape)))
            except (LineError, _OtherShapeError):
                return None
        self._stream.history.is_first = False
        return entries

    def entries(
        self, lines: Iterable[Line], first: Iterable[Entry] = ()
    ) -> Generator[Entry | SkippedLine, None, str | None]:
        """Yield the ``first`` entries, those of the next lines, and the lines without entries, in file order.

        Returns the reason for not reading the rest of the log, or ``None``.
        """
        yield from first
        bounds = self._bounds
        rejected = 0
        for line in lines:
            if (
                line.length < _SHORT
                and line.length == line.stop - line.start
                and is_blank(line.buffer[line.start : line.stop])
            ):
                # The parsers detect blank lines as well, but a hundred times more slowly, and a log may have millions.
                yield SkippedLine(line.number, "blank", line.size)
                continue
            # Attempts to read them as exchanges would take ten times as long.
            if self.join and line.length <= bounds.safe_size and (item := self._scores_apart(line)):
                yield item
                continue
            try:
                if line.length > bounds.safe_size:
                    bounds.check_size(line.buffer[line.start : line.stop], line.length)
                entry = self._normalize(self._read(line))
            except LineError as problem:
                if line.length <= line.stop - line.start and is_blank(line.buffer[line.start : line.stop]):
                    yield SkippedLine(line.number, "blank", line.size)
                    continue
                if description := self._describe_non_exchange(line, problem):
                    yield _non_exchange(line, description)
                    continue
                yield unreadable(
                    RejectedLine(line.number, line.offset, line.length, problem.code, str(problem)), line.size
                )
                rejected += 1
                # A rejected line takes a thousand times the memory of its bytes.
                if rejected > bounds.rejected:
                    return bounds.too_many()
            else:
                yield self._with_scores(entry, line) if self.join else entry
        return None

    def _with_scores(self, entry: Entry, line: Line) -> Entry:
        """Add the scores of an exchange that are logged apart from it."""
        more = self.join.scores(bytes(line.buffer[line.start : line.stop])) if self.join else ()
        return replace(entry, scores=tuple(dict.fromkeys((*entry.scores, *more)))[:MAX_SCORES]) if more else entry

    def _describe_non_exchange(self, line: Line, problem: LineError) -> str | None:
        """Describe a line that is not meant to be an exchange; put the envelope's reason, if any, into ``problem``."""
        if problem.code != "bad-entry":
            return None
        data = bytes(line.buffer[line.start : line.stop])
        envelope = envelopes.recognise(data) or self._shape.envelope
        if endpoint := endpoints.other_endpoint(data, envelope):
            return f"calls to another endpoint ({endpoint})"
        if not envelope.unwrap:
            return None
        if description := envelopes.describe_non_exchange(data, envelope):
            return description
        if why := envelopes.problem(data, envelope):
            problem.args = (why,)
        return None

    def _scores_apart(self, line: Line) -> SkippedLine | None:
        """Return the item for a line with scores of other lines, or ``None`` for any other line."""
        data, envelope = bytes(line.buffer[line.start : line.stop]), self._shape.envelope
        rows = envelopes.score_rows_of(data, envelope)
        description = envelopes.describe_non_exchange(data, envelope) if rows else None
        return _non_exchange(line, description, tuple(rows)) if description else None

    def _new(self, shape: Shape) -> _ShapeReader:
        form = get_format(shape.request)
        if (tools := self._known.get(shape.request)) is None:
            # Tools of other formats are checked after conversion.
            check = self._bounds.check_new_tools if shape.request == PLAIN else None
            tools = self._known[shape.request] = KnownTools(check, Last(partial(_convert_tools, form)))
        answers = form if shape.response == shape.request else get_format(shape.response)
        loader = None if shape.request == PLAIN and not shape.is_mixed else self._loader(form, shape)
        history = History(form, answers, RepeatedMembers(form, tools, answers.ECHOES), self._effort)
        return _ShapeReader(shape, history, self._bounds, loader)

    def _loader(self, form: Format, shape: Shape) -> Loader:
        from chatsquash.reading.answers import Answers  # imported late because plain chat does not need it
        from chatsquash.reading.loading import Loader

        self.answers = self.answers or Answers()
        return Loader(form, self.answers, shape.is_mixed)

    def _read(self, line: Line) -> Entry:
        if self._stream is not self._home:
            # The previous line had a different shape, so return to the shape of the file.
            self._stream = self._home = self._new(self._shape)
        try:
            return self._stream.read(line, self._other_shape)
        except _OtherShapeError as foreign:
            other = foreign.shape
        except LineError as problem:
            shape = self._other_shape(line) if problem.code == "bad-entry" else None
            if shape is None:
                raise
            other = shape
        is_same_logger = (other.response, other.envelope) == (self._shape.response, self._shape.envelope)
        # Any plain chat request may have content of other formats, so one such line changes the shape of the file.
        is_usual = not self._before or (other.is_mixed and self._shape.request == PLAIN)
        self._stream = self._new(other)
        entry = self._stream.read(line)
        if is_same_logger and is_usual:
            self._shape, self._home = other, self._stream
        if is_same_logger:
            # Gateways that translate responses log requests from clients of all kinds.
            return entry
        finding = RepeatedViolation("mixed-formats", (self._shape.request, other.request))
        return replace(entry, findings=(*entry.findings, finding))

    def _normalize(self, entry: Entry) -> Entry:
        """Return the entry with edits relative to the previous entry by value, however they were determined."""
        messages, edits = align(self._before, entry.messages, entry.edits)
        if edits is not entry.edits:
            entry = replace(entry, messages=messages, edits=edits)
            self._stream.adopt(messages)
        self._before = messages
        return entry

    def _other_shape(self, line: Line) -> Shape | None:
        """Return the shape of a line if it is recognized and differs from the shape of the file."""
        if self._shape.forced:
            return None
        other = shape_of(bytes(line.buffer[line.start : line.stop]))
        return other if other and replace(other, forced=False) != self._shape else None


class _RequestTools(Struct, frozen=True):
    """The tools of a request."""

    tools: list[Tool]
    hosted: bool = False
    """Whether the provider runs some of the tools itself."""
    wrong: WrongType | None = None
    is_foreign: bool = False
    """Whether a definition has the structure of another format."""


_NO_REQUEST_TOOLS = _RequestTools(NO_TOOLS)


class _ShapeReader(Struct):
    """Reads consecutive lines of one shape."""

    shape: Shape
    history: History
    bounds: Bounds
    loader: Loader | None
    """Converts turns to messages, for formats other than plain chat."""
    checked_tools: list[Tool] = field(default_factory=list)
    """The last tools that passed the limits."""
    last_tools: _RequestTools = _NO_REQUEST_TOOLS
    """The last tools of plain chat requests."""

    def read(self, line: Line, other: Callable[[Line], Shape | None] | None = None) -> Entry:
        """Return the entry of a line; ``other`` returns the shape of a line that has a different one.

        Raises:
            LineError: The line is not an entry; the previous entry is retained.
            _OtherShapeError: The line has the shape returned by ``other``.
        """
        original, loader, line = line, self.loader, self._unwrap(line) if self.shape.envelope.unwrap else line
        try:
            exchange, request = self.history.read(line)
            if exchange.reply.message is None:
                self._reject_other_endpoint(exchange, original)
            self.bounds.check(request, exchange.reply)
            if other and (exchange.reply.foreign or (loader is None and _has_foreign(exchange, request))):
                _raise_other(original, other)
            when, loaded_request = moment(exchange.timestamp), loader.load(exchange, request) if loader else None
            request_tools = self._tools_of(exchange)  # last, since they are remembered unless the line is rejected
            if other and request_tools.is_foreign and loader is None:
                _raise_other(original, other)
        except (RecursionError, ValueError) as problem:
            raise _bad_line(problem) from None
        self.history.remember(request)
        messages, edits, tools, wrong = request.messages, request.edits, request_tools.tools, request_tools.wrong
        findings = _losses(exchange.cut, is_hosted=request_tools.hosted)
        if loader and loaded_request:
            messages, edits = loaded_request.turns.messages, loaded_request.turns.edits
            tools = bodies.merge_tools(tools, loaded_request.turn_tools)
            findings += loader.remember(loaded_request, exchange, request.messages)
            self.history.known.learn_system(exchange)
        reply = _cleared_if_hidden(exchange.reply, loaded_request)
        if when is None or when.naive or exchange.session_id is None or wrong or reply.wrong or reply.cleared:
            findings = (*findings, *_missing_members(when, exchange.session_id, reply.cleared, wrong, reply.wrong))
        return Entry(
            *(line.number, when.at if when else None, exchange.session_id, messages, edits, tools, reply),
            size=line.size,
            findings=findings,
            has_private=loaded_request is not None and not loaded_request.turns.are_verbatim,
            limit=NOTHING if _LIMITS.isdisjoint(exchange.request) else exchange.first(LIMITS),
            output_format=NOTHING if _LIMITS.isdisjoint(exchange.request) else exchange.first(OUTPUT_FORMATS),
            compacted=loaded_request.compacted if loaded_request else None,
            is_translated=self.shape.request != self.shape.response,
            known=loaded_request.known if loaded_request else 0,
            continued=loaded_request.continued if loaded_request else None,
            scores=self._scores(original) if self.shape.envelope.scores else (),
        )

    def _scores(self, line: Line) -> tuple[Score, ...]:
        return envelopes.scores_of(bytes(line.buffer[line.start : line.stop]), self.shape.envelope)

    def _reject_other_endpoint(self, exchange: Exchange, line: Line) -> None:
        """Raise ``LineError`` for a call that has turns, but the response of an endpoint without conversations."""
        has_response = bytes(exchange.line.response) not in (NOTHING, b"null")
        if has_response and endpoints.other_endpoint(bytes(line.buffer[line.start : line.stop]), self.shape.envelope):
            raise LineError("bad-entry", "call to another endpoint")

    def _unwrap(self, line: Line) -> Line:
        """Return the exchange in a line, without the envelope of its logger."""
        data = bytearray(envelopes.unwrap(bytes(line.buffer[line.start : line.stop]), self.shape.envelope))
        # Escaped brackets in a string become nesting, so the size is checked again.
        if len(data) > self.bounds.safe_size:
            self.bounds.check_size(data, len(data))
        return replace(line, buffer=data, start=0, stop=len(data))

    # Equal messages then share their objects.
    def adopt(self, messages: list[Message]) -> None:
        """Continue with these messages instead of the equal ones read last."""
        if self.loader:
            self.loader.adopt(messages)
        else:
            self.history.messages = messages

    def _tools_of(self, exchange: Exchange) -> _RequestTools:
        raw: Any = exchange.first(self.history.form.TOOLS) if exchange.tools is None else exchange.tools
        if raw in (NOTHING, b"null"):
            return _NO_REQUEST_TOOLS
        if self.loader is None:
            if exchange.tools is None and raw[:1] != b"[" and raw != TOOLS:
                return _RequestTools(NO_TOOLS, wrong=WrongType("request.tools", kind(raw)))
            tools = self.history.learn_tools(raw)
            if tools is not self.last_tools.tools:
                self.last_tools = _RequestTools(tools, is_foreign=any(map(is_foreign_tool, tools)))
            return self.last_tools
        converted = self.history.known.tools.convert(self.history.learn_tools(raw))
        # Tools of plain chat are already checked when they are read.
        if converted.functions is not self.checked_tools:
            self.bounds.check_tools(converted.functions)
            self.checked_tools = converted.functions
        return _RequestTools(converted.functions, hosted=bool(converted.hosted))


def _convert_tools(form: Format, tools: list[Tool]) -> Tools:
    """Convert tools to those of plain chat; equal definitions share a conversion."""
    return form.tools(share(tools))


def _cleared_if_hidden(reply: Response, loaded_request: LoadedRequest | None) -> Response:
    """Mark a reply as cleared if its request hides the history that a summary replaced."""
    is_hidden = loaded_request.is_hidden if loaded_request else reply.compacted is not None
    return replace(reply, cleared=_HIDDEN) if is_hidden and not reply.cleared else reply


def _bad_line(problem: RecursionError | ValueError) -> LineError:
    """Return the error for a line that cannot be parsed."""
    if isinstance(problem, RecursionError):
        return LineError("bad-line", "nested too deeply")
    if isinstance(problem, jsonio.NotFiniteError):
        return LineError("bad-line", f"messages or tools contain the number {problem}, which is not JSON")
    return LineError("bad-line", f"not a JSON object: {jsonio.refusal(problem)}")


def _raise_other(line: Line, other: Callable[[Line], Shape | None]) -> None:
    """Raise ``_OtherShapeError`` if a line has another shape."""
    if shape := other(line):
        raise _OtherShapeError(shape)


def _has_foreign(exchange: Exchange, request: Request) -> bool:
    """Return whether a plain chat request has new content of another format or a separate system prompt."""
    for run in request.edits:
        if type(run) is AddedRun and any_foreign(run.messages):
            return True
    members = exchange.request
    if "system" not in members and "instructions" not in members:
        return False
    return any(name in members and bytes(members[name]) not in _NO_PROMPT for name in SYSTEM)


_NO_PROMPT = (NOTHING, b"null", b'""', b"[]")


def _non_exchange(line: Line, description: str, scores: tuple[ScoreRow, ...] = ()) -> SkippedLine:
    """Return the item for a line that is not an exchange."""
    finding = RepeatedViolation("no-exchange", (description,))
    return SkippedLine(line.number, "blank", line.size, findings=(finding,), scores=scores)


def unreadable(rejected: RejectedLine, size: int) -> SkippedLine:
    """Return the item for an unreadable line; ``size`` includes the line feed."""
    make = reading.bad_line if rejected.code == "bad-line" else reading.bad_entry
    return SkippedLine(rejected.line, "unreadable", size, rejected=rejected, findings=(make(rejected.reason),))


def _losses(cut: str | None, *, is_hosted: bool) -> tuple[RepeatedViolation, ...]:
    """Return the findings about tools run by the provider and about content that the logger truncated."""
    if not cut and not is_hosted:
        return ()
    findings = (RepeatedViolation("hosted-tools"),) if is_hosted else ()
    return (*findings, RepeatedViolation("truncated-by-logger", (cut,))) if cut else findings


def _missing_members(
    when: Moment | None, session_id: str | None, cleared: str, *wrong: WrongType | None
) -> Iterator[RepeatedViolation]:
    """Yield the findings about missing or wrong members of a line, each of which is reported once per session."""
    if when is None:
        yield RepeatedViolation("missing-timestamp")
    elif when.naive:
        yield RepeatedViolation("naive-timestamp")
    if session_id is None:
        yield RepeatedViolation("missing-session-id")
    if cleared:
        yield RepeatedViolation("context-cleared", (cleared,))
    for each in filter(None, wrong):
        yield RepeatedViolation("wrong-type", (each.what, each.seen))
