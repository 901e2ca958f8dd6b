"""Detect calls of endpoints without conversations from responses, addresses or the logger's call type."""

from __future__ import annotations

from collections.abc import Callable

from chatsquash.core import jsonio
from chatsquash.reading import envelopes
from chatsquash.reading.envelopes import Envelope
from chatsquash.reading.members import Members, elements, members, object_members, unquoted

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
"""Endpoints by LiteLLM call type; asynchronous types have the prefix ``a``."""
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
"""Endings of endpoint addresses, according to the API references of OpenAI, Anthropic, Gemini, Cohere and Ollama."""
_REPLIES = frozenset(("choices", "output", "candidates", "content", "message", "error", "steps", "outputs"))
_COUNTS = frozenset(("input_tokens", "totalTokens", "total_tokens"))
_OTHER_COUNT_MEMBERS = frozenset(
    (
        *("object", "context_management", "cachedContentTokenCount", "totalBillableCharacters"),
        *("promptTokensDetails", "cacheTokensDetails"),
    )
)


def other_endpoint(line: bytes, envelope: Envelope) -> str | None:
    """Return the name of the endpoint that a line calls if that endpoint has no conversations."""
    outer = members(line) or {}
    if what := _of_call_type(outer.get("call_type")):
        return what
    exchange = members(envelopes.unwrap(line, envelope)) or {} if envelope.unwrap else outer
    body = object_members(unquoted(exchange.get("response")))
    if what := _of_address(outer) or _of_address(object_members(outer.get("request"))):
        # A response with a reply takes precedence over the address.
        return None if not _REPLIES.isdisjoint(body) else what
    if not body or not _REPLIES.isdisjoint(body):
        return None
    return next((what for what, fits in _RESPONSES.items() if fits(body)), None)


def _of_call_type(raw: bytes | None) -> str | None:
    name = jsonio.value(raw) if raw else None
    if not isinstance(name, str):
        return None
    return _CALLS.get(name) or _CALLS.get(name.removeprefix("a"))


def _of_address(request: Members) -> str | None:
    """Return the endpoint from the address of a request, as logged by proxies."""
    for name in _ADDRESSES:
        address = jsonio.value(request[name]) if name in request else None
        if isinstance(address, str):
            path = address.partition("?")[0].rstrip("/")
            return next((what for what, ends in _PATHS.items() if path.endswith(ends)), None)
    return None


def _first(body: Members, name: str) -> Members:
    """Return the first object in a list member, or an empty one."""
    raw = body.get(name, b"")
    items = elements(raw) if raw[:1] == b"[" else []
    return object_members(items[0]) if items else {}


def _counts_tokens(body: Members) -> bool:
    counts = _COUNTS.intersection(body)
    return bool(counts) and body.keys() <= counts | _OTHER_COUNT_MEMBERS


def _embeds(body: Members) -> bool:
    if "values" in object_members(body.get("embedding")) or "values" in _first(body, "embeddings"):
        return True
    if body.get("embedding", b"")[:1] == b"[" or body.get("embeddings", b"")[:2] == b"[[":
        return True
    return "embedding" in _first(body, "data") or body.keys() >= {"embeddings", "model"}


def _moderates(body: Members) -> bool:
    return "flagged" in _first(body, "results")


def _generates_images(body: Members) -> bool:
    return "created" in body and not {"b64_json", "url"}.isdisjoint(_first(body, "data"))


def _ranks(body: Members) -> bool:
    return any("relevance_score" in _first(body, name) for name in ("results", "data"))


def _transcribes(body: Members) -> bool:
    return body.keys() <= {"text", "usage", "logprobs"} and "text" in body and "audio_tokens" in str(body.get("usage"))


_RESPONSES: dict[str, Callable[[Members], bool]] = {
    "token counts": _counts_tokens,
    "embeddings": _embeds,
    "moderations": _moderates,
    "images": _generates_images,
    "rerank": _ranks,
    "audio": _transcribes,
}
