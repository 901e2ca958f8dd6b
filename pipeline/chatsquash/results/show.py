"""One record of a dataset by its number or its session, as a conversation for a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from chatsquash.core import chat, jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Message
from chatsquash.core.outcome import Place
from chatsquash.core.text import escape, pluralize, printable, quoted
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.records.datasets import DatasetRow, rows
from chatsquash.records.line import NotARecordError, StoredRecord
from chatsquash.records.places import read
from chatsquash.records.reading import MessagePart, message_calls, message_parts, native, parse, record
from chatsquash.results.output import damage, lines
from chatsquash.storage.folder import Folder

_NAMED = 5
"""Sessions that an error names."""
_TYPES = {"session": str, "log": str, "file": str | None, "row": int | None, "offset": int | None}
"""What of the session table leads to a record."""


class RecordView(NamedTuple):
    """A record, and what the session table says of it."""

    row: DatasetRow
    record: StoredRecord
    facts: dict[str, Any]
    """The line of the session table; empty where there is none."""
    others: list[str]
    """The places of the session's other records."""

    def title(self) -> str:
        """Where the record stands and what it is of."""
        parts = [f"{printable(str(self.row.file))}:{self.row.number}"]
        parts += [f"session {self.facts['session']}"] if self.facts.get("session") else []
        parts += [str(self.facts[name]) for name in ("format", "model", "start") if self.facts.get(name)]
        parts += [f"also {', '.join(self.others[:_NAMED])}"] if self.others else []
        return escape(", ".join(parts))

    def as_json(self) -> dict[str, Any]:
        """The record with its place and its facts."""
        value = jsonio.loads(self.row.data)
        return {
            "file": printable(str(self.row.file)),
            "row": self.row.number,
            "facts": self.facts or None,
            "record": value,
        }


def show(dataset: str, which: str) -> RecordView:
    """A record: the one with a number, counted from 1 over all files by name, else one of a session.

    A session is named by its id or how that begins, or a record by its place, ``FILE:ROW``.  Raises ``UsageError``
    where there is none, where several sessions begin so, and where the row is no record.
    """
    with closing(Folder(Path(dataset))) as folder:
        matches = list(_table(folder, lambda line: which in (line["session"], f"{line['file']}:{line['row']}")))
        if not matches and which.isascii() and which.isdigit():
            row = _by_number(dataset, int(which))
            place = row.file.relative_to(dataset).as_posix() if row.file != Path(dataset) else ""
            return _view(row, list(_table(folder, lambda line: (line["file"], line["row"]) == (place, row.number))))
        matches = matches or list(_table(folder, lambda line: line["session"].startswith(which)))
        if not matches:
            hint = "its records are named by number, FILE:ROW or the id of the session"
            raise UsageError(f"{dataset}: there is no record {quoted(which)}; {hint}")
        if len({line["session"] for line in matches}) > 1:
            ids = ", ".join(quoted(line["session"]) for line in matches[:_NAMED])
            raise UsageError(f"{dataset}: several sessions begin with {quoted(which)}: {ids}; give more of the id")
        written = [line for line in matches if None not in (line["file"], line["row"])]
        if not written:
            why = matches[0]["left_out"] or matches[0]["filtered"]
            raise UsageError(f"{dataset}: session {quoted(matches[0]['session'])} has no record ({why})")
        stands = Place(written[0]["file"], written[0]["row"], written[0]["offset"])
        return _view(DatasetRow(Path(dataset, stands.file), stands.row, read(folder, stands)), written)


def _table(folder: Folder, is_wanted: Callable[[dict[str, Any]], bool]) -> Iterator[dict[str, Any]]:
    """The lines of the session table that are wanted, of which it may have very many; none where there is no table."""
    if folder.status(SESSIONS) is None:
        return
    for line in lines(folder, SESSIONS, *_TYPES, "left_out", "filtered"):
        if any(not isinstance(line[name], kind) for name, kind in _TYPES.items()):
            raise damage(folder, SESSIONS)
        if is_wanted(line):
            yield line


def _by_number(dataset: str, number: int) -> DatasetRow:
    row = next(islice(rows(dataset), number - 1, None), None) if number else None
    if row is None:
        raise UsageError(f"{dataset}: there is no record {number}; it has {sum(1 for _ in rows(dataset)):,}")
    return row


def _view(row: DatasetRow, written: list[dict[str, Any]]) -> RecordView:
    """A record, with the lines that the session table has of its session's records, its own first."""
    try:
        stored = native(record(parse(row.data)))
    except NotARecordError as problem:
        raise UsageError(f"{row.file}:{row.number}: {problem}") from None
    own = written[0] if written else {}
    others = [f"{line['file']}:{line['row']}{_elsewhere(line, own)}" for line in written[1:]]
    return RecordView(row, stored, own, others)


def _elsewhere(line: dict[str, Any], own: dict[str, Any]) -> str:
    """The log of a record that has the id of the session, where it is another one."""
    return "" if line["log"] == own["log"] else f" of {line['log']}"


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


class TextLine(NamedTuple):
    """A line of a terminal, and what it is, which says its colour."""

    kind: str
    text: str


def as_lines(stored: StoredRecord, *, unfold: bool = False) -> Iterator[TextLine]:
    """The messages of a record, then its tools; nothing in them controls a terminal."""
    names: dict[object, str] = {}
    for number, message in enumerate(stored.messages):
        names |= {call.get("id"): chat.call_name(call) or "?" for call in message_calls(message)}
        yield TextLine("role", f"[{number}] {_title(message, names)}")
        for part in message_parts(message):
            yield from _label(part)
            yield from _show(*_spelled(part), unfold=unfold)
    tools = [chat.tool_name(tool) or "?" for tool in stored.tools] if isinstance(stored.tools, list) else []
    if tools:
        yield TextLine("role", pluralize(len(tools), "tool"))
        yield from _show("text", ", ".join(tools), unfold=unfold)


def as_text(shown: Iterator[TextLine]) -> str:
    """Lines for a pipe, or a terminal without colours."""
    return "\n".join(line.text for line in shown)


def has_colours() -> bool:
    """Whether rich is there to show colours, and nobody asks for none."""
    return find_spec("rich") is not None and not os.environ.get("NO_COLOR")


def print_in_colours(shown: Iterator[TextLine]) -> None:
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
    parts = (message["role"], message.get("name"), called, id_)
    return " ".join(escape(text) for text in parts if isinstance(text, str) and text)


def _label(part: MessagePart) -> Iterator[TextLine]:
    """What stands above reasoning and calls, which no colour tells from the text in a pipe."""
    if part.kind == "reasoning":
        yield TextLine("reasoning", "    reasoning:")
    elif part.kind == "call":
        yield TextLine("call", f"    calls {escape(printable(part.name))}:")


def _spelled(part: MessagePart) -> tuple[str, str]:
    """A part of what a message says as one text, and what kind of line that is."""
    if part.kind == "part":
        return "more", f"({part.name}, {len(jsonio.dumps(part.value)):,} bytes)"
    return part.kind, part.text


def _show(kind: str, text: str, *, unfold: bool) -> Iterator[TextLine]:
    """A text as lines, of which the first are shown unless all are asked for."""
    indent = "      " if kind in ("reasoning", "call") else "    "
    rows = printable(text).expandtabs(_TAB).split("\n")
    most = len(rows) if unfold else _FOLDED.get(kind, 1)
    cut = 0
    for line in rows[:most]:
        kept = line if unfold else line[:_WIDTH]
        cut += len(line) - len(kept)
        yield TextLine(kind, f"{indent}{escape(kept)}")
    cut += sum(map(len, rows[most:]))
    if cut:
        yield TextLine("more", f"{indent}… {pluralize(cut, 'character')} more (--unfold)")
