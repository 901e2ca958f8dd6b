"""The content that each writable format keeps: conversations are written, read again and compared."""

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

SAME, MARKS, DROPPED = "=", "~", "x"
"""All is kept; only content that no record shows is lost, or depends on a mark of ours; content is lost or changed."""
FORMATS = (
    "openai_responses", "anthropic", "gemini", "ollama", "portable", "pydantic_ai", "vercel_ai", "oumi",
    "model_messages", "sts", "atif",
)  # fmt: skip
AT_LEAST = {
    "system first": "===========",
    "two systems first": "===========",
    "instructions": "=~~~~=~~~~~",
    "system mid": "==~========",
    "developer role": "=xxxxxxxxxx",
    "developer mid": "=xxxxxxxxxx",
    "text": "===========",
    "text part bounds": "===~~====~=",
    "image data": "====x====xx",
    "image between text": "===~x====xx",
    "image url": "===xx====x=",
    "audio": "xx=xx==x=xx",
    "video": "xx=xx==x=xx",
    "pdf": "===xx==x=xx",
    "file id of OpenAI": "=xxxx==xxxx",
    "file id of Anthropic": "x=xxx==xxxx",
    "tool call": "===========",
    "text+call": "===========",
    "no-arg call": "===========",
    "args malformed": "===========",
    "args non-object": "===========",
    "args raw spacing": "===========",
    "args unicode/big": "===========",
    "text after call": "===~~==~=~~",
    "parallel calls": "===========",
    "results reordered": "======x====",
    "sequential calls": "===========",
    "same tool twice": "===========",
    "empty result": "===========",
    "result json obj": "~~=~===~=~~",
    "result json list": "~~=~~==~=~~",
    "result json-looking text": "===========",
    "result image": "====x====xx",
    "result file": "===xx=~x=xx",
    "result parts": "==~~~~~==~=",
    "is_error": "~==~~==~=~=",
    "denied result": "~~~~~==~=~~",
    "approval": "xxxxxx=x=xx",
    "orphan result": "=x====xx=xx",
    "unanswered call": "===========",
    "user after result": "===========",
    "user user": "===========",
    "asst asst": "x==========",
    "empty asst": "===========",
    "reasoning": "xx==x======",
    "reasoning+call": "xx==x======",
    "reasoning of two blocks": "xx=~x==~=~~",
    "reasoning between": "xx=~x==~=~~",
    "anthropic signature": "x=~~x==~=~~",
    "anthropic redacted": "~=~~~==~=~~",
    "openai encrypted": "=x~~x==~=~~",
    "gemini call sig": "~~=~~==~=~~",
    "refusal": "xxxxxxxxxxx",
    "custom tool call": "=xxxxxxxxxx",
    "hosted call": "x=xxx==x~xx",
    "unanswered hosted call": "x=xxx==x~xx",
    "source": "xxxxx==xxxx",
    "native members": "~=~~~=~~~~~",
}
"""The best possible cells of each kind of content, in the order of ``FORMATS``."""
_MARKS = ("native", "mime", "name", "provider")
_RANK = {SAME: 0, MARKS: 1, DROPPED: 2}


def cell(kind: str, name: str) -> str:
    """Return the cell of a kind of content in a format, by a round trip."""
    conversation = copy.deepcopy(KINDS[kind])
    document = conversations.dump(conversation, name)
    losses = conversations.losses_in(conversation, document, name)
    if not losses:
        return MARKS if losses.kept_for_chatsquash else SAME
    again = conversations.load(document, name)
    return MARKS if _content(turns_of(conversation)) == _content(turns_of(again)) else DROPPED


def _content(turns: tuple[Turn, ...]) -> list[Any]:
    """Return text, reasoning and other blocks of each turn, without marks that no record shows."""
    turns, names = with_tool_names(tuple(turns))
    return [
        (turn.role, _words(turn.blocks, Text), _words(turn.blocks, Reasoning), _others(turn.blocks, names))
        for turn in turns
    ]


def _words(blocks: Iterable[Block], kind: type[Any]) -> str:
    """Return the words of all blocks of a type, separated by single spaces."""
    return " ".join(" ".join(block.text for block in blocks if isinstance(block, kind)).split())


def _others(blocks: Iterable[Block], names: dict[str, str]) -> list[Any]:
    """Return the blocks other than text and reasoning, in order."""
    return [_bare(block, names) for block in blocks if not isinstance(block, Text | Reasoning)]


def _bare(block: Block, names: dict[str, str]) -> Any:
    if isinstance(block, Call):
        return block.id, block.name, block.custom, parse_json(block.arguments) or block.arguments
    if isinstance(block, Result):
        name = block.name or names.get(block.id, "")
        return block.id, name, _words(block.content, Text), _others(block.content, names)
    fields = {name: getattr(block, name) for name in block.__struct_fields__ if name not in _MARKS}
    return type(block).__name__, fields


def is_worse(actual: str, expected: str) -> bool:
    """Whether a cell keeps less than another."""
    return _RANK[actual] > _RANK[expected]


def declared(kind: str, name: str) -> str:
    """Return the cell that the format declares."""
    form = conversations.named_format(name)
    return DROPPED if kind in _split(form.LOSES) else MARKS if kind in _split(form.BLURS) else SAME


def _split(kinds: str) -> list[str]:
    return [" ".join(kind.split()) for kind in kinds.split(",")]


LABELS = {
    "instructions": "instructions",
    "system mid": "position of later system messages",
    "developer role": "developer messages",
    "developer mid": "developer messages",
    "text part bounds": "boundaries between text blocks",
    "image data": "images",
    "image between text": "order of text and images",
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
    "result parts": "boundaries between text blocks in results",
    "is_error": "marks on failed results",
    "denied result": "marks on denied results",
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
    "gemini call sig": "Gemini's call signatures",
    "refusal": "refusals",
    "custom tool call": "calls to custom tools",
    "hosted call": "calls to hosted tools",
    "unanswered hosted call": "calls to hosted tools",
    "source": "sources",
    "native members": "provider-specific members",
}
"""The names of kinds of content in the documentation, if they differ."""
TEXT_ONLY = "oumi_history"
"""The format that loses most kinds; the documentation describes it in words."""


def table() -> str:
    """Return the kinds that formats declare as reduced or lost, as a table for the documentation."""
    names = [name for name in conversations.writable_formats() if name != TEXT_ONLY]
    rows: dict[tuple[str, str], tuple[str, str]] = {}
    for kind in KINDS:
        cells = {name: declared(kind, name) for name in names}
        reduced, missing = (
            _listing([name for name in names if cells[name] == mark], names) for mark in (MARKS, DROPPED)
        )
        if reduced or missing:
            rows.setdefault((LABELS.get(kind, kind), reduced + missing), (reduced, missing))
    lines = [f"| {label} | {reduced} | {missing} |" for (label, _), (reduced, missing) in rows.items()]
    return "\n".join(["| content | reduced in | lost in |", "|---|---|---|", *lines])


def _listing(formats: list[str], names: list[str]) -> str:
    """Return formats as a list, or as those that are not among them if these are fewer."""
    others = [name for name in names if name not in formats]
    return f"all except {', '.join(others)}" if 0 < len(others) < len(formats) - 2 else ", ".join(formats)
