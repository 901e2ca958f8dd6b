"""Texts as people read them."""

from __future__ import annotations

from chatsquash import jsonio
from chatsquash.text import shown

_READABLE = 1 << 20
"""Characters of JSON that are put on several lines."""


def readable(text: str) -> str | None:
    """JSON on several lines; ``None`` for what is none, or nothing but a text or a number."""
    if not text.lstrip().startswith(("{", "[")) or len(text) > _READABLE:
        return None
    try:
        value = jsonio.loads(text.encode())
    except (ValueError, RecursionError):
        return None
    return shown(value, indent=True).decode()
