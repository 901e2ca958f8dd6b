"""The protocol of stores, the values they exchange with their callers, and calls that may have to wait for a store."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from errno import EINVAL, EIO, ESTALE
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Generic, NamedTuple, Protocol, TypeVar

from xxhash import xxh3_64_intdigest

from chatsquash.core.errors import UsageError
from chatsquash.core.text import quote


class StoredObject(NamedTuple):
    """An object or file in a store."""

    key: str
    size: int
    """The size in bytes."""
    state: int | None
    """A version of the content in 63 bits; ``None`` if the store does not provide one."""
    changed: float = 0.0
    """The time of the last change in seconds since the epoch; 0 if it was not requested."""


class StoredBytes(NamedTuple):
    """Bytes of an object, with its size and version when they were read."""

    data: bytes | memoryview
    size: int
    """The size of the object in bytes."""
    state: int | None
    tag: str | None
    """A tag with which further reads fail if the object has changed."""


class StaleError(OSError):
    """An object changed while being read."""

    def __init__(self) -> None:
        super().__init__(ESTALE, "it changed while being read")


class Store(Protocol):
    """Read access. All methods raise ``OSError``, whose message contains the reason but no credentials."""

    def status(self, key: str) -> StoredObject | None:
        """Return the object with a key, or ``None`` if it does not exist, even if the key is a prefix of others."""

    def list(self, folder: str) -> Iterator[Iterable[StoredObject]]:
        """Yield all objects under a folder, page by page and unordered; ``""`` stands for the entire store."""

    def inside(self, folder: str) -> Iterable[str]:
        """Return the keys directly in a folder."""

    def get(self, key: str, start: int, size: int, tag: str | None) -> StoredBytes:
        """Read at most ``size`` bytes from ``start``; raise ``StaleError`` if the object no longer has the tag."""


class WritableStore(Store, Protocol):
    """Read and write access."""

    def put(self, key: str, data: bytes) -> None:
        """Write a small object, replacing an existing one."""

    def create(self, key: str, data: bytes, instead: str | None = None) -> None:
        """Write a new small object, or replace the one with the tag ``instead``.

        Raises ``FileExistsError`` if a different object exists.
        """

    def upload(self, key: str, path: Path) -> None:
        """Write a file, in pieces if it is large."""

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects; missing ones are ignored."""


LONGEST_KEY = 4096
"""The maximum length of a key; S3, Google and Azure allow 1,024 characters, and Linux 4,096 bytes in a path."""


def stored_object(key: str, size: object, state: int | None, changed: float = 0.0) -> StoredObject:
    """Return an object from a description by the service; raise ``OSError`` for an impossible description."""
    if len(key) > LONGEST_KEY:
        raise OSError(EINVAL, f"a key has more than {LONGEST_KEY:,} characters ({quote(key)}); rename it")
    if not key.isascii() and re.search("[\ud800-\udfff]", key):
        raise OSError(EINVAL, f"a key is not valid Unicode ({quote(key)}); rename it")
    return StoredObject(key, valid_size(size), state, changed)


def valid_size(size: object) -> int:
    """Return a size reported by a service; raise ``OSError`` if no object can have it."""
    if not isinstance(size, int) or not 0 <= size < 1 << 63:
        raise OSError(EIO, "the store reports an impossible file size")
    return size


def state(tag: str | None, otherwise: str | None = None) -> int | None:
    """Return a 63-bit hash of a tag or another version."""
    # Quotes are ignored, because listings and responses differ in them.
    text = tag.removeprefix("W/").strip('"') if tag else otherwise
    return xxh3_64_intdigest(text.encode()) >> 1 if text else None


PARTS = 10_000
"""The maximum number of parts in an upload; Azure allows more."""
LARGEST = 5 << 40
"""The size in bytes of the largest object that all of these stores accept."""
_LEAST = 8 << 20


def part_size(size: int) -> int:
    """Return the part size for an upload of ``size`` bytes in at most ``PARTS`` parts."""
    return max(_LEAST, -(-size // PARTS))


def refuse_large(display_path: str, size: int) -> None:
    """Raise ``UsageError`` for a file that is too large for an object."""
    if size > LARGEST:
        hint = "divide the records with --group-by or --shard-size"
        raise UsageError(
            f"{display_path}: has {size:,} bytes, more than the {LARGEST:,} bytes allowed for an object; {hint}"
        )


T = TypeVar("T")
_AT_ONCE = 8


class PendingCall(Generic[T]):
    """A call in a separate daemon thread, which never prevents the process from ending."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._done: SimpleQueue[tuple[T] | BaseException] = SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self._done.put((self._call(),))
        except BaseException as problem:  # noqa: BLE001 - re-raised by result()
            self._done.put(problem)

    def result(self, seconds: float | None = None) -> T:
        """Wait for the result and return it; re-raise the exception of the call, or raise ``TimeoutError``."""
        # Signals are handled while the queue is waiting.
        try:
            outcome = self._done.get(timeout=seconds)
        except Empty:
            raise TimeoutError from None
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome[0]


def interruptible(call: Callable[[], T]) -> T:
    """Run a blocking call in such a way that the main thread still handles signals."""
    return PendingCall(call).result() if threading.current_thread() is threading.main_thread() else call()


def several(calls: Iterable[Callable[[], object]]) -> None:
    """Run calls, several at a time, and re-raise the first exception."""
    under_way: deque[PendingCall[object]] = deque()
    for call in calls:
        if len(under_way) >= _AT_ONCE:
            under_way.popleft().result()
        under_way.append(PendingCall(call))
    while under_way:
        under_way.popleft().result()
