"""Render records with a chat template in this process, in the same sandbox as transformers 5.23.

``confined`` does the same in a separate process. Templates are untrusted: nothing in the sandbox may give them access
to more than data and text.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from jinja2 import nodes
from jinja2.exceptions import SecurityError, TemplateError, TemplateSyntaxError
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from chatsquash.core import reasoning
from chatsquash.core.errors import UsageError
from chatsquash.core.text import escape
from chatsquash.storage.confine.inside import OUT_OF_MEMORY
from chatsquash.templates.source import LONGEST, TemplateOutput, TemplateSource, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Template
    from jinja2.parser import Parser

    from chatsquash.core.model import Json, Message

_MAX_MESSAGE = 200
"""Characters of an exception's message, which could contain the complete record."""


class Renderer:
    """Renders the template of a file as ``tokenizer.apply_chat_template(..., tokenize=False)`` does."""

    def __init__(self, path: str, source: TemplateSource | None = None) -> None:
        """Compile the template; raise ``UsageError`` if that is not possible.

        ``source`` is the content of the file, if it was read already.
        """
        self._source = source or read(path)
        self._compiled = {text: _compile(path, text) for text in self._source.templates.values()}

    def __call__(
        self, messages: list[Message], tools: Json, *, nulls: bool = False, generation: bool = False
    ) -> TemplateOutput:
        """Render a conversation.

        Args:
            messages: The messages.
            tools: The tool definitions, a list of objects or ``None``.
            nulls: Pass null members of messages to the template, as transformers 5.22 did.
            generation: Add the text that precedes a reply at inference (``add_generation_prompt``).
        """
        if not messages:
            return TemplateOutput(None, "ValueError: there are no messages")
        if tools is not None and not (isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools)):
            return TemplateOutput(None, "ValueError: tools is not a list of objects")
        chat = [_with_reasoning(message, nulls=nulls) for message in messages]
        template = self._compiled[self._source.choose(with_tools=tools is not None)]
        variables = {"messages": chat, "tools": tools, "documents": None, "add_generation_prompt": generation}
        try:
            text = template.render({**self._source.tokens, **variables})
        except OUT_OF_MEMORY:
            raise
        except Exception as problem:  # noqa: BLE001 - a template may do anything that the sandbox allows
            return TemplateOutput(None, _error_text(problem))
        if len(text) > LONGEST:
            return TemplateOutput(None, f"OverflowError: the rendering has more than {LONGEST:,} characters")
        return TemplateOutput(text)


def _compile(path: str, source: str) -> Template:
    try:
        return compile_template(source)
    except OUT_OF_MEMORY:
        raise
    except Exception as problem:  # noqa: BLE001 - jinja2 passes on errors of Python's compiler
        raise UsageError(f"{path}: not a template ({_describe(problem)})") from None


def _describe(problem: Exception) -> str:
    """Return why a template does not compile, with the line number if it is known."""
    if isinstance(problem, TemplateSyntaxError):
        return f"line {problem.lineno}: {_shorten(problem.message or '')}"
    return _error_text(problem)


def _error_text(problem: Exception) -> str:
    """Return the type and the message of an exception."""
    try:
        text = str(problem)
    except RecursionError:  # raise_exception takes any value
        text = "the message is nested too deeply to be shown"
    return f"{type(problem).__name__}: {_shorten(text)}"


def _shorten(text: str) -> str:
    return escape(text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}…")


def _with_reasoning(message: Any, *, nulls: bool) -> dict[str, Any]:
    """Return a message with its reasoning in the members that templates read, taken from the first one that is set."""
    message = message if nulls else {key: value for key, value in message.items() if value is not None}
    thinking = next((message[name] for name in reasoning.TEXTS if message.get(name) is not None), None)
    return message if thinking is None else {"thinking": thinking, **message, "reasoning_content": thinking}


class _Generation(Extension):
    """``{% generation %}`` marks the text of the assistant; it prints its body, in a separate scope."""

    tags = {"generation"}  # noqa: RUF012 - an attribute of jinja2

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller: Callable[[], str]) -> str:
        return caller()


class _Namespace(Namespace):
    """The ``namespace`` of jinja2 without private names, which could give access to Python internals."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, *rest = args
        attributes = dict(*rest, **kwargs)
        for name in attributes:
            _public(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _public(name)
        super().__setitem__(name, value)


class _Dict:
    """``dict`` for templates: its constructor and ``fromkeys``, without access to the class."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args)


def compile_template(source: str) -> Template:
    """Compile a template; raise ``jinja2.TemplateError`` for invalid syntax."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = _tojson
    environment.globals.update(
        {"raise_exception": _raise, "strftime_now": _now, "dict": _Dict(), "namespace": _Namespace}
    )
    return environment.from_string(source)


def _public(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace cannot have private names such as {name!r}")


def _tojson(
    x: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    # The filter of jinja2 escapes for HTML; in a prompt, "<" must stay "<".
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _now(format: str) -> str:  # noqa: A002 - templates may pass it by name
    return datetime.now().strftime(format)  # noqa: DTZ005 - local time, as in the trainer


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)
