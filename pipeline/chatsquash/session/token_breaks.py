"""Name the reason why the prompt of a reply does not begin with the token ids of an earlier prompt and its reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from chatsquash.core import chat, jsonio, reasoning
from chatsquash.core.model import Entry, Json, Message
from chatsquash.core.token_ids import ID_SIZE, common_prefix, unpack_ids
from chatsquash.formats.values import at
from chatsquash.session.samples import messages_of
from chatsquash.trees.replies import Reply

if TYPE_CHECKING:
    from chatsquash.templates.counting import Tokenizer

BreakReason = Literal["template", "rewrite", "truncation", "tokenizer", "unknown"]
ClientChange = Literal["none", "missing", "changed", "unknown"]
"""The client's change to earlier messages; unknown for a file that does not contain requests."""
_SEARCHED_IDS = 16
"""The number of ids at the beginning of a prompt that are searched in an earlier sequence."""
_SAME_SHARE = 10
"""Sequences begin alike if their common prefix is at least this fraction of the earlier one."""


class LoggedSequence(Struct, frozen=True):
    """The packed ids of a prompt and its reply, with the logged facts about them."""

    ids: bytes
    prompt: int
    """The size of the prompt in bytes."""
    model: str
    """The model that sampled the reply, as logged; empty if unknown."""
    messages: Sequence[Message]
    """The last message of the request, and the reply."""
    is_cut: bool = False
    """Whether the reply was truncated."""


def name_break(
    earlier: LoggedSequence, later: LoggedSequence, change: ClientChange, tokenizer: Tokenizer | None
) -> BreakReason:
    """Return the reason for a break.

    Args:
        earlier: The last reply before ``later`` with token ids.
        later: A reply whose prompt does not continue it.
        change: The client's change to the messages of the earlier request and reply.
        tokenizer: The tokenizer of the model, if known.
    """
    prompt = later.ids[: later.prompt]
    common = common_prefix(earlier.ids, prompt)
    begins_alike = common * _SAME_SHARE >= len(earlier.ids)
    if tokenizer and _is_encoded(earlier, tokenizer) != _is_encoded(later, tokenizer):
        return "tokenizer"
    if change == "missing" or (earlier.is_cut and common >= earlier.prompt):
        return "truncation"
    if change == "changed":
        return "rewrite"
    if _begins_inside(prompt, earlier.ids) or _begins_inside(earlier.ids, prompt):
        return "truncation"
    if earlier.model and later.model and earlier.model != later.model and not begins_alike:
        return "tokenizer"
    return "template" if begins_alike and change == "none" else "unknown"


def client_change(earlier: Entry, later: Entry, between: Sequence[Reply]) -> ClientChange:
    """Return what the client did to earlier messages.

    ``between`` are the replies after the earlier one up to and including the later one.
    """
    if any(reply.how == "cut" for reply in between):
        return "missing"
    if any(reply.how == "rewritten" for reply in between):
        return "changed"
    return "changed" if _is_changed(earlier, later) else "none"


def _is_changed(earlier: Entry, later: Entry) -> bool:
    """Return whether a later request does not repeat the tools and messages of an earlier one and its reply."""
    before, after = messages_of(earlier), later.messages
    has_other_tools = earlier.tools is not later.tools and _encode(earlier.tools) != _encode(later.tools)
    if len(after) < len(before) or has_other_tools:
        return True
    return any(one is not other and _essence(one) != _essence(other) for one, other in zip(before, after, strict=False))


def _essence(message: Message) -> bytes:
    """Return the parts of a message that templates render, as logged."""
    calls = [[chat.call_name(call), at(call, "function", "arguments")] for call in chat.calls(message)]
    return _encode([message["role"], message.get("content") or "", reasoning.text_or_block(message), calls])


def _encode(value: Json) -> bytes:
    # Values are compared as JSON, because 1 equals True in Python.
    return jsonio.dumps(value)


def _begins_inside(inner: bytes, outer: bytes) -> bool:
    """Return whether packed ids begin in the middle of other ids and continue like these."""
    beginning = inner[: _SEARCHED_IDS * ID_SIZE]
    if len(beginning) < _SEARCHED_IDS * ID_SIZE:
        return False
    place = outer.find(beginning, 1)
    while place > 0:
        if place % ID_SIZE == 0:
            size = min(len(inner), len(outer) - place)
            return inner[:size] == outer[place : place + size]
        place = outer.find(beginning, place + 1)
    return False


def _is_encoded(sequence: LoggedSequence, tokenizer: Tokenizer) -> bool:
    """Return whether the ids of a reply and the message before it are those of their texts in a tokenizer."""
    text = tokenizer.decode(unpack_ids(sequence.ids))
    texts = [(chat.text(message) or "").strip() for message in sequence.messages]
    return text is not None and all(each in text for each in texts)
