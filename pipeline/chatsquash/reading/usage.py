"""Metadata of exchanges: response ids, token counts and token limits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from chatsquash.core import jsonio
from chatsquash.core.model import Json, Response, Tokens
from chatsquash.formats.values import count

IDS = ("id", "responseId", "response_id")
"""The response members that may contain its id."""


_LIMIT_MEMBERS = ("maxOutputTokens", "max_output_tokens", "num_predict")


class _ResponseIds(Struct, gc=False):
    """The response members that may contain its id."""

    id: Any = None
    responseId: Any = None  # noqa: N815 - as Gemini writes it
    response_id: Any = None


_id_decoder = jsonio.decoder(_ResponseIds)


@lru_cache(64)
def limit(raw: bytes) -> int | None:
    """Return the maximum number of tokens in a reply from a raw request member, or ``None``."""
    value = _value(raw)
    if isinstance(value, dict):
        value = next((value[name] for name in _LIMIT_MEMBERS if name in value), None)
    return count(value)


def has_schema(raw: bytes) -> bool:
    """Return whether a raw request member about the output format contains a schema."""
    value = _value(raw) if b"json_schema" in raw else None
    if isinstance(value, dict) and isinstance(value.get("format"), dict):
        value = value["format"]
    return isinstance(value, dict) and value.get("type") == "json_schema"


def response_id(reply: Response) -> str:
    """Return the id of a response, or an empty string."""
    raw = reply.raw
    if reply.id is not None or raw[:1] != b"{":
        return reply.id or ""
    try:
        ids = _id_decoder.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""
    return next((value for name in IDS if isinstance(value := getattr(ids, name), str)), "")


def _value(raw: bytes) -> Json:
    try:
        return jsonio.loads(raw)
    except (ValueError, RecursionError):
        return None


RESPONSE_HOLDERS = ("message", "response", "interaction")
"""The members of stream events that contain a response."""
_USAGE = ("usage", "usageMetadata")
_CACHED = frozenset(("cache_read_input_tokens", "cache_creation_input_tokens"))
"""Anthropic's counts of cached tokens, which are not included in its input tokens."""
_PROMPT = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count", "total_input_tokens")
_COMPLETION = ("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count", "total_output_tokens")
_THOUGHTS = frozenset(("thoughtsTokenCount", "total_thought_tokens"))
"""Gemini's counts of thinking tokens, which are not included in the tokens of its candidates."""
MEMBERS = (*_USAGE, *_PROMPT, *_COMPLETION)
"""The members that count tokens in a response or in an event that contains one."""
_COUNTS = frozenset((*_PROMPT, *_CACHED, *_COMPLETION, *_THOUGHTS))
_WITH_USAGE = frozenset((*MEMBERS, *RESPONSE_HOLDERS))


def of_bodies(bodies: Sequence[Json]) -> Tokens:
    """Return the tokens in a response body or the events of a stream; the last value of each count is used."""
    usages: list[dict[str, Any]] = []
    for body in bodies:
        if isinstance(body, dict) and not _WITH_USAGE.isdisjoint(body):
            for holder in holders(body):
                inner = (holder, holder.get("usage"), holder.get("usageMetadata"))
                usages += [each for each in inner if type(each) is dict and not _COUNTS.isdisjoint(each)]
    if len(usages) < 2:
        return of_usage(usages[0]) if usages else _NO_TOKENS
    return of_usage({name: value for counts in usages for name, value in counts.items() if count(value) is not None})


def of_usage(usage: Json) -> Tokens:
    """Return the tokens in the ``usage`` member of a response."""
    if not usage or type(usage) is not dict:
        return _NO_TOKENS
    return Tokens(_first(usage, _PROMPT, _CACHED), _first(usage, _COMPLETION, _THOUGHTS))


def holders(body: Json) -> list[dict[str, Any]]:
    """Return the objects that may have response members: the body itself, and the response inside an event."""
    if not isinstance(body, dict):
        return []
    return [body, *[inner for name in RESPONSE_HOLDERS if name in body and isinstance(inner := body[name], dict)]]


def _first(usage: dict[str, Any], names: tuple[str, ...], more: frozenset[str]) -> int | None:
    """Return the first of these counts that is present, plus the additional counts."""
    for name in names:
        if name in usage and (total := count(usage[name])) is not None:
            if not more.isdisjoint(usage):
                total += sum([count(usage[each]) or 0 for each in more.intersection(usage)])
            return total
    return None


_NO_TOKENS = Tokens()
