"""The shared folder of shards in an object store; unfinished files are in a local temporary folder."""

from __future__ import annotations

import io
import tempfile
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from errno import EEXIST, ENOTSUP
from functools import partial
from pathlib import Path

from chatsquash.conversion.shards.place import LISTING, NAME, stage
from chatsquash.core.model import OURS
from chatsquash.sources.remote import StoredLog
from chatsquash.storage import stores
from chatsquash.storage.folder import Folder
from chatsquash.storage.stores.base import several

_SMALL = 256 << 20
"""Maximum number of bytes read from a listing or marker."""
_BUDGET = 256 << 20
_BLOCKS = 32 << 10, 4 << 20
"""Minimum and maximum bytes per request; fewer are requested if many files are read in turn."""


class StorePlace:
    """A folder in a store, see ``Place``."""

    can_copy = False

    def __init__(self, url: str) -> None:
        address = stores.address(url)
        self._store = stores.writable(address)
        parts = [part for part in address.key.split("/") if part]
        self.out = address.url("/".join(parts))
        self._folder = "/".join([*parts, OURS, NAME, ""])
        self._url = address.url(self._folder)
        self._temporary = tempfile.TemporaryDirectory(prefix="chatsquash-", ignore_cleanup_errors=True)
        self.work = Folder(Path(self._temporary.name) / "work")
        self.work.make(mode=0o700)
        self._blocks: OrderedDict[str, tuple[int, memoryview]] = OrderedDict()
        self._cached_bytes = 0

    def display_path(self, name: str) -> str:
        """See ``Place``."""
        return self._url + name

    def read(self, name: str) -> bytes:
        """See ``Place``."""
        with self._reading(name) as file:
            return file.read(_SMALL)

    def lines(self, name: str) -> Iterator[bytes]:
        """See ``Place``."""
        with self._reading(name) as file:
            yield from file

    def _reading(self, name: str) -> io.BufferedReader:
        return io.BufferedReader(StoredLog(self._url + name), 1 << 20)

    def size(self, name: str) -> int | None:
        """See ``Place``."""
        status = self._store.status(self._folder + name)
        return status.size if status else None

    def read_at(self, name: str, size: int, offset: int) -> bytes:
        """See ``Place``; following bytes are cached for the next read."""
        start, block = self._blocks.get(name, (0, memoryview(b"")))
        if not start <= offset <= offset + size <= start + len(block):
            block = self._range(name, offset, size)
            start = offset
        self._blocks.move_to_end(name)
        return bytes(block[offset - start : offset - start + size])

    def _range(self, name: str, offset: int, size: int) -> memoryview:
        least, most = _BLOCKS
        length = max(size, least, min(most, _BUDGET // (len(self._blocks) + 1)))
        block = memoryview(self._store.get(self._folder + name, offset, length, None).data)
        self._cached_bytes += len(block) - len(self._blocks.pop(name, (0, b""))[1])
        self._blocks[name] = offset, block
        while self._cached_bytes > _BUDGET and len(self._blocks) > 1:
            self._cached_bytes -= len(self._blocks.popitem(last=False)[1][1])
        return block

    def descriptor(self, name: str) -> int:
        """See ``Place``."""
        raise NotImplementedError(name)

    def stage(self, name: str, pieces: Iterable[bytes]) -> str:
        """See ``Place``."""
        return stage(self.work, name, pieces)

    def keep(self, name: str, to: str) -> None:
        """See ``Place``."""
        self._store.upload(self._folder + to, self.work.path / name)
        self.work.remove(name)

    def keep_all(self, names: Iterable[str]) -> None:
        """See ``Place``."""
        several(partial(self.keep, name, name) for name in names)

    def create(self, name: str, data: bytes) -> None:
        """See ``Place``; in a store without conditional writes, two concurrent calls may both succeed."""
        try:
            self._store.create(self._folder + name, data)
        except OSError as problem:
            if problem.errno != ENOTSUP:
                raise
            if self.size(name) is not None:
                raise FileExistsError(EEXIST, "the name exists") from None
            self._store.put(self._folder + name, data)

    def remove(self, name: str) -> None:
        """See ``Place``."""
        self._store.delete([self._folder + name])

    def clear(self) -> None:
        """See ``Place``."""
        self.remove(LISTING)
        for page in self._store.list(self._folder):
            several(partial(self._store.delete, [each.key]) for each in page)

    def close(self) -> None:
        """See ``Place``."""
        self._blocks.clear()
        self.work.close()
        with suppress(OSError):
            self._temporary.cleanup()
