"""From a conversation to a preset's record: what all presets for training do alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pipeline.model import Conversation
from pipeline.write import definitions, turns
from pipeline.write.arguments import Arguments
from pipeline.write.holding import CannotHoldError, Notes
from pipeline.write.presets import Shaped


class Plain(NamedTuple):
    """A conversation whose turns and definitions have the form of ``turns.read`` and ``definitions.define``."""

    turns: list[turns.Turn]
    tools: list[dict[str, Any]]
    notes: Notes


def shaped(
    conversation: Conversation, arguments: Arguments, record: Callable[[Plain], dict[str, Any]]
) -> Shaped:
    """What ``record`` makes of a conversation, with what was noted on the way."""
    notes = Notes()
    try:
        defined = definitions.define(conversation.tools)
        notes.add(defined.notes)
        read = turns.read(conversation.messages, arguments, notes)
        made = record(Plain(read, defined.wrapped, notes))
    except CannotHoldError as problem:
        return Shaped(None, [*notes.findings(), problem.found])
    return Shaped(made, notes.findings())
