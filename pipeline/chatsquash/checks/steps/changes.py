"""Changes of files: replaced texts or complete contents, and the patches that contain them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import NamedTuple

from xxhash import xxh3_128_digest

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_UPDATE, _ADD, _DELETE, _MOVE = "*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "
_SEARCHES = ("<<<<<<< SEARCH", "------- SEARCH")
_REPLACES = (">>>>>>> REPLACE", "+++++++ REPLACE")


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


def patches_in(text: str) -> Iterator[Change]:
    """Yield the changes of all patches in a text; deleted and moved files are not changes of a text."""
    start = text.find(_BEGIN)
    if start >= 0:
        yield from _blocks_of_apply_patch(text[start : end if (end := text.find(_END, start)) >= 0 else len(text)])
    elif "\n+++ " in text and "\n@@ " in text:
        yield from _files_of_diff(text)


def _blocks_of_apply_patch(text: str) -> Iterator[Change]:
    file, lines, is_new = "", list[str](), False
    for line in [*text.split("\n")[1:], _DELETE]:
        if line.startswith((_UPDATE, _ADD, _DELETE)):
            if file and is_new:
                yield writing(normal_path(file), "\n".join(each[1:] for each in lines if each.startswith("+")))
            elif file:
                yield replacing(normal_path(file), list(_hunks(lines)))
            is_new = line.startswith(_ADD)
            file, lines = "" if line.startswith(_DELETE) else line.partition(": ")[2].strip(), []
        elif not line.startswith(_MOVE):
            lines.append(line)


def _files_of_diff(text: str) -> Iterator[Change]:
    file, lines = "", list[str]()
    for line in [*text.split("\n"), "+++ /dev/null"]:
        if line.startswith("+++ "):
            if lines and lines[-1].startswith("--- "):
                lines.pop()
            if file:
                yield replacing(normal_path(file), list(_hunks(lines)))
            path = line[4:].split("\t")[0].strip()
            file, lines = "" if path == "/dev/null" else path.removeprefix("b/"), []
        elif not line.startswith(("diff --git", "index ")):
            lines.append(line)


def _hunks(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the old and the new text of each hunk with a change."""
    old: list[str] = []
    new: list[str] = []
    for line in [*lines, "@@"]:
        if line.startswith("@@"):
            if old != new:
                yield "".join(old), "".join(new)
            old, new = [], []
        elif line.startswith("+"):
            new.append(f"{line[1:]}\n")
        elif line.startswith("-"):
            old.append(f"{line[1:]}\n")
        elif line.startswith(" ") or not line:
            old.append(f"{line[1:]}\n")
            new.append(f"{line[1:]}\n")


def blocks_in(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the file (if a line before the block names it), the old and the new text of SEARCH/REPLACE blocks."""
    if not any(mark in text for mark in _SEARCHES):
        return
    file, old, new, part = "", list[str](), list[str](), ""
    for line in text.split("\n"):
        text_line = line.rstrip()
        if not part and text_line.startswith(_SEARCHES):
            part, old, new = "old", [], []
        elif part == "old" and text_line == "=======":
            part = "new"
        elif part == "new" and text_line.startswith(_REPLACES):
            yield file, "".join(_without_header(old)), "".join(new)
            part = ""
        elif part:
            (old if part == "old" else new).append(f"{line}\n")
        elif text_line and not text_line.startswith("```"):
            file = text_line.strip("`*# ")
    # A block that is not closed changes nothing.


def _without_header(lines: list[str]) -> list[str]:
    """Remove the line numbers that Roo Code writes before the old text."""
    if "-------\n" in lines[:4] and any(line.startswith(":start_line:") for line in lines[:3]):
        return lines[lines.index("-------\n") + 1 :]
    return lines
