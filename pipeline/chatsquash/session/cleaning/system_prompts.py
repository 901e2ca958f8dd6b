"""Rule b: Goose's system prompt, in place of which a plain one is put."""

from __future__ import annotations

import re
from functools import lru_cache

from chatsquash.core import chat
from chatsquash.core.model import Message

SET = "goose"
PLACE = 2
ROLES = ("system",)
SYSTEM_PROMPT = "You are a general-purpose AI agent"
_GOOSE = re.compile(r"general-purpose\s+AI\s+agent\s+called\s+goose", re.IGNORECASE)
_PURPOSE = re.compile("-[Pp][Uu][Rr][Pp][Oo]")
"""What stands in each of them; a pattern that begins with one character is found many times as fast as others."""
_BEFORE = len("general")
_SMALL = 1 << 16
"""Characters of a prompt of which some may be held in memory."""


def tidy(message: Message) -> Message:
    """The message, with the plain prompt where it has Goose's."""
    text = chat.text(message)
    if text is not None and (_known if len(text) <= _SMALL else _is_goose)(text):
        return {**message, "content": SYSTEM_PROMPT}
    return message


def _is_goose(text: str) -> bool:
    """Whether a system prompt is Goose's."""
    matches = (_GOOSE.match(text, each.start() - _BEFORE) for each in _PURPOSE.finditer(text, _BEFORE))
    return any(matches) and "goose" in text.lower()


_known = lru_cache(maxsize=4)(_is_goose)  # requests mostly repeat theirs
