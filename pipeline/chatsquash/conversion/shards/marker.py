"""The marker of a converted shard: its inputs, the code that converted it, and its results."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from chatsquash.conversion.shards.listing import Listing, dump_line
from chatsquash.conversion.shards.parts import PartFile
from chatsquash.conversion.shards.place import Place, Shard, command_argument
from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.dataset.manifest import RecordsMade
from chatsquash.dataset.summary import Summary

_SAME = (
    ("listing", "the listing"),
    ("version", "the version of chatsquash"),
    ("code", "the code of chatsquash"),
    ("key_fingerprint", "the key of the pseudonyms"),
)
"""Properties that all shards of a dataset must share."""


_NAMES = re.compile("(part|rejected)-[0-9a-f]{32}")


class Marker(Struct):
    """The facts about a converted shard."""

    shard: int
    listing: str
    """The hash of the listing."""
    version: str
    code: str
    """The hash of the code that converted it."""
    key_fingerprint: str | None
    part: PartFile
    rejected: PartFile | None
    records_made: dict[str, Any]
    """The member of ``run.json``."""
    counts: dict[str, Any] = {}
    """The counts of ``run.json``, without those that need all shards."""
    unreadable: int = 0
    """Number of logs that could not be read, but may be readable in another attempt."""
    complete: bool = True
    """Whether every session was written and every line was readable."""

    def has_valid_names(self) -> bool:
        """Return whether its files have names of the expected form, which cannot lead to other folders."""
        return all(_NAMES.fullmatch(each.name) for each in (self.part, self.rejected) if each)

    def has_counts(self) -> bool:
        """Return whether its counts have the expected form."""
        records_made = self.records_made
        matches = _matches(self.counts, Summary().counts()) and _matches(records_made, RecordsMade().as_json())
        return (
            matches and self._has_findings() and re.fullmatch("[0-9a-f]{32}", records_made["xxh3_128_sum"]) is not None
        )

    def _has_findings(self) -> bool:
        """Return whether findings are counted by severity and code."""
        findings_counts = (self.counts["findings"], self.counts["filtered_findings"])
        return all(isinstance(codes, dict) for severities in findings_counts for codes in severities.values())

    def first_difference(self, other: Marker) -> str | None:
        """Return the first required property that differs from another marker, or ``None`` if both match."""
        return next((label for name, label in _SAME if getattr(self, name) != getattr(other, name)), None)


def _matches(value: Any, model: Any) -> bool:
    """Return whether a value has the members of a model with their types; all further members must be numbers."""
    if not isinstance(model, dict):
        return type(value) is type(model) or (type(model) is int and type(value) is float)
    if not isinstance(value, dict) or model.keys() - value.keys():
        return False
    return all(_matches(each, model.get(name, {} if isinstance(each, dict) else 0)) for name, each in value.items())


def expectation(listing: Listing, shard: Shard, key_fingerprint: str | None) -> Marker:
    """Return the marker that a shard should have, without its results."""
    return Marker(
        shard.number, listing.digest, listing.version, listing.code, key_fingerprint, PartFile("", 0), None, {}
    )


def read(place: Place, shard: Shard) -> Marker | None:
    """Read the marker of a shard, or return ``None`` if it does not exist; raise ``UsageError`` if damaged."""
    try:
        marker = msgspec.convert(jsonio.loads(place.read(shard.marker)), Marker)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):  # including a link or a folder
        marker = None
    if marker is None or marker.shard != shard.number or not (marker.has_valid_names() and marker.has_counts()):
        hint = (
            f"convert the shard again with: chatsquash convert --shard {shard} --full -o {command_argument(place.out)}"
        )
        raise UsageError(f"{place.display_path(shard.marker)}: not a valid marker; {hint}")
    return marker


def is_complete(place: Place, marker: Marker) -> bool:
    """Return whether the files of a shard exist with their original sizes."""
    return all(place.size(each.name) == each.size for each in (marker.part, marker.rejected) if each)


def write(place: Place, shard: Shard, marker: Marker, fits: Callable[[Marker], bool]) -> Marker:
    """Write the marker of a shard unless one that ``fits`` exists; return the marker that counts."""
    while True:
        with suppress(FileExistsError):
            place.create(shard.marker, dump_line(marker))
            return marker
        if (existing := read_any(place, shard)) and fits(existing):
            return existing
        place.remove(shard.marker)


def read_any(place: Place, shard: Shard) -> Marker | None:
    """Read the marker of a shard; return ``None`` if it is missing or damaged."""
    with suppress(UsageError):
        return read(place, shard)
    return None
