"""What each format that is written keeps of each kind of content: written, read again, compared."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from chatsquash.core.blocks import Block, Call, Reasoning, Result, Text, Turn
from chatsquash.formats.calls import parse_json
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.writing import with_tool_names
from chatsquash.translate import conversations
from tests.formats.kinds import KINDS

SAME, MARKS, LOST = "=", "~", "x"
"""Everything is kept; only what no record shows is lost, or rests on a mark of ours; something is lost or changed."""
FORMATS = (
    "openai_responses", "anthropic", "gemini", "ollama", "portable", "pydantic_ai", "vercel_ai", "oumi",
    "model_messages",
)  # fmt: skip
AT_LEAST = {
    "system first": "=========",
    "two systems first": "=========",
    "instructions": "=~~~~=~~~",
    "system mid": "==~======",
    "developer role": "=xxxxxxxx",
    "developer mid": "=xxxxxxxx",
    "text": "=========",
    "text part bounds": "===~~====",
    "image data": "====x====",
    "image between text": "===~x====",
    "image url": "===xx====",
    "audio": "xx=xx==x=",
    "video": "xx=xx==x=",
    "pdf": "===xx==x=",
    "file id of OpenAI": "=xxxx==xx",
    "file id of Anthropic": "x=xxx==xx",
    "tool call": "=========",
    "text+call": "=========",
    "no-arg call": "=========",
    "args malformed": "=========",
    "args non-object": "=========",
    "args raw spacing": "=========",
    "args unicode/big": "=========",
    "text after call": "===~~==~=",
    "parallel calls": "=========",
    "results reordered": "======x==",
    "sequential calls": "=========",
    "same tool twice": "=========",
    "empty result": "=========",
    "result json obj": "~~=~===~=",
    "result json list": "~~=~~==~=",
    "result json-looking text": "=========",
    "result image": "====x====",
    "result file": "===xx=~x=",
    "result parts": "==~~~~~==",
    "is_error": "~==~~==~=",
    "denied result": "~~~~~==~=",
    "approval": "xxxxxx=x=",
    "orphan result": "=x====xx=",
    "unanswered call": "=========",
    "user after result": "=========",
    "user user": "=========",
    "asst asst": "x========",
    "empty asst": "=========",
    "reasoning": "xx==x====",
    "reasoning+call": "xx==x====",
    "reasoning of two blocks": "xx=~x==~=",
    "reasoning between": "xx=~x==~=",
    "anthropic signature": "x=~~x==~=",
    "anthropic redacted": "~=~~~==~=",
    "openai encrypted": "=x~~x==~=",
    "gemini call sig": "~~=~~==~=",
    "refusal": "xxxxxxxxx",
    "custom tool call": "=xxxxxxxx",
    "hosted call": "x=xxx==x~",
    "hosted call alone": "x=xxx==x~",
    "source": "xxxxx==xx",
    "native members": "~=~~~=~~~",
}
"""Of each kind the cell that each of ``FORMATS`` can reach."""
_MARKS = ("native", "mime", "name", "provider")
_RANK = {SAME: 0, MARKS: 1, LOST: 2}


def cell(kind: str, name: str) -> str:
    """What a format keeps of a kind of content."""
    conversation = copy.deepcopy(KINDS[kind])
    document = conversations.dump(conversation, name)
    lost = conversations.loss_of(conversation, document, name)
    if not lost:
        return MARKS if lost.kept_for_chatsquash else SAME
    again = conversations.load(document, name)
    return MARKS if _said(turns_of(conversation)) == _said(turns_of(again)) else LOST


def _said(turns: tuple[Turn, ...]) -> list[Any]:
    """What is said, thought, shown and called in each turn, wherever in it: without marks that no record shows."""
    turns, called = with_tool_names(tuple(turns))
    return [
        (turn.role, _words(turn.blocks, Text), _words(turn.blocks, Reasoning), _others(turn.blocks, called))
        for turn in turns
    ]


def _words(blocks: Iterable[Block], kind: type[Any]) -> str:
    """The words of all texts of a kind, which must not run together where they become one."""
    return " ".join(" ".join(block.text for block in blocks if isinstance(block, kind)).split())


def _others(blocks: Iterable[Block], called: dict[str, str]) -> list[Any]:
    """What is no text, in its order; of results what they say."""
    return [_bare(block, called) for block in blocks if not isinstance(block, Text | Reasoning)]


def _bare(block: Block, called: dict[str, str]) -> Any:
    if isinstance(block, Call):
        return block.id, block.name, block.custom, parse_json(block.arguments) or block.arguments
    if isinstance(block, Result):
        name = block.name or called.get(block.id, "")
        return block.id, name, _words(block.content, Text), _others(block.content, called)
    fields = {name: getattr(block, name) for name in block.__struct_fields__ if name not in _MARKS}
    return type(block).__name__, fields


def is_worse(found: str, expected: str) -> bool:
    """Whether a cell keeps less than another."""
    return _RANK[found] > _RANK[expected]


def declared(kind: str, name: str) -> str:
    """The same as the format itself says."""
    form = conversations.named(name)
    return LOST if kind in _listed(form.LOSES) else MARKS if kind in _listed(form.BLURS) else SAME


def _listed(kinds: str) -> list[str]:
    return [" ".join(kind.split()) for kind in kinds.split(",")]


LABELS = {
    "instructions": "instructions",
    "system mid": "position of later system messages",
    "developer role": "developer messages",
    "developer mid": "developer messages",
    "text part bounds": "boundaries of texts",
    "image data": "images",
    "image between text": "order of texts and images",
    "image url": "images by URL",
    "pdf": "files",
    "file id of OpenAI": "files by OpenAI id",
    "file id of Anthropic": "files by Anthropic id",
    "text after call": "text after calls",
    "results reordered": "order of results",
    "result json obj": "JSON objects as results",
    "result json list": "JSON lists as results",
    "result image": "images in results",
    "result file": "files in results",
    "result parts": "boundaries of texts in results",
    "is_error": "marks of failed results",
    "denied result": "marks of denied results",
    "approval": "approvals",
    "orphan result": "results without a call",
    "asst asst": "consecutive assistant messages",
    "reasoning": "unsigned reasoning",
    "reasoning+call": "unsigned reasoning",
    "reasoning of two blocks": "several blocks of reasoning",
    "reasoning between": "several blocks of reasoning",
    "anthropic signature": "Anthropic's signatures",
    "anthropic redacted": "Anthropic's encrypted reasoning",
    "openai encrypted": "OpenAI's encrypted reasoning",
    "gemini call sig": "Gemini's signatures of calls",
    "refusal": "refusals",
    "custom tool call": "calls of custom tools",
    "hosted call": "calls of hosted tools",
    "hosted call alone": "calls of hosted tools",
    "source": "sources",
    "native members": "provider-specific members",
}
"""What the documentation calls the kinds that formats lose, if it is not their name."""
TEXT_ONLY = "oumi_history"
"""The format that loses most kinds; the documentation describes it in words."""


def table() -> str:
    """Return the kinds that formats declare as reduced or lost, as a table for the documentation."""
    names = [name for name in conversations.writable() if name != TEXT_ONLY]
    rows: dict[tuple[str, str], tuple[str, str]] = {}
    for kind in KINDS:
        cells = {name: declared(kind, name) for name in names}
        reduced, lost = (", ".join(name for name in names if cells[name] == mark) for mark in (MARKS, LOST))
        if reduced or lost:
            rows.setdefault((LABELS.get(kind, kind), reduced + lost), (reduced, lost))
    lines = [f"| {label} | {reduced} | {lost} |" for (label, _), (reduced, lost) in rows.items()]
    return "\n".join(["| content | reduced in | lost in |", "|---|---|---|", *lines])
