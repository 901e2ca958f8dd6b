"""Rule a: messages of the user that hold nothing but information of the client's."""

from __future__ import annotations

import re

from chatsquash.core import chat
from chatsquash.core.model import Message

SET = "goose"
PLACE = 1
OPENS = "<"
ROLES = ("user",)
_OPEN = re.compile(r"\s*<info-msg>")
_CLOSE = "</info-msg>"


def tidy(message: Message) -> Message | None:
    """The message, or ``None`` where its whole text is info elements and it has no other parts."""
    text = chat.text(message)
    if text is not None and _OPEN.match(text) and _is_info(text) and not chat.other_parts(message):
        return None
    return message


def _is_info(text: str) -> bool:
    """Whether a text is one or more info elements with only white space around and between."""
    at = 0
    while opened := _OPEN.match(text, at):
        closed = text.find(_CLOSE, opened.end())
        if closed < 0:
            return False
        at = closed + len(_CLOSE)
    return at > 0 and not text[at:].strip()
