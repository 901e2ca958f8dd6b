"""Load the reply in an OpenAI Responses response."""

from __future__ import annotations

from chatsquash.core.model import Json, Message, Response
from chatsquash.formats import view
from chatsquash.formats.base import missing_reply, wrong
from chatsquash.formats.providers.openai_responses.compaction import HIDDEN, SUMMARIES
from chatsquash.formats.providers.openai_responses.read import assistant_turn
from chatsquash.formats.values import Object, at, kind

INCOMPLETE = "incomplete"
"""The finish reason of incomplete replies if OpenAI chat has no equivalent."""
_UNFINISHED = ("in_progress", "queued")
"""The statuses of responses that were logged before they ended, for example after a lost connection."""
_INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content_filter"}


def reply(body: Json) -> Response:
    """Load all output items as one message, including hosted calls between them."""
    # A failed response has an error member, but its output may still contain a partial reply.
    failed = isinstance(body, dict) and body.get("status") == "failed" and bool(body.get("output"))
    problem = _failure(body) if failed else missing_reply(body) or _failure(body)
    if problem:
        return problem
    items = [item for item in body["output"] if item.get("type") not in SUMMARIES]
    if not items:
        return Response(problem="the response is a compaction")
    message = view.message(assistant_turn(items, 1))
    cleared = HIDDEN if len(items) < len(body["output"]) else ""
    return Response(message, 1, _finish(body, message), cut=body.get("status") in _UNFINISHED, cleared=cleared)


def reply_turns(body: Object) -> list[Json]:
    """Return the items of a response, which later requests continue."""
    output = body.get("output")
    return output if isinstance(output, list) else []


def _failure(body: Object) -> Response | None:
    """Return a response with the reason why the body has no reply, or ``None`` if it has one."""
    if body.get("object") == "response.compaction":
        return Response(problem="the response is a compaction")
    output = body.get("output")
    if not output:
        return Response(problem=f"the response {'failed' if body.get('status') == 'failed' else 'has no output'}")
    if not isinstance(output, list):
        return wrong("response.output", kind(output))
    others = ((place, item) for place, item in enumerate(output) if not isinstance(item, dict))
    return next((wrong(f"response.output[{place}]", kind(item)) for place, item in others), None)


def _finish(body: Object, message: Message) -> str | None:
    """Return the finish reason in OpenAI chat's terms, or ``None`` for a response in progress."""
    status = body.get("status")
    if status in _UNFINISHED:
        return None
    if status != "completed" and isinstance(status, str):  # responses with other statuses are incomplete
        reason = at(body, "incomplete_details", "reason") if status == INCOMPLETE else None
        return _INCOMPLETE.get(reason, INCOMPLETE) if isinstance(reason, str) else INCOMPLETE
    if message.get("tool_calls"):
        return "tool_calls"
    return "stop" if status == "completed" else None
