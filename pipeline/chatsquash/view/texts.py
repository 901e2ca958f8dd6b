"""Texts as people read them."""

from __future__ import annotations

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.core.text import shown

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
