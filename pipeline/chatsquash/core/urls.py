"""Distinguish URLs of stores from local paths, without importing the stores."""

from __future__ import annotations

import re

from chatsquash.core.errors import UsageError

REMOTE = frozenset(("s3", "gs", "az", "https", "http", "hf", "sftp"))
"""The schemes of URLs of stores."""


def is_remote(path: str) -> bool:
    """Whether a path is a URL of a store."""
    return "://" in path and path.partition("://")[0] in REMOTE


def refuse_unknown(path: str) -> None:
    """Raise ``UsageError`` for a URL whose scheme is unknown."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path):
        known = ", ".join(f"{each}://" for each in sorted(REMOTE))
        raise UsageError(f"{path.partition('://')[0]}://: is no store that is known; known are {known}")


def refuse_remote(path: str) -> None:
    """Raise ``UsageError`` for any URL, where only local files are read."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path):
        scheme = path.partition("://")[0]
        hint = "convert, inspect and verify read stores; copy what is there to a folder first"
        raise UsageError(f"{scheme}://: only files of this machine are read here: {hint}")
