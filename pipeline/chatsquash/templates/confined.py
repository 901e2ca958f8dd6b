"""Compile and render chat templates in a separate process with limits on time and memory.

``Inference`` compares the rendering of a sample with the prompt that the template renders at inference.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from msgspec import Struct, field

from chatsquash.checks.template import Expectation, Trial
from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.token_ids import big_endian
from chatsquash.records import NotARecordError
from chatsquash.records.reading import parse, record
from chatsquash.storage.confine.process import Confined, EndedError, OutOfMemoryError, OutOfTimeError
from chatsquash.templates.counting import RefusedError, Tokenizer
from chatsquash.templates.source import LONGEST, TemplateOutput, TemplateSource, read, unpack

if TYPE_CHECKING:
    from chatsquash.core.model import Json, Message

_SLOW_RECORDS = 20
"""Slow records after which a template is given up; a record is slow if it takes over a tenth of its time limit."""
_MAX_ANSWER = 6 * LONGEST + (1 << 20)
"""Bytes of a response: at most six per character of the rendering, plus the other members."""


class RenderBounds(NamedTuple):
    """Limits for rendering a record."""

    seconds: float = 10
    memory: int = 1_000_000_000
    """Bytes in addition to those of the interpreter and the package."""

    @property
    def slow(self) -> float:
        """The number of seconds after which a record counts as slow."""
        return self.seconds / 10


BOUNDS = RenderBounds()


class Template:
    """The template of a file, rendered in a process that is replaced only after a record exceeds the limits."""

    def __init__(self, path: str, bounds: RenderBounds = BOUNDS, source: TemplateSource | None = None) -> None:
        """Start the process and compile the template.

        Args:
            path: The template, as for ``source.read``.
            bounds: The limits for compiling it and for each record.
            source: The content of the file, if it was read already.

        Raises:
            UsageError: The file has no template, or it cannot be compiled within the limits.
        """
        self._path = path
        self._source = source or read(path)
        self.bounds = bounds
        self._process: Confined | None = None
        self._slow = 0
        self._is_pending = False
        self._ensure_process()

    @property
    def description(self) -> str:
        """When each of several templates is used, or an empty string if there is only one."""
        return self._source.description

    @property
    def given_up(self) -> str:
        """Why the template is no longer used; empty while it is."""
        if self._slow < _SLOW_RECORDS:
            return ""
        slow = f"{_SLOW_RECORDS} records that took over {self.bounds.slow:g} s each"
        return f"stopped after {slow} (--render-time allows more)"

    def render(self, messages: list[Message], tools: Json, *, generation: bool = False) -> TemplateOutput:
        """Render a record; ``generation`` is as for ``Renderer``."""
        self._begin("render", messages, tools, generation)
        text, problem = self._answer(self.bounds.seconds, counts=True)[:2]
        return TemplateOutput(text, problem)

    def begin(self, messages: list[Message], tools: Json) -> None:
        """Start a trial; ``trial`` returns its result."""
        self._begin("trial", messages, tools)

    def trial(self, messages: list[Message]) -> Trial:
        """Return the result of the trial that ``begin`` started."""
        return _trial(messages, self._answer(self.bounds.seconds, counts=True))

    def try_variant(self, messages: list[Message], tools: Json, seconds: float) -> Trial:
        """Run a trial with a variant of a record; it never counts as a slow record."""
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
        if self._is_pending:  # its unread response would be taken for the next one
            self.close()
        self._ensure_process().begin(jsonio.dumps([*request]))
        self._is_pending = True

    def _answer(self, seconds: float, *, counts: bool) -> list[Any]:
        """Return the response of ``worker``, or no text and the problem if the limits were exceeded."""
        process = self._ensure_process()
        try:
            duration, *answer = list[Any](jsonio.loads(process.answer(_MAX_ANSWER, seconds)))
        except EndedError as problem:
            self._process = None
            duration, answer = seconds, [None, f"{type(problem).__name__}: {self._why(problem, 'the record')}"]
        self._is_pending = False
        if counts:
            self.count_slow(duration)
        return answer

    def _ensure_process(self) -> Confined:
        """Return the process, which is started if necessary."""
        if self._process is None:
            process = Confined("chatsquash.templates.worker", self.bounds.memory, self.bounds.seconds)
            process.begin(jsonio.dumps(["open", self._path, *self._source]))
            try:
                problem = jsonio.loads(process.answer(_MAX_ANSWER))
            except EndedError as error:
                problem = f"{self._path}: the template cannot be used: {self._why(error, 'compiling it')}"
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

    def add(self, text: bytes, item: T, includes: Callable[[T, T], bool]) -> T | None:
        """Add a text.

        If one text is a prefix of another, only the longer one stays. ``includes(longer, shorter)`` returns whether the
        item of the longer text includes that of the shorter.

        Returns:
            The item of the shorter text if it is not included; otherwise ``None``.
        """
        new = _OrderedText(text, item)
        at = bisect_left(self._entries, new)
        if at < len(self._entries) and (longer := self._entries[at]).text.startswith(text):
            return None if includes(longer.item, item) else item
        shorter = self._entries[at - 1] if at and text.startswith(self._entries[at - 1].text) else None
        if shorter is None:
            insort(self._entries, new)
            return None
        self._entries[at - 1] = new
        return None if includes(item, shorter.item) else shorter.item

    def items(self) -> Iterator[T]:
        """Return the items of the remaining texts."""
        return (each.item for each in self._entries)


class SampleRendering(NamedTuple):
    """The rendering of a sample."""

    text: bytes = b""
    is_true: bool = False
    """Whether it starts with the prompt that the template renders at inference, and continues after it."""
    problem: str = ""
    """The exception that the template raised, if any."""


class Inference(Struct):
    """Render the samples of a session, and collect those that are not a prefix of another."""

    template: Template
    tokenizer: Tokenizer | None = None
    """If given, texts are compared by tokens instead of bytes."""
    longest: LongestTexts[Any] = field(default_factory=LongestTexts)

    def renderings(self, line: bytes, reply: int) -> SampleRendering:
        """Render a record whose last ``reply`` messages are the reply."""
        try:
            sample = record(parse(line))
        except NotARecordError as problem:
            return SampleRendering(problem=str(problem))
        if self.template.given_up:
            return SampleRendering(problem=f"no further records: rendering was {self.template.given_up}")
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


class Rerendering(NamedTuple):
    """Renders and tokenizes records, to compare the result with logged token ids."""

    template: Template
    tokenizer: Tokenizer

    def is_same(self, line: bytes, ids: bytes) -> bool:
        """Return whether the tokens of a rendered record begin with packed ids.

        The rendering may have more tokens at its end, such as a line break after the end of a turn.
        """
        try:
            sample = record(parse(line))
        except NotARecordError:
            return False
        if self.template.given_up:
            return False
        text = self.template.render(sample.messages, sample.tools).text
        try:
            return text is not None and self.tokenizer.token_bytes(text).startswith(big_endian(ids))
        except RefusedError:
            return False


def open_template(template: bytes) -> Template:
    """Open the template of the ``template`` option."""
    return Template("--template", source=unpack(template))
