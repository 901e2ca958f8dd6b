"""Rules about the content of messages: wrong types and empty last replies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.checks import CONTENTS
from chatsquash.checks.registry import RULES, Fact, View, check
from chatsquash.core import chat, reasoning
from chatsquash.core.model import Conversation, Violation
from chatsquash.core.text import json_type

_OTHER_MEMBERS = ("refusal", "audio", "images", *reasoning.MEMBERS)
"""Members with output of the assistant other than the content."""


@check("error", kind="record", looks=("odd content",))
def wrong_content(view: View) -> Iterator[Fact]:
    """Reported when a message's content is not a string, a list or null."""
    for at, message in enumerate(view.messages):
        content: Any = message.get("content")
        if type(content) not in CONTENTS:
            yield Fact(f"content is {json_type(content)}: log a string or a list of parts", at)


@check("error", kind="record", looks=("odd end",))
def empty_reply(view: View) -> Iterator[Fact]:
    """Reported when the last assistant message has no text, parts, refusal, calls or reasoning.

    White space does not count as text. Presets other than `chat` exclude the record, even if they support none of the
    content: `openai` and `mistral` do not support reasoning, and none of them supports refusals.
    """
    for at in range(len(view.messages) - 1, -1, -1):
        message: dict[str, Any] = view.messages[at]  # type: ignore[assignment]
        if message.get("role") == "assistant":
            if not has_content(message):
                yield Fact("the last reply is empty: check whether it was truncated, or exclude the record", at)
            return


_RULES = [known for known in RULES if known.module == __name__]


def first_violation(record: View | Conversation) -> Violation | None:
    """Return the first violation because of which presets other than ``chat`` exclude a record."""
    return next((known.violation(fact) for known in _RULES for fact in known.function(record)), None)


def unsupported_reply() -> Violation:
    """Return the finding for a last reply that a preset cannot express, such as a refusal or an image."""
    text = "the preset does not support the content of the last reply: --preset chat keeps it"
    return next(known for known in _RULES if known.code == "empty-reply").violation(Fact(text))


def has_content(message: dict[str, Any]) -> bool:
    """Return whether an assistant message has text, parts, calls, reasoning or other output."""
    if message.get("tool_calls") or message.get("function_call"):
        return True
    text = chat.text(message)  # type: ignore[arg-type]
    if text and not text.isspace():
        return True
    if chat.other_parts(message):  # type: ignore[arg-type]
        return True
    return any(_is_present(message[key]) for key in _OTHER_MEMBERS if key in message)


def _is_present(value: Any) -> bool:
    return bool(value.strip() if isinstance(value, str) else value)
