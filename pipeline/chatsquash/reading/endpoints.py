"""Calls of other endpoints than those for conversations, recognised by their responses or the logger's call type."""

from __future__ import annotations

from collections.abc import Callable

from chatsquash.core import jsonio
from chatsquash.reading import envelopes
from chatsquash.reading.envelopes import Envelope
from chatsquash.reading.members import Members, elements, members, unquoted, within

_CALLS = {
    "embedding": "embeddings",
    "moderation": "moderations",
    "image_generation": "images",
    "image_edit": "images",
    "image_variation": "images",
    "transcription": "audio",
    "speech": "audio",
    "rerank": "rerank",
    "count_tokens": "token counts",
    "token_counter": "token counts",
}
"""Endpoints by LiteLLM's call types, whose asynchronous ones begin with an ``a``."""
_ADDRESSES = ("url", "path", "uri", "request_url", "endpoint")
_PATHS = {
    "embeddings": ("/embeddings", "/embed", ":embedContent", ":batchEmbedContents"),
    "moderations": ("/moderations",),
    "token counts": ("/count_tokens", "/input_tokens", ":countTokens", "/tokenize"),
    "images": ("/images/generations", "/images/edits", "/images/variations", ":predict"),
    "audio": ("/audio/speech", "/audio/transcriptions", "/audio/translations"),
    "rerank": ("/rerank",),
    "lists of models": ("/v1/models", "/api/tags"),
}
"""What the addresses of endpoints end with, in the references of OpenAI, Anthropic, Gemini, Cohere and Ollama."""
_REPLIES = frozenset(("choices", "output", "candidates", "content", "message", "error", "steps", "outputs"))
_COUNTS = frozenset(("input_tokens", "totalTokens", "total_tokens"))
_BESIDE_COUNTS = frozenset(
    (
        *("object", "context_management", "cachedContentTokenCount", "totalBillableCharacters"),
        *("promptTokensDetails", "cacheTokensDetails"),
    )
)


def other_endpoint(line: bytes, envelope: Envelope) -> str | None:
    """The endpoint that a line is a call of, in words, if no conversation goes through it."""
    logged = members(line) or {}
    if what := _of_call_type(logged.get("call_type")):
        return what
    exchange = members(envelopes.unwrap(line, envelope)) or {}
    body = within(unquoted(exchange.get("response")))
    if what := _of_address(logged) or _of_address(within(logged.get("request"))):
        return None if not _REPLIES.isdisjoint(body) else what
    if not body or not _REPLIES.isdisjoint(body):
        return None
    return next((what for what, fits in _RESPONSES.items() if fits(body)), None)


def _of_call_type(raw: bytes | None) -> str | None:
    name = jsonio.value(raw) if raw else None
    if not isinstance(name, str):
        return None
    return _CALLS.get(name) or _CALLS.get(name.removeprefix("a"))


def _of_address(holder: Members) -> str | None:
    """The endpoint by the address of a request, as proxies log it."""
    for name in _ADDRESSES:
        address = jsonio.value(holder[name]) if name in holder else None
        if isinstance(address, str):
            path = address.partition("?")[0].rstrip("/")
            return next((what for what, ends in _PATHS.items() if path.endswith(ends)), None)
    return None


def _first(body: Members, name: str) -> Members:
    """The first object in a list that is a member; empty if there is none."""
    raw = body.get(name, b"")
    listed = elements(raw) if raw[:1] == b"[" else []
    return within(listed[0]) if listed else {}


def _counts_tokens(body: Members) -> bool:
    counted = _COUNTS.intersection(body)
    return bool(counted) and body.keys() <= counted | _BESIDE_COUNTS


def _embeds(body: Members) -> bool:
    if "values" in within(body.get("embedding")) or "values" in _first(body, "embeddings"):
        return True
    if body.get("embedding", b"")[:1] == b"[" or body.get("embeddings", b"")[:2] == b"[[":
        return True
    return "embedding" in _first(body, "data") or body.keys() >= {"embeddings", "model"}


def _moderates(body: Members) -> bool:
    return "flagged" in _first(body, "results")


def _draws(body: Members) -> bool:
    return "created" in body and not {"b64_json", "url"}.isdisjoint(_first(body, "data"))


def _ranks(body: Members) -> bool:
    return any("relevance_score" in _first(body, name) for name in ("results", "data"))


def _transcribes(body: Members) -> bool:
    return body.keys() <= {"text", "usage", "logprobs"} and "text" in body and "audio_tokens" in str(body.get("usage"))


_RESPONSES: dict[str, Callable[[Members], bool]] = {
    "token counts": _counts_tokens,
    "embeddings": _embeds,
    "moderations": _moderates,
    "images": _draws,
    "rerank": _ranks,
    "audio": _transcribes,
}
