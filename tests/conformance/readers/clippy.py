"""What clippy-code sees of a saved conversation, by hand: messages of OpenAI, and failures by their prefix."""

from __future__ import annotations

from typing import Any

from . import openai_chat
from .common import ERROR, Object


def read(document: Any) -> list[Object]:
    """The turns of a history."""
    found = openai_chat.read({"messages": document["conversation_history"]})
    for turn in found:
        for each in turn["blocks"]:
            if each["type"] == "result":
                _unprefixed(each)
    return found


def _unprefixed(result: Object) -> None:
    content = result.get("content") or []
    if content and content[0]["type"] == "text" and content[0]["text"].startswith(ERROR):
        told = content[0]["text"].removeprefix(ERROR)
        result["outcome"] = "failed"
        result["content"] = [*([{**content[0], "text": told}] if told else []), *content[1:]]
