"""Parse patches: those of ``apply_patch``, unified diffs, and SEARCH/REPLACE blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_UPDATE, _ADD, _DELETE, _MOVE = "*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "
_SEARCHES = ("<<<<<<< SEARCH", "------- SEARCH")
_REPLACES = (">>>>>>> REPLACE", "+++++++ REPLACE")


class FilePatch(NamedTuple):
    """The changes of a patch to one file."""

    file: str
    replacements: list[tuple[str, str]]
    content: str | None
    """The content of a file that the patch adds."""


def patches_in(text: str) -> Iterator[FilePatch]:
    """Yield the changes of all patches in a text; deleted and moved files are not changes of a text."""
    start = text.find(_BEGIN)
    if start >= 0:
        yield from _blocks_of_apply_patch(text[start : end if (end := text.find(_END, start)) >= 0 else len(text)])
    elif "\n+++ " in text and "\n@@ " in text:
        yield from _files_of_diff(text)


def _blocks_of_apply_patch(text: str) -> Iterator[FilePatch]:
    file, lines, is_new = "", list[str](), False
    for line in [*text.split("\n")[1:], _DELETE]:
        if line.startswith((_UPDATE, _ADD, _DELETE)):
            if file and is_new:
                yield FilePatch(file, [], "\n".join(each[1:] for each in lines if each.startswith("+")))
            elif file:
                yield FilePatch(file, list(_hunks(lines)), None)
            is_new = line.startswith(_ADD)
            file, lines = "" if line.startswith(_DELETE) else line.partition(": ")[2].strip(), []
        elif not line.startswith(_MOVE):
            lines.append(line)


def _files_of_diff(text: str) -> Iterator[FilePatch]:
    file, lines = "", list[str]()
    for line in [*text.split("\n"), "+++ /dev/null"]:
        if line.startswith("+++ "):
            if lines and lines[-1].startswith("--- "):
                lines.pop()
            if file:
                yield FilePatch(file, list(_hunks(lines)), None)
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
        stripped = line.rstrip()
        if not part and stripped.startswith(_SEARCHES):
            part, old, new = "old", [], []
        elif part == "old" and stripped == "=======":
            part = "new"
        elif part == "new" and stripped.startswith(_REPLACES):
            yield file, "".join(_without_header(old)), "".join(new)
            part = ""
        elif part:
            (old if part == "old" else new).append(f"{line}\n")
        elif stripped and not stripped.startswith("```"):
            file = stripped.strip("`*# ")
    # A block that is not closed changes nothing.


def _without_header(lines: list[str]) -> list[str]:
    """Remove the line numbers that Roo Code writes before the old text."""
    if "-------\n" in lines[:4] and any(line.startswith(":start_line:") for line in lines[:3]):
        return lines[lines.index("-------\n") + 1 :]
    return lines
