"""Where shards meet in an object store: what is not finished stays in a temporary folder of this machine."""

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
"""Bytes of a listing or a marker that is looked at."""
_BUDGET = 256 << 20
_BLOCKS = 32 << 10, 4 << 20
"""Bytes that are asked for at once, at least and at most; of many files that are read by turns fewer of each."""


class StorePlace:
    """A folder in a store, as ``Place`` has it."""

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
        self._held = 0

    def shown(self, name: str) -> str:
        """As ``Place`` has it."""
        return self._url + name

    def read(self, name: str) -> bytes:
        """As ``Place`` has it."""
        with self._reading(name) as file:
            return file.read(_SMALL)

    def lines(self, name: str) -> Iterator[bytes]:
        """As ``Place`` has it."""
        with self._reading(name) as file:
            yield from file

    def _reading(self, name: str) -> io.BufferedReader:
        return io.BufferedReader(StoredLog(self._url + name), 1 << 20)

    def size(self, name: str) -> int | None:
        """As ``Place`` has it."""
        status = self._store.status(self._folder + name)
        return status.size if status else None

    def read_at(self, name: str, size: int, offset: int) -> bytes:
        """As ``Place`` has it; what stands behind is at hand for the next time."""
        start, block = self._blocks.get(name, (0, memoryview(b"")))
        if not start <= offset <= offset + size <= start + len(block):
            block = self._range(name, offset, size)
            start = offset
        self._blocks.move_to_end(name)
        return bytes(block[offset - start : offset - start + size])

    def _range(self, name: str, offset: int, size: int) -> memoryview:
        least, most = _BLOCKS
        wanted = max(size, least, min(most, _BUDGET // (len(self._blocks) + 1)))
        block = memoryview(self._store.get(self._folder + name, offset, wanted, None).data)
        self._held += len(block) - len(self._blocks.pop(name, (0, b""))[1])
        self._blocks[name] = offset, block
        while self._held > _BUDGET and len(self._blocks) > 1:
            self._held -= len(self._blocks.popitem(last=False)[1][1])
        return block

    def descriptor(self, name: str) -> int:
        """As ``Place`` has it."""
        raise NotImplementedError(name)

    def stage(self, name: str, pieces: Iterable[bytes]) -> str:
        """As ``Place`` has it."""
        return stage(self.work, name, pieces)

    def keep(self, name: str, to: str) -> None:
        """As ``Place`` has it."""
        self._store.upload(self._folder + to, self.work.path / name)
        self.work.remove(name)

    def keep_all(self, names: Iterable[str]) -> None:
        """As ``Place`` has it."""
        several(partial(self.keep, name, name) for name in names)

    def create(self, name: str, data: bytes) -> None:
        """As ``Place`` has it; in a store without conditional writes, two at once may both succeed."""
        try:
            self._store.create(self._folder + name, data)
        except OSError as problem:
            if problem.errno != ENOTSUP:
                raise
            if self.size(name) is not None:
                raise FileExistsError(EEXIST, "something stands there") from None
            self._store.put(self._folder + name, data)

    def remove(self, name: str) -> None:
        """As ``Place`` has it."""
        self._store.delete([self._folder + name])

    def clear(self) -> None:
        """As ``Place`` has it."""
        self.remove(LISTING)
        for page in self._store.list(self._folder):
            several(partial(self._store.delete, [each.key]) for each in page)

    def close(self) -> None:
        """As ``Place`` has it."""
        self._blocks.clear()
        self.work.close()
        with suppress(OSError):
            self._temporary.cleanup()
