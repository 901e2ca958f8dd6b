"""Rule a: remove user messages that contain only Goose's ``<info-msg>`` elements."""

from __future__ import annotations

from chatsquash.core import chat
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Message

SET = "goose"
PLACE = 1
OPENS = "<"
ROLES = ("user",)
_OPEN = lazy_compile(r"\s*<info-msg>")
_CLOSE = "</info-msg>"


def tidy(message: Message) -> Message | None:
    """Return the message, or ``None`` if it contains only info elements."""
    text = chat.text(message)
    if text is not None and _OPEN.match(text) and _is_info(text) and not chat.other_parts(message):
        return None
    return message


def _is_info(text: str) -> bool:
    """Return whether a string consists of one or more info elements, separated by white space."""
    at = 0
    while opening := _OPEN.match(text, at):
        end = text.find(_CLOSE, opening.end())
        if end < 0:
            return False
        at = end + len(_CLOSE)
    return at > 0 and not text[at:].strip()
