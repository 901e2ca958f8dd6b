"""Tool definitions: enums as text, only the tools that are called, checks, and which definition applied to a call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from chatsquash.checks import examine, shapes
from chatsquash.checks.registry import View
from chatsquash.checks.tags import has_markup, outlined
from chatsquash.core import chat, jsonio
from chatsquash.core.memo import Each, Last
from chatsquash.core.model import Conversation, Entry, Json, KeptRun, Message, StageResult, Tool, Violation
from chatsquash.redaction.addresses import may_hold_address

_NO_SCHEMAS = ("enum", "const", "default", "examples")
"""The members of a schema that hold values."""


def enums_as_texts(conversation: Conversation) -> StageResult:
    """The conversation with its definitions so; how many values were none is reported."""
    tools, count = _written(conversation.tools)
    if not count:
        return conversation, ()
    return replace(conversation, tools=tools), [shapes.shape_changed({"values of enum written as text": count})]


def _write(tools: list[Tool]) -> tuple[list[Tool], int]:
    written = [_tool(tool) for tool in tools]
    return [tool for tool, _ in written], sum(count for _, count in written)


_written = Last(_write)


def _tool(tool: Any) -> tuple[Tool, int]:
    parameters = tool.get("parameters") if isinstance(tool, dict) else None
    if not isinstance(parameters, dict):
        return tool, 0
    changed, count = _schema(parameters)
    return ({**tool, "parameters": changed}, count) if count else (tool, 0)


def _schema(schema: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """A copy in which no value of an ``enum`` is anything but a text, without recursion, and how many were."""
    count = 0
    whole = dict(schema)
    todo: list[Any] = [whole]
    while todo:
        holder = todo.pop()
        values = holder.get("enum") if isinstance(holder, dict) else None
        if isinstance(values, list):
            count += sum(not isinstance(value, str) for value in values)
            holder["enum"] = list(map(_text, values))
        for key, member in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(member, dict | list) and key not in _NO_SCHEMAS:
                holder[key] = member.copy()
                todo.append(holder[key])
    return whole, count


def _text(value: Json) -> str:
    return value if isinstance(value, str) else jsonio.dumps(value).decode("utf-8", "surrogatepass")


def used_tools(conversation: Conversation) -> StageResult:
    """The conversation with the definitions of the tools that it calls; how many others there were is reported.

    Calls are those of all assistant messages, also in the legacy form and as markup in the text.
    """
    said = conversation.messages
    named = _names_called([*said, *outlined(said)] if has_markup(said) else said)
    called = {name for name in named if isinstance(name, str)}
    # A custom tool has the name that its calls have further inside.
    tools = [
        tool for tool in conversation.tools if (chat.tool_name(tool) or chat.tool_name(chat.custom(tool))) in called
    ]
    gone = len(conversation.tools) - len(tools)
    if not gone:
        return conversation, ()
    return replace(conversation, tools=tools), [shapes.shape_changed({"definitions of tools not called": gone})]


def _names_called(messages: list[Message]) -> Iterator[object]:
    for message in messages:
        for call in chat.calls(message):
            yield chat.call_name(call) or (chat.custom(call) or {}).get("name")
        legacy: Any = message.get("function_call")
        if isinstance(legacy, dict):
            yield legacy.get("name")


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
def check_definitions(tools: list[Tool]) -> list[Violation]:
    """What is wrong with definitions."""
    if all(definition.sound for definition in known(tools)):
        return []  # since rules look at one definition at a time
    return _examine(tools)


@Last
def encode_definitions(tools: list[Tool]) -> tuple[bytes, list[str]]:
    """What ``jsonio.encode`` gives for definitions."""
    parts = known(tools)
    written = b"[%b]" % b",".join([part.written for part in parts])
    return written, [spelling for part in parts for spelling in part.rounded]


def _examine(tools: list[Tool]) -> list[Violation]:
    return list(examine(View(Conversation([], tools)), "tools"))


def _define(tools: list[Tool]) -> list[Definition]:
    are_sound = not _examine(tools)
    definitions = []
    for tool in tools:
        written, rounded = jsonio.encode(tool)
        sound = are_sound or not _examine([tool])
        definitions.append(Definition(written, rounded, sound, may_hold_address(written)))
    return definitions


known: Last[list[Tool], list[Definition]] = Last(Each(_define, lambda definition: len(definition.written) <= _SMALL))


Definitions = list[tuple[int, Tool]]
"""The definitions of a name one after the other, each with the line from which on it holds."""


class Redefined(Struct, frozen=True):
    """The tools that a session defines more than once, and the lines whose replies made its calls."""

    redefined_tools: dict[str, Definitions]
    made: dict[str | bytes, int]
    """The line by the id of a call, of calls in logged replies."""
    answered: dict[int, int]
    """The line by the identity of a message's list of calls, of which the messages hold the same object."""
    last: int
    """The line of the reply that is appended."""

    def definition(self, message: Message, call_id: str | bytes | None, name: str) -> Tool | None:
        """The definition that held when a message made a call; ``None`` for a tool that has one only."""
        if name not in self.redefined_tools:
            return None
        line = self.made.get(call_id) if call_id is not None else None
        if line is None:
            line = self.answered.get(id(message.get("tool_calls")), self.last)
        (_, first), *later = self.redefined_tools[name]
        return next((tool for since, tool in reversed(later) if since <= line), first)


class CallTracker(Struct):
    """Follows which entry each message of the present request answers.

    A message that an entry adds was the reply to the entry before it; one that the first entry holds already counts as
    of that one.
    """

    _before: Entry | None = None
    _lines: list[int] = field(default_factory=list)
    """Of each message of the present request."""
    _settled: list[int] = field(default_factory=list)
    _made: dict[str | bytes, int] = field(default_factory=dict)

    def take(self, entry: Entry) -> None:
        """Go on to the next entry."""
        before, self._before = self._before, entry
        line = before.line if before else entry.line
        if before is None or entry.shared_prefix != len(before.messages):
            earlier, self._lines = self._lines, []
        else:
            earlier = self._lines  # which grows, so that it is that of the longest request all the same
        for run in entry.edits[1:] if earlier is self._lines and entry.shared_prefix else entry.edits:
            self._lines += earlier[run.start : run.stop] if isinstance(run, KeptRun) else [line] * len(run.messages)
        reply = entry.reply.message
        calls = chat.calls(reply) if reply else []
        flags = (chat.made_up_ids(reply) if reply else []) or [False] * len(calls)
        for call, is_made_up in zip(calls, flags, strict=True):
            key = chat.id_key(call.get("id"))
            if key is not None and not is_made_up:
                self._made.setdefault(key, entry.line)

    def settle(self) -> None:
        """The entries so far stay."""
        self._settled = self._lines

    def redefined(self, entry: Entry, definitions: dict[str, Definitions]) -> Redefined | None:
        """What holds for the calls of the entry that becomes the record; ``None`` where nothing was redefined."""
        if not definitions:
            return None
        both = zip(entry.messages, self._settled, strict=False)
        answered = {id(message["tool_calls"]): line for message, line in both if message.get("tool_calls")}
        return Redefined(definitions, self._made, answered, entry.line)
