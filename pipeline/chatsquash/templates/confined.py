"""Chat templates that are compiled and rendered in a separate process with limits on time and memory.

``Inference`` compares what a template renders with what it gives at inference.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from msgspec import Struct, field

from chatsquash.checks.template import Expectation, Trial
from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.records.line import NotARecordError
from chatsquash.records.reading import parse, record
from chatsquash.storage.confine.process import Confined, EndedError, OutOfMemoryError, OutOfTimeError
from chatsquash.templates.counting import RefusedError, Tokenizer
from chatsquash.templates.source import LONGEST, TemplateOutput, TemplateSource, read, unpack

if TYPE_CHECKING:
    from chatsquash.core.model import Json, Message

_SLOW_RECORDS = 20
"""Records that take over a tenth of their time, after which a template is given up."""
_MAX_ANSWER = 6 * LONGEST + (1 << 20)
"""Bytes of an answer: what a character takes at most, and what stands around."""


class RenderBounds(NamedTuple):
    """What rendering a record may take."""

    seconds: float = 10
    memory: int = 1_000_000_000
    """Bytes beside those of the interpreter and the package."""

    @property
    def slow(self) -> float:
        """The seconds beyond which a record is slow."""
        return self.seconds / 10


BOUNDS = RenderBounds()


class Template:
    """The template of a file; one process compiles it and renders all records until one exceeds the bounds."""

    def __init__(self, path: str, bounds: RenderBounds = BOUNDS, source: TemplateSource | None = None) -> None:
        """``source``: the content of the file, if it was read already.

        Raises ``UsageError`` for a file without a template, or with one that cannot be compiled within the bounds.
        """
        self._path = path
        self._source = source or read(path)
        self.bounds = bounds
        self._process: Confined | None = None
        self._slow = 0
        self._is_pending = False
        self._start()

    @property
    def description(self) -> str:
        """Which of several templates is used when; empty if there is only one."""
        return self._source.description

    @property
    def given_up(self) -> str:
        """Why the template is not used any more; empty while it is."""
        if self._slow < _SLOW_RECORDS:
            return ""
        slow = f"{_SLOW_RECORDS} records that took over {self.bounds.slow:g} s each"
        return f"given up after {slow} (--render-time allows more)"

    def render(self, messages: list[Message], tools: Json, *, generation: bool = False) -> TemplateOutput:
        """The text of a record; ``generation`` is as for ``Renderer``."""
        self._begin("render", messages, tools, generation)
        text, problem = self._answer(self.bounds.seconds, counts=True)[:2]
        return TemplateOutput(text, problem)

    def begin(self, messages: list[Message], tools: Json) -> None:
        """Start a trial, whose result ``trial`` returns."""
        self._begin("trial", messages, tools)

    def trial(self, messages: list[Message]) -> Trial:
        """What the template renders of the record, and what is missing or wrong in it."""
        return _trial(messages, self._answer(self.bounds.seconds, counts=True))

    def attempt(self, messages: list[Message], tools: Json, seconds: float) -> Trial:
        """The same for a variant of a record, which does not count as slow."""
        self._begin("trial", messages, tools)
        return _trial(messages, self._answer(seconds, counts=False))

    def count_slow(self, seconds: float) -> None:
        """Count a record if it was slow."""
        self._slow += seconds > self.bounds.slow

    def close(self) -> None:
        """End the process."""
        if self._process:
            self._process.close()
            self._process = None
        self._is_pending = False

    def _begin(self, *request: Json) -> None:
        if self._is_pending:  # what nobody asked for would be taken for this answer
            self.close()
        self._start().begin(jsonio.dumps([*request]))
        self._is_pending = True

    def _answer(self, seconds: float, *, counts: bool) -> list[Any]:
        """The answer of ``chatsquash.templates.worker``; no text and the problem where it went beyond the bounds."""
        process = self._start()
        try:
            took, *answer = list[Any](jsonio.loads(process.answer(_MAX_ANSWER, seconds)))
        except EndedError as problem:
            self._process = None
            took, answer = seconds, [None, f"{type(problem).__name__}: {self._why(problem, 'the record')}"]
        self._is_pending = False
        if counts:
            self.count_slow(took)
        return answer

    def _start(self) -> Confined:
        """The process, which is started when there is none."""
        if self._process is None:
            process = Confined("chatsquash.templates.worker", self.bounds.memory, self.bounds.seconds)
            process.begin(jsonio.dumps(["open", self._path, *self._source]))
            try:
                problem = jsonio.loads(process.answer(_MAX_ANSWER))
            except EndedError as error:
                problem = f"{self._path}: is not a template that can be used: {self._why(error, 'compiling it')}"
            if problem:
                process.close()
                raise UsageError(problem)
            self._process = process
        return self._process

    def _why(self, problem: EndedError, what: str) -> str:
        if isinstance(problem, OutOfTimeError):
            return f"{what} takes longer than {self.bounds.seconds:g} s (--render-time allows more)"
        if isinstance(problem, OutOfMemoryError):
            return f"{what} takes more than {self.bounds.memory:,} bytes of memory (--render-memory allows more)"
        return f"{what} failed, {problem}"


def _trial(messages: list[Message], answer: list[Any]) -> Trial:
    if len(answer) == len(TemplateOutput._fields):
        return Trial(messages, None, answer[1], beyond=True)
    text, problem, sought, *places, nulls, flat, empty, beyond = answer
    missing, twice, spelled = (tuple(Expectation(*each) for each in kind) for kind in places)
    return Trial(messages, text, problem, frozenset(sought), missing, twice, spelled, tuple(nulls), flat, empty, beyond)


T = TypeVar("T")


class _OrderedText(Struct, Generic[T]):
    text: bytes
    item: T

    def __lt__(self, other: _OrderedText[T]) -> bool:
        return self.text < other.text


class LongestTexts(Struct, Generic[T]):
    """The texts that are not a prefix of another, each with its item.

    If no text is a prefix of another, a new text can only be a prefix of its successor in order, and only its
    predecessor can be a prefix of it; so each text is compared with two.
    """

    _entries: list[_OrderedText[T]] = field(default_factory=list)

    def add(self, text: bytes, item: T, takes: Callable[[T, T], bool]) -> T | None:
        """Add a text.

        If one text is a prefix of another, only the longer one stays, and ``takes(longer, shorter)`` says whether its
        item includes that of the shorter. Returns the item of the shorter text, whichever it is, if it is not included.
        """
        new = _OrderedText(text, item)
        at = bisect_left(self._entries, new)
        if at < len(self._entries) and (longer := self._entries[at]).text.startswith(text):
            return None if takes(longer.item, item) else item
        shorter = self._entries[at - 1] if at and text.startswith(self._entries[at - 1].text) else None
        if shorter is None:
            insort(self._entries, new)
            return None
        self._entries[at - 1] = new
        return None if takes(item, shorter.item) else shorter.item

    def items(self) -> Iterator[T]:
        """The items of the remaining texts."""
        return (each.item for each in self._entries)


class SampleRendering(NamedTuple):
    """The rendering of a sample."""

    text: bytes = b""
    is_true: bool = False
    """Whether it begins with the prompt that the template renders at inference, and continues after that."""
    problem: str = ""
    """What the template raised; empty if nothing."""


class Inference(Struct):
    """Render the samples of a session, and keep those that are not a prefix of others."""

    template: Template
    tokenizer: Tokenizer | None = None
    """Compares texts by tokens; ``None``: by bytes."""
    longest: LongestTexts[Any] = field(default_factory=LongestTexts)

    def renderings(self, line: bytes, reply: int) -> SampleRendering:
        """The rendering of a record whose last ``reply`` messages are the reply."""
        try:
            sample = record(parse(line))
        except NotARecordError as problem:
            return SampleRendering(problem=str(problem))
        if self.template.given_up:
            return SampleRendering(problem=f"nothing more: it is {self.template.given_up}")
        prompt = self.template.render(sample.messages[:-reply], sample.tools, generation=True)
        full = self.template.render(sample.messages, sample.tools)
        if prompt.text is None or full.text is None:
            return SampleRendering(problem=prompt.problem or full.problem)
        try:
            prompt_bytes, full_bytes = self._encode(prompt.text), self._encode(full.text)
        except RefusedError as problem:
            return SampleRendering(problem=str(problem))
        return SampleRendering(full_bytes, full_bytes.startswith(prompt_bytes) and len(full_bytes) > len(prompt_bytes))

    def _encode(self, text: str) -> bytes:
        return self.tokenizer.token_bytes(text) if self.tokenizer else text.encode("utf-8", "surrogatepass")


def open_template(template: bytes) -> Template:
    """The template of an option."""
    return Template("--template", source=unpack(template))
