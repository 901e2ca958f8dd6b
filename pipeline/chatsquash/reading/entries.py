"""Lines to entries: raw requests of any format as canonical messages, with their edits, times and replies."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from chatsquash.checks import reading
from chatsquash.core import jsonio
from chatsquash.core.edits import align
from chatsquash.core.memo import Last
from chatsquash.core.model import (
    AddedRun,
    Entry,
    Message,
    RejectedLine,
    RepeatedViolation,
    SkippedLine,
    Tool,
    WrongType,
)
from chatsquash.core.times import Moment, moment
from chatsquash.formats import PLAIN, bodies, get_format
from chatsquash.formats.base import Format, Tools
from chatsquash.formats.providers.openai_chat import foreign
from chatsquash.reading import envelopes
from chatsquash.reading.bounds import BOUNDS, Bounds
from chatsquash.reading.deltas import Effort, History, Request
from chatsquash.reading.endpoints import other_endpoint
from chatsquash.reading.evidence import Shape, shape_of
from chatsquash.reading.exchange import LIMITS, OUTPUT_FORMATS, Exchange, LineError, is_blank
from chatsquash.reading.members import NOTHING, kind
from chatsquash.reading.repeated_members import NO_TOOLS, TOOLS, KnownTools, RepeatedMembers
from chatsquash.sources.lines import Line

if TYPE_CHECKING:
    from chatsquash.reading.answers import Answers, LoadedRequest
    from chatsquash.reading.loading import Loader

_HIDDEN = "what a summary replaced"
"""What of a request no record shows as the model saw it."""
_SHORT = 8
"""Bytes; shorter lines are looked at first, since a log may have millions that are blank."""


class _OtherShapeError(Exception):
    """A line whose response has nothing that the log's format knows, and all of another one."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape.response)
        self.shape = shape


class EntryReader:
    """Reads lines by the shape that the file has, and those that do not fit by their own.

    ``known`` are tools that were met in other logs and need not be parsed again, by format; ``answers`` are responses
    in other logs that requests may refer to.
    """

    def __init__(
        self,
        shape: Shape,
        known: dict[str, KnownTools],
        bounds: Bounds = BOUNDS,
        effort: Effort | None = None,
        answers: Answers | None = None,
    ) -> None:
        self._shape, self._effort, self._known, self._bounds = shape, effort or Effort(), known, bounds
        self.answers = answers
        self._stream = self._home = self._new(shape)
        self._before: list[Message] = []

    def entries(self, lines: Iterable[Line]) -> Generator[Entry | SkippedLine, None, str | None]:
        """The entries of the log's next lines, in file order, and the lines that are none.

        Returns why the rest of the log is not read, if that is so.
        """
        bounds = self._bounds
        rejected = 0
        for line in lines:
            if (
                line.length < _SHORT
                and line.length == line.stop - line.start
                and is_blank(line.buffer[line.start : line.stop])
            ):
                # The parsers say so, too, in a hundred times the time.
                yield SkippedLine(line.number, "blank", line.size)
                continue
            try:
                if line.length > bounds.light:
                    bounds.hold_size(line.buffer[line.start : line.stop], line.length)
                entry = self._settled(self._read(line))
            except LineError as problem:
                if line.length <= line.stop - line.start and is_blank(line.buffer[line.start : line.stop]):
                    yield SkippedLine(line.number, "blank", line.size)
                    continue
                if what := self._aside(line, problem):
                    yield SkippedLine(
                        line.number, "blank", line.size, findings=(RepeatedViolation("no-exchange", (what,)),)
                    )
                    continue
                yield unreadable(
                    RejectedLine(line.number, line.offset, line.length, problem.code, str(problem)), line.size
                )
                rejected += 1
                if rejected > bounds.rejected:  # each takes a thousand times the memory of its bytes
                    return bounds.too_many()
            else:
                yield entry
        return None

    def _aside(self, line: Line, problem: LineError) -> str | None:
        """What a line is that is no exchange, as its envelope tells it, which may also tell why it is none."""
        if problem.code != "bad-entry":
            return None
        data = bytes(line.buffer[line.start : line.stop])
        envelope = envelopes.recognise(data) or self._shape.envelope
        if what := other_endpoint(data, envelope):
            return f"calls of another endpoint ({what})"
        if not envelope.unwrap:
            return None
        if what := envelopes.aside(data, envelope):
            return what
        if why := envelopes.problem(data, envelope):
            problem.args = (why,)
        return None

    def _new(self, shape: Shape) -> _ShapeReader:
        if (tools := self._known.get(shape.request)) is None:
            hold = self._bounds.hold_new if shape.request == PLAIN else None  # others are held once they are loaded
            tools = self._known[shape.request] = KnownTools(hold)
        form, answers = get_format(shape.request), get_format(shape.response)
        loader = None if shape.request == PLAIN and not shape.is_mixed else self._loader(form, shape)
        history = History(form, answers, RepeatedMembers(form, tools, answers.ECHOES), self._effort)
        return _ShapeReader(shape, history, self._bounds, loader)

    def _loader(self, form: Format, shape: Shape) -> Loader:
        from chatsquash.reading.answers import Answers  # which plain chat does not need
        from chatsquash.reading.loading import Loader

        self.answers = self.answers or Answers()
        return Loader(form, self.answers, shape.is_mixed)

    def _read(self, line: Line) -> Entry:
        if self._stream is not self._home:
            self._stream = self._home = self._new(self._shape)  # a line of another shape is behind us
        try:
            return self._stream.read(line, self._other)
        except _OtherShapeError as foreign:
            other = foreign.shape
        except LineError as problem:
            shape = self._other(line) if problem.code == "bad-entry" else None
            if shape is None:
                raise
            other = shape
        is_same_logger = (other.response, other.envelope) == (self._shape.response, self._shape.envelope)
        is_usual = not self._before or (other.is_mixed and self._shape.request == PLAIN)
        self._stream = self._new(other)
        entry = self._stream.read(line)
        if is_same_logger and is_usual:
            self._shape, self._home = other, self._stream
        if is_same_logger:
            return entry  # gateways that translate responses log requests of any client
        mixed = RepeatedViolation("mixed-formats", (self._shape.request, other.request))
        return replace(entry, findings=(*entry.findings, mixed))

    def _settled(self, entry: Entry) -> Entry:
        """The entry as it differs from the one before by value, whichever way that was found."""
        messages, edits = align(self._before, entry.messages, entry.edits)
        if edits is not entry.edits:
            entry = replace(entry, messages=messages, edits=edits)
            self._stream.adopt(messages)
        self._before = messages
        return entry

    def _other(self, line: Line) -> Shape | None:
        """The shape of a line that does not have the file's, if it has one that is known."""
        if self._shape.forced:
            return None
        other = shape_of(bytes(line.buffer[line.start : line.stop]))
        return other if other and other._replace(forced=False) != self._shape else None


@dataclass(slots=True)
class _ShapeReader:
    """Neighbouring lines of one shape."""

    shape: Shape
    history: History
    bounds: Bounds
    loader: Loader | None
    """Makes messages of the turns of other formats than plain chat."""
    checked_tools: list[Tool] = field(default_factory=list)
    """The last tools that were found to be within the bounds."""
    offered: _OfferedTools = field(init=False)
    """The last tools of plain chat."""
    tools: Callable[[list[Tool]], Tools] = field(init=False)

    def __post_init__(self) -> None:
        self.tools = Last(self.history.form.tools)
        self.offered = _NOTHING_OFFERED

    def read(self, line: Line, other: Callable[[Line], Shape | None] | None = None) -> Entry:
        """Return the entry of a line; raise ``LineError`` and keep the previous entry if it has none.

        ``other`` returns the shape of a line if that is another one, which is raised.
        """
        whole, loader, line = line, self.loader, self._unwrapped(line) if self.shape.envelope.unwrap else line
        try:
            exchange, request = self.history.read(line)
            self._refuse_other_endpoint(exchange, whole)
            self.bounds.hold(request, exchange.reply)
            if other and (exchange.reply.foreign or (loader is None and _has_foreign(exchange, request))):
                _raise_other(whole, other)
            when, loaded = moment(exchange.timestamp), loader.load(exchange, request) if loader else None
            offered = self._tools_of(exchange)  # last, since it remembers them
            if other and offered.is_foreign and loader is None:
                _raise_other(whole, other)
        except RecursionError:
            raise LineError("bad-line", "nested too deeply") from None
        except jsonio.NotFiniteError as problem:
            raise LineError("bad-line", f"messages or tools hold the number {problem}, which is not JSON") from None
        except ValueError as problem:
            raise LineError("bad-line", f"no JSON object: {jsonio.refusal(problem)}") from None
        self.history.remember(request)
        messages, edits, tools, reply = request.messages, request.edits, offered.tools, exchange.reply
        findings = _losses(exchange, is_hosted=bool(offered.hosted))
        if loader and loaded:
            messages, edits = loaded.turns.messages, loaded.turns.edits
            tools = bodies.merge_tools(tools, loaded.brought)
            findings += loader.remember(loaded, exchange, request.messages)
            self.history.known.learn_system(exchange)
        is_hidden = loaded.is_hidden if loaded else reply.compacted is not None
        reply = replace(reply, cleared=_HIDDEN) if is_hidden and not reply.cleared else reply
        if when is None or when.naive or exchange.session_id is None or offered.wrong or reply.wrong or reply.cleared:
            findings = (*findings, *_lacking(when, exchange.session_id, reply.cleared, offered.wrong, reply.wrong))
        return Entry(
            *(line.number, when.at if when else None, exchange.session_id, messages, edits, tools, reply),
            size=line.size,
            findings=findings,
            has_private=loaded is not None and not loaded.turns.are_verbatim,
            limit=exchange.first(LIMITS),
            output_format=exchange.first(OUTPUT_FORMATS),
            compacted=loaded.compacted if loaded else None,
            is_translated=self.shape.request != self.shape.response,
            **_continuation(loaded),
        )

    def _refuse_other_endpoint(self, exchange: Exchange, line: Line) -> None:
        """Raise ``LineError`` for a call that has turns, but whose response is that of another endpoint."""
        if exchange.reply.message is not None or bytes(exchange.line.response) in (NOTHING, b"null"):
            return
        if other_endpoint(bytes(line.buffer[line.start : line.stop]), self.shape.envelope):
            raise LineError("bad-entry", "is a call of another endpoint")

    def _unwrapped(self, line: Line) -> Line:
        """The exchange in a line that its logger wraps as a text."""
        data = bytearray(envelopes.unwrap(bytes(line.buffer[line.start : line.stop]), self.shape.envelope))
        if len(data) > self.bounds.light:  # what stood in a string may stand there no more
            self.bounds.hold_size(data, len(data))
        return replace(line, buffer=data, start=0, stop=len(data))

    def adopt(self, messages: list[Message]) -> None:
        """Go on with these messages in the place of the equal ones that were read last."""
        if self.loader:
            self.loader.adopt(messages)
        else:
            self.history.messages = messages

    def _tools_of(self, exchange: Exchange) -> _OfferedTools:
        raw: Any = exchange.first(self.history.form.TOOLS) if exchange.tools is None else exchange.tools
        if raw in (NOTHING, b"null"):
            return _NOTHING_OFFERED
        if self.loader is None:
            if exchange.tools is None and raw[:1] != b"[" and raw != TOOLS:
                return _OfferedTools(NO_TOOLS, wrong=WrongType("request.tools", kind(raw)))
            tools = self.history.learn_tools(raw)
            if tools is not self.offered.tools:
                self.offered = _OfferedTools(tools, is_foreign=any(map(foreign.is_foreign_tool, tools)))
            return self.offered
        loaded = self.tools(self.history.learn_tools(raw))
        if loaded.functions is not self.checked_tools:  # those of plain chat are checked as they are read
            self.bounds.hold_tools(loaded.functions)
            self.checked_tools = loaded.functions
        return _OfferedTools(loaded.functions, hosted=bool(loaded.hosted))


def _continuation(loaded: LoadedRequest | None) -> dict[str, Any]:
    """What an entry says of the earlier one that it continues, if that is not the one before."""
    return {"known": loaded.known, "continued": loaded.continued} if loaded and loaded.known else {}


def _raise_other(line: Line, other: Callable[[Line], Shape | None]) -> None:
    """Raise the other shape of a line, if it has one."""
    if shape := other(line):
        raise _OtherShapeError(shape)


def _has_foreign(exchange: Exchange, request: Request) -> bool:
    """Whether a request of plain chat adds content of another format, or has its system prompt outside the messages."""
    for run in request.edits:
        if type(run) is AddedRun and foreign.any_foreign(run.messages):
            return True
    members = exchange.request
    if "system" not in members and "instructions" not in members:
        return False
    return any(name in members and bytes(members[name]) not in _NO_PROMPT for name in foreign.SYSTEM)


_NO_PROMPT = (NOTHING, b"null", b'""', b"[]")


class _OfferedTools(NamedTuple):
    """The tools of a request."""

    tools: list[Tool]
    hosted: bool = False
    """Whether there are tools that the provider runs itself."""
    wrong: WrongType | None = None
    is_foreign: bool = False
    """Whether a definition is spelled as another format has it."""


_NOTHING_OFFERED = _OfferedTools(NO_TOOLS)


def unreadable(rejected: RejectedLine, size: int) -> SkippedLine:
    """A line that cannot be read, and its bytes with the line feed."""
    make = reading.bad_line if rejected.code == "bad-line" else reading.bad_entry
    return SkippedLine(rejected.line, "unreadable", size, rejected=rejected, findings=(make(rejected.reason),))


def _losses(exchange: Exchange, *, is_hosted: bool) -> tuple[RepeatedViolation, ...]:
    """Return what is reported of tools that the provider runs, and of what the logger cut."""
    hosted = (RepeatedViolation("hosted-tools"),) if is_hosted else ()
    return (*hosted, RepeatedViolation("truncated-by-logger", (cut,))) if (cut := exchange.cut) else hosted


def _lacking(
    when: Moment | None, session_id: str | None, cleared: str, *wrong: WrongType | None
) -> Iterator[RepeatedViolation]:
    """What a line lacks; each is reported once per session."""
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
