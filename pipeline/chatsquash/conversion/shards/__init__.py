"""A conversion in shards: a listing divides the logs, each shard is converted alone, and a merge writes the dataset."""

from __future__ import annotations

from pathlib import Path

from chatsquash.conversion.shards.place import FolderPlace, Place


def place_in(out: Path | str) -> Place:
    """Where the shards of an output meet: of a folder, or of the URL of one in a store."""
    if isinstance(out, Path):
        return FolderPlace(out)
    from chatsquash.conversion.shards.remote import StorePlace  # which a folder does not need

    return StorePlace(out)
