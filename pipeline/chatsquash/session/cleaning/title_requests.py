"""Rule d: drop Goose's side request for a session title."""

from __future__ import annotations

from chatsquash.core import chat
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Message, Response

SET = "goose"
PLACE = 4
_SYSTEM = lazy_compile(r"\s*Reply with only a description in four words or less")
_USER = lazy_compile(r"\s*Here are the first few user messages:")
_WORDS = range(1, 7)


def drops(messages: list[Message], reply: Response) -> bool:
    """Return whether an entry is a title request whose reply is a title."""
    if len(messages) < 2 or messages[0]["role"] != "system" or messages[1]["role"] != "user" or reply.message is None:
        return False
    if not _SYSTEM.match(chat.text(messages[0]) or "") or reply.message.get("role", "assistant") != "assistant":
        return False
    answer = chat.text(reply.message) or ""
    # A longer reply is not a title, so the entry is kept.
    return bool(_USER.match(chat.text(messages[1]) or "")) and len(answer.split()) in _WORDS
