"""The evidence for OpenAI Responses."""

from __future__ import annotations

from chatsquash.formats.base import Mark, Marks
from chatsquash.formats.providers.openai_responses.items import CALLS, RESULTS, ROLES
from chatsquash.formats.values import Object, objects

_EVENT = ("sequence_number", "response", "item", "delta", "item_id", "output_index")
_OTHER_MEMBERS = ("instructions", "previous_response_id", "reasoning", "store", "max_output_tokens")
_OTHER_APIS = ("messages", "encoding_format", "dimensions", "voice")
"""The members of requests to other APIs with an ``input``, such as embeddings and speech."""
_KINDS = (*CALLS, *RESULTS, "reasoning", "item_reference", "additional_tools", "compaction", "mcp_list_tools")
_PARTS = ("input_text", "input_image", "input_file", "output_text")


def _is_item(turn: Object) -> bool:
    kind = turn.get("type")
    return isinstance(kind, str) and (kind in _KINDS or kind.endswith(("_call", "_call_output")))


def _has_items(body: Object) -> bool:
    """Return whether the input has items, or is empty in a request without members other than tools."""
    if any(key in body for key in _OTHER_APIS):
        return False
    has_turns = any(turn.get("role") in ROLES or _is_item(turn) for turn in objects(body.get("input")))
    return has_turns or (body.get("input") == [] and body.keys() <= {"input", "tools"})


def _has_own_items(body: Object) -> bool:
    turns = objects(body.get("input"))
    parts = (part for turn in turns for part in objects(turn.get("content")))
    return any(map(_is_item, turns)) or any(part.get("type") in _PARTS for part in parts)


def _has_text(body: Object) -> bool:
    turns = body.get("input")
    if any(key in body for key in _OTHER_APIS) or not (turns == [] or isinstance(turns, str)):
        return False
    has_flat_tools = any("type" in tool and "function" not in tool for tool in objects(body.get("tools")))
    return has_flat_tools or any(key in body for key in _OTHER_MEMBERS)


def _is_event(event: Object) -> bool:
    kind = event.get("type")
    is_response_event = isinstance(kind, str) and kind.startswith("response.") and any(key in event for key in _EVENT)
    return is_response_event or (kind == "error" and "sequence_number" in event)


def _is_response(body: Object) -> bool:
    return body.get("object") in ("response", "response.compaction") and "output" in body


marks = Marks(
    request=(
        Mark(6, "input with items", _has_items),
        Mark(6, "input together with one of " + ", ".join(_OTHER_MEMBERS), _has_text),
        Mark(7, "items in input", _has_own_items),
    ),
    response=(Mark(4, "object response with output", _is_response),),
    event=(Mark(3, "a response.* event", _is_event),),
)
