"""What an exchange says beside its conversation: how many tokens a reply may have, and the id of its response."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from chatsquash.core import jsonio
from chatsquash.core.model import Json, Response
from chatsquash.formats.values import count
from chatsquash.reading import replies

_LIMITED = ("maxOutputTokens", "max_output_tokens", "num_predict")


class _Named(Struct, gc=False):
    """The members of a response that may be its id."""

    id: Any = None
    responseId: Any = None  # noqa: N815 - as Gemini writes it
    response_id: Any = None


_named = jsonio.decoder(_Named)


def limit(raw: bytes) -> int | None:
    """How many tokens a reply may have, by a raw member of its request; ``None`` where it does not say."""
    value = _value(raw)
    if isinstance(value, dict):
        value = next((value[name] for name in _LIMITED if name in value), None)
    return count(value)


def response_id(reply: Response) -> str:
    """The id of a whole response; empty where it has none, or was streamed."""
    raw = reply.raw
    if reply.id is not None or raw[:1] != b"{":
        return reply.id or ""
    try:
        named = _named.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""
    return next((value for name in replies.IDS if isinstance(value := getattr(named, name), str)), "")


def _value(raw: bytes) -> Json:
    try:
        return jsonio.loads(raw)
    except (ValueError, RecursionError):
        return None
