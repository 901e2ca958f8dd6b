"""Rule b: replace Goose's system prompt with a plain one."""

from __future__ import annotations

import re

from chatsquash.core import chat
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Message

SET = "goose"
PLACE = 2
ROLES = ("system",)
SYSTEM_PROMPT = "You are a general-purpose AI agent"
_GOOSE = lazy_compile(r"general-purpose\s+AI\s+agent\s+called\s+goose", re.IGNORECASE)
# Every Goose prompt contains this. A pattern that begins with a literal character is matched many times as fast as
# others, so this one is searched for first.
_PURPOSE = lazy_compile("-[Pp][Uu][Rr][Pp][Oo]")
_BEFORE = len("general")


def tidy(message: Message) -> Message:
    """Return the message, with the plain prompt if it has Goose's."""
    text = chat.text(message)
    if text is not None and _is_goose(text):
        return {**message, "content": SYSTEM_PROMPT}
    return message


def _is_goose(text: str) -> bool:
    """Return whether a system prompt is Goose's."""
    for each in _PURPOSE.finditer(text, _BEFORE):
        if match := _GOOSE.match(text, each.start() - _BEFORE):
            # Without regard to case, the pattern also matches other letters, such as the long s.
            return "goose" in match[0].lower() or "goose" in text.lower()
    return False
