"""Texts of logs cut to what a page has room for."""

from __future__ import annotations

from chatsquash.pages.html.record import cut

NAME = 160
"""Bytes of a name that are shown."""


def bounded(text: str, most: int = NAME) -> str:
    """The beginning of a text, with a mark where it is cut."""
    kept, left = cut(text, most)
    return f"{kept}…" if left else kept
