"""The protocol of stores, the values they exchange with their callers, and calls that may have to wait for a store."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from errno import ESTALE
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Generic, NamedTuple, Protocol, TypeVar

from xxhash import xxh3_64_intdigest

from chatsquash.core.errors import UsageError


class StoredObject(NamedTuple):
    """Something that a store holds."""

    key: str
    size: int
    """Bytes."""
    state: int | None
    """What tells it from what it was, in 63 bits; ``None`` where the store does not say."""
    changed: float = 0.0
    """When that was last changed, in seconds since the epoch; 0 where nobody asked."""


class StoredBytes(NamedTuple):
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

    def status(self, key: str) -> StoredObject | None:
        """What stands under a key; ``None`` where nothing does, also where only others begin with it."""

    def list(self, folder: str) -> Iterator[Iterable[StoredObject]]:
        """All that lies below a folder, page by page, in no order; ``""`` is all of the store."""

    def inside(self, folder: str) -> Iterable[str]:
        """The keys of what lies in a folder itself."""

    def get(self, key: str, start: int, size: int, tag: str | None) -> StoredBytes:
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


PARTS = 10_000
"""Parts that an upload may have; Azure takes more."""
LARGEST = 5 << 40
"""Bytes of an object that all of these stores take."""
_LEAST = 8 << 20


def part_size(size: int) -> int:
    """Bytes of each part of an object of this size, so that ``PARTS`` suffice."""
    return max(_LEAST, -(-size // PARTS))


def refuse_large(shown: str, size: int) -> None:
    """Raise ``UsageError`` for a file that is larger than an object may be."""
    if size > LARGEST:
        hint = "divide the records, by --group-by or --shard-size"
        raise UsageError(f"{shown}: has {size:,} bytes, more than the {LARGEST:,} that an object may have: {hint}")


T = TypeVar("T")
_AT_ONCE = 8


class PendingCall(Generic[T]):
    """A call that goes on in a thread of its own, which ends with the process, whatever it waits for."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._done: SimpleQueue[tuple[T] | BaseException] = SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self._done.put((self._call(),))
        except BaseException as problem:  # noqa: BLE001 - raised where it is waited for
            self._done.put(problem)

    def result(self, seconds: float | None = None) -> T:
        """What it gives, once; raises what it raised, and ``TimeoutError``.  A signal is heard meanwhile."""
        try:
            outcome = self._done.get(timeout=seconds)
        except Empty:
            raise TimeoutError from None
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome[0]


def interruptible(call: Callable[[], T]) -> T:
    """What a call gives that would not hear of signals by itself, which only the main thread does."""
    return PendingCall(call).result() if threading.current_thread() is threading.main_thread() else call()


def several(calls: Iterable[Callable[[], object]]) -> None:
    """Make calls, some of them at a time; raises what the first raised that failed."""
    under_way: deque[PendingCall[object]] = deque()
    for call in calls:
        if len(under_way) >= _AT_ONCE:
            under_way.popleft().result()
        under_way.append(PendingCall(call))
    while under_way:
        under_way.popleft().result()
