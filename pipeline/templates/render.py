"""A record as a chat template renders it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2.exceptions import TemplateError

from pipeline.errors import UsageError
from pipeline.templates.environment import compiled
from pipeline.templates.source import Source, read

if TYPE_CHECKING:
    from jinja2 import Template

    from pipeline.model import Json, Message

_REASONING = ("reasoning_content", "thinking", "reasoning")
"""Where reasoning may stand; the first that is there is what templates get."""
_SHOWN = 200
"""Characters of an exception's text, which may hold the whole record."""


class Rendering(NamedTuple):
    """What a template made of a record."""

    text: str | None
    problem: str = ""
    """What it raised; empty if nothing."""


class Renderer:
    """The template of a file, applied as ``tokenizer.apply_chat_template(..., tokenize=False)`` does."""

    def __init__(self, path: str) -> None:
        self._source: Source = read(path)
        self._compiled = cache(self._compile)
        self._path = path
        for source in self._source.templates.values():
            self._compiled(source)

    def __call__(self, messages: list[Message], tools: Json, *, nulls: bool = False) -> Rendering:
        """The text of a conversation; ``nulls`` passes null members of messages on, as transformers 5.22 did."""
        if not messages:
            return Rendering(None, "ValueError: there is no message")
        if tools is not None and not (isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools)):
            return Rendering(None, "ValueError: tools is no list of objects")
        chat = [_aliased(message if nulls else _without_nulls(message)) for message in messages]
        template = self._compiled(self._source.chosen(with_tools=tools is not None))
        given = {"messages": chat, "tools": tools, "documents": None, "add_generation_prompt": False}
        try:
            return Rendering(template.render({**self._source.tokens, **given}))
        except Exception as problem:  # noqa: BLE001 - a template may do anything that the sandbox allows
            return Rendering(None, f"{type(problem).__name__}: {_shortened(str(problem))}")

    def _compile(self, source: str) -> Template:
        try:
            return compiled(source)
        except TemplateError as problem:
            raise UsageError(f"{self._path}: is no template ({problem})") from None


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _without_nulls(message: Message) -> dict[str, Any]:
    return {key: value for key, value in message.items() if value is not None}


def _aliased(message: Any) -> dict[str, Any]:
    """A message with its reasoning under the names that templates read."""
    said = next((message[name] for name in _REASONING if message.get(name) is not None), None)
    return message if said is None else {"thinking": said, **message, "reasoning_content": said}
