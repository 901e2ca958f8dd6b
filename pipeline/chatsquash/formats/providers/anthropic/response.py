"""Load the reply in an Anthropic response."""

from __future__ import annotations

from chatsquash.core import chat
from chatsquash.core.model import Json, Response
from chatsquash.formats import view
from chatsquash.formats.base import missing_reply, wrong
from chatsquash.formats.providers.anthropic.compaction import cleared, split_summary, summary_of
from chatsquash.formats.providers.anthropic.plain import reply_message
from chatsquash.formats.providers.anthropic.read import START, load_assistant
from chatsquash.formats.values import Object, kind

FINISHED = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "compaction": "stop",
    "refusal": "content_filter",
}

_SUMMARY_PROMPT = "the prompt for a summary"
_SUMMARY_SOURCE = "the history that a summary replaced"


def reply(body: Json) -> Response:
    """Load the message of a response as a turn."""
    if body is None:
        return wrong("response", kind(body))
    return missing_reply(body) or _failure(body) or _answer(body, body["content"])


def _failure(body: Object) -> Response | None:
    """Return a response with the reason why the body has no reply, or ``None`` if it has one."""
    content = body.get("content")
    if body.get("type") == "error":
        return Response(problem="the response is an error body")
    if not isinstance(content, str | list | None):
        return wrong("response.content", kind(content))
    if body.get("role") not in (None, "assistant"):
        return Response(problem="the response does not have the role assistant")
    if content is None:
        return Response(None, 0, _finish_reason(body, calls=False), "the response has no content")
    return None if content else Response(None, 1, _finish_reason(body, calls=False), "the response has empty content")


def _answer(body: Object, content: Json) -> Response:
    compacted, missing = None, cleared(body)
    usual = reply_message(content) if isinstance(content, list) else None
    if usual is not None:
        return Response(usual, 1, _finish_reason(body, calls="tool_calls" in usual), cleared=missing)
    if isinstance(content, list) and (summary := summary_of(content)):
        compacted, others = split_summary(content)
        content = others or [{"type": "text", "text": summary}]
        missing = missing if compacted else _SUMMARY_PROMPT if not others else _SUMMARY_SOURCE
    message = view.message(load_assistant(content, START).turns[0])
    reason = _finish_reason(body, calls=chat.has_calls(message))
    return Response(message, 1, reason, compacted=compacted, cleared=missing)


def _finish_reason(body: Object, *, calls: bool) -> str | None:
    stop_reason = body.get("stop_reason")
    if not isinstance(stop_reason, str):
        return None
    reason = FINISHED.get(stop_reason, stop_reason)
    return "tool_calls" if calls and reason == "stop" else reason
