"""Split responses with several choices (``n`` of OpenAI chat, ``candidateCount`` of Gemini) into replies."""

from __future__ import annotations

from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.model import Response
from chatsquash.formats import PLAIN, get_format
from chatsquash.reading import replies

_MEMBERS = {"choices": PLAIN, "candidates": "gemini"}
"""Members of responses and chunks that contain choices, with the formats that use them."""


def of_raw(raw: bytes) -> list[Response]:
    """Return the reply in each choice of a raw response, streamed or not; empty if the response cannot be parsed."""
    try:
        body: Any = replies.unwrapped(jsonio.loads(raw))
        streamed = replies.events(body)
    except (ValueError, RecursionError):
        return []
    bodies = streamed[0] if streamed else [body]
    member = next((name for name in _MEMBERS for each in bodies if _lists(each, name)), None)
    if member is None:
        return []
    form = get_format(_MEMBERS[member])
    if streamed:
        body = form.assemble(streamed[0]).body
    if not _lists(body, member):
        return []
    return [form.reply({**body, member: [choice]}) for choice in body[member]]


def _lists(value: Any, member: str) -> bool:
    return isinstance(value, dict) and isinstance(value.get(member), list)
