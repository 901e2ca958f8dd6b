"""Access to files and object stores: output folders, locks, atomic commits, remote stores and confined processes.

The functions below distinguish URLs of stores from local paths without importing the stores. Nothing in the folder
depends on the content of the files, except for the readers in ``confine``.
"""

from __future__ import annotations

import re

from chatsquash.core.errors import UsageError

REMOTE = frozenset(("s3", "gs", "az", "https", "http", "hf", "sftp"))
"""The URL schemes of stores."""


def is_remote(path: str) -> bool:
    """Return whether a path is the URL of a store."""
    return "://" in path and path.partition("://")[0] in REMOTE


def refuse_unknown(path: str) -> None:
    """Raise ``UsageError`` for a URL with an unknown scheme."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path):
        known = ", ".join(f"{each}://" for each in sorted(REMOTE))
        raise UsageError(f"{path.partition('://')[0]}://: unknown scheme; expected one of {known}")


def refuse_remote(path: str) -> None:
    """Raise ``UsageError`` for any URL, for commands that only read local files."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path):
        scheme = path.partition("://")[0]
        hint = "copy the files to a local folder first; convert, inspect and verify also read stores"
        raise UsageError(f"{scheme}://: this command only reads local files; {hint}")
