"""What Oumi's chat sees of the current branch of a history, by hand."""

from __future__ import annotations

from typing import Any

from .common import Object, block, rest, text, turn

OUMI = "oumi"


def read(document: Any) -> list[Object]:
    """The turns of the current branch."""
    branch = document["branches"][document["session"]["current_branch_id"]]
    return list(map(_turn, branch["conversation_history"]))


def _turn(message: Object) -> Object:
    own = rest(OUMI, message, "role", "content", "metadata")
    metadata = dict(message.get("metadata") or {})
    thought = metadata.pop("thinking_content", "")
    own = {OUMI: {**own.get(OUMI, {}), **({"metadata": metadata} if metadata else {})}}
    thoughts = [block("reasoning", text=thought)] if thought else []
    if message["role"] == "attachment":
        return turn("user", text(message.get("text_content")), native=own)
    return turn(message["role"], [*thoughts, *text(message["content"])], native=own if own[OUMI] else {})
