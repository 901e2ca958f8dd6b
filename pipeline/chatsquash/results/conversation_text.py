"""A record as a conversation for a terminal: who says what, with calls, results and reasoning folded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import NamedTuple

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Message
from chatsquash.core.text import escape, pluralize, printable
from chatsquash.records.line import StoredRecord
from chatsquash.records.reading import MessagePart, message_calls, message_parts

_FOLDED = {"text": 12, "reasoning": 1, "call": 1, "result": 3}
"""The lines of a text that are shown where it is folded, by what it is."""
_WIDTH = 160
"""The characters of a line that are shown where it is folded."""
_TAB = 4
"""Characters from one tab stop to the next."""
_NARROWEST = 20
"""Characters of a line that is wrapped, at least."""
_STYLES = {
    "text": "",
    "role": "bold cyan",
    "reasoning": "dim italic",
    "call": "yellow",
    "result": "green",
    "more": "dim",
}


class Line(NamedTuple):
    """A line of a terminal, and what it is, which says its colour."""

    kind: str
    text: str


def lines(held: StoredRecord, *, unfold: bool = False) -> Iterator[Line]:
    """The messages of a record, then its tools; nothing in them controls a terminal."""
    names: dict[object, str] = {}
    for number, message in enumerate(held.messages):
        names |= {call.get("id"): chat.call_name(call) or "?" for call in message_calls(message)}
        yield Line("role", f"[{number}] {_title(message, names)}")
        for part in message_parts(message):
            yield from _label(part)
            yield from _shown(*_spelled(part), unfold=unfold)
    tools = [chat.tool_name(tool) or "?" for tool in held.tools] if isinstance(held.tools, list) else []
    if tools:
        yield Line("role", pluralize(len(tools), "tool"))
        yield from _shown("text", ", ".join(tools), unfold=unfold)


def as_text(shown: Iterator[Line]) -> str:
    """Lines for a pipe, or a terminal without colours."""
    return "\n".join(line.text for line in shown)


def has_colours() -> bool:
    """Whether rich is there to show colours, and nobody asks for none."""
    return find_spec("rich") is not None and not os.environ.get("NO_COLOR")


def print_in_colours(shown: Iterator[Line]) -> None:
    """Print lines in colours; what is longer than the terminal is wide goes on below its beginning."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line in shown:
        text = line.text.lstrip(" ")
        indent = len(line.text) - len(text)
        for piece in Text(text, style=_STYLES[line.kind]).wrap(console, max(_NARROWEST, console.width - indent)):
            piece.rstrip()
            console.print(" " * indent, piece, sep="", soft_wrap=True)


def _title(message: Message, names: dict[object, str]) -> str:
    """The role of a message with its name; of a result the name of the tool and the id of the call."""
    id_ = message.get("tool_call_id")
    called = names.get(id_) if isinstance(id_, str) and not message.get("name") else None
    told = (message["role"], message.get("name"), called, id_)
    return " ".join(escape(text) for text in told if isinstance(text, str) and text)


def _label(part: MessagePart) -> Iterator[Line]:
    """What stands above reasoning and calls, which no colour tells from the text in a pipe."""
    if part.kind == "reasoning":
        yield Line("reasoning", "    reasoning:")
    elif part.kind == "call":
        yield Line("call", f"    calls {escape(printable(part.name))}:")


def _spelled(part: MessagePart) -> tuple[str, str]:
    """A part of what a message says as one text, and what kind of line that is."""
    if part.kind == "part":
        return "more", f"({part.name}, {len(jsonio.dumps(part.value)):,} bytes)"
    return part.kind, part.text


def _shown(kind: str, text: str, *, unfold: bool) -> Iterator[Line]:
    """A text as lines, of which the first are shown unless all are asked for."""
    indent = "      " if kind in ("reasoning", "call") else "    "
    found = printable(text).expandtabs(_TAB).split("\n")
    most = len(found) if unfold else _FOLDED.get(kind, 1)
    cut = 0
    for line in found[:most]:
        kept = line if unfold else line[:_WIDTH]
        cut += len(line) - len(kept)
        yield Line(kind, f"{indent}{escape(kept)}")
    cut += sum(map(len, found[most:]))
    if cut:
        yield Line("more", f"{indent}… {pluralize(cut, 'character')} more (--unfold)")
