"""From a conversation to a preset's record: what all presets for training do alike."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from pipeline import codec
from pipeline.checks import shapes
from pipeline.model import Conversation, Found, Json
from pipeline.write import definitions, turns
from pipeline.write.arguments import Arguments
from pipeline.write.holding import CannotHoldError, Notes
from pipeline.write.presets import Preset, Shaped

_MOST, _LEAST = 2**64 - 1, -(2**63)
_HALF = re.compile("[\ud800-\udfff]")
_AROUND = 20  # characters of a text that a finding shows


class Plain(NamedTuple):
    """A conversation in the one form that ``turns.read`` and ``definitions.define`` give."""

    turns: list[turns.Turn]
    tools: list[dict[str, Any]]
    notes: Notes


def shaped(
    conversation: Conversation,
    arguments: Arguments,
    record: Callable[[Plain], dict[str, Any]],
    *,
    as_text: bool = False,
) -> Shaped:
    """What ``record`` makes of a conversation, with what was noted on the way; ``as_text`` as for ``Notes``."""
    notes = Notes()
    try:
        defined = definitions.define(conversation.tools)
        notes.add(defined.notes)
        read = turns.read(conversation.messages, arguments, notes)
        made = record(Plain(read, defined.wrapped, notes))
    except CannotHoldError as problem:
        return Shaped(None, [*notes.findings(as_text=as_text), problem.found])
    except RecursionError:
        return Shaped(None, [*notes.findings(as_text=as_text), _too_deep()])
    return Shaped(made, notes.findings(as_text=as_text))


class Line(NamedTuple):
    """A record as it is written."""

    data: bytes | None
    """``None`` where the preset cannot hold the conversation; the last finding then says why."""
    findings: list[Found]


def line(preset: Preset, conversation: Conversation) -> Line:
    """The JSON line of a conversation in the shape of a preset."""
    record, findings = preset.shape(conversation)
    if record is None:
        return Line(None, findings)
    try:
        return Line(orjson.dumps(record, default=float), findings)  # for numbers that lost digits, which are a class
    except orjson.JSONEncodeError:
        return Line(None, [*findings, _refused(record)])


def _refused(record: Json) -> Found:
    """Why the encoder refuses a record: for what loaders refuse, too, or do not give back."""
    for leaf in codec.leaves(record, keys=True):
        if isinstance(leaf, int) and not _LEAST <= leaf <= _MOST:
            return shapes.integer_too_large(str(leaf))
        if isinstance(leaf, str) and (half := _HALF.search(leaf)):
            return shapes.lone_surrogate(leaf[max(0, half.start() - _AROUND) : half.end() + _AROUND])
    return _too_deep()


def _too_deep() -> Found:
    return shapes.shape_not_held("values are nested too deeply", None)
