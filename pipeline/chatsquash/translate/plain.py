"""What a format does not hold of a plain conversation, which is known without reading back what was written."""

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
"""What a plain conversation is made of, beside reasoning that nobody signed, in words of ``docs/formats.md``."""
_BEHIND = {
    "": ("system", "user"),
    "system": ("user",),
    "user": ("assistant",),
    "assistant": ("user", "tool"),
    "tool": ("user", "assistant"),
}
"""Who speaks after whom."""


def plain_losses(conversation: Conversation, form: AnyFormat) -> list[str] | None:
    """The paths at which a format loses something of a plain conversation; ``None`` for any other.

    A plain one has a system prompt at most, questions of one text, replies of reasoning, a text and calls in this
    order, and one result for each call.  All in which formats differ, such as signatures and media, is not in it.
    """
    if conversation.native or conversation.branch or not _is_preserved(form):
        return None
    paths, before, calls, known = list[str](), "", list[Call](), set[str]()
    for at, turn in enumerate(turns_of(conversation)):
        if turn.native.keys() - {FORM} or turn.instructions or turn.role not in _BEHIND[before]:
            return None
        before = turn.role
        if before == "tool":
            if not turn.blocks or len(calls) != len(turn.blocks) or not all(map(_is_answer, turn.blocks, calls)):
                return None
            calls = []
        elif calls or not _is_said(turn):
            return None
        elif before == "assistant":
            calls = [block for block in turn.blocks if type(block) is Call]
            number = len(known) + len(calls)
            known.update([call.id for call in calls])
            if len(known) < number:
                return None
            if type(turn.blocks[0]) is Reasoning and _drops_reasoning(form):
                paths.append(f"turns[{at}].blocks[0]")
    return paths


@cache
def _is_preserved(form: AnyFormat) -> bool:
    """Whether a format holds all that a plain conversation is made of, as it says itself."""
    return form.LOSES is not None and _KINDS.isdisjoint(_list_kinds(form.LOSES) + _list_kinds(form.BLURS))


@cache
def _drops_reasoning(form: AnyFormat) -> bool:
    return "reasoning" in _list_kinds(form.LOSES or "")


def _list_kinds(kinds: str) -> list[str]:
    return [" ".join(kind.split()) for kind in kinds.split(",")]


def _is_said(turn: Turn) -> bool:
    """Whether a turn says one text, or is a reply of plain blocks in their usual order."""
    kinds = tuple(map(type, turn.blocks))
    if turn.role != "assistant":
        return kinds == (Text,) and _is_text(turn.blocks[0])
    return _are_usual(kinds) and all(_PLAIN[type(block)](block) for block in turn.blocks)


@cache
def _are_usual(kinds: tuple[type, ...]) -> bool:
    """Whether blocks are reasoning, a text and calls, and not reasoning alone."""
    spoken = kinds[1:] if kinds[:1] == (Reasoning,) else kinds
    return bool(spoken) and all(kind is Call for kind in (spoken[1:] if spoken[0] is Text else spoken))


def _is_text(block: Any) -> bool:
    return bool(block.text) and not (block.apart or block.native)


def _is_unsigned(block: Any) -> bool:
    return bool(block.text) and not (block.signer or block.signature or block.encrypted or block.id or block.native)


def _is_call(block: Any) -> bool:
    """Whether a call has an id, a name, and arguments that are no other text once they are written as an object."""
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
    """Whether a block is the result of a call: one text or nothing, with no more than the name that its call has."""
    if type(block) is not Result or block.outcome != "success" or block.json or block.made_up or block.native:
        return False
    said = block.content
    if block.id != call.id or block.name not in ("", call.name) or len(said) > 1:
        return False
    return not said or (type(said[0]) is Text and _is_text(said[0]) and not said[0].text.startswith(ERROR))


_PLAIN: dict[type, Callable[[Any], bool]] = {Text: _is_text, Reasoning: _is_unsigned, Call: _is_call}
