"""What a chat template gives at inference, and whether the rendering of a sample begins with it."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct, field

from chatsquash.records.reading import NotARecordError, parsed, record
from chatsquash.templates.confined import Template
from chatsquash.templates.counting import RefusedError, Tokenizer
from chatsquash.templates.prefixes import Longest
from chatsquash.templates.source import unpacked


class Told(NamedTuple):
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
    longest: Longest[Any] = field(default_factory=Longest)

    def renderings(self, line: bytes, reply: int) -> Told:
        """The rendering of a record, of which so many messages at the end are the reply."""
        try:
            held = record(parsed(line))
        except NotARecordError as problem:
            return Told(problem=str(problem))
        if self.template.given_up:
            return Told(problem=f"nothing more: it is {self.template.given_up}")
        prompt = self.template.render(held.messages[:-reply], held.tools, generation=True)
        whole = self.template.render(held.messages, held.tools)
        if prompt.text is None or whole.text is None:
            return Told(problem=prompt.problem or whole.problem)
        try:
            asked, said = self._spelled(prompt.text), self._spelled(whole.text)
        except RefusedError as problem:
            return Told(problem=str(problem))
        return Told(said, said.startswith(asked) and len(said) > len(asked))

    def _spelled(self, text: str) -> bytes:
        return self.tokenizer.spelled(text) if self.tokenizer else text.encode("utf-8", "surrogatepass")


def opened(template: bytes) -> Template:
    """The template of an option."""
    return Template("--template", source=unpacked(template))
