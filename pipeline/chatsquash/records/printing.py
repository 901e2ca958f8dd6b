"""Print a record as a conversation, in plain text or in color; long texts are shortened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Message
from chatsquash.core.text import escape, pluralize, printable
from chatsquash.records import StoredRecord
from chatsquash.records.reading import MessagePart, message_calls, message_parts, native, record

_MAX_LINES = {"text": 12, "reasoning": 1, "call": 1, "result": 3}
"""The maximum number of lines of a shortened text, by kind."""
_WIDTH = 160
"""The number of characters per line of a shortened text."""
_TAB = 4
"""The number of characters between tab stops."""
_MIN_WIDTH = 20
"""The minimum width of wrapped lines in characters."""
_STYLES = {
    "text": "",
    "role": "bold cyan",
    "reasoning": "dim italic",
    "call": "yellow",
    "result": "green",
    "more": "dim",
}


class TextLine(NamedTuple):
    """A line of output and its kind, which determines the color."""

    kind: str
    text: str


def as_lines(record: StoredRecord, *, unfold: bool = False, hint: str = " (--unfold)") -> Iterator[TextLine]:
    """Yield the messages of a record and then its tools; control characters are escaped.

    ``hint`` follows the number of hidden characters.
    """
    names: dict[object, str] = {}
    for number, message in enumerate(record.messages):
        names |= {call.get("id"): chat.call_name(call) or "?" for call in message_calls(message)}
        yield TextLine("role", f"[{number}] {_title(message, names)}")
        for part in message_parts(message):
            yield from _label(part)
            yield from _show(*_kind_and_text(part), hint, unfold=unfold)
    tools = [chat.tool_name(tool) or "?" for tool in record.tools] if isinstance(record.tools, list) else []
    if tools:
        yield TextLine("role", pluralize(len(tools), "tool"))
        yield from _show("text", ", ".join(tools), hint, unfold=unfold)


def as_text(lines: Iterator[TextLine]) -> str:
    """Join lines for a pipe, or for a terminal without colors."""
    return "\n".join(line.text for line in lines)


def record_as_text(value: dict[str, Any]) -> str:
    """Return a record in any preset as readable text."""
    return as_text(as_lines(native(record(value)), hint=""))


def has_colours() -> bool:
    """Return whether rich is installed and ``NO_COLOR`` is not set."""
    return find_spec("rich") is not None and not os.environ.get("NO_COLOR")


def print_in_colours(lines: Iterator[TextLine]) -> None:
    """Print lines in color; long lines are wrapped with their indentation."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line in lines:
        text = line.text.lstrip(" ")
        indent = len(line.text) - len(text)
        for piece in Text(text, style=_STYLES[line.kind]).wrap(console, max(_MIN_WIDTH, console.width - indent)):
            piece.rstrip()
            console.print(" " * indent, piece, sep="", soft_wrap=True)


def _title(message: Message, names: dict[object, str]) -> str:
    """Return the role and name of a message; for a result, also the tool and the id of the call."""
    id_ = message.get("tool_call_id")
    tool = names.get(id_) if isinstance(id_, str) and not message.get("name") else None
    parts = (message["role"], message.get("name"), tool, id_)
    return " ".join(escape(text) for text in parts if isinstance(text, str) and text)


def _label(part: MessagePart) -> Iterator[TextLine]:
    """Yield the heading of reasoning and calls."""
    # Without color, only the heading distinguishes them from text.
    if part.kind == "reasoning":
        yield TextLine("reasoning", "    reasoning:")
    elif part.kind == "call":
        yield TextLine("call", f"    calls {escape(printable(part.name))}:")


def _kind_and_text(part: MessagePart) -> tuple[str, str]:
    """Return the line kind and the text for a part of a message."""
    if part.kind == "part":
        return "more", f"({part.name}, {len(jsonio.dumps(part.value)):,} bytes)"
    return part.kind, part.text


def _show(kind: str, text: str, hint: str, *, unfold: bool) -> Iterator[TextLine]:
    """Yield text as lines; without ``unfold``, only the first lines."""
    indent = "      " if kind in ("reasoning", "call") else "    "
    rows = printable(text).expandtabs(_TAB).split("\n")
    limit = len(rows) if unfold else _MAX_LINES.get(kind, 1)
    hidden = 0
    for line in rows[:limit]:
        visible = line if unfold else line[:_WIDTH]
        hidden += len(line) - len(visible)
        yield TextLine(kind, f"{indent}{escape(visible)}")
    hidden += sum(map(len, rows[limit:]))
    if hidden:
        yield TextLine("more", f"{indent}… {pluralize(hidden, 'character')} more{hint}")
