"""The file suffixes that are read inside folders; a file given as an argument is read whatever its suffix."""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING

from chatsquash.core.errors import UsageError
from chatsquash.core.lazy import LazyModule, lazy_compile
from chatsquash.sources.compression import KINDS, uncompressed

if TYPE_CHECKING:
    import glob
else:
    glob = LazyModule("glob")

LOGS = (".jsonl", ".ndjson")
"""The suffixes of logs, which are always read."""
DOCUMENTS = (
    *(".json", ".db", ".vscdb", ".har", ".zhar", ".flow", ".flows", ".mitm", ".dump"),
    *(".traj", ".eval", ".log", ".csv", ".parquet"),
)
"""The suffixes of files that are read only if their format is detected."""
NAMES = (".aider.chat.history.md",)
"""The names of files that are read if their format is detected, whatever their suffix."""
_PARTS = lazy_compile(r"wire\.jsonl|context_\d+\.jsonl")
ARCHIVES = (".zip", ".tar", ".tgz")
"""The suffixes of archives; a ``.tar`` may be compressed."""


def is_archive(name: str) -> bool:
    """Return whether a file is an archive, based on its name."""
    last = uncompressed(name).lower() if name.lower().endswith(_COMPRESSED) else name.lower()
    return last.endswith(ARCHIVES if last == name.lower() else ".tar")


def may_be_document(name: str) -> bool:
    """Return whether a file, given without compression suffix, may be a document, which is read if recognized."""
    last = name.rpartition("/")[2].lower()
    return last.endswith(DOCUMENTS) or last in NAMES


def may_be_part(name: str) -> bool:
    """Return whether a log, given without compression suffix, may be part of another file in its folder."""
    return _PARTS.fullmatch(name.rpartition("/")[2]) is not None


_COMPRESSED = tuple(f".tar{suffix}" for suffix in KINDS)


MARK = "!/"
"""The separator between the path of an archive and the name of a member."""
_MEMBER = lazy_compile(r"(.+?\.(?:zip|tgz|tar(?:\.(?:gz|xz|bz2|zst))?))!/(.+)", re.IGNORECASE | re.DOTALL)


ARCHIVE_SCHEME = "archive:"
"""The beginning of the path of an archive that ``chatsquash archive`` wrote."""


def container(path: str) -> tuple[str, str] | None:
    """Split the path of an archive member into archive and member name; return ``None`` for a regular path."""
    if path.startswith(ARCHIVE_SCHEME):
        archive, _, member = path.partition(MARK)
        return (archive, member) if member else None
    match = _MEMBER.fullmatch(path) if MARK in path else None
    return (match[1], match[2]) if match else None


def is_day(text: str) -> bool:
    """Return whether a string is a date in the form ``YYYY-MM-DD``."""
    try:
        return len(text) == 10 and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def path_day(name: str) -> str | None:
    """Return the last part of a path that is a date (``YYYY-MM-DD``), ignoring the file suffix."""
    folders, _, last = name.rpartition("/")
    stem = last.partition(".")[0]
    return stem if is_day(stem) else _folders_day(folders)


@lru_cache(maxsize=64)  # consecutive logs are in the same folder
def _folders_day(folders: str) -> str | None:
    return next((part for part in reversed(folders.split("/")) if is_day(part)), None)


def is_between(day: str, since: str | None, until: str | None) -> bool:
    """Return whether a day is in the requested range, which may be open-ended."""
    return (since or day) <= day <= (until or day)


def check_dates(since: str | None, until: str | None) -> None:
    """Raise ``UsageError`` for an invalid date or an empty range."""
    for value, name in ((since, "--since"), (until, "--until")):
        if value is not None and not is_day(value):
            raise UsageError(f"{name} {value}: not a date; write YYYY-MM-DD")
    if since and until and since > until:
        raise UsageError(f"--since {since} is after --until {until}, so no session can match")


def suffix_of(name: str) -> str:
    """Return the suffix of a file in lower case, like ``PurePath.suffix``."""
    last = name.rpartition("/")[2]
    dot = last.rfind(".")
    return last[dot:].lower() if 0 < dot < len(last) - 1 else ""


def url_suffix(url: str) -> tuple[str, ...]:
    """Return the suffix that is literally in a URL or its glob."""
    suffix = suffix_of(re.split(r"[?#]", url, maxsplit=1)[0] if url.startswith("http") else url)
    return (suffix,) if suffix and not glob.has_magic(suffix) else ()
