"""Losses of plain conversations, which are known from the declarations of a format without reading the output again."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from chatsquash.core.blocks import FORM, Block, Call, Reasoning, Result, Text, Turn
from chatsquash.core.model import Conversation
from chatsquash.formats.base import AnyFormat
from chatsquash.formats.calls import ERROR, UNPARSED
from chatsquash.formats.providers.openai_chat.read import turns_of

_KINDS = frozenset((
    *("system first", "text", "tool call", "text+call", "parallel calls", "unanswered call", "user after result"),
    *("empty result", "result json-looking text", "args malformed", "args raw spacing"),
))  # fmt: skip
"""The content of plain conversations in addition to unsigned reasoning, in the terms of the formats' declarations."""
_NEXT_ROLES = {
    "": ("system", "user"),
    "system": ("user",),
    "user": ("assistant",),
    "assistant": ("user", "tool"),
    "tool": ("user", "assistant"),
}
"""The roles that may follow each role."""


def plain_losses(conversation: Conversation, form: AnyFormat) -> list[str] | None:
    """Return the paths that a format loses of a plain conversation, or ``None`` for any other conversation.

    A plain conversation has at most one system prompt, questions with a single text, replies with reasoning, a text and
    calls in this order, and one result for each call.  It has no content for which formats differ, such as signatures
    and media.
    """
    if conversation.native or conversation.branch or not _is_preserved(form):
        return None
    paths, role, calls, call_ids = list[str](), "", list[Call](), set[str]()
    for at, turn in enumerate(turns_of(conversation)):
        if turn.native.keys() - {FORM} or turn.instructions or turn.role not in _NEXT_ROLES[role]:
            return None
        role = turn.role
        if role == "tool":
            if not turn.blocks or len(calls) != len(turn.blocks) or not all(map(_is_answer, turn.blocks, calls)):
                return None
            calls = []
        elif calls or not _is_plain(turn):
            return None
        elif role == "assistant":
            calls = [block for block in turn.blocks if type(block) is Call]
            number = len(call_ids) + len(calls)
            call_ids.update([call.id for call in calls])
            if len(call_ids) < number:
                return None
            if type(turn.blocks[0]) is Reasoning and _drops_reasoning(form):
                paths.append(f"turns[{at}].blocks[0]")
    return paths


@cache
def _is_preserved(form: AnyFormat) -> bool:
    """Return whether a format declares that it preserves all content of plain conversations except reasoning."""
    return form.LOSES is not None and _KINDS.isdisjoint(_list_kinds(form.LOSES) + _list_kinds(form.BLURS))


@cache
def _drops_reasoning(form: AnyFormat) -> bool:
    return "reasoning" in _list_kinds(form.LOSES or "")


def _list_kinds(kinds: str) -> list[str]:
    return [" ".join(kind.split()) for kind in kinds.split(",")]


def _is_plain(turn: Turn) -> bool:
    """Return whether a turn is a single text, or a reply of plain blocks in the usual order."""
    kinds = tuple(map(type, turn.blocks))
    if turn.role != "assistant":
        return kinds == (Text,) and _is_text(turn.blocks[0])
    return _are_in_usual_order(kinds) and all(_PLAIN[type(block)](block) for block in turn.blocks)


@cache
def _are_in_usual_order(kinds: tuple[type, ...]) -> bool:
    """Return whether types of blocks are reasoning, a text and calls in this order, and not only reasoning."""
    rest = kinds[1:] if kinds[:1] == (Reasoning,) else kinds
    return bool(rest) and all(kind is Call for kind in (rest[1:] if rest[0] is Text else rest))


def _is_text(block: Any) -> bool:
    return bool(block.text) and not (block.apart or block.native)


def _is_unsigned(block: Any) -> bool:
    return bool(block.text) and not (block.signer or block.signature or block.encrypted or block.id or block.native)


def _is_call(block: Any) -> bool:
    """Return whether a call has an id, a name, and arguments that survive being written as a JSON object."""
    arguments = block.arguments
    return bool(
        block.id
        and block.name
        and not (block.custom or block.made_up or block.native)
        and arguments.startswith("{")
        and UNPARSED not in arguments
        and "\\u00" not in arguments
    )


def _is_answer(block: Block, call: Call) -> bool:
    """Return whether a block is a plain result of a call: a single text or empty, with no name or that of the call."""
    if type(block) is not Result or block.outcome != "success" or block.json or block.made_up or block.native:
        return False
    content = block.content
    if block.id != call.id or block.name not in ("", call.name) or len(content) > 1:
        return False
    return not content or (type(content[0]) is Text and _is_text(content[0]) and not content[0].text.startswith(ERROR))


_PLAIN: dict[type, Callable[[Any], bool]] = {Text: _is_text, Reasoning: _is_unsigned, Call: _is_call}
