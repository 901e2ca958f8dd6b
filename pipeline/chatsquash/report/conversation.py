"""A record as a conversation for a terminal: who says what, with calls, results and reasoning folded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import NamedTuple

from chatsquash import chat, jsonio
from chatsquash.model import Message
from chatsquash.records.reading import StoredRecord
from chatsquash.records.said import Part, parts
from chatsquash.text import counted, escaped, printable

_FOLDED = {"text": 12, "reasoning": 1, "call": 1, "result": 3}
"""The lines of a text that are shown where it is folded, by what it is."""
_WIDTH = 160
"""The characters of a line that are shown where it is folded."""
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
    for number, message in enumerate(held.messages):
        yield Line("role", f"[{number}] {_title(message)}")
        for part in parts(message):
            yield from _shown(*_spelled(part), unfold=unfold)
    names = [chat.tool_name(tool) or "?" for tool in held.tools] if isinstance(held.tools, list) else []
    if names:
        yield Line("role", counted(len(names), "tool"))
        yield from _shown("text", ", ".join(names), unfold=unfold)


def as_text(shown: Iterator[Line]) -> str:
    """Lines for a pipe, or a terminal without colours."""
    return "\n".join(line.text for line in shown)


def has_colours() -> bool:
    """Whether rich is there to show colours, and nobody asks for none."""
    return find_spec("rich") is not None and not os.environ.get("NO_COLOR")


def print_in_colours(shown: Iterator[Line]) -> None:
    """Print lines in colours."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for line in shown:
        console.print(Text(line.text, style=_STYLES[line.kind]))


def _title(message: Message) -> str:
    beside = [message.get(name) for name in ("name", "tool_call_id")]
    return " ".join(escaped(text) for text in (message["role"], *beside) if isinstance(text, str) and text)


def _spelled(part: Part) -> tuple[str, str]:
    """A part of what a message says as one text, and what kind of line that is."""
    if part.kind == "part":
        return "more", f"({part.name}, {len(jsonio.dumps(part.value)):,} bytes)"
    return part.kind, f"{part.name} {part.text}" if part.kind == "call" else part.text


def _shown(kind: str, text: str, *, unfold: bool) -> Iterator[Line]:
    """A text as lines, of which the first are shown unless all are asked for."""
    found = printable(text).split("\n")
    most = len(found) if unfold else _FOLDED.get(kind, 1)
    cut = 0
    for line in found[:most]:
        kept = line if unfold else line[:_WIDTH]
        cut += len(line) - len(kept)
        yield Line(kind, f"    {escaped(kept)}")
    cut += sum(map(len, found[most:]))
    if cut:
        yield Line("more", f"    … {counted(cut, 'character')} more (--unfold)")
