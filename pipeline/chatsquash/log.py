"""A session log that was found."""

from __future__ import annotations

from array import array

from msgspec import Struct


class Log(Struct, frozen=True):
    """One session log to convert."""

    path: str
    """What to open."""
    shown: str
    """The path as reports show it."""
    name: str
    """The path below the LOGS argument it came from, parts joined by ``/``."""
    size: int
    """Bytes."""
    spans: array[int] | None = None
    """Its lines, where the file holds other sessions, too: of each its number, its offset, its length in bytes, and
    that of its line feed."""
    part: int | None = None
    """Which conversation of a document it is, where there are several."""
    modified: int | None = None
    """When the file was last changed, as it was found, in nanoseconds since the epoch; ``None`` if nobody looked."""
    whole: int | None = None
    """Bytes of the file, where ``size`` is that of the session's own lines."""

    @property
    def file_size(self) -> int:
        """Bytes of the file, as it was found."""
        return self.size if self.whole is None else self.whole

    cut: str | None = None
    """Why the rest of a file was not read, of which this is the last session."""
    apart: int = 0
    """How many sessions its file holds of which no request goes on from another; 0 but for the first of them."""
