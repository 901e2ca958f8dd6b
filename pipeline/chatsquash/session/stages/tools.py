"""Tool definitions and results.

Definitions: convert enums, drop unused tools, check, encode, and find the definition that applied to a call. Results:
remove those that a client sent twice, and mark failed ones in their text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from chatsquash.checks import examine, shapes, tags
from chatsquash.checks.registry import View
from chatsquash.core import chat, jsonio
from chatsquash.core.memo import Each, Last
from chatsquash.core.model import Conversation, Entry, Json, KeptRun, Message, StageResult, Tool, Violation
from chatsquash.redaction.addresses import may_contain_address

_VALUE_KEYS = ("enum", "const", "default", "examples")
"""Keywords of a schema that contain values, not schemas."""
_MAX_CONTENTS = 8
"""The number of results per call id with which later results are compared."""


def enums_as_texts(conversation: Conversation) -> StageResult:
    """Convert all ``enum`` values in tool definitions to text; report how many were not text."""
    tools, count = _cached_enums(conversation.tools)
    if not count:
        return conversation, ()
    return replace(conversation, tools=tools), [shapes.shape_changed({"enum values written as text": count})]


def _convert_enums(tools: list[Tool]) -> tuple[list[Tool], int]:
    converted = [_tool(tool) for tool in tools]
    return [tool for tool, _ in converted], sum(count for _, count in converted)


_cached_enums = Last(_convert_enums)


def _tool(tool: Any) -> tuple[Tool, int]:
    parameters = tool.get("parameters") if isinstance(tool, dict) else None
    if not isinstance(parameters, dict):
        return tool, 0
    changed, count = _schema(parameters)
    return ({**tool, "parameters": changed}, count) if count else (tool, 0)


def _schema(schema: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Copy a schema with all ``enum`` values as text, and count the values that were not."""
    # Iterative, because a logged schema may be nested deeper than Python's recursion limit.
    count = 0
    result = dict(schema)
    todo: list[Any] = [result]
    while todo:
        node = todo.pop()
        values = node.get("enum") if isinstance(node, dict) else None
        if isinstance(values, list):
            count += sum(not isinstance(value, str) for value in values)
            node["enum"] = list(map(_text, values))
        for key, member in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(member, dict | list) and key not in _VALUE_KEYS:
                node[key] = member.copy()
                todo.append(node[key])
    return result, count


def _text(value: Json) -> str:
    return value if isinstance(value, str) else jsonio.dumps(value).decode("utf-8", "surrogatepass")


def used_tools(conversation: Conversation) -> StageResult:
    """Keep only the definitions of tools that the conversation calls; report how many were dropped.

    Calls in the legacy format and calls written as markup in texts count as well.
    """
    messages = conversation.messages
    names = _names_called([*messages, *tags.to_native(messages)] if tags.has_markup(messages) else messages)
    called_names = {name for name in names if isinstance(name, str)}
    # The name of a custom tool is nested, as it is in its calls.
    tools = [
        tool
        for tool in conversation.tools
        if (chat.tool_name(tool) or chat.tool_name(chat.custom(tool))) in called_names
    ]
    dropped = len(conversation.tools) - len(tools)
    if not dropped:
        return conversation, ()
    return replace(conversation, tools=tools), [shapes.shape_changed({"definitions of uncalled tools": dropped})]


def _names_called(messages: list[Message]) -> Iterator[object]:
    for message in messages:
        for call in chat.calls(message):
            yield chat.call_name(call) or (chat.custom(call) or {}).get("name")
        legacy: Any = message.get("function_call")
        if isinstance(legacy, dict):
            yield legacy.get("name")


_MAX_CACHED = 1 << 14
"""Definitions of at most this many bytes are cached; there may be a hundred of them in memory."""


class Definition(Struct, frozen=True, gc=False):
    """An encoded definition with properties that can be computed from it."""

    encoded: bytes
    rounded: list[str]
    """The numbers that lose digits, as they were spelled."""
    is_valid: bool
    """Whether no check reports a finding."""
    may_have_address: bool
    """Whether its JSON contains anything that looks like an address."""


class ToolList(Struct, frozen=True, gc=False):
    """The definitions of a record, analysed."""

    definitions: list[Definition]
    encoded: bytes
    """The list as ``jsonio.encode`` encodes it."""
    rounded: list[str]
    are_valid: bool
    may_have_address: bool


def check_definitions(tools: list[Tool]) -> list[Violation]:
    """Return the findings about tool definitions."""
    # The checks look at one definition at a time.
    return [] if analyse_definitions(tools).are_valid else _examine(tools)


@Last
def _examine(tools: list[Tool]) -> list[Violation]:
    return examine(View(Conversation([], tools)), "tools")


def _define(tools: list[Tool]) -> list[Definition]:
    are_valid = not _examine(tools)
    definitions = []
    for tool in tools:
        encoded, rounded = jsonio.encode(tool)
        is_valid = are_valid or not _examine([tool])
        definitions.append(Definition(encoded, rounded, is_valid, may_contain_address(encoded)))
    return definitions


_define_each = Each(_define, lambda definition: len(definition.encoded) <= _MAX_CACHED)


@Last
def analyse_definitions(tools: list[Tool]) -> ToolList:
    """Encode and check tool definitions."""
    definitions = _define_each(tools)
    encoded = b"[%b]" % b",".join([each.encoded for each in definitions])
    odd = [each for each in definitions if not each.is_valid or each.may_have_address or each.rounded]
    if not odd:  # nearly always
        return ToolList(definitions, encoded, [], are_valid=True, may_have_address=False)
    return ToolList(
        definitions,
        encoded,
        [spelling for each in odd for spelling in each.rounded],
        are_valid=all(each.is_valid for each in odd),
        may_have_address=any(each.may_have_address for each in odd),
    )


Definitions = list[tuple[int, Tool]]
"""The definitions of a tool over time, each with the first line to which it applies."""


class RedefinedTools(Struct, frozen=True):
    """The tools that a session defines more than once, and the lines whose replies contain its calls."""

    redefined_tools: dict[str, Definitions]
    lines_by_call_id: dict[str | bytes, int]
    """The line of each logged reply's calls, by call id."""
    lines_by_calls: dict[int, int]
    """The line of each message's calls, by the identity of its list of calls, which messages share."""
    last_line: int
    """The line of the reply that is appended to the snapshot."""

    def definition(self, message: Message, call_id: str | bytes | None, name: str) -> Tool | None:
        """Return the definition that applied to a call in a message; ``None`` for a tool with a single definition."""
        if name not in self.redefined_tools:
            return None
        line = self.lines_by_call_id.get(call_id) if call_id is not None else None
        if line is None:
            line = self.lines_by_calls.get(id(message.get("tool_calls")), self.last_line)
        (_, first), *later = self.redefined_tools[name]
        return next((tool for since, tool in reversed(later) if since <= line), first)


class CallTracker(Struct):
    """Tracks the entry whose reply each message of the current request was.

    A message that an entry adds was the reply to the entry before it. Messages of the first entry are assigned to that
    entry.
    """

    _before: Entry | None = None
    _lines: list[int] = field(default_factory=list)
    """The line for each message of the current request."""
    _settled: list[int] = field(default_factory=list)
    _lines_by_call_id: dict[str | bytes, int] = field(default_factory=dict)

    def take(self, entry: Entry) -> None:
        """Advance to the next entry."""
        before, self._before = self._before, entry
        line = before.line if before else entry.line
        if before is None or entry.shared_prefix != len(before.messages):
            earlier, self._lines = self._lines, []
        else:
            earlier = self._lines  # Extended in place, so that it remains the list of the longest request.
        for run in entry.edits[1:] if earlier is self._lines and entry.shared_prefix else entry.edits:
            self._lines += earlier[run.start : run.stop] if isinstance(run, KeptRun) else [line] * len(run.messages)
        reply = entry.reply.message
        calls = chat.calls(reply) if reply else []
        flags = (chat.made_up_ids(reply) if reply else []) or [False] * len(calls)
        for call, is_made_up in zip(calls, flags, strict=True):
            key = chat.id_key(call.get("id"))
            if key is not None and not is_made_up:
                self._lines_by_call_id.setdefault(key, entry.line)

    def settle(self) -> None:
        """Record that the snapshot is the last entry so far."""
        self._settled = self._lines

    def redefined(self, entry: Entry, definitions: dict[str, Definitions]) -> RedefinedTools | None:
        """Return the definitions for the calls of the selected entry, or ``None`` if no tool was redefined."""
        if not definitions:
            return None
        message_lines = zip(entry.messages, self._settled, strict=False)
        lines_by_calls = {
            id(message["tool_calls"]): line for message, line in message_lines if message.get("tool_calls")
        }
        return RedefinedTools(definitions, self._lines_by_call_id, lines_by_calls, entry.line)


def drop_repeated_results(conversation: Conversation, *, loaded_only: bool) -> StageResult:
    """Drop results that repeat the call id and content of an earlier result after the same assistant message.

    Args:
        conversation: The conversation.
        loaded_only: Keep repeated results unless the conversation was loaded from a format other than OpenAI chat.
    """
    if loaded_only and not conversation.has_private:
        return conversation, ()
    ids = [message.get("tool_call_id") for message in conversation.messages if message["role"] == "tool"]
    if len(set(map(chat.id_key, ids))) == len(ids):
        return conversation, ()
    messages: list[Message] = []
    # The contents of the results since the last assistant message, by call id; ``None`` before the first one.
    contents_by_id: dict[str | bytes, list[Json]] | None = None
    for message in conversation.messages:
        if message["role"] == "assistant":
            contents_by_id = {}
        elif (
            message["role"] == "tool"
            and contents_by_id is not None
            and (key := chat.id_key(message.get("tool_call_id")))
        ):
            contents = contents_by_id.setdefault(key, [])
            if message.get("content") in contents[:_MAX_CONTENTS]:
                continue
            contents.append(message.get("content"))
        messages.append(message)
    dropped = len(conversation.messages) - len(messages)
    if not dropped:
        return conversation, ()
    return replace(conversation, messages=messages), [shapes.shape_changed({"repeated results removed": dropped})]


def mark_failed_results(conversation: Conversation) -> StageResult:
    """Prefix results that the log marks as errors with ``calls.ERROR``; report how many were changed.

    Chat messages have no field for it.
    """
    messages = [
        _with_prefix(message) if message["role"] == "tool" and chat.is_marked_failed(message) else message
        for message in conversation.messages
    ]
    changed = sum(new is not old for new, old in zip(messages, conversation.messages, strict=True))
    findings = [shapes.shape_changed({"failed results marked in their text": changed})] if changed else []
    return replace(conversation, messages=messages), findings


def _with_prefix(message: Message) -> Message:
    from chatsquash.formats.calls import ERROR  # imported here because few runs need it

    content: Any = message.get("content")
    if (chat.text(message) or "").startswith(ERROR) or not isinstance(content, str | list | None):
        return message
    return {**message, "content": _with_prefix_text(content, ERROR)}


def _with_prefix_text(content: str | list[Json] | None, prefix: str) -> str | list[Json]:
    if not isinstance(content, list):
        return prefix + (content or "")
    first = content[0] if content else None
    if isinstance(first, dict) and isinstance(first.get("text"), str):
        return [{**first, "text": prefix + first["text"]}, *content[1:]]
    return [{"type": "text", "text": prefix}, *content]
