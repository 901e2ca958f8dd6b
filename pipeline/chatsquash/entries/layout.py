"""Where a log's lines have their messages and their tools, and what of the messages they repeat."""

from __future__ import annotations

import re
from typing import NamedTuple

from msgspec import Struct

from chatsquash.entries.members import elements
from chatsquash.entries.repeats import behind_gap, find

_BEHIND = re.compile(rb'[ \t\r]*\][ \t\r,}]*"[^"\\]{1,64}"[ \t\r]*:[ \t\r]*')
"""What stands behind an array of messages, up to the next value."""
_KEY = re.compile(rb'\{[ \t\r]*"[^"\\]{1,64}"[ \t\r]*:')
"""What a message begins with."""


class Layout(Struct, frozen=True):
    """Where lines have what; a log may have lines of several layouts."""

    at: int
    """How many bytes into its line the array of messages begins."""
    behind: bytes
    """What stands behind the array, up to the next value."""
    ahead: int
    """How many bytes before the array the tools begin, where they stand before it."""
    is_apart: bool
    """Whether they stand behind it, and something else is between."""


def layout(line: bytes, array: bytes, tools: bytes) -> Layout | None:
    """The layout of a line with this raw array of messages and these raw tools; ``None`` where that cannot be told."""
    at = find(line, b'"messages"', array, 0, len(line))
    behind = _BEHIND.match(line, at + len(array) - 1)
    if at < 0 or not behind:
        return None
    if not tools or line.startswith(tools, behind.end()):
        return Layout(at, behind[0], 0, is_apart=False)
    place = find(line, b'"tools"', tools, 0, at)
    return Layout(at, behind[0], max(0, at - place) if place >= 0 else 0, is_apart=place < 0)


class Core(NamedTuple):
    """What requests repeat of an array whose first and last message may be others in each."""

    lead: int
    """The bytes of the first message."""
    body: bytes
    """The messages behind the first one, but for the last, with what stands before each."""
    start: bytes
    """What the last message begins with, and what stands before it."""


def core(array: bytes) -> Core | None:
    """The core of a raw array of messages; ``None`` where it has fewer than two."""
    messages = elements(array)
    if len(messages) < 2:
        return None
    ends = []
    at = 1
    for message in messages:
        begin = behind_gap(array, at)
        at = begin + len(message)
        ends.append(at)
    key = _KEY.match(messages[-1])
    first, before = ends[0], ends[-2]
    return Core(first - 1, array[first:before], array[before:begin] + key[0]) if key else None
