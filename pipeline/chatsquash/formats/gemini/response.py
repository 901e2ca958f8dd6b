"""What a response of Gemini says."""

from __future__ import annotations

from chatsquash.chat import private
from chatsquash.formats.base import TurnError, refused, with_native, wrong
from chatsquash.formats.calls import State
from chatsquash.formats.gemini.pieces import camel, opened
from chatsquash.formats.gemini.stream import assemble
from chatsquash.formats.gemini.turn import said
from chatsquash.formats.values import Object, kind, string
from chatsquash.model import Json, Reply

_REASONS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "content_filter"),
    **dict.fromkeys(("IMAGE_SAFETY", "IMAGE_RECITATION", "IMAGE_PROHIBITED_CONTENT"), "content_filter"),
}
_CITED = ("groundingMetadata", "citationMetadata", "urlContextMetadata")


def reply(body: Json) -> Reply:
    """The first candidate."""
    body = assemble(body).body if isinstance(body, list) else body
    return refused(body) or _first(camel(body))


def _first(body: Object) -> Reply:
    candidates = body.get("candidates", [])
    if not isinstance(candidates, list):
        return wrong("response.candidates", kind(candidates))
    if not candidates:
        blocked = "blockReason" in camel(body.get("promptFeedback"))
        return Reply(problem="the prompt was blocked" if blocked else "the response has no candidates")
    if not isinstance(candidates[0], dict):
        return wrong("response.candidates[0]", kind(candidates[0]), len(candidates))
    return _answer(camel(candidates[0]), len(candidates))


def _answer(candidate: Object, count: int) -> Reply:
    stopped = string(candidate, "finishReason")
    reason = _REASONS.get(stopped, stopped) or None
    if "content" not in candidate:
        return Reply(None, count, reason, "the first candidate has no content")
    if not isinstance(candidate["content"], dict):
        return wrong("response.candidates[0].content", kind(candidate["content"]), count)
    try:
        parts, native = opened(candidate["content"])
    except TurnError as problem:
        return Reply(None, count, reason, f"the first candidate's content {problem}")
    message, _ = said(parts, native, State())
    has_more = message.keys() & {"reasoning_content", "tool_calls"} or private(message).get("native")
    if not (message["content"] or has_more):
        return Reply(None, count, reason, "the first candidate is empty")
    if cited := [{name: candidate[name]} for name in _CITED if candidate.get(name)]:
        message = with_native(message, cited)
    called = reason == "stop" and "tool_calls" in message
    return Reply(message, count, "tool_calls" if called else reason)
