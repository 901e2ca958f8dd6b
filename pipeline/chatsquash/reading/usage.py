"""What an exchange says beside its conversation: which model answered, and how many tokens that took."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from chatsquash.core import jsonio
from chatsquash.core.model import Entry, Json, OriginReply, Response
from chatsquash.formats.values import count
from chatsquash.reading import replies


class LoggedUsage(NamedTuple):
    """What is known of one exchange."""

    model: str | None = None
    """As the response names it, else the request."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def of_entry(entry: Entry) -> LoggedUsage:
    """What is known of an entry; of a document's conversation that of its last reply."""
    if entry.origin is None:
        return read_usage(entry.reply)
    last = entry.origin.replies[-1] if entry.origin.replies else OriginReply(0)
    return LoggedUsage(last.model, last.prompt_tokens, last.completion_tokens)


def read_usage(reply: Response) -> LoggedUsage:
    """What the response says, and the request where that says nothing of the model; nothing of what is no exchange."""
    request = _value(reply.asked)
    model = reply.model or (request if isinstance(request, str) and request else None)
    return LoggedUsage(model, *reply.tokens)


_LIMITED = ("maxOutputTokens", "max_output_tokens", "num_predict")


class _NamedModels(Struct, gc=False):
    """The members of a response that may be its id."""

    id: Any = None
    responseId: Any = None  # noqa: N815 - as Gemini writes it
    response_id: Any = None


_named = jsonio.decoder(_NamedModels)


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
