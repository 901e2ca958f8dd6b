"""What an exchange contains beyond its conversation: the id of the response, and the tokens used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from chatsquash.core import jsonio
from chatsquash.core.model import Json, Response, Tokens
from chatsquash.formats.values import count

IDS = ("id", "responseId", "response_id")
"""Members of a response that may be its id."""


_LIMITED = ("maxOutputTokens", "max_output_tokens", "num_predict")


class _ResponseIds(Struct, gc=False):
    """The members of a response that may be its id."""

    id: Any = None
    responseId: Any = None  # noqa: N815 - as Gemini writes it
    response_id: Any = None


_named = jsonio.decoder(_ResponseIds)


def limit(raw: bytes) -> int | None:
    """How many tokens a reply may have, by a raw member of its request; ``None`` where it does not say."""
    value = _value(raw)
    if isinstance(value, dict):
        value = next((value[name] for name in _LIMITED if name in value), None)
    return count(value)


def has_schema(raw: bytes) -> bool:
    """Whether the member of a request that says what form its reply has to have, raw, names a schema."""
    value = _value(raw) if b"json_schema" in raw else None
    if isinstance(value, dict) and isinstance(value.get("format"), dict):
        value = value["format"]
    return isinstance(value, dict) and value.get("type") == "json_schema"


def response_id(reply: Response) -> str:
    """The id of a response; empty if it has none."""
    raw = reply.raw
    if reply.id is not None or raw[:1] != b"{":
        return reply.id or ""
    try:
        named = _named.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""
    return next((value for name in IDS if isinstance(value := getattr(named, name), str)), "")


def _value(raw: bytes) -> Json:
    try:
        return jsonio.loads(raw)
    except (ValueError, RecursionError):
        return None


WITHIN = ("message", "response", "interaction")
"""What events of a stream hold a response in."""
_USAGE = ("usage", "usageMetadata")
_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Anthropic's, which are no part of its input tokens."""
_PROMPT = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count", "total_input_tokens")
_COMPLETION = ("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count", "total_output_tokens")
_THOUGHTS = ("thoughtsTokenCount", "total_thought_tokens")
"""Gemini's, which are no part of its candidates."""
MEMBERS = (*_USAGE, *_PROMPT, *_COMPLETION)
"""The members of a response, or of what it stands in, that count its tokens."""
_HOLDS = frozenset((*MEMBERS, *WITHIN))


def of_bodies(bodies: Sequence[Json]) -> Tokens:
    """Those of a response's body, or of the events of a stream: the last of each count that they name."""
    usage: dict[str, Any] = {}
    for body in bodies:
        if isinstance(body, dict) and any(body[name] is not None for name in _HOLDS.intersection(body)):
            for holder in holders(body):
                for counts in (holder, *(holder.get(name) for name in _USAGE)):
                    usage |= _counts(counts)
    return _count_words(usage)


def of_usage(usage: Json) -> Tokens:
    """Those that the member ``usage`` of a response counts."""
    return _count_words(_counts(usage)) if usage else Tokens()


def holders(body: Json) -> list[dict[str, Any]]:
    """The objects that may say what a response says beside its turn: itself, and what an event holds it in."""
    if not isinstance(body, dict):
        return []
    return [body, *[body[name] for name in WITHIN if name in body and isinstance(body[name], dict)]]


def _counts(usage: Json) -> dict[str, Any]:
    return {name: value for name, value in usage.items() if count(value) is not None} if isinstance(usage, dict) else {}


def _count_words(usage: dict[str, Any]) -> Tokens:
    return Tokens(_first(usage, _PROMPT, *_CACHED), _first(usage, _COMPLETION, *_THOUGHTS))


def _first(usage: dict[str, Any], names: tuple[str, ...], *more: str) -> int | None:
    """The first of these counts that is there, with those that some have beside it."""
    for name in names:
        if name in usage:
            counted: int = usage[name] + sum([usage[each] for each in more if each in usage])
            return counted
    return None
