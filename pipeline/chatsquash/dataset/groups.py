"""Which file a record goes to."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from hashlib import sha256

from chatsquash.core.options import GroupBy

UNDATED = "undated"
_UUID = r"(?i:-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z)"
_STAMP = r"-[0-9]{19}\Z"
_UNSAFE = re.compile(r"[^\w.-]")
_RESERVED = re.compile(r"(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³])(\.|$)", re.IGNORECASE)
_LONGEST = 120


def scenario(stem: str) -> str:
    """A session's scenario: the file's stem without what numbers its runs (a UUID, 19 digits, a counter)."""
    while True:
        shorter = _without_count(re.sub(_STAMP, "", re.sub(_UUID, "", stem)))
        if shorter == stem:
            return stem
        stem = shorter


def _without_count(stem: str) -> str:
    """Drop a last part of 1 to 6 digits, where at least two parts stand before it and the last of them is a word."""
    *rest, last = stem.split("-")
    number = 1 <= len(last) <= 6 and last.isascii() and last.isdigit()
    return "-".join(rest) if len(rest) >= 2 and number and not rest[-1].isdigit() else stem


def sanitised(label: str) -> str:
    """A label as a file name on any system: no separators, no device names, no hidden files, at most 120 bytes."""
    name = _UNSAFE.sub("_", unicodedata.normalize("NFC", label)).lstrip(".")
    if not name or _RESERVED.match(name):
        name = f"_{name}"
    if len(name.encode()) > _LONGEST:
        short = name.encode()[: _LONGEST - 9].decode("utf-8", "ignore")
        name = f"{short}-{sha256(name.casefold().encode()).hexdigest()[:8]}"
    return name


class Groups:
    """File names by label: labels that sanitise alike, or differ only in case, share the first one's file."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._files: dict[str, str] = {}

    def file(self, label: str) -> str:
        """The name of a label's file, without its suffix."""
        if label not in self._files:
            name = sanitised(label)
            self._files[label] = self._names.setdefault(name.casefold(), name)
        return self._files[label]


LABELS: dict[GroupBy, Callable[[str | None, str], str]] = {
    "date": lambda day, _: day or UNDATED,
    "scenario": lambda _, stem: scenario(stem),
    "none": lambda _day, _stem: "conversations",
}
"""For each grouping, the label of a session's group, given its day and its file's stem."""
