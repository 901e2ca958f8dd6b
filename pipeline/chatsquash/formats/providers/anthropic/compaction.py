"""Changes that Anthropic's service makes to requests before the model sees them: summaries and cleared content.

The structures are ``BetaCompactionBlock``, ``BetaContextManagementResponse`` and ``BetaInputTransformation`` in
Anthropic's Python SDK.
"""

from __future__ import annotations

from chatsquash.core.chat import THINKING
from chatsquash.core.model import Json
from chatsquash.formats.base import ShownTurns
from chatsquash.formats.values import Object, objects, string

_CLEARED = {"cleared_tool_uses": "tool results", "cleared_thinking_turns": THINKING}


def is_compaction(turn: Json) -> bool:
    """Return whether a turn contains a summary."""
    content = turn.get("content") if isinstance(turn, dict) else None
    return type(content) is list and _place(content) is not None


def _place(content: list[Json]) -> int | None:
    """Return the index of the last summary among blocks, or ``None``."""
    for at in range(len(content) - 1, -1, -1):
        block = content[at]
        # A failed compaction has a summary without text and replaces nothing.
        if type(block) is dict and block.get("type") == "compaction" and string(block, "content").strip():
            return at
    return None


def visible_turns(turns: list[Json]) -> ShownTurns:
    """Return the last summary as a user turn, and the turns after it; the service ignores earlier turns."""
    at = max(at for at, turn in enumerate(turns) if is_compaction(turn))
    turn = turns[at]
    content = turn["content"]
    place = _place(content)
    assert place is not None
    summary = string(content[place], "content")
    rest = [{**turn, "content": content[place + 1 :]}] if content[place + 1 :] else []
    # Gateways may log the system prompt as a turn; it was never ignored.
    prompts = [each for each in turns[:at] if isinstance(each, dict) and each.get("role") == "system"]
    earlier = [each for each in turns[:at] if each not in prompts] if prompts else turns[:at]
    summarized_turns = [*earlier, *([{**turn, "content": content[:place]}] if place else [])]
    return ShownTurns(
        [*prompts, {"role": "user", "content": summary}, *rest, *turns[at + 1 :]], summary, summarized_turns
    )


def split_summary(content: list[Json]) -> tuple[Json, list[Json]]:
    """Return the summary at the beginning of a reply as a turn (or ``None``), and the other blocks of the reply."""
    place = _place(content)
    if place is None:
        return None, content
    others = [*content[:place], *content[place + 1 :]]
    if place or not others:
        return None, others
    return {"role": "assistant", "content": content[:1]}, others


def summary_of(content: list[Json]) -> str:
    """Return the summary in a reply, or an empty string."""
    place = _place(content)
    return string(content[place], "content") if place is not None else ""


def cleared(body: Object) -> str:
    """Describe the content that the service cleared, according to a response."""
    management, changes = body.get("context_management"), body.get("input_transformations")
    if not (management or changes):  # the usual case
        return ""
    edits = objects(management.get("applied_edits")) if isinstance(management, dict) else ()
    words = [word for edit in edits for name, word in _CLEARED.items() if _is_count(edit.get(name))]
    words += [THINKING for change in objects(changes) if change.get("type") == "thinking_dropped"]
    return " and ".join(dict.fromkeys(words))


def _is_count(value: Json) -> bool:
    return type(value) is int and value > 0
