"""A record as a chat template renders it, and which of that text a trainer trains on, by the rule of the samples."""

from __future__ import annotations

from threading import Lock
from time import monotonic
from typing import NamedTuple

from chatsquash.core.marks import FLAGS
from chatsquash.core.model import Json, Message
from chatsquash.records.reading import StoredRecord

_SECONDS = 10
"""What finding the trained text of a record may take."""


class Span(NamedTuple):
    """Text that is trained on: of a reply that stands behind just what the template gives at inference."""

    begin: int
    end: int
    message: int


class Rendered(NamedTuple):
    """The rendering of a record."""

    text: str
    problem: str
    """Why there is none; empty where there is one."""
    spans: list[Span]
    untrue: list[int]
    """The replies that are to be trained on and do not stand behind what the model saw."""
    unseen: int
    """Those that were not looked for, since that takes too long."""
    tokens: int | None
    """How many it has; ``None`` where the model has no tokenizer."""
    trained: int | None
    """How many of them are trained on."""


class Model:
    """The template of a model, and its tokenizer where it has one; one record is rendered at a time."""

    def __init__(self, path: str) -> None:
        """Raises ``UsageError`` for what is no template."""
        from chatsquash.results.template import template  # which few runs need
        from chatsquash.templates.counting import Tokenizer, of_template, packed

        self.path = path
        self._template = template(path)
        folder = of_template(path)
        self._tokenizer = Tokenizer(packed(folder)) if folder else None
        self._lock = Lock()

    def close(self) -> None:
        """End the process that renders."""
        self._template.close()

    def render(self, held: StoredRecord, trained: list[int]) -> Rendered:
        """The rendering of a record of which these messages are trained on."""
        with self._lock:
            return self._rendered(held, trained)

    def _rendered(self, held: StoredRecord, trained: list[int]) -> Rendered:
        whole = self._template.render(held.messages, held.tools)
        if whole.text is None:
            return Rendered("", whole.problem, [], [], 0, None, None)
        ends = monotonic() + _SECONDS
        spans: list[Span] = []
        untrue: list[int] = []
        seen = 0
        for at in trained:
            if monotonic() > ends or self._template.given_up:
                break
            seen += 1
            span = self._span(held, at, whole.text)
            if span:
                spans.append(span)
            else:
                untrue.append(at)
        tokens, count = self._counted(whole.text, spans)
        return Rendered(whole.text, "", spans, untrue, len(trained) - seen, tokens, count)

    def _span(self, held: StoredRecord, at: int, whole: str) -> Span | None:
        """Where a reply stands in the rendering of all, if its own sample begins that."""
        prompt = self._template.render(held.messages[:at], held.tools, generation=True).text
        said = self._template.render(held.messages[: at + 1], held.tools).text
        if not prompt or not said or not said.startswith(prompt) or not whole.startswith(said):
            return None
        return Span(len(prompt), len(said), at)

    def _counted(self, text: str, spans: list[Span]) -> tuple[int | None, int | None]:
        if self._tokenizer is None:
            return None, None
        from chatsquash.templates.counting import RefusedError

        try:
            return self._tokenizer.count([text]), self._tokenizer.count([text[each.begin : each.end] for each in spans])
        except RefusedError:
            return None, None


def trained_on(value: Json, messages: list[Message]) -> list[int]:
    """The messages of a record that are trained on: by its flags, or in a completion, or all replies."""
    held: list[dict[str, Json]] = [dict(message) for message in messages]
    flags = [(name, yes) for name, (_, yes) in FLAGS.items() if any(name in message for message in held)]
    prompt = value.get("prompt") if isinstance(value, dict) and "completion" in value else None
    first = len(prompt) if isinstance(prompt, list) else 0
    spoken = [at for at, message in enumerate(held) if message["role"] == "assistant" and at >= first]
    return [at for at in spoken if not flags or any(held[at].get(name) == yes for name, yes in flags)]
