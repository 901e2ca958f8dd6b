"""A record, tried with a chat template: rendered, and rendered again with changes that show what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from chatsquash.checks.template import Trial
from chatsquash.jsonio import leaves
from chatsquash.model import Json, Message
from chatsquash.templates.marks import MarkedPlace, Marker
from chatsquash.templates.render import Renderer, Rendering


def trial(render: Renderer, messages: list[Message], tools: Json) -> Trial:
    """What the template makes of a record, and what of the record is not in it or not as it should be."""
    try:
        return _trial(render, messages, tools)
    except RecursionError:
        return Trial(messages, None, "RecursionError: the record is nested too deeply")


def _trial(render: Renderer, messages: list[Message], tools: Json) -> Trial:
    plain = render(messages, tools)
    if plain.text is None:
        return Trial(messages, None, plain.problem)
    copy = Marker(plain.text).copy(messages, tools)
    marked = render(copy.messages, copy.tools)
    wrapped = list(map(_wrapped, tools or []))
    return Trial(
        messages,
        plain.text,
        sought=frozenset(mark.place.kind for mark in copy.marks),
        lost=tuple(mark.place for mark in copy.marks if _is_lost(mark, plain.text, marked)),
        twice=tuple(mark.place for mark in copy.marks if _shows(marked, *mark.twice)),
        spelled=tuple(mark.place for mark in copy.marks if mark.spelled and _shows(marked, mark.spelled)),
        nulls=tuple(_nulls(render, messages, tools, plain.text)),
        flat=wrapped != (tools or []) and _differs(plain.text, render(messages, wrapped)),
        empty=tools == [] and _differs(plain.text, render(messages, None)),
    )


def _is_lost(mark: MarkedPlace, plain: str, marked: Rendering) -> bool:
    if marked.text is not None:
        return mark.word not in marked.text
    # The template refuses the copy, so look for what the mark was put into.
    return mark.original not in plain and json.dumps(mark.original)[1:-1] not in plain


def _shows(marked: Rendering, *spellings: str) -> bool:
    return marked.text is not None and any(spelling in marked.text for spelling in spellings)


def _differs(text: str, other: Rendering) -> bool:
    return other.text is not None and other.text != text


def _wrapped(tool: dict[str, Any]) -> dict[str, Any]:
    return tool if isinstance(tool.get("function"), dict) else {"type": "function", "function": tool}


def _nulls(render: Renderer, messages: list[Message], tools: Json, text: str) -> Iterator[str]:
    """What nulls do: to transformers before 5.23, which passed those of messages on, and to all others."""
    printed = _count(text)
    if any(None in message.values() for message in messages):
        older = render(messages, tools, nulls=True)
        if older.text is None:
            yield f"null members of messages make the template raise {older.problem} (transformers before 5.23)"
        elif _count(older.text) > printed:
            yield "null members of messages are printed as None (transformers before 5.23)"
    lacks_content = any("content" not in message for message in messages)
    if printed and (lacks_content or None in leaves([messages, tools])):
        without = render(list(map(_filled, messages)), _without(tools))
        if without.text is not None and _count(without.text) < printed:
            yield "null, or content that is missing, is printed as None"


def _count(text: str) -> int:
    return text.count("None")


def _filled(message: Message) -> Any:
    """A message without nulls and with content."""
    bare = _without(message)
    return bare if "content" in bare else {**bare, "content": ""}


def _without(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without(member) for key, member in value.items() if member is not None}
    return [_without(item) for item in value] if isinstance(value, list) else value
