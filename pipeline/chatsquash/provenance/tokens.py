"""The strings and objects in JSON text, with their places; damaged JSON and text around it are skipped.

Places are byte offsets, because a proof must be replayable without knowledge of the format of the log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

# A string that is not closed is matched too: otherwise, each of its quotes would be tried as the beginning of one.
_TOKEN = re.compile(rb'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?|[{}\[\]]')
STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_IS_KEY = re.compile(rb"[ \t\r\n]*:")
_NESTED = re.compile(rb"[ \t\r\n]*+(?:[{\[]|(?:data|event|id): ?)")
"""The beginning of a string that contains JSON itself, such as a logged body or a logged stream."""
_DEEPEST = 4
"""How many levels of JSON in strings are searched."""
_MOST_OPEN = 10_000
STRING, QUOTE, JSON, GUNZIP, MEMBER = "string", "quote", "json", "gunzip", "member"
"""The steps that decode and encode a string of JSON, spell a JSON value compactly, expand a gzip stream, and open a
member of an archive.
"""

Step = Any
"""A range of bytes as ``[start, stop]``, or the name of a decoding, possibly in a list with its arguments."""
Steps = tuple[Step, ...]


class Leaf(NamedTuple):
    """A string in a file."""

    text: bytes
    steps: Steps
    """The steps that lead from the bytes of the file to the string."""
    start: int
    """The offset of the outermost string around it, in the bytes after decompression."""
    stop: int
    key: bytes
    """The key that it is a value of, or that its array is the value of."""


class Scan:
    """The strings and objects of some text."""

    def __init__(self) -> None:
        self.leaves: list[Leaf] = []
        self.values: list[tuple[Any, int, int, Steps]] = []
        """All objects and arrays: the data, their ranges in it, and the steps that lead to the data."""

    def add(self, data: Any, start: int, stop: int, steps: Steps = ()) -> None:
        """Add the strings between two offsets of some data to which ``steps`` lead."""
        self._add(data, (start, stop), steps, None, 0)

    def _add(self, data: Any, span: tuple[int, int], steps: Steps, outer: Leaf | None, depth: int) -> None:
        open_: list[tuple[int, bytes]] = []
        key = b""
        for match in _TOKEN.finditer(data, *span):
            at, end = match.span()
            character = data[at]
            if character == 0x22:
                if end - at < 2 or data[end - 1] != 0x22:
                    continue
                if _IS_KEY.match(data, end):
                    key = bytes(data[at + 1 : end - 1])
                else:
                    self._leaf(data, (at, end), (steps, key), outer, depth)
            elif character in b"{[":
                if len(open_) < _MOST_OPEN:
                    open_.append((at, key))
            elif open_:
                begin, key = open_.pop()
                self.values.append((data, begin, end, steps))

    def _leaf(
        self, data: Any, span: tuple[int, int], about: tuple[Steps, bytes], outer: Leaf | None, depth: int
    ) -> None:
        steps, key = about
        text = decode_string(bytes(data[span[0] : span[1]]))
        if text is None:
            return
        place = (outer.start, outer.stop) if outer else span
        leaf = Leaf(text, (*steps, [*span], STRING), *place, key)
        self.leaves.append(leaf)
        if depth < _DEEPEST and _NESTED.match(text):
            self._add(text, (0, len(text)), leaf.steps, outer or leaf, depth + 1)


def decode_string(raw: bytes) -> bytes | None:
    """Return the text of a JSON string as UTF-8, including lone surrogates; ``None`` if it is invalid."""
    if b"\\" not in raw:
        return raw[1:-1]
    try:
        text: str = json.loads(raw.decode("utf-8", "surrogatepass"), strict=False)
        return text.encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return None


def compact(raw: bytes) -> bytes | None:
    """Return a JSON value in its compact spelling, or ``None`` if it is invalid."""
    try:
        return spell(json.loads(raw.decode("utf-8", "surrogatepass"), strict=False))
    except (ValueError, RecursionError):
        return None


def spell(value: Any) -> bytes:
    """Return the compact spelling of a JSON value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def quote(text: bytes) -> bytes:
    """Return the spelling of a string in JSON."""
    return spell(text.decode("utf-8", "surrogatepass"))


def texts_of(value: Any, path: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield the texts of a message with their JSON pointers: all strings but roles and types.

    Arguments of calls are one text, whether they are text or an object.
    """
    if isinstance(value, str):
        yield path, value.encode("utf-8", "surrogatepass")
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from texts_of(each, f"{path}/{at}")
    elif isinstance(value, dict):
        for name, each in value.items():
            if name in ("role", "type", "from"):
                continue
            inner = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
            if name == "arguments" and not isinstance(each, str):
                yield inner, spell(each)
            else:
                yield from texts_of(each, inner)
