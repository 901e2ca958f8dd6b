"""A record as a chat template renders it, in this process: ``chatsquash.templates.confined`` does so in another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from chatsquash.core import reasoning
from chatsquash.core.errors import UsageError
from chatsquash.storage.confine.inside import OUT_OF_MEMORY
from chatsquash.templates.source import TemplateSource, read

if TYPE_CHECKING:
    from jinja2 import Template

    from chatsquash.core.model import Json, Message

LONGEST = 1 << 26
"""Characters of a rendering, of which no trainer takes more."""
_SHOWN = 200
"""Characters of an exception's text, which may hold the whole record."""


class Rendering(NamedTuple):
    """What a template made of a record."""

    text: str | None
    problem: str = ""
    """What it raised; empty if nothing."""


class Renderer:
    """The template of a file, applied as ``tokenizer.apply_chat_template(..., tokenize=False)`` does."""

    def __init__(self, path: str, source: TemplateSource | None = None) -> None:
        """``source``: what the file holds, if it was read already.  Raises ``UsageError`` where it is no template."""
        self._source = source or read(path)
        self._compiled = {text: _compiled(path, text) for text in self._source.templates.values()}

    def __call__(
        self, messages: list[Message], tools: Json, *, nulls: bool = False, generation: bool = False
    ) -> Rendering:
        """The text of a conversation; ``nulls`` passes null members of messages on, as transformers 5.22 did.

        ``generation``: that of a prompt, with what stands before a reply at inference (``add_generation_prompt``).
        """
        if not messages:
            return Rendering(None, "ValueError: there is no message")
        if tools is not None and not (isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools)):
            return Rendering(None, "ValueError: tools is no list of objects")
        chat = [_aliased(message, nulls=nulls) for message in messages]
        template = self._compiled[self._source.chosen(with_tools=tools is not None)]
        given = {"messages": chat, "tools": tools, "documents": None, "add_generation_prompt": generation}
        try:
            text = template.render({**self._source.tokens, **given})
        except OUT_OF_MEMORY:
            raise
        except Exception as problem:  # noqa: BLE001 - a template may do anything that the sandbox allows
            return Rendering(None, _said(problem))
        if len(text) > LONGEST:
            return Rendering(None, f"OverflowError: the rendering has more than {LONGEST:,} characters")
        return Rendering(text)


def _compiled(path: str, source: str) -> Template:
    from chatsquash.templates.environment import compiled

    try:
        return compiled(source)
    except OUT_OF_MEMORY:
        raise
    except Exception as problem:  # noqa: BLE001 - jinja2 lets through what Python's compiler makes of its code
        raise UsageError(f"{path}: is no template ({_placed(problem)})") from None


def _placed(problem: Exception) -> str:
    """Why a template does not compile, with its line where that is known."""
    from jinja2 import TemplateSyntaxError

    if isinstance(problem, TemplateSyntaxError):
        return f"line {problem.lineno}: {_shortened(problem.message or '')}"
    return _said(problem)


def _said(problem: Exception) -> str:
    """The kind of an exception and its text, which may be nested too deeply to be spelled."""
    try:
        text = str(problem)
    except RecursionError:
        text = "what it says is nested too deeply to be shown"
    return f"{type(problem).__name__}: {_shortened(text)}"


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _aliased(message: Any, *, nulls: bool) -> dict[str, Any]:
    """A message with its reasoning under the names that templates read: that of the first member that is there."""
    message = message if nulls else {key: value for key, value in message.items() if value is not None}
    said = next((message[name] for name in reasoning.TEXTS if message.get(name) is not None), None)
    return message if said is None else {"thinking": said, **message, "reasoning_content": said}
