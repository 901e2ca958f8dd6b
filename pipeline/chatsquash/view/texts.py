"""Texts as people read them, and a record as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from chatsquash.core import jsonio
from chatsquash.core.model import Json, Message
from chatsquash.core.text import escaped, shown
from chatsquash.records.message_texts import Part, parts

_READABLE = 1 << 20
"""Characters of JSON that are put on several lines."""
_FARTHER, _LITTLE = 8, 10_000
"""How many times longer, and how much longer, it may become."""


def readable(text: str, most: int = _READABLE) -> str | None:
    """JSON of at most so many characters on several lines; ``None`` for other texts, and for a mere text or number."""
    if not text.lstrip().startswith(("{", "[")) or len(text) > most:
        return None
    try:
        value = jsonio.loads(text.encode())
    except (ValueError, RecursionError):
        return None
    return shown(value, indent=True).decode() if _indentation(value) <= _FARTHER * len(text) + _LITTLE else None


def _indentation(value: Json) -> int:
    """About how many spaces stand before the lines of a value, which may be deep and have many members there."""
    spaces = 0
    waiting = [(value, 1)]
    while waiting:
        each, depth = waiting.pop()
        if isinstance(each, dict | list):
            spaces += 2 * depth * len(each)
            waiting += ((inner, depth + 1) for inner in (each.values() if isinstance(each, dict) else each))
    return spaces


_FENCE = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)


def markdown(messages: list[Message], title: str) -> str:
    """A conversation; texts stand as they are, all else in fences that nothing in it ends."""
    return "\n\n".join([f"# {_line(title)}", *(block for message in messages for block in _message(message))]) + "\n"


def _message(message: Message) -> Iterator[str]:
    beside = [message.get(name) for name in ("name", "tool_call_id")]
    told = [text for text in (message["role"], *beside) if isinstance(text, str) and text]
    yield f"## {_line(' '.join(told))}"
    for part in parts(message):
        yield _part(part)


def _part(part: Part) -> str:
    if part.kind == "text":
        return part.text
    if part.kind == "part":
        return f"({_line(part.name)})"
    title = f"**{part.kind}{f' {_line(part.name)}' if part.name else ''}**"
    spelled = readable(part.text)
    return f"{title}\n\n{_fenced(spelled or part.text, 'json' if spelled else '')}"


def _fenced(text: str, name: str) -> str:
    longest = max((len(found[1]) for found in _FENCE.finditer(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{name}\n{text}\n{fence}"


def _line(text: str) -> str:
    return escaped(" ".join(text.split()))
