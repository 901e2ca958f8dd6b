"""The key of the pseudonyms."""

from __future__ import annotations

import os
from pathlib import Path

import click

from chatsquash.core.errors import UsageError

VARIABLE = "CHATSQUASH_ANONYMIZE_KEY_FILE"
SHORTEST = 16


def load_key(path: str | None = None) -> bytes:
    """The key in a file: the one named, else the one the environment names, else the user's own, made once.

    Raises ``UsageError`` for a file that cannot be read or holds fewer than 16 bytes.
    """
    given = path or os.environ.get(VARIABLE)
    if given:
        return _read(Path(given))
    own = Path(click.get_app_dir("chatsquash")) / "anonymize.key"
    try:
        return _read(own) if own.exists() else _make(own)
    except OSError as problem:
        hint = "name one with --anonymize-key-file"
        raise UsageError(f"{own}: the key cannot be made ({problem.strerror}); {hint}") from None


def _read(path: Path) -> bytes:
    try:
        key = path.read_bytes().strip()
    except OSError as problem:
        raise UsageError(f"{path}: the key cannot be read ({problem.strerror})") from None
    if len(key) < SHORTEST:
        raise UsageError(f"{path}: holds {len(key)} bytes; a key has at least {SHORTEST}")
    return key


def _make(path: Path) -> bytes:
    """A new key, which appears whole; of two processes that make one at a time, the first wins."""
    # Needed once in a user's life, and slow to import.
    import secrets
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = secrets.token_hex(32).encode()
    # A temporary file is its owner's alone from the start.
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}.") as file:
        file.write(key + b"\n")
        file.flush()
        os.fsync(file.fileno())
        try:
            os.link(file.name, path)
        except FileExistsError:
            return _read(path)
    return key
