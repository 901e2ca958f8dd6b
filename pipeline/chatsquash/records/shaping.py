"""Shape a conversation into a record: the steps that all presets for training share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import orjson

from chatsquash.checks import shapes
from chatsquash.checks.contents import first_violation
from chatsquash.core import chat, jsonio, marks
from chatsquash.core.memo import Last
from chatsquash.core.model import Conversation, Json, Message, Tool, Violation
from chatsquash.core.text import json_type, quote
from chatsquash.formats import parts
from chatsquash.formats.calls import custom_function
from chatsquash.records import RecordLine, digest, media, turns
from chatsquash.records.arguments import Arguments, floats
from chatsquash.records.notes import CannotHoldError, Notes, float_text, is_rounded
from chatsquash.records.presets import NO_CHOICES, Choices, Preset, ShapeResult
from chatsquash.records.turns import Turn

_MAX_INTEGER, _MIN_INTEGER = 2**64 - 1, -(2**63)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE = b"\\ud"
"""Occurs in every line with a lone surrogate, because other characters are not escaped."""
_CONTEXT = 20  # the number of characters before and after a surrogate in a finding


def _wrap(tools: list[Tool]) -> tuple[list[dict[str, Any]], Notes]:
    notes = Notes()
    definitions = list(map(chat.custom_definition, tools))
    if custom := len(tools) - definitions.count(None):
        notes.changed["custom tools become functions with the argument input"] += custom
        pairs = zip(tools, definitions, strict=True)
        tools = [custom_function(definition) if definition else tool for tool, definition in pairs]
    with_name = [tool for tool in tools if chat.tool_name(tool)]
    if len(with_name) < len(tools):
        notes.dropped["tool definitions without a name"] += len(tools) - len(with_name)
    if hosted := sum(map(chat.runs_at_provider, with_name)):
        notes.dropped["definitions of provider-run tools"] += hosted
        with_name = [tool for tool in with_name if not chat.runs_at_provider(tool)]
    functions = [{"type": "function", "function": _function(tool, notes)} for tool in with_name]
    notes.floats += floats(functions)
    return functions, notes


_wrap_cached = Last(_wrap)
"""Wraps flattened tools as ``{"type": "function", "function": {"name", "description", "parameters", ...}}``.

Returns them with notes; raises ``CannotHoldError``. Cached, because sessions usually repeat their tools.
"""


def _function(tool: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """Return a definition with all members that some templates print without checking whether they exist."""
    function = {key: value for key, value in tool.items() if value is not None}
    if "description" not in function:
        notes.changed["tool definitions without a description get an empty one"] += 1
        function = {"name": function["name"], "description": "", **function}
    function["parameters"] = _parameters(function, notes)
    return function


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


class PlainConversation(NamedTuple):
    """A conversation in the common form of ``turns.read``, and its tools."""

    turns: list[turns.Turn]
    tools: list[dict[str, Any]]
    notes: Notes
    choices: Choices


def shape_record(  # noqa: PLR0913 - presets differ in the last two
    conversation: Conversation,
    arguments: Arguments,
    record: Callable[[PlainConversation], dict[str, Any]],
    choices: Choices = NO_CHOICES,
    *,
    as_text: bool = False,
    alternates: bool = False,
) -> ShapeResult:
    """Shape a conversation into a record.

    Args:
        conversation: The conversation.
        arguments: Converts arguments of calls.
        record: Builds the record from the common form.
        choices: The user's options.
        as_text: As for ``Notes.findings``.
        alternates: Whether the preset does not support user messages after results.
    """
    if why := first_violation(conversation):
        return ShapeResult(None, [why], why)
    notes = Notes()
    try:
        tools, tool_notes = _wrap_cached(conversation.tools)
        notes.add(tool_notes)
        messages = conversation.messages
        if alternates and choices.media in ("text", "drop"):
            messages = _with_media_in_results(messages, notes)
        turns_read = _join_rows(turns.read(messages, arguments, notes, choices), notes, choices)
        record_value = record(PlainConversation(turns_read, tools, notes, choices))
    except CannotHoldError as problem:
        return ShapeResult(None, [*notes.findings(as_text=as_text), problem.violation], problem.violation)
    except RecursionError:
        why = _too_deep()
        return ShapeResult(None, [*notes.findings(as_text=as_text), why], why)
    record_marks = conversation.marks
    return ShapeResult(
        record_value,
        notes.findings(as_text=as_text),
        marks=record_marks and marks.record_marks(record_marks, turns_read, record_value),
    )


def _with_media_in_results(messages: list[Message], notes: Notes) -> list[Message]:
    """Return the messages, with media that a client sent after a result moved into the result."""
    result: list[Any] = []
    content: list[Json] | None = None
    for message in messages:
        if not (result and result[-1]["role"] == "tool" and media.shows_media_of_a_result(message)):
            result.append(message)
            content = None
            continue
        notes.changed["media after a result joined to it"] += 1
        if content is None:
            content = [*_parts(result[-1])]
        content += _parts(message)
        result[-1] = {**result[-1], **_media(message), "content": content}
    return result


def _media(message: Message) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name in media.MEMBERS}


def _parts(message: Message) -> list[Json]:
    content: Json = message.get("content")
    if isinstance(content, list):
        return content
    return [parts.text(content)] if content else []


def _join_rows(result: list[turns.Turn], notes: Notes, choices: Choices) -> list[turns.Turn]:
    """Join adjacent turns according to the options, after results and system messages were moved."""
    result = bridge_results(result, notes) if choices.bridges else result
    return merge_turns(result, notes, "user") if choices.merges else result


def line(
    preset: Preset, conversation: Conversation, choices: Choices = NO_CHOICES, flag: str | None = None
) -> RecordLine:
    """Return the JSON line of a conversation in the shape of a preset, with a flag in its messages if one is given."""
    record, findings, refusal, record_marks = preset.shape(conversation, choices)
    if record is None:
        return RecordLine(None, findings, refusal)
    if flag and record_marks is None:
        dropped = {f"member {flag} of assistant messages": len(conversation.marks or ())}
        flag, findings = None, [*findings, shapes.shape_dropped(dropped)]
    record_marks, unflagged = record_marks or [], b""
    try:
        data = orjson.dumps(record, default=float)  # numbers that lost digits have a special class
        if flag:
            unflagged = digest(data)
            flagged = marks.flag_record(
                record, record_marks, flag, everywhere=any(each.members for each in preset.COLUMNS)
            )
            data = orjson.dumps(flagged, default=float)
    except orjson.JSONEncodeError:
        why = _first_unreadable(record) or _too_deep()  # the encoder rejects the values that loaders reject or change
        return RecordLine(None, [*findings, why], why)
    images = {str(name): name.data for name in record.get("images", ())}
    value = None if flag or images else record
    return RecordLine(data, findings, images=images, marks=record_marks, unflagged=unflagged, value=value)


def specified_record_violations(conversation: Conversation, record: bytes) -> list[Violation]:
    """Return violations for values of the specified record that loaders reject or round."""
    values = [value for message in conversation.messages for value in message.values() if not isinstance(value, str)]
    rare, rare_tools = _rare_values(values), _rare_values_of_tools(conversation.tools)
    if (rare.is_refused or rare_tools.is_refused or _SURROGATE_ESCAPE in record) and (
        violation := _first_unreadable([conversation.messages, conversation.tools])
    ):
        return [violation]
    rounded = [*rare.hasty, *rare_tools.hasty]
    return [shapes.float_rounded(rounded, len(rounded))] if rounded else []


class _RareValues(NamedTuple):
    """Rare problems in values."""

    is_refused: bool
    """Whether the encoder rejects them."""
    hasty: list[str]
    """Floats that loaders round."""


def _rare_values(values: list[Json]) -> _RareValues:
    try:
        orjson.dumps(values, default=float)
    except orjson.JSONEncodeError:
        is_refused = True
    else:
        is_refused = False
    return _RareValues(is_refused, [float_text(each) for each in floats(values) if is_rounded(each)])


_rare_values_of_tools = Last(_rare_values)


def _first_unreadable(record: Json) -> Violation | None:
    """Return a violation for the first integer or string in a record that loaders cannot read."""
    for leaf in jsonio.leaves(record, keys=True):
        if isinstance(leaf, int) and not _MIN_INTEGER <= leaf <= _MAX_INTEGER:
            return shapes.integer_too_large(str(leaf))
        if isinstance(leaf, str) and (surrogate := _SURROGATE.search(leaf)):
            return shapes.lone_surrogate(leaf[max(0, surrogate.start() - _CONTEXT) : surrogate.end() + _CONTEXT])
    return None


def _too_deep() -> Violation:
    return shapes.unsupported_shape("values are nested too deeply", None)


_JOINED_NOTE = "messages joined to the preceding one"


def bridge_results(turns: list[Turn], notes: Notes) -> list[Turn]:
    """Return the turns with user messages directly after a result appended to its text."""
    # User messages with images are not changed, because results contain only text.
    result: list[Turn] = []
    for turn in turns:
        if result and turn["role"] == "user" and result[-1]["role"] == "tool" and isinstance(turn["content"], str):
            notes.changed["user messages joined to the preceding result"] += 1
            result[-1] = {**result[-1], "content": media.join_contents(result[-1]["content"], turn["content"])}
        else:
            result.append(turn)
    return result


def count_users_after_results(turns: Iterable[Turn]) -> int:
    """Return the number of user messages directly after a result."""
    return sum(before["role"] == "tool" and turn["role"] == "user" for before, turn in pairwise(turns))


def merge_turns(turns: Iterable[Turn], notes: Notes, *roles: str) -> list[Turn]:
    """Join consecutive turns of these roles, which have no calls."""
    result: list[Turn] = []
    for role, run in groupby(turns, key=lambda turn: turn["role"]):
        first, *rest = run
        if role not in roles:
            result += [first, *rest]
            continue
        for turn in rest:
            notes.changed[_JOINED_NOTE] += 1
            first = {**first, "content": media.join_contents(first["content"], turn["content"])}
        result.append(first)
    return result
