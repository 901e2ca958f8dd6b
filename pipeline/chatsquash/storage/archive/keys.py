"""The keys of encrypted archives, which are read from files and never from the command line."""

from __future__ import annotations

import os
from pathlib import Path

from chatsquash.core.errors import UsageError

VARIABLE = "CHATSQUASH_KEY_FILE"
_LARGEST = 1 << 20


def read_key(path: str | None) -> bytes | None:
    """Return the key in a file; raise ``UsageError`` if there is none."""
    if not path:
        return None
    try:
        with Path(path).expanduser().open("rb") as file:
            data = file.read(_LARGEST).strip()
    except OSError as problem:
        raise UsageError(f"--key-file {path}: cannot be read ({problem.strerror})") from None
    if not data:
        raise UsageError(f"--key-file {path}: is empty; write a key to it, as in: openssl rand -hex 32 > {path}")
    return data


def usual_key() -> bytes | None:
    """Return the key in the file that the environment names, or ``None``."""
    return read_key(os.environ.get(VARIABLE))
