"""What is known of tool definitions, which are the same objects in many sessions."""

from __future__ import annotations

from msgspec import Struct

from chatsquash.checks import examine
from chatsquash.checks.registry import View
from chatsquash.core import jsonio
from chatsquash.core.memo import Each, Last
from chatsquash.core.model import Conversation, Found, Tool
from chatsquash.redact.addresses import may_hold_address

_SMALL = 1 << 14
"""Bytes of a definition of which a hundred may be held in memory."""


class Definition(Struct, frozen=True, gc=False):
    """A definition as it is written, and what follows from looking at it alone."""

    written: bytes
    rounded: list[str]
    """The spellings of its numbers that lose digits."""
    sound: bool
    """Whether no rule finds anything."""
    may_have_address: bool
    """Whether its JSON has anything like an address."""


@Last
def check(tools: list[Tool]) -> list[Found]:
    """What is wrong with definitions."""
    if all(definition.sound for definition in known(tools)):
        return []  # since rules look at one definition at a time
    return _found(tools)


@Last
def encode(tools: list[Tool]) -> tuple[bytes, list[str]]:
    """What ``jsonio.encode`` gives for definitions."""
    parts = known(tools)
    written = b"[%b]" % b",".join([part.written for part in parts])
    return written, [spelling for part in parts for spelling in part.rounded]


def _found(tools: list[Tool]) -> list[Found]:
    return list(examine(View(Conversation([], tools)), "tools"))


def _define(tools: list[Tool]) -> list[Definition]:
    are_sound = not _found(tools)
    definitions = []
    for tool in tools:
        written, rounded = jsonio.encode(tool)
        sound = are_sound or not _found([tool])
        definitions.append(Definition(written, rounded, sound, may_hold_address(written)))
    return definitions


known: Last[list[Tool], list[Definition]] = Last(Each(_define, lambda definition: len(definition.written) <= _SMALL))
