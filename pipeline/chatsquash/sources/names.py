"""Every suffix that is read inside folders, in one list; a file that is named is read whatever its suffix."""

from __future__ import annotations

import glob
import re
from datetime import date
from functools import lru_cache

from chatsquash.core.errors import UsageError
from chatsquash.sources.compression import KINDS, uncompressed

LOGS = (".jsonl", ".ndjson")
"""Of logs, which are always read."""
DOCUMENTS = (
    *(".json", ".db", ".vscdb", ".har", ".zhar", ".flow", ".flows", ".mitm", ".dump"),
    *(".traj", ".eval", ".log", ".csv", ".parquet"),
)
"""Of files that are read where they are recognised, and only there."""
NAMES = (".aider.chat.history.md",)
"""Names of files that are read where they are recognised, whatever else has their suffix."""
_PARTS = re.compile(r"wire\.jsonl|context_\d+\.jsonl")
ARCHIVES = (".zip", ".tar", ".tgz")
"""Of files whose members are read; a ``.tar`` may be compressed."""


def is_archive(name: str) -> bool:
    """Whether a file is an archive by its name."""
    last = uncompressed(name).lower() if name.lower().endswith(_COMPRESSED) else name.lower()
    return last.endswith(ARCHIVES if last == name.lower() else ".tar")


def may_be_document(name: str) -> bool:
    """Whether a file, named without the suffix of its compression, is read where it is recognised."""
    last = name.rpartition("/")[2].lower()
    return last.endswith(DOCUMENTS) or last in NAMES


def may_be_part(name: str) -> bool:
    """Whether a log, named without the suffix of its compression, may be a part of another file beside it."""
    return _PARTS.fullmatch(name.rpartition("/")[2]) is not None


_COMPRESSED = tuple(f".tar{suffix}" for suffix in KINDS)


MARK = "!/"
"""What stands between the path of an archive and the name of a member."""
_MEMBER = re.compile(r"(.+?\.(?:zip|tgz|tar(?:\.(?:gz|xz|bz2|zst))?))!/(.+)", re.IGNORECASE | re.DOTALL)


def container(path: str) -> tuple[str, str] | None:
    """The archive of a member's path, and the member's name; ``None`` for the path of a file."""
    match = _MEMBER.fullmatch(path) if MARK in path else None
    return (match[1], match[2]) if match else None


def is_day(text: str) -> bool:
    """Whether a text is a date written ``YYYY-MM-DD``."""
    try:
        return len(text) == 10 and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def path_day(name: str) -> str | None:
    """The last part of a path that is a date, ``YYYY-MM-DD``; the file's suffix aside."""
    folders, _, last = name.rpartition("/")
    stem = last.partition(".")[0]
    return stem if is_day(stem) else _folders_day(folders)


@lru_cache(maxsize=64)  # neighbours lie in one folder
def _folders_day(folders: str) -> str | None:
    return next((part for part in reversed(folders.split("/")) if is_day(part)), None)


def is_between(day: str, since: str | None, until: str | None) -> bool:
    """Whether a day is none before the first and none after the last of those wanted, as far as these are given."""
    return (since or day) <= day <= (until or day)


def check_dates(since: str | None, until: str | None) -> None:
    """Raise ``UsageError`` for what is no date, and where no day is left between two."""
    for value, name in ((since, "--since"), (until, "--until")):
        if value is not None and not is_day(value):
            raise UsageError(f"{name} {value}: not a date; write YYYY-MM-DD")
    if since and until and since > until:
        raise UsageError(f"--since {since} is after --until {until}: no day is left")


def suffix_of(name: str) -> str:
    """A file's suffix, lower case, as ``PurePath.suffix`` has it."""
    last = name.rpartition("/")[2]
    dot = last.rfind(".")
    return last[dot:].lower() if 0 < dot < len(last) - 1 else ""


def url_suffix(url: str) -> tuple[str, ...]:
    """The suffix that a URL spells out, of a file or in a glob."""
    suffix = suffix_of(re.split(r"[?#]", url, maxsplit=1)[0] if url.startswith("http") else url)
    return (suffix,) if suffix and not glob.has_magic(suffix) else ()
