"""From a conversation to a preset's record: what all presets for training do alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import orjson

from chatsquash.checks import shapes
from chatsquash.checks.contents import first_violation
from chatsquash.checks.registry import View
from chatsquash.core import chat, jsonio, marks
from chatsquash.core.memo import Last
from chatsquash.core.model import Conversation, Json, Message, Tool, Violation
from chatsquash.core.text import json_type, quote
from chatsquash.formats import parts
from chatsquash.formats.calls import custom_function
from chatsquash.records import media, turns
from chatsquash.records.arguments import Arguments, floats
from chatsquash.records.line import RecordLine, digest
from chatsquash.records.notes import CannotHoldError, Notes, float_text, is_rounded
from chatsquash.records.presets import REFUSED, Choices, Preset, ShapeResult
from chatsquash.records.turns import Turn

_MOST, _LEAST = 2**64 - 1, -(2**63)
_HALF = re.compile("[\ud800-\udfff]")
_HALF_WRITTEN = b"\\ud"
"""In every line with half of a pair, since all else that is beyond ASCII is written as itself."""
_FRACTION = re.compile(rb'(?:(?:(?<!\\)|\\\\)":|[,\[])-?\d+[.eE]')
"""In every list or object with a float, as it is written; a text may have it, too."""
_AROUND = 20  # characters of a text that a finding shows


def _wrap(tools: list[Tool]) -> tuple[list[dict[str, Any]], Notes]:
    notes = Notes()
    if custom := sum(chat.custom_definition(tool) is not None for tool in tools):
        notes.changed["custom tools become functions with the argument input"] += custom
    tools = [custom_function(definition) if (definition := chat.custom_definition(tool)) else tool for tool in tools]
    named = [tool for tool in tools if chat.tool_name(tool)]
    if len(named) < len(tools):
        notes.dropped["tool definitions without a name"] += len(tools) - len(named)
    if hosted := sum(map(chat.runs_at_provider, named)):
        notes.dropped["definitions of tools that the provider runs"] += hosted
        named = [tool for tool in named if not chat.runs_at_provider(tool)]
    wrapped = [{"type": "function", "function": _function(tool, notes)} for tool in named]
    notes.floats += floats(wrapped)
    return wrapped, notes


_wrapped = Last(_wrap)
"""Flattened tools as ``{"type": "function", "function": {"name", "description", "parameters", ...}}``, with what was
noted; raises ``CannotHoldError``."""


def _function(tool: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """A definition with all that some templates print without asking whether it is there."""
    function = {key: value for key, value in tool.items() if value is not None}
    if "description" not in function:
        notes.changed["tool definitions without a description get an empty one"] += 1
        function = {"name": function["name"], "description": "", **function}
    return {**function, "parameters": _parameters(function, notes)}


def _parameters(function: dict[str, Any], notes: Notes) -> dict[str, Any]:
    parameters = function.get("parameters")
    if parameters is None:
        notes.changed["tool definitions without parameters get empty ones"] += 1
        return {"type": "object", "properties": {}}
    if not isinstance(parameters, dict):
        what = f"parameters of tool {quote(function['name'])} are {json_type(parameters)}"
        raise CannotHoldError(shapes.unsupported_shape(what, None))
    if parameters.get("properties") is not None:
        return parameters
    notes.changed["tool definitions without properties get empty ones"] += 1
    return {**parameters, "properties": {}}


class Plain(NamedTuple):
    """A conversation in the one form that ``turns.read`` gives, and its tools."""

    turns: list[turns.Turn]
    tools: list[dict[str, Any]]
    notes: Notes
    choices: Choices


def shape_record(  # noqa: PLR0913 - presets differ in the last two
    conversation: Conversation,
    arguments: Arguments,
    record: Callable[[Plain], dict[str, Any]],
    choices: Choices = REFUSED,
    *,
    as_text: bool = False,
    alternates: bool = False,
) -> ShapeResult:
    """What ``record`` makes of a conversation, with what was noted on the way; ``as_text`` as for ``Notes``.

    ``alternates``: nothing that the user says can follow a result.
    """
    if why := first_violation(View(conversation)):
        return ShapeResult(None, [why], why)
    notes = Notes()
    try:
        tools, noted = _wrapped(conversation.tools)
        notes.add(noted)
        messages = conversation.messages
        if alternates and choices.media in ("text", "drop"):
            messages = _with_media_in_results(messages, notes)
        read = _in_rows(turns.read(messages, arguments, notes, choices), notes, choices)
        made = record(Plain(read, tools, notes, choices))
    except CannotHoldError as problem:
        return ShapeResult(None, [*notes.findings(as_text=as_text), problem.violation], problem.violation)
    except RecursionError:
        why = _too_deep()
        return ShapeResult(None, [*notes.findings(as_text=as_text), why], why)
    record_marks = conversation.marks
    return ShapeResult(
        made, notes.findings(as_text=as_text), marks=record_marks and marks.record_marks(record_marks, read, made)
    )


def _with_media_in_results(messages: list[Message], notes: Notes) -> list[Message]:
    """The messages, with the media of a result that a client sent behind it as parts of it."""
    made: list[Any] = []
    content: list[Json] | None = None
    for message in messages:
        if not (made and made[-1]["role"] == "tool" and media.shows_media_of_a_result(message)):
            made.append(message)
            content = None
            continue
        notes.changed["media behind a result joined to it"] += 1
        if content is None:
            content = [*_parts(made[-1])]
        content += _parts(message)
        made[-1] = {**made[-1], **_media(message), "content": content}
    return made


def _media(message: Message) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name in media.MEMBERS}


def _parts(message: Message) -> list[Json]:
    content: Json = message.get("content")
    if isinstance(content, list):
        return content
    return [parts.text(content)] if content else []


def _in_rows(read: list[turns.Turn], notes: Notes, choices: Choices) -> list[turns.Turn]:
    """The turns as they are wanted behind each other, now that results and system messages have their places."""
    read = bridge_results(read, notes) if choices.bridges else read
    return merge_turns(read, notes, "user") if choices.merges else read


def line(preset: Preset, conversation: Conversation, choices: Choices = REFUSED, flag: str | None = None) -> RecordLine:
    """The JSON line of a conversation in the shape of a preset, with a flag in its messages if one is named."""
    record, findings, refused, record_marks = preset.shape(conversation, choices)
    if record is None:
        return RecordLine(None, findings, refused)
    if flag and record_marks is None:
        dropped = {f"member {flag} of assistant messages": len(conversation.marks or ())}
        flag, findings = None, [*findings, shapes.shape_dropped(dropped)]
    record_marks, unflagged = record_marks or [], b""
    try:
        data = orjson.dumps(record, default=float)  # for numbers that lost digits, which are a class
        if flag:
            unflagged = digest(data)
            flagged = marks.flag_record(
                record, record_marks, flag, everywhere=any(each.members for each in preset.COLUMNS)
            )
            data = orjson.dumps(flagged, default=float)
    except orjson.JSONEncodeError:
        why = _lost_in(record) or _too_deep()  # the encoder refuses what loaders refuse, too, or do not give back
        return RecordLine(None, [*findings, why], why)
    images = {str(name): name.data for name in record.get("images", ())}
    return RecordLine(data, findings, images=images, marks=record_marks, unflagged=unflagged)


def specified(conversation: Conversation, record: bytes) -> list[Violation]:
    """What loaders do not give back of the specified record; an error where it is not for a dataset folder."""
    said = [value for message in conversation.messages for value in message.values() if not isinstance(value, str)]
    odd, odd_tools = _odd(said), _odd_tools(conversation.tools)
    if (odd.refused or odd_tools.refused or _HALF_WRITTEN in record) and (
        lost := _lost_in([conversation.messages, conversation.tools])
    ):
        return [lost]
    hasty = [*odd.hasty, *odd_tools.hasty]
    return [shapes.float_rounded(hasty, len(hasty))] if hasty else []


class _Odd(NamedTuple):
    """What is rare in values."""

    refused: bool
    """Whether the encoder refuses them."""
    hasty: list[str]
    """Floats that loaders round."""


def _odd(values: list[Json]) -> _Odd:
    try:
        written = orjson.dumps(values, default=float)
    except orjson.JSONEncodeError:
        refused, met = True, floats(values)
    else:
        refused, met = False, floats(values) if _FRACTION.search(written) else []
    return _Odd(refused, [float_text(each) for each in met if is_rounded(each)])


_odd_tools = Last(_odd)


def _lost_in(record: Json) -> Violation | None:
    """The first integer or text in a record that loaders do not give back."""
    for leaf in jsonio.leaves(record, keys=True):
        if isinstance(leaf, int) and not _LEAST <= leaf <= _MOST:
            return shapes.integer_too_large(str(leaf))
        if isinstance(leaf, str) and (half := _HALF.search(leaf)):
            return shapes.lone_surrogate(leaf[max(0, half.start() - _AROUND) : half.end() + _AROUND])
    return None


def _too_deep() -> Violation:
    return shapes.unsupported_shape("values are nested too deeply", None)


_JOINED = "messages joined to the one before"


def bridge_results(turns: list[Turn], notes: Notes) -> list[Turn]:
    """The turns, with what the user says right behind a result behind the text of that result.

    What the user says with images stays, since results have texts only.
    """
    made: list[Turn] = []
    for turn in turns:
        if made and turn["role"] == "user" and made[-1]["role"] == "tool" and isinstance(turn["content"], str):
            notes.changed["messages of the user joined to the result before"] += 1
            made[-1] = {**made[-1], "content": media.together(made[-1]["content"], turn["content"])}
        else:
            made.append(turn)
    return made


def behind_results(turns: Iterable[Turn]) -> int:
    """How often the user speaks right behind a result."""
    return sum(before["role"] == "tool" and turn["role"] == "user" for before, turn in pairwise(turns))


def merge_turns(turns: Iterable[Turn], notes: Notes, *roles: str) -> list[Turn]:
    """The turns, with those of these roles as one where they stand in a row; they have no calls."""
    made: list[Turn] = []
    for role, run in groupby(turns, key=lambda turn: turn["role"]):
        first, *rest = run
        if role not in roles:
            made += [first, *rest]
            continue
        for turn in rest:
            notes.changed[_JOINED] += 1
            first = {**first, "content": media.together(first["content"], turn["content"])}
        made.append(first)
    return made
