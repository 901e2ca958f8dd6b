"""Renders records with a chat template, inside a process that is confined."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.templates import environment  # noqa: F401 - loaded before memory is limited
from chatsquash.templates.render import Renderer, Rendering
from chatsquash.templates.source import TemplateSource
from chatsquash.templates.trial import trial

_DEEP = "RecursionError: the record is nested too deeply"
_made: list[Renderer] = []
"""The template that came with the first request."""


def answers(request: memoryview) -> Iterator[bytes]:
    """The answer to one request.

    Those are ``["open", path, templates, tokens]``, ``["render", messages, tools, generation]`` and
    ``["trial", messages, tools]``.  Answers are ``null`` or why the template cannot be used; a ``Rendering``; and what
    a ``Trial`` has behind its messages, with nothing in place of its text.  Before the latter two stand the seconds
    that they took.
    """
    began = monotonic()
    try:
        what, *given = jsonio.loads(bytes(request))
    except RecursionError:
        yield jsonio.dumps([monotonic() - began, None, _DEEP])
        return
    if what == "open":
        yield jsonio.dumps(_open(*given))
        return
    if what == "render":
        answer: Any = _render(*given)
    else:
        _, text, problem, sought, *rest = trial(_made[0], *given)
        answer = [None if text is None else "", problem, sorted(sought), *rest]
    yield jsonio.dumps([monotonic() - began, *answer])


def _open(path: str, templates: dict[str, str], tokens: dict[str, str]) -> str | None:
    try:
        _made.append(Renderer(path, TemplateSource(templates, tokens)))
    except UsageError as problem:
        return str(problem)
    return None


def _render(messages: Any, tools: Any, generation: bool) -> Rendering:
    try:
        return _made[0](messages, tools, generation=generation)
    except RecursionError:
        return Rendering(None, _DEEP)
