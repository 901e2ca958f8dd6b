"""What a chat template gives at inference, and whether the rendering of a sample begins with it."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct, field

from chatsquash.records.reading import NotARecordError, parsed, record
from chatsquash.templates.confined import Template
from chatsquash.templates.counting import RefusedError, Tokenizer
from chatsquash.templates.source import unpacked

T = TypeVar("T")


class _Text(Struct, Generic[T]):
    text: bytes
    item: T

    def __lt__(self, other: _Text[T]) -> bool:
        return self.text < other.text


class LongestTexts(Struct, Generic[T]):
    """Those of some texts that no other one begins with, each with what it stands for.

    Of texts none of which begins another, those that a text begins with, or that begin with it, are its neighbours in
    order; so each text is compared with two.
    """

    _ordered: list[_Text[T]] = field(default_factory=list)

    def add(self, text: bytes, item: T, takes: Callable[[T, T], bool]) -> T | None:
        """Take the next text.

        Where one text begins with another, and ``takes(longer, shorter)`` says that the longer one's item takes that of
        the shorter, only the longer stays.  Returns the item that stays no longer, or cannot: the shorter one's, where
        it is not taken, is given back to stand for itself, whichever of both it is.
        """
        new = _Text(text, item)
        at = bisect_left(self._ordered, new)
        if at < len(self._ordered) and (longer := self._ordered[at]).text.startswith(text):
            return None if takes(longer.item, item) else item
        shorter = self._ordered[at - 1] if at and text.startswith(self._ordered[at - 1].text) else None
        if shorter is None:
            insort(self._ordered, new)
            return None
        self._ordered[at - 1] = new
        return None if takes(item, shorter.item) else shorter.item

    def items(self) -> Iterator[T]:
        """What the texts that are left stand for."""
        return (each.item for each in self._ordered)


class SampleRendering(NamedTuple):
    """The rendering of a sample."""

    text: bytes = b""
    is_true: bool = False
    """Whether it begins with what the template gives at inference, and goes on behind that."""
    problem: str = ""
    """What the template raised; empty if nothing."""


class Inference(Struct):
    """Renders the samples of a session, and knows which of them begin with others."""

    template: Template
    tokenizer: Tokenizer | None = None
    """What texts are compared by; ``None``: letter by letter."""
    longest: LongestTexts[Any] = field(default_factory=LongestTexts)

    def renderings(self, line: bytes, reply: int) -> SampleRendering:
        """The rendering of a record, of which so many messages at the end are the reply."""
        try:
            stored = record(parsed(line))
        except NotARecordError as problem:
            return SampleRendering(problem=str(problem))
        if self.template.given_up:
            return SampleRendering(problem=f"nothing more: it is {self.template.given_up}")
        prompt = self.template.render(stored.messages[:-reply], stored.tools, generation=True)
        whole = self.template.render(stored.messages, stored.tools)
        if prompt.text is None or whole.text is None:
            return SampleRendering(problem=prompt.problem or whole.problem)
        try:
            asked, said = self._spelled(prompt.text), self._spelled(whole.text)
        except RefusedError as problem:
            return SampleRendering(problem=str(problem))
        return SampleRendering(said, said.startswith(asked) and len(said) > len(asked))

    def _spelled(self, text: str) -> bytes:
        return self.tokenizer.spelled(text) if self.tokenizer else text.encode("utf-8", "surrogatepass")


def opened(template: bytes) -> Template:
    """The template of an option."""
    return Template("--template", source=unpacked(template))
