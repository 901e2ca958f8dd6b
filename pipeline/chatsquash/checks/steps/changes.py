"""The change of a file that a call makes: replaced texts, or the complete content."""

from __future__ import annotations

import posixpath
from typing import NamedTuple

from xxhash import xxh3_128_digest


class Segment(NamedTuple):
    """A replaced text, without what its beginning and end have in common with the new text."""

    old: bytes
    """A digest of the old text."""
    new: bytes
    head: str
    """The text before it that both texts have in common."""
    tail: str

    def reverts(self, other: Segment) -> bool:
        """Return whether this replacement restores what another one changed, in a context that may be the same."""
        if (self.old, self.new) != (other.new, other.old):
            return False
        heads = self.head.endswith(other.head) or other.head.endswith(self.head)
        return heads and (self.tail.startswith(other.tail) or other.tail.startswith(self.tail))


class Change(NamedTuple):
    """The change of a file by a call."""

    file: str
    segments: tuple[Segment, ...] = ()
    """The replacements."""
    mode: str = ""
    """Which occurrences are replaced, if the call says so."""
    content: bytes | None = None
    """A digest of the complete content, if the call writes or shows all of it."""
    kind: str = "edit"
    """``edit``, ``undo`` for a call that reverts the last change of the file, or ``read``."""


def replacing(file: str, replacements: list[tuple[str, str]], mode: str = "") -> Change:
    """Return the change that replaces texts."""
    return Change(file, tuple(_segment(old, new) for old, new in replacements if old != new), mode)


def writing(file: str, content: str) -> Change:
    """Return the change that writes the content of a file."""
    return Change(file, content=_content_digest(content))


def reading(file: str, content: str) -> Change:
    """Return the content of a file that a call shows."""
    return Change(file, content=_content_digest(content), kind="read")


def normal_path(path: str) -> str:
    """Return a path in its shortest form."""
    return posixpath.normpath(path.strip().replace("\\", "/")) if path.strip() else ""


def _content_digest(content: str) -> bytes:
    return _digest(content.rstrip("\n"))


def _segment(old: str, new: str) -> Segment:
    head = _common(old, new)
    rest_old, rest_new = old[head:], new[head:]
    tail = _common(rest_old[::-1], rest_new[::-1])
    end_old, end_new = len(rest_old) - tail, len(rest_new) - tail
    return Segment(_digest(rest_old[:end_old]), _digest(rest_new[:end_new]), old[:head], rest_old[end_old:])


def _common(one: str, two: str) -> int:
    """Return the length of the common beginning, by bisection: comparing slices is fast for long texts."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _digest(text: str) -> bytes:
    return xxh3_128_digest(text.encode("utf-8", "surrogatepass"))
