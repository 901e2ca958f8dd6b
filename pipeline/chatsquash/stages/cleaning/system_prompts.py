"""Rule b: Goose's system prompt, in place of which a plain one is put."""

from __future__ import annotations

import re
from functools import lru_cache

from chatsquash import chat
from chatsquash.model import Message

SET = "goose"
PLACE = 2
ROLES = ("system",)
SYSTEM_PROMPT = "You are a general-purpose AI agent"
_GOOSE = re.compile(r"general-purpose\s+AI\s+agent\s+called\s+goose", re.IGNORECASE)
_PURPOSE = re.compile("-[Pp][Uu][Rr][Pp][Oo]")
"""What stands in each of them; a pattern that begins with one character is found many times as fast as others."""


def tidy(message: Message) -> Message:
    """The message, with the plain prompt where it has Goose's."""
    text = chat.text(message)
    if text is not None and _is_goose(text):
        return {**message, "content": SYSTEM_PROMPT}
    return message


@lru_cache(maxsize=1)  # of neighbouring sessions it is mostly the same one
def _is_goose(text: str) -> bool:
    """Whether a system prompt is Goose's; bytes are lowered many times as fast as characters beyond ASCII."""
    if not _PURPOSE.search(text):
        return False
    return b"goose" in text.encode("utf-8", "surrogatepass").lower() and _GOOSE.search(text) is not None
