"""What each format that is written keeps of each kind of content: written, read again, compared."""

from __future__ import annotations

import copy
from typing import Any

from chatsquash import chat, jsonio
from chatsquash.model import Conversation
from chatsquash.translate import conversations, losses
from tests.formats.kinds import KINDS

SAME, MARKS, LOST = "=", "~", "x"
"""Everything is kept; only markers are lost that no record shows; something is lost or changed."""
OURS = "*"
"""Behind a cell that rests on what only chatsquash reads."""
FORMATS = ("openai_responses", "anthropic", "gemini", "ollama", "portable", "pydantic_ai", "vercel_ai", "oumi")
AT_LEAST = {
    "system first": "========",
    "system mid": "========",
    "developer role": "=xxxx==x",
    "text": "========",
    "text part bounds": "===xx===",
    "image data": "====x===",
    "image between text": "===xx===",
    "image url": "===xx===",
    "audio": "xx=xx==x",
    "pdf": "===xx==x",
    "tool call": "========",
    "text+call": "========",
    "no-arg call": "========",
    "args malformed": "========",
    "args non-object": "========",
    "args raw spacing": "=xxxx=x=",
    "args unicode/big": "========",
    "text after call": "===~~==~",
    "parallel calls": "========",
    "results reordered": "======x=",
    "sequential calls": "========",
    "same tool twice": "========",
    "empty result": "========",
    "result json obj": "~~=~===~",
    "result json list": "~~=~~==~",
    "result json-looking text": "========",
    "result image": "===xx===",
    "result parts": "==xxxx==",
    "is_error": "========",
    "orphan result": "xx=====x",
    "unanswered call": "========",
    "user after result": "========",
    "user user": "=x======",
    "asst asst": "x=======",
    "empty asst": "x=====x=",
    "reasoning": "====x===",
    "reasoning+call": "====x===",
    "anthropic signature": "~==~x==~",
    "anthropic redacted": "~=~~~==~",
    "openai encrypted": "=~~~x==~",
    "gemini call sig": "~~=~~==~",
    "refusal": "=xxxx==x",
    "custom tool call": "=xxxxxxx",
}
"""Of each kind the cell that each of ``FORMATS`` can reach, as a prototype showed."""
_RANK = {SAME: 0, MARKS: 1, LOST: 2}


def cell(kind: str, name: str, *, own: bool = True) -> str:
    """What a format keeps of a kind of content; ``own``: with what only chatsquash reads."""
    conversation = copy.deepcopy(KINDS[kind])
    document = conversations.dump(conversation, name)
    loaded = conversations.load(document if own else without_ours(document), name)
    lost = losses.differences(conversation, loaded)
    if not lost:
        return SAME
    if all(map(_is_private, lost)) or (_is_moved(lost) and _said(conversation) == _said(loaded)):
        return MARKS
    return LOST


def shown(kind: str, name: str) -> str:
    """The cell, marked where it would be worse for any other program."""
    found = cell(kind, name)
    return f"{found}{OURS}" if is_worse(cell(kind, name, own=False), found) else found


def without_ours(document: Any) -> Any:
    """A document without the members and parts that chatsquash alone writes and reads."""
    if isinstance(document, list):
        return [without_ours(each) for each in document if not _is_ours(each)]
    if not isinstance(document, dict):
        return document
    return {key: without_ours(value) for key, value in document.items() if key not in ("chatsquash", "partMetadata")}


def _is_ours(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "data-chatsquash"


def _is_private(path: str) -> bool:
    """Whether a path leads to what a record does not show anyway."""
    return f".{chat.PRIVATE}" in path


def _is_moved(lost: list[str]) -> bool:
    """Whether nothing but texts, and where they stand, is different."""
    return all(_is_private(path) or path.partition(".content")[1] for path in lost)


def _said(conversation: Conversation) -> list[str]:
    """The words of each message, those behind its calls, too, and its other parts."""
    messages = conversation.messages
    texts = ([*_texts(message), *chat.private(message).get("after", ())] for message in messages)
    parts = (jsonio.dumps(chat.other_parts(message)).decode() for message in messages)
    return [" ".join(" ".join(map(str, text)).split()) + part for text, part in zip(texts, parts, strict=True)]


def _texts(message: Any) -> list[str]:
    """The texts of a message, which must not run together where they become one."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    return [text for part in parts if (text := chat.part_text(part))]


def is_worse(found: str, expected: str) -> bool:
    """Whether a cell keeps less than another."""
    return _RANK[found] > _RANK[expected]


def table() -> str:
    """All cells, as a table for the documentation."""
    head = f"| kind | openai_chat | {' | '.join(FORMATS)} |"
    rows = [f"| {kind} | {' | '.join(shown(kind, name) for name in ('openai_chat', *FORMATS))} |" for kind in KINDS]
    return "\n".join([head, "|---" * (len(FORMATS) + 2) + "|", *rows])
