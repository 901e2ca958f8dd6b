"""Format values for reports and terminals: escape, shorten, count and align them."""

from __future__ import annotations

import json
import reprlib
from codecs import utf_8_decode
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import orjson
from msgspec import Struct, to_builtins
from msgspec.json import Encoder

from chatsquash.core import jsonio
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Json

MAX_QUOTED = 80
"""The maximum number of characters of a logged name or id in a finding."""
_LINE = 200
"""The maximum number of characters of a library's error message in a message."""
_KINDS = 8  # limits the kinds of unread files, because there may be as many suffixes as files
_EXACT = 100
"""The number of seconds below which hundredths are shown."""
_encode = Encoder().encode
_WINDOW = 1 << 16
_PLAIN_ID = lazy_compile(r"[A-Za-z0-9_.:#/+=|~-]{1,200}")


def escape(text: str) -> str:
    """Escape control characters, bidi marks, lone surrogates and other unprintable characters in a text."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def quote(value: Json) -> str:
    """Return a logged value for a finding: in single quotes, escaped and shortened."""
    text = value if isinstance(value, str) else reprlib.repr(value)
    excerpt = text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 1] + "…"
    return "'" + escape(excerpt.replace("\\", "\\\\").replace("'", "\\'")) + "'"


def error_text(problem: BaseException) -> str:
    """Return the first line of an exception's message, escaped and shortened; its type if the message is empty."""
    try:
        message = str(problem).strip()
    except Exception:  # noqa: BLE001 - for example if an argument is nested too deeply
        message = ""
    line = message.partition("\n")[0].strip() or type(problem).__name__
    return shorten(line)


def shorten(text: str) -> str:
    """Escape and shorten text from another source for a message."""
    return escape(text if len(text) <= _LINE else text[: _LINE - 1] + "…")


def json_type(value: Json) -> str:
    """Return the type of a JSON value in words."""
    names = {type(None): "null", bool: "a boolean", str: "a string", list: "a list", dict: "an object"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "a number")


def pluralize(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun: ``1 call``, ``2 calls``, ``2 entries``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def format_size(size: int) -> str:
    """Return a number of bytes in the largest unit that fits, for example ``1.9 MB``."""
    for unit, bytes_each in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_each:
            return f"{size / bytes_each:,.1f} {unit}"
    return pluralize(size, "byte")


def throughput(size: int, seconds: float) -> str:
    """Return the duration and size of a run, with the rate if it is at least 1 MB/s."""
    took = f"{max(seconds, 0.01):,.2f} s" if seconds < _EXACT else f"{seconds:,.0f} s"
    rate = size / 1e6 / seconds if seconds else 0.0
    return f"{took} for {format_size(size)}" + (f" ({rate:,.0f} MB/s)" if rate >= 1 else "")


def align_columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the rows of a table as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def printable(text: str) -> str:
    """Replace characters that UTF-8 cannot encode."""
    # File names may consist of any bytes.
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def frequent_kinds(others: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the most frequent kinds of unread files with their counts."""
    most = sorted(others.items(), key=lambda item: (-item[1], item[0]))
    rest = sum(count for _, count in most[_KINDS:])
    return [*most[:_KINDS], *([("others", rest)] if rest else [])]


def printable_json(value: Json, *, indent: bool = False) -> bytes:
    """Return a value as JSON in which control characters, bidi marks and lone surrogates are escaped.

    The result parses to the same value. With ``indent``, it has several lines.
    """
    if not indent and (encoded := jsonio.dumps(value)).isascii() and b"\x7f" not in encoded:
        return encoded  # the encoder escapes all other control characters
    spelled = _indent(value) if indent else jsonio.dumps(value).decode()
    if spelled.isprintable():
        return spelled.encode()
    line_feed = "\n" if indent else ""
    printing = (char if char.isprintable() or char == line_feed else json.dumps(char)[1:-1] for char in spelled)
    return "".join(printing).encode()


def printable_struct(value: Struct, *, has_fraction: bool) -> bytes:
    """Return a struct as ``printable_json`` returns its members.

    Args:
        value: The struct.
        has_fraction: Whether it may contain a ``float``, which the faster encoder may spell differently.
    """
    if not has_fraction:
        try:
            encoded = _encode(value)
        except (UnicodeEncodeError, OverflowError):  # lone surrogates, and integers beyond 64 bits
            return printable_json(to_builtins(value))
        if encoded.isascii() and b"\x7f" not in encoded:
            return encoded
    return printable_json(to_builtins(value))


def _indent(value: Json) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONEncodeError:  # lone surrogates, and integers beyond 64 bits
        return json.dumps(value, indent=2, ensure_ascii=False)


def remove_delimited(text: str, opening: str, closing: str) -> str:
    """Remove everything from opening to closing marks in a text; a mark that is not closed is kept."""
    pieces: list[str] = []
    at = 0
    while (start := text.find(opening, at)) >= 0 and (end := text.find(closing, start)) >= 0:
        pieces.append(text[at:start])
        at = end + len(closing)
    return "".join([*pieces, text[at:]]) if pieces else text


def inference_match(true: int, trained: int) -> str:
    """Return how many trained replies follow exactly the context that the template renders at inference."""
    return f"train = inference: {true:,} of {pluralize(trained, 'trained reply', 'trained replies')}"


_ALIKE = 0.7
"""The minimum similarity of names for a suggestion."""


def hint(name: str, known: Iterable[str]) -> str:
    """Suggest known names that are similar to an unknown one, and list all known names."""
    from difflib import get_close_matches

    names = [*known]
    near = get_close_matches(name, names, 3, _ALIKE)
    question, expected = (f"did you mean {' or '.join(near)}? ", "Expected") if near else ("", "expected")
    return f"{question}{expected} one of {', '.join(names)}"


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """Suggest the known name that is most similar to an unknown one; return ``otherwise`` if none is similar."""
    from difflib import get_close_matches  # only errors need it

    near = get_close_matches(name, [*known], 1)
    return f"did you mean {near[0]}?" if near else otherwise


_RUNS = 4
"""The maximum number of runs of lines in a list."""


def format_lines(lines: list[int]) -> str:
    """Return sorted line numbers as text, for example ``lines 1, 3-5``; many runs are abbreviated with ``…``."""
    runs = [[line for _, line in run] for _, run in groupby(enumerate(lines), key=lambda each: each[1] - each[0])]
    ranges = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    if len(ranges) > _RUNS:
        ranges = [*ranges[: _RUNS - 1], f"… {lines[-1]}"]
    return f"{'line' if len(lines) == 1 else 'lines'} {', '.join(ranges)}" if ranges else ""


def count_characters(text: bytes) -> int:
    """Return the number of characters in UTF-8."""
    count = done = 0
    while done < len(text):  # in pieces, because a character takes up to four bytes when decoded
        piece, size = utf_8_decode(text[done : done + _WINDOW], "strict", done + _WINDOW >= len(text))
        count, done = count + len(piece), done + size
    return count


def numbered_id(session: str, number: int) -> str:
    """Return the id that reports show for a reply without a logged id."""
    return f"{session}#{number}"


def is_text(value: object) -> bool:
    """Return whether a value is a string that can be encoded."""
    return isinstance(value, str) and not any("\ud800" <= each <= "\udfff" for each in value)


def plain_id(logged_id: str | None) -> str:
    """Return a logged id if it is one of a protocol, without addresses or other text; otherwise an empty string."""
    return logged_id if logged_id and _PLAIN_ID.fullmatch(logged_id) else ""
