"""Conversion in shards: a listing divides the logs, shards are converted separately, and a merge writes the dataset."""

from __future__ import annotations

from pathlib import Path

from chatsquash.conversion.shards.place import FolderPlace, Place


def place_in(out: Path | str) -> Place:
    """Return the shared folder for the shards of an output, which is a path or the URL of a folder in a store."""
    if isinstance(out, Path):
        return FolderPlace(out)
    from chatsquash.conversion.shards.remote import StorePlace  # not needed for a local folder

    return StorePlace(out)
