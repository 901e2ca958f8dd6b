"""The marker of a shard: that it is converted, of what, by what, and what it gave."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from chatsquash import jsonio
from chatsquash.errors import UsageError
from chatsquash.folder import Folder
from chatsquash.run.shards.listing import Listing
from chatsquash.run.shards.parts import Written
from chatsquash.run.shards.place import Shard, dumped, passing

_SAME = (
    ("listing", "the listing"),
    ("version", "the version of chatsquash"),
    ("code", "the code of chatsquash"),
    ("key_fingerprint", "the key of the pseudonyms"),
)
"""What all shards of a dataset have alike."""


_NAMES = re.compile("(part|rejected)-[0-9a-f]{32}")


class Marker(Struct):
    """What is known of a shard that is converted."""

    shard: int
    listing: str
    """The hash of the listing."""
    version: str
    code: str
    """The hash of the code that converted it."""
    key_fingerprint: str | None
    part: Written
    rejected: Written | None
    records_made: dict[str, Any]
    """As ``run.json`` has it."""
    counts: dict[str, Any] = {}
    """As ``run.json`` has them, before what needs all shards."""
    complete: bool = True
    """Whether every session was written and every line could be read."""

    def is_named(self) -> bool:
        """Whether its files have names of ours, which lead nowhere else."""
        return all(_NAMES.fullmatch(each.name) for each in (self.part, self.rejected) if each)

    def other(self, than: Marker) -> str | None:
        """What is not as in another marker, though it has to be; ``None`` where both belong together."""
        return next((what for name, what in _SAME if getattr(self, name) != getattr(than, name)), None)


def expected(listing: Listing, shard: Shard, key_fingerprint: str | None) -> Marker:
    """The marker that a shard has to have, but for what it gave."""
    return Marker(
        shard.number, listing.digest, listing.version, listing.code, key_fingerprint, Written("", 0), None, {}
    )


def read(folder: Folder, shard: Shard) -> Marker | None:
    """The marker of a shard; ``None`` for one that is not converted.  Raises ``UsageError`` for one that is damaged."""
    try:
        found = msgspec.convert(jsonio.loads(folder.read(shard.marker)), Marker)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):  # a link or a folder, too
        found = None
    if found is None or found.shard != shard.number or not found.is_named():
        hint = f"convert the shard again with: chatsquash convert --shard {shard} --full"
        raise UsageError(f"{folder.path / shard.marker}: is no marker; {hint}")
    return found


def is_whole(folder: Folder, marker: Marker) -> bool:
    """Whether the files of a shard are there, as long as they were written."""
    statuses = ((each, folder.status(each.name)) for each in (marker.part, marker.rejected) if each)
    return all(status is not None and status.st_size == each.size for each, status in statuses)


def write(folder: Folder, shard: Shard, marker: Marker, fits: Callable[[Marker], bool]) -> Marker:
    """Write the marker of a shard unless one that ``fits`` is there, which is then the one that counts."""
    name = passing()
    with open(folder.create(name, 0o600), "wb") as file:
        file.write(dumped(msgspec.to_builtins(marker)))
    folder.sync(name)
    try:
        while True:
            with suppress(FileExistsError):
                folder.link(name, folder, shard.marker)
                folder.sync()
                return marker
            if (there := read_any(folder, shard)) and fits(there):
                return there
            folder.remove(shard.marker)
    finally:
        folder.remove(name)


def read_any(folder: Folder, shard: Shard) -> Marker | None:
    """The marker of a shard; ``None`` for one that is damaged, too."""
    with suppress(UsageError):
        return read(folder, shard)
    return None
