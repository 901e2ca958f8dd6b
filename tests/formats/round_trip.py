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


def table() -> str:
    """All that formats declare, as a table for the documentation."""
    names = conversations.writable()
    head = f"| kind | {' | '.join(names)} |"
    rows = [f"| {kind} | {' | '.join(declared(kind, name) for name in names)} |" for kind in KINDS]
    return "\n".join([head, "|---" * (len(names) + 1) + "|", *rows])
