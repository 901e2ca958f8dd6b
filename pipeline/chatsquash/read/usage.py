"""What an exchange says beside its conversation: which model answered, and how many tokens that took."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from chatsquash import jsonio
from chatsquash.formats.values import count
from chatsquash.model import Entry, Json, Reply, Sampled
from chatsquash.read import replies

_USAGE = ("usage", "usageMetadata")
_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Anthropic's, which are no part of its input tokens."""
_PROMPT = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count")
_COMPLETION = ("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count")
_THOUGHTS = "thoughtsTokenCount"
"""Gemini's, which are no part of its candidates."""


class LoggedUsage(NamedTuple):
    """What is known of one exchange."""

    model: str | None = None
    """As the response names it, else the request."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def of_entry(entry: Entry) -> LoggedUsage:
    """What is known of an entry; of a document's conversation that of its last reply."""
    if entry.origin is None:
        return told(entry.reply)
    last = entry.origin.replies[-1] if entry.origin.replies else Sampled(0)
    return LoggedUsage(last.model, last.prompt_tokens, last.completion_tokens)


def told(reply: Reply) -> LoggedUsage:
    """What the response says, and the request where that says nothing of the model; nothing of what is no exchange."""
    response = replies.unwrapped(_value(reply.raw))
    streamed = replies.events(response)
    bodies = streamed[0] if streamed else [response]
    asked = _value(reply.asked)
    usage = _merged(bodies)
    model = replies.model(bodies) or (asked if isinstance(asked, str) and asked else None)
    return LoggedUsage(model, _first(usage, _PROMPT, *_CACHED), _first(usage, _COMPLETION, _THOUGHTS))


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


def response_id(reply: Reply) -> str:
    """The id of a whole response; empty where it has none, or was streamed."""
    raw = reply.raw
    if reply.id is not None or raw[:1] != b"{":
        return reply.id or ""
        return ""
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


def _merged(events: list[Json]) -> dict[str, Any]:
    """The last of each count that events name."""
    usage: dict[str, Any] = {}
    for event in events:
        for holder in replies.holders(event):
            for counts in (holder, *(holder.get(name) for name in _USAGE)):
                usage |= {k: v for k, v in counts.items() if count(v) is not None} if isinstance(counts, dict) else {}
    return usage


def _first(usage: dict[str, Any], names: tuple[str, ...], *more: str) -> int | None:
    """The first of these counts that is there, with those that some have beside it."""
    counted = next((usage[name] for name in names if name in usage), None)
    return None if counted is None else counted + sum(usage.get(name, 0) for name in more)
