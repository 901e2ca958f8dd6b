"""The text that Goose adds to conversations; the letters of the rules are those of the specification."""

from __future__ import annotations

import re

from chatsquash.core import chat, reasoning
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Message, Response
from chatsquash.session.cleaning import CleaningRule

PLACE = 1
SYSTEM_PROMPT = "You are a general-purpose AI agent"
_INFO = lazy_compile(r"\s*<info-msg>")
_INFO_END = "</info-msg>"
_GOOSE = lazy_compile(r"general-purpose\s+AI\s+agent\s+called\s+goose", re.IGNORECASE)
# Every Goose prompt contains this. A pattern that begins with a literal character is matched many times as fast as
# others, so this one is searched for first.
_PURPOSE = lazy_compile("-[Pp][Uu][Rr][Pp][Oo]")
_BEFORE = len("general")
_SUBSTANCE = ("tool_calls", "tool_call_id", "function_call", "refusal", "audio", *reasoning.MEMBERS)
_TITLE_PROMPT = lazy_compile(r"\s*Reply with only a description in four words or less")
_TITLE_REQUEST = lazy_compile(r"\s*Here are the first few user messages:")
_TITLE_WORDS = range(1, 7)


def without_info(message: Message) -> Message | None:
    """Return the message, or ``None`` if it contains only info elements (rule a)."""
    text = chat.text(message)
    if text is not None and _INFO.match(text) and _is_info(text) and not chat.other_parts(message):
        return None
    return message


def _is_info(text: str) -> bool:
    """Return whether a string consists of one or more info elements, separated by white space."""
    at = 0
    while opening := _INFO.match(text, at):
        end = text.find(_INFO_END, opening.end())
        if end < 0:
            return False
        at = end + len(_INFO_END)
    return at > 0 and not text[at:].strip()


def with_plain_prompt(message: Message) -> Message:
    """Return the message, with the plain system prompt if it has Goose's (rule b)."""
    text = chat.text(message)
    if text is not None and _is_goose(text):
        return {**message, "content": SYSTEM_PROMPT}
    return message


def _is_goose(text: str) -> bool:
    """Return whether a system prompt is Goose's."""
    for each in _PURPOSE.finditer(text, _BEFORE):
        if match := _GOOSE.match(text, each.start() - _BEFORE):
            # Without regard to case, the pattern also matches other letters, such as the long s.
            return "goose" in match[0].lower() or "goose" in text.lower()
    return False


def is_empty(message: Message) -> bool:
    """Return whether a message has empty or blank text and nothing else (rule c)."""
    text = chat.text(message)
    if text is None or (text and not text.isspace()):
        return False
    return not any(message.get(key) for key in _SUBSTANCE) and not chat.other_parts(message)


def is_title_request(messages: list[Message], reply: Response) -> bool:
    """Return whether an entry is a side request for a session title, whose reply is a title (rule d)."""
    if len(messages) < 2 or messages[0]["role"] != "system" or messages[1]["role"] != "user" or reply.message is None:
        return False
    if not _TITLE_PROMPT.match(chat.text(messages[0]) or "") or reply.message.get("role", "assistant") != "assistant":
        return False
    answer = chat.text(reply.message) or ""
    # A longer reply is not a title, so the entry is kept.
    return bool(_TITLE_REQUEST.match(chat.text(messages[1]) or "")) and len(answer.split()) in _TITLE_WORDS


RULES = (
    CleaningRule(name="info_messages", roles=("user",), opens="<", tidy=without_info),
    CleaningRule(name="system_prompts", roles=("system",), tidy=with_plain_prompt),
    CleaningRule(name="empty_assistants", roles=("assistant",), opens="", removes=is_empty, follower="assistant"),
    CleaningRule(name="title_requests", drops=is_title_request),
)
