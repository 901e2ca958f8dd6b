"""Every suffix that is read inside folders, in one list; a file that is named is read whatever its suffix."""

from __future__ import annotations

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


_COMPRESSED = tuple(f".tar{suffix}" for suffix in KINDS)
