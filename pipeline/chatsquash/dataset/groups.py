"""The grouping of records into files."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256

from chatsquash.core.lazy import lazy_compile
from chatsquash.core.options import GroupBy

UNDATED = "undated"
_UUID = r"(?i:-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z)"
_STAMP = r"-[0-9]{19}\Z"
_UNSAFE = lazy_compile(r"[^\w.-]")
_RESERVED = lazy_compile(r"(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³])(\.|$)", re.IGNORECASE)
_MAX_BYTES = 120


def scenario(stem: str) -> str:
    """Return a session's scenario: the file's stem without the number of its run (a UUID, 19 digits, a counter)."""
    while True:
        shorter = _without_count(re.sub(_STAMP, "", re.sub(_UUID, "", stem)))
        if shorter == stem:
            return stem
        stem = shorter


def _without_count(stem: str) -> str:
    """Drop a last part of 1 to 6 digits if at least two parts precede it and the last of these is a word."""
    *rest, last = stem.split("-")
    number = 1 <= len(last) <= 6 and last.isascii() and last.isdigit()
    return "-".join(rest) if len(rest) >= 2 and number and not rest[-1].isdigit() else stem


def sanitise(label: str) -> str:
    """Return a label as a file name valid on any system: no separators, device names or leading dots, 120 bytes."""
    if not label.isascii():
        from unicodedata import normalize  # most labels are dates

        label = normalize("NFC", label)
    name = _UNSAFE.sub("_", label).lstrip(".")
    if not name or _RESERVED.match(name):
        name = f"_{name}"
    if len(name.encode()) > _MAX_BYTES:
        short = name.encode()[: _MAX_BYTES - 9].decode("utf-8", "ignore")
        name = f"{short}-{sha256(name.casefold().encode()).hexdigest()[:8]}"
    return name


class Groups:
    """File names by label; labels whose file names are equal except for case share the file of the first one."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._files: dict[str, str] = {}

    def file(self, label: str) -> str:
        """Return the name of a label's file, without its suffix."""
        if label not in self._files:
            name = sanitise(label)
            self._files[label] = self._names.setdefault(name.casefold(), name)
        return self._files[label]


LABELS: dict[GroupBy, Callable[[str | None, str], str]] = {
    "date": lambda day, _: day or UNDATED,
    "scenario": lambda _, stem: scenario(stem),
    "none": lambda _day, _stem: "conversations",
}
"""Functions that return the label of a session's group from its day and its file's stem, by grouping."""
