"""Load the reply in a Gemini response."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash.core.blocks import Reasoning, Source, Turn
from chatsquash.core.model import Json, Response
from chatsquash.formats import view
from chatsquash.formats.base import TurnError, missing_reply, wrong
from chatsquash.formats.calls import native
from chatsquash.formats.providers.gemini.blocks import PROVIDER, camel
from chatsquash.formats.providers.gemini.read import START, assistant_turn, open_turn
from chatsquash.formats.providers.gemini.stream import assemble
from chatsquash.formats.providers.gemini.usual import reply_parts
from chatsquash.formats.values import Object, kind, objects, string

_REASONS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "content_filter"),
    **dict.fromkeys(("IMAGE_SAFETY", "IMAGE_RECITATION", "IMAGE_PROHIBITED_CONTENT"), "content_filter"),
}
_USUAL = frozenset(("role", "parts"))
CITATION_MEMBERS = ("groundingMetadata", "citationMetadata", "urlContextMetadata")
"""Members of candidates that turns in requests do not have."""


def reply(body: Json) -> Response:
    """Load the first candidate of a response, which may be a list of chunks."""
    return assemble(body).answer(_reply_in) if isinstance(body, list) else _reply_in(body)


def _reply_in(body: Json) -> Response:
    return missing_reply(body) or _first(camel(body))


def _first(body: Object) -> Response:
    candidates = body.get("candidates", [])
    if not isinstance(candidates, list):
        return wrong("response.candidates", kind(candidates))
    if not candidates:
        is_blocked = "blockReason" in camel(body.get("promptFeedback"))
        return Response(problem="the prompt was blocked" if is_blocked else "the response has no candidates")
    if not isinstance(candidates[0], dict):
        return wrong("response.candidates[0]", kind(candidates[0]), len(candidates))
    return _answer(camel(candidates[0]), len(candidates))


def _answer(candidate: Object, count: int) -> Response:
    logged_reason = string(candidate, "finishReason")
    reason = _REASONS.get(logged_reason, logged_reason) or None
    if "content" not in candidate:
        return Response(None, count, reason, "the first candidate has no content")
    if not isinstance(candidate["content"], dict):
        return wrong("response.candidates[0].content", kind(candidate["content"]), count)
    content = candidate["content"]
    usual = None
    if content.keys() == _USUAL and type(content["parts"]) is list and candidate.keys().isdisjoint(CITATION_MEMBERS):
        usual = reply_parts(content["parts"], START.call) if content["parts"] else None
    if usual:
        return Response(view.reply(*usual), count, "tool_calls" if reason == "stop" and usual.calls else reason)
    try:
        turn = assistant_turn(open_turn(content), START.call)
    except TurnError as problem:
        return Response(None, count, reason, f"the first candidate's content: {problem}")
    more = native(PROVIDER, content, "role", "parts").get(PROVIDER, {})
    if not more and all(type(block) is Reasoning and not block.text for block in turn.blocks):
        return Response(None, count, reason, "the first candidate is empty")
    more |= {name: candidate[name] for name in CITATION_MEMBERS if candidate.get(name)}
    if more:
        turn = Turn(turn.role, (*turn.blocks, *_sources(candidate)), native={PROVIDER: more})
    message = view.message(turn)
    has_calls = reason == "stop" and "tool_calls" in message
    return Response(message, count, "tool_calls" if has_calls else reason)


def _sources(candidate: Object) -> Iterator[Source]:
    """Yield the web pages that a candidate cites."""
    for chunk in objects(camel(candidate.get("groundingMetadata")).get("groundingChunks")):
        if address := string(chunk.get("web"), "uri"):
            yield Source(address, string(chunk["web"], "title"))
