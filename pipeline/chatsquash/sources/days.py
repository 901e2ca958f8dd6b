"""Dates in paths, and those between which the options choose."""

from __future__ import annotations

from datetime import date
from functools import lru_cache

from chatsquash.core.errors import UsageError


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
