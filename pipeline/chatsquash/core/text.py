"""Words and values as reports and terminals show them: escaped, cut short, counted."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import orjson

from chatsquash.core import jsonio
from chatsquash.core.model import Json

MAX_QUOTED = 80
"""Characters of a name or an id from a log that a finding shows."""
_LINE = 200
"""Characters of what a library says that a message shows."""
_KINDS = 8  # of files that were not read; there may be as many suffixes as files
_EXACT = 100
"""Seconds below which hundredths are shown."""


def escape(text: str) -> str:
    """Text for a finding: control, bidi and other characters that do not print, and lone surrogates, as escapes."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def quote(value: Json) -> str:
    """A name, an id or any other value from a log for a finding: in single quotes, escaped and cut short."""
    text = value if isinstance(value, str) else reprlib.repr(value)
    excerpt = text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 1] + "…"
    return "'" + escape(excerpt.replace("\\", "\\\\").replace("'", "\\'")) + "'"


def error_text(problem: BaseException) -> str:
    """What an exception of a library says, in its first line, escaped and cut short; its kind if it says nothing."""
    try:
        message = str(problem).strip()
    except Exception:  # noqa: BLE001 - as for a text that is nested too deeply
        message = ""
    line = message.partition("\n")[0].strip() or type(problem).__name__
    return shorten(line)


def shorten(text: str) -> str:
    """A text of somebody else's as a message shows it: escaped and cut short."""
    return escape(text if len(text) <= _LINE else text[: _LINE - 1] + "…")


def json_type(value: Json) -> str:
    """What a JSON value is, in words."""
    names = {type(None): "null", bool: "a boolean", str: "a string", list: "a list", dict: "an object"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "a number")


def pluralize(count: int, one: str, many: str = "") -> str:
    """``1 call``, ``2 calls``, ``2 entries``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def format_size(size: int) -> str:
    """A number of bytes in the largest unit that fits, as in ``1.9 MB``."""
    for unit, bytes_each in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_each:
            return f"{size / bytes_each:,.1f} {unit}"
    return pluralize(size, "byte")


def throughput(size: int, seconds: float) -> str:
    """How long a run took and for how many bytes, with the rate where it is at least 1 MB a second."""
    took = f"{max(seconds, 0.01):,.2f} s" if seconds < _EXACT else f"{seconds:,.0f} s"
    rate = size / 1e6 / seconds if seconds else 0.0
    return f"{took} for {format_size(size)}" + (f" ({rate:,.0f} MB/s)" if rate >= 1 else "")


def align_columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of a table as lines, cells of a column below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def printable(text: str) -> str:
    """A text as UTF-8 can hold it: file names may be any bytes."""
    return text.encode("utf-8", "backslashreplace").decode()


def frequent_kinds(others: Mapping[str, int]) -> list[tuple[str, int]]:
    """The most frequent kinds of what was not read, with their counts."""
    most = sorted(others.items(), key=lambda item: (-item[1], item[0]))
    rest = sum(count for _, count in most[_KINDS:])
    return [*most[:_KINDS], *([("others", rest)] if rest else [])]


def printable_json(value: Json, *, indent: bool = False) -> bytes:
    """JSON in which nothing stands that does not print: controls, bidi marks and lone surrogates are escaped.

    It loads as the value that it was.  ``indent``: on several lines, whose line feeds are the only ones.
    """
    if not indent and (encoded := jsonio.dumps(value)).isascii() and b"\x7f" not in encoded:
        return encoded  # the encoder escapes all other controls
    spelled = _indent(value) if indent else jsonio.dumps(value).decode()
    if spelled.isprintable():
        return spelled.encode()
    line_feed = "\n" if indent else ""
    printing = (char if char.isprintable() or char == line_feed else json.dumps(char)[1:-1] for char in spelled)
    return "".join(printing).encode()


def _indent(value: Json) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONEncodeError:  # lone surrogates, and integers beyond 64 bits
        return json.dumps(value, indent=2, ensure_ascii=False)


def remove_delimited(text: str, opening: str, closing: str) -> str:
    """A text without what stands between two marks, and these; a mark that is not closed is text."""
    pieces: list[str] = []
    at = 0
    while (start := text.find(opening, at)) >= 0 and (end := text.find(closing, start)) >= 0:
        pieces.append(text[at:start])
        at = end + len(closing)
    return "".join([*pieces, text[at:]]) if pieces else text


def certified(true: int, trained: int) -> str:
    """How many replies are trained on behind what their template gives at inference, in words."""
    return f"train = inference: {true:,} of {pluralize(trained, 'trained reply', 'trained replies')}"


_ALIKE = 0.7
"""How like a known name one has to be, where names are short."""


def hint(name: str, known: Iterable[str]) -> str:
    """The known names that are like an unknown one, if any, and all known ones."""
    from difflib import get_close_matches

    names = [*known]
    near = get_close_matches(name, names, 3, _ALIKE)
    question = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{question}known are {', '.join(names)}"


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """What is asked of somebody who wrote an unknown name; ``otherwise`` is said where no known one is like it."""
    from difflib import get_close_matches  # which only an error needs

    near = get_close_matches(name, [*known], 1)
    return f"did you mean {near[0]}?" if near else otherwise


_RUNS = 4
"""Runs of lines that are named."""


def format_lines(lines: list[int]) -> str:
    """Numbers of lines in order, as in ``lines 1, 3-5``; the last one behind ``…`` where there are many runs."""
    runs = [[line for _, line in run] for _, run in groupby(enumerate(lines), key=lambda each: each[1] - each[0])]
    ranges = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    if len(ranges) > _RUNS:
        ranges = [*ranges[: _RUNS - 1], f"… {lines[-1]}"]
    return f"{'line' if len(lines) == 1 else 'lines'} {', '.join(ranges)}" if ranges else ""
