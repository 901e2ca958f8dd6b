"""What a store can do, and what travels between it and those who read and write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from errno import ESTALE
from pathlib import Path
from typing import NamedTuple, Protocol

from xxhash import xxh3_64_intdigest


class Stored(NamedTuple):
    """Something that a store holds."""

    key: str
    size: int
    """Bytes."""
    state: int | None
    """What tells it from what it was, in 63 bits; ``None`` where the store does not say."""
    changed: float = 0.0
    """When that was last changed, in seconds since the epoch; 0 where nobody asked."""


class Piece(NamedTuple):
    """Some bytes of something, and what that was when they were read."""

    data: bytes | memoryview
    size: int
    """Bytes of all of it."""
    state: int | None
    tag: str | None
    """By which further bytes can be asked of the same thing only."""


class StaleError(OSError):
    """Something changed while it was read."""

    def __init__(self) -> None:
        super().__init__(ESTALE, "it changed while it was read")


class Store(Protocol):
    """What can be read.  All raise ``OSError``, whose text says why in words and holds no credential."""

    def status(self, key: str) -> Stored | None:
        """What stands under a key; ``None`` where nothing does, also where only others begin with it."""

    def list(self, folder: str) -> Iterator[Iterable[Stored]]:
        """All that lies below a folder, page by page, in no order; ``""`` is all of the store."""

    def inside(self, folder: str) -> Iterable[str]:
        """The keys of what lies in a folder itself."""

    def get(self, key: str, start: int, size: int, tag: str | None) -> Piece:
        """At most so many bytes from ``start`` on; with ``tag`` only of what had that, else ``StaleError``."""


class WritableStore(Store, Protocol):
    """What can be written, too."""

    def put(self, key: str, data: bytes) -> None:
        """Write a small object, in the place of what stands there."""

    def create(self, key: str, data: bytes, instead: str | None = None) -> None:
        """Write a small object where nothing stands, or ``instead`` of what has that tag.

        Raises ``FileExistsError`` where something else does.
        """

    def upload(self, key: str, path: Path) -> None:
        """Write a file, in pieces if it is large."""

    def delete(self, keys: Iterable[str]) -> None:
        """Remove these; those that are not there, too."""


def state(tag: str | None, otherwise: str | None = None) -> int | None:
    """A tag, or what else tells a state, in 63 bits; listings and answers may quote a tag differently."""
    text = tag.removeprefix("W/").strip('"') if tag else otherwise
    return xxh3_64_intdigest(text.encode()) >> 1 if text else None
