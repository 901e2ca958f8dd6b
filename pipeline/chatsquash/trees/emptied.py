"""Detect results that a client emptied: removed, shortened or replaced by a note."""

from __future__ import annotations

import re

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Message
from chatsquash.trees.canonical import common_ends

_NOTE = 100
"""The maximum length of a note in characters."""
_REMOVED = 40
"""The minimum number of characters removed by shortening; a smaller difference means another result."""
_COMPARED_LENGTH = 10_000
"""The number of characters of an original to compare words with."""
_WORD = re.compile(r"\w+")
_BRACKETED = re.compile(r"(?=.*[^\W\d_])(?:\[[^\[\]\n]*\]|<[^<>\n]*>|\([^()\n]*\)|\{[^{}\n]*\}|\*+[^*\n]+\*+)")


def is_emptied(message: Message, original: Message) -> bool:
    """Return whether a result is an emptied version of its original.

    A different text, such as the result of a second run, is not an emptied version.
    """
    here, there = ((chat.text(each) or "").strip() for each in (message, original))
    lacks_parts = len(chat.other_parts(message)) < len(chat.other_parts(original))
    if here == there or not here:
        return lacks_parts or here != there
    if lacks_parts and here.startswith(there):
        return _is_note(here[len(there) :].strip())
    return bool(there) and (_is_placeholder(here, there) or _is_shortened(here, there))


def is_removed(here: str, there: str) -> bool:
    """Return whether a text is a note in place of another one, or the remainder after a part was removed."""
    here, there = here.strip(), there.strip()
    return here != there and (_is_note(here) or _is_shortened(here, there))


def _is_note(text: str) -> bool:
    """Return whether a text is a short remark in brackets or asterisks rather than a value."""
    return len(text) <= _NOTE and _BRACKETED.fullmatch(text) is not None and jsonio.value(text) is None


def _is_placeholder(here: str, there: str) -> bool:
    """Return whether a text is a note in place of another one, or short with few words in common."""
    if len(here) > _NOTE or here in there:
        return False
    if _is_note(here):
        return True
    words = [word.lower() for word in _WORD.findall(here)]
    known = {word.lower() for word in _WORD.findall(there[:_COMPARED_LENGTH])}
    return len(there) > 2 * len(here) and 2 * sum(word in known for word in words) < len(words)


def _is_shortened(here: str, there: str) -> bool:
    """Return whether a text is the beginning or end of another one, or both with a note in between."""
    begin, end = common_ends(here, there)
    if len(there) - begin - end < _REMOVED:
        return False
    rest = here[begin : len(here) - end].strip()
    if not rest:
        return there.startswith(here) or there.endswith(here)
    is_elided = len(rest) <= _NOTE and ("..." in rest or "\u2026" in rest)
    return (is_elided or _is_note(rest)) and 2 * (begin + end) >= len(here)
